//! The two ends of a stream without a session: for peers that send what they like.

use siegel_wire::v1::Frame;
use siegel_wire::v1::link_client::LinkClient;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::world::SOON;
use crate::{Endpoint, LinkError, Net};

/// What a hostile dialler holds.
pub(super) struct Raw {
    pub(super) out: mpsc::Sender<Frame>,
    pub(super) frames: Streaming<Frame>,
}

impl Raw {
    /// Opens a stream; the acceptor sees nothing of it before the first frame.
    pub(super) async fn dial(net: &Net, at: &Endpoint) -> Self {
        let (out, queue) = mpsc::channel(64);
        let mut client = LinkClient::new(net.channel(at));
        let frames = client.open(ReceiverStream::new(queue)).await.unwrap();
        Self {
            out,
            frames: frames.into_inner(),
        }
    }

    pub(super) async fn send(&self, data: Vec<u8>) {
        let purpose = None;
        self.out.send(Frame { data, purpose }).await.unwrap();
    }

    /// The next frame; the acceptor's refusal as the dialler of an honest session would see it.
    pub(super) async fn recv(&mut self) -> Result<Vec<u8>, LinkError> {
        let next = tokio::time::timeout(SOON, self.frames.message()).await;
        let next: Result<Option<Frame>, Status> = next.expect("within seconds");
        Ok(next?.ok_or(LinkError::Cut)?.data)
    }

    /// The code of the refusal that ends the stream.
    pub(super) async fn refused(&mut self) -> String {
        match self.recv().await {
            Err(LinkError::Refused(refusal)) => refusal.code,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("not refused"),
        }
    }
}
