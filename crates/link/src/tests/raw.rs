//! The two ends of a stream without a session: for peers that send what they like.

use siegel_session::Opened;
use siegel_session::hostile::{Channel, Claim, Noise};
use siegel_wire::v1::Frame;
use siegel_wire::v1::link_client::LinkClient;
use siegel_wire::v1::link_server::{Link, LinkServer};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::world::{SOON, rng};
use crate::{Endpoint, LinkError, Net, Refusal, server};

/// One end of a stream, in hostile hands.
pub(super) struct Raw {
    pub(super) out: mpsc::Sender<Result<Frame, Status>>,
    pub(super) frames: Streaming<Frame>,
}

/// A stream whose Noise part is done by hand: nobody is proved yet.
pub(super) struct Shaken {
    pub(super) raw: Raw,
    pub(super) channel: Channel,
    pub(super) own: Claim,
    pub(super) peer: Claim,
}

impl Raw {
    /// Opens a stream; the acceptor sees nothing of it before the first frame.
    pub(super) async fn dial(net: &Net, at: &Endpoint) -> Self {
        let (out, queue) = mpsc::channel(64);
        let mut client = LinkClient::new(net.channel(at));
        let queue = ReceiverStream::new(queue).map_while(Result::ok);
        let frames = client.open(queue).await.unwrap();
        Self {
            out,
            frames: frames.into_inner(),
        }
    }

    /// Serves at this endpoint; each stream that somebody opens there comes out of the receiver.
    pub(super) async fn serve(net: &Net, endpoint: &str) -> (Endpoint, mpsc::Receiver<Self>) {
        let (at, incoming) = net.listen(&endpoint.parse().unwrap()).await.unwrap();
        let (opened, streams) = mpsc::channel(4);
        let serving = server()
            .add_service(LinkServer::new(Hand(opened)))
            .serve_with_incoming(incoming);
        tokio::spawn(async move { serving.await.unwrap() });
        (at, streams)
    }

    pub(super) async fn send(&self, data: Vec<u8>) {
        let purpose = None;
        self.out.send(Ok(Frame { data, purpose })).await.unwrap();
    }

    /// The next frame; the other end's refusal as an honest side would see it.
    pub(super) async fn recv(&mut self) -> Result<Vec<u8>, LinkError> {
        let next = tokio::time::timeout(SOON, self.frames.message()).await;
        let next: Result<Option<Frame>, Status> = next.expect("within seconds");
        Ok(next?.ok_or(LinkError::Cut)?.data)
    }

    /// The refusal that ends the stream.
    pub(super) async fn refused(&mut self) -> Box<Refusal> {
        match self.recv().await {
            Err(LinkError::Refused(refusal)) => refusal,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("not refused"),
        }
    }

    /// The Noise part of a dial, by hand.
    pub(super) async fn shake_as(self, claim: Claim) -> Shaken {
        let ((theirs, _wait), (tell, own)) = (oneshot::channel(), oneshot::channel());
        tell.send(claim).unwrap();
        self.shake_when(theirs, own).await
    }

    /// The same for somebody who is half-way into two handshakes: tells the acceptor's claim, and
    /// waits for the own one.
    pub(super) async fn shake_when(
        mut self,
        theirs: oneshot::Sender<Claim>,
        own: oneshot::Receiver<Claim>,
    ) -> Shaken {
        let mut noise = Noise::dialling(None, &mut rng());
        self.send(noise.write(&[])).await;
        let peer = Claim::parse(&noise.read(&self.recv().await.unwrap()));
        theirs.send(peer.clone()).unwrap();
        let own = own.await.unwrap();
        self.send(noise.write(&own.to_bytes())).await;
        Shaken {
            raw: self,
            channel: noise.finish(),
            own,
            peer,
        }
    }

    /// The Noise part of an accept, by hand.
    pub(super) async fn accept_with(mut self, own: Claim) -> Shaken {
        let mut noise = Noise::accepting(None, &mut rng());
        noise.read(&self.recv().await.unwrap());
        self.send(noise.write(&own.to_bytes())).await;
        let peer = Claim::parse(&noise.read(&self.recv().await.unwrap()));
        Shaken {
            raw: self,
            channel: noise.finish(),
            own,
            peer,
        }
    }
}

impl Shaken {
    /// Sends this as the proof.
    pub(super) async fn prove(&mut self, proof: &[u8]) {
        for frame in self.channel.sealer.seal(proof).unwrap() {
            self.raw.send(frame).await;
        }
    }

    /// The other side's proof.
    pub(super) async fn proof(&mut self) -> Vec<u8> {
        loop {
            let frame = self.raw.recv().await.unwrap();
            match self.channel.opener.open(&frame).unwrap() {
                Opened::Part => {}
                Opened::Message(proof) => return proof,
                Opened::Closed => panic!("no proof"),
            }
        }
    }
}

struct Hand(mpsc::Sender<Raw>);

#[tonic::async_trait]
impl Link for Hand {
    type OpenStream = ReceiverStream<Result<Frame, Status>>;

    async fn open(
        &self,
        request: Request<Streaming<Frame>>,
    ) -> Result<Response<Self::OpenStream>, Status> {
        let (out, queue) = mpsc::channel(64);
        let frames = request.into_inner();
        self.0.send(Raw { out, frames }).await.unwrap();
        Ok(Response::new(ReceiverStream::new(queue)))
    }
}
