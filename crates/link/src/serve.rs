//! Accepting sessions: the `Link` service that a node plugs its handler into.

use std::future::Future;
use std::sync::Arc;

use siegel_platform::Platform;
use siegel_session::{Purpose, SessionError, Setup};
use siegel_wire::v1::Frame;
use siegel_wire::v1::link_server::{Link, LinkServer};
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use crate::open::{HANDSHAKE_TIMEOUT, WIRE_FRAME_MAX, accept};
use crate::purpose::named;
use crate::stream::{FrameSink, QUEUE};
use crate::{LinkError, Refusal, SessionStream, refusal, refusal_to_status};

/// Handshakes under way at once; more are refused as "busy". Bounds the open challenges too.
pub const HANDSHAKES_MAX: usize = 256;

/// What a node does with the sessions that others open.
pub trait Acceptor: Send + Sync + 'static {
    /// Whom to expect, given the purpose that the dialling side names (in the clear, not yet proved;
    /// the handshake binds it). `purpose` of the returned setup is overwritten with it.
    fn setup(
        &self,
        purpose: Option<Purpose>,
    ) -> impl Future<Output = Result<Setup, Refusal>> + Send;

    /// Talks to the authenticated peer until the session is over.
    fn serve(&self, stream: SessionStream) -> impl Future<Output = ()> + Send;
}

/// The `Link` service around an [`Acceptor`].
pub struct LinkService<A> {
    platform: Platform,
    acceptor: Arc<A>,
    handshakes: Arc<Semaphore>,
}

impl<A: Acceptor> LinkService<A> {
    /// The tonic service, for `server().add_service(…)`.
    pub fn server(platform: Platform, acceptor: Arc<A>) -> LinkServer<Self> {
        let handshakes = Arc::new(Semaphore::new(HANDSHAKES_MAX));
        LinkServer::new(Self {
            platform,
            acceptor,
            handshakes,
        })
        .max_decoding_message_size(WIRE_FRAME_MAX)
    }
}

#[tonic::async_trait]
impl<A: Acceptor> Link for LinkService<A> {
    type OpenStream = ReceiverStream<Result<Frame, Status>>;

    async fn open(
        &self,
        request: Request<Streaming<Frame>>,
    ) -> Result<Response<Self::OpenStream>, Status> {
        let Ok(permit) = self.handshakes.clone().try_acquire_owned() else {
            let busy = refusal(
                "busy",
                "",
                "link",
                "too many handshakes under way: try again",
            );
            return Err(refusal_to_status(&busy));
        };
        let (sink, queue) = mpsc::channel(QUEUE);
        let (platform, acceptor) = (self.platform.clone(), self.acceptor.clone());
        let frames = request.into_inner();
        tokio::spawn(async move {
            let opening = open(&platform, &*acceptor, sink.clone(), frames);
            let opened = tokio::time::timeout(HANDSHAKE_TIMEOUT, opening).await;
            drop(permit);
            match opened {
                Ok(Ok(stream)) => {
                    // The stream ends when the handler lets go of its end.
                    drop(sink);
                    acceptor.serve(stream).await;
                }
                Ok(Err(error)) => {
                    tracing::warn!(%error, "session refused");
                    // A full queue or a peer that is gone: nobody to tell.
                    let _ = sink.try_send(Err(status(&error)));
                }
                Err(_) => tracing::warn!("handshake timed out"),
            }
        });
        Ok(Response::new(ReceiverStream::new(queue)))
    }
}

async fn open<A: Acceptor>(
    platform: &Platform,
    acceptor: &A,
    sink: FrameSink,
    mut frames: Streaming<Frame>,
) -> Result<SessionStream, LinkError> {
    let first = frames.message().await?.ok_or(LinkError::Cut)?;
    let purpose = named(&first)?;
    let mut setup = acceptor
        .setup(purpose)
        .await
        .map_err(|refusal| LinkError::Refused(Box::new(refusal)))?;
    setup.purpose = purpose;
    let session = accept(platform, setup, &first.data, &sink, &mut frames).await?;
    Ok(SessionStream::new(platform, session, sink, frames, purpose))
}

/// What the other side is told: a code, and the words of our own error types, which hold nothing
/// but public values.
fn status(error: &LinkError) -> Status {
    let told = match error {
        LinkError::Refused(refusal) => (**refusal).clone(),
        LinkError::Session(SessionError::NotFounded) => {
            refusal("not-founded", "", "handshake", error.to_string())
        }
        LinkError::Session(SessionError::Appraisal(r)) => {
            refusal(r.code(), r.invariant(), "handshake", error.to_string())
        }
        LinkError::Purpose { .. } => refusal("bad-purpose", "I14", "handshake", error.to_string()),
        LinkError::Session(_) => refusal("handshake", "I3", "handshake", error.to_string()),
        _ => refusal(
            "handshake-failed",
            "",
            "handshake",
            "the handshake did not finish",
        ),
    };
    refusal_to_status(&told)
}
