//! Opening a session: the handshake of crate `session`, driven over a stream.

use std::time::Duration;

use siegel_platform::Platform;
use siegel_session::{Handshake, Next, Session, Setup, Step};
use siegel_wire::v1::Frame;
use siegel_wire::v1::link_client::LinkClient;
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Channel;

use crate::purpose::unnamed;
use crate::stream::{FrameSink, QUEUE, put_frame};
use crate::{LinkError, SessionStream};

/// How long a whole handshake may take, quotes included.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(20);

/// Most bytes of one frame with its protobuf around it.
pub(crate) const WIRE_FRAME_MAX: usize = 66 * 1024;

/// Dials: connects, shakes hands, and returns the session with the authenticated peer.
/// `setup.purpose`, if present, is sent in the clear so that the other end can look up whom to expect.
///
/// # Errors
/// Any [`LinkError`]; [`LinkError::is_transient`] tells whether to try again.
pub async fn dial(
    platform: &Platform,
    channel: Channel,
    setup: Setup,
) -> Result<SessionStream, LinkError> {
    let timed_out = LinkError::Timeout {
        what: "the handshake",
        after: HANDSHAKE_TIMEOUT,
    };
    tokio::time::timeout(HANDSHAKE_TIMEOUT, dial_untimed(platform, channel, setup))
        .await
        .unwrap_or(Err(timed_out))
}

async fn dial_untimed(
    platform: &Platform,
    channel: Channel,
    setup: Setup,
) -> Result<SessionStream, LinkError> {
    let purpose = setup.purpose;
    let (mut handshake, first) = Handshake::initiator(setup, platform.now(), &mut platform.rng())?;
    let (sink, queue) = mpsc::channel(QUEUE);
    put_frame(&sink, first, purpose.as_ref()).await?;
    let mut client = LinkClient::new(channel).max_decoding_message_size(WIRE_FRAME_MAX);
    let outgoing = ReceiverStream::new(queue).map_while(Result::ok);
    let mut frames = client.open(outgoing).await?.into_inner();
    let started = Step {
        send: Vec::new(),
        next: Next::Frame,
    };
    let session = drive(platform, &mut handshake, started, &sink, &mut frames).await?;
    Ok(SessionStream::new(platform, session, sink, frames, purpose))
}

/// The accepting side, after its first frame was read.
pub(crate) async fn accept(
    platform: &Platform,
    setup: Setup,
    first: &[u8],
    sink: &FrameSink,
    frames: &mut Streaming<Frame>,
) -> Result<Session, LinkError> {
    let mut handshake = Handshake::responder(setup, platform.now(), &mut platform.rng())?;
    let step = handshake.on_frame(platform.now(), first)?;
    drive(platform, &mut handshake, step, sink, frames).await
}

/// Does what the handshake wishes until it is done.
async fn drive(
    platform: &Platform,
    handshake: &mut Handshake,
    mut step: Step,
    sink: &FrameSink,
    frames: &mut Streaming<Frame>,
) -> Result<Session, LinkError> {
    loop {
        for frame in step.send {
            put_frame(sink, frame, None).await?;
        }
        step = match step.next {
            Next::Done(session) => return Ok(*session),
            Next::Frame => {
                let frame = frames.message().await?.ok_or(LinkError::Cut)?;
                handshake.on_frame(platform.now(), &unnamed(frame)?)?
            }
            Next::Quote(report_data) => handshake.on_quote(platform.quote(report_data).await?)?,
        };
    }
}
