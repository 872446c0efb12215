//! I3, I6: what a session is for, in the clear, on the wire.

use siegel_attest::Role;
use siegel_ident::{Fencing, PolicyDigest, RunId};
use siegel_session::{Expect, Purpose, SessionError};
use siegel_wire::v1::{self, Frame};
use tonic::{Request, Response, Status, Streaming};

use super::raw::Raw;
use super::world::*;
use crate::{LinkError, Net, dial, server};

type WirePurpose = Option<v1::Purpose>;

/// A network that names another purpose in each first frame than the dialler did.
struct Liar {
    net: Net,
    to: crate::Endpoint,
    names: fn(WirePurpose) -> WirePurpose,
}

#[tonic::async_trait]
impl v1::link_server::Link for Liar {
    type OpenStream = Streaming<Frame>;

    async fn open(
        &self,
        request: Request<Streaming<Frame>>,
    ) -> Result<Response<Self::OpenStream>, Status> {
        let names = self.names;
        let mut first = true;
        let frames = tokio_stream::StreamExt::filter_map(request.into_inner(), Result::ok);
        let frames = tokio_stream::StreamExt::map(frames, move |mut frame: Frame| {
            if std::mem::take(&mut first) {
                frame.purpose = names(frame.purpose);
            }
            frame
        });
        let mut client = v1::link_client::LinkClient::new(self.net.channel(&self.to));
        client.open(frames).await
    }
}

/// What the root gets when the network names this.
async fn with_network(names: fn(WirePurpose) -> WirePurpose) -> Result<Vec<u8>, LinkError> {
    let net = Net::new();
    let (to, _task) = serve_echo(&net, "pipe:worker-1", worker()).await;
    let (at, incoming) = net.listen(&"pipe:liar".parse().unwrap()).await.unwrap();
    let liar = Liar {
        net: net.clone(),
        to,
        names,
    };
    let service = v1::link_server::LinkServer::new(liar);
    let serving = server().add_service(service).serve_with_incoming(incoming);
    let serving = tokio::spawn(async move { serving.await.unwrap() });
    let root = root();
    let expect = Expect::Vouched {
        role: Role::Worker,
        keys: vec![worker().keys()],
    };
    let setup = root.setup(expect, Some(PURPOSE));
    let dialled = dial(&root.platform, net.channel(&at), setup).await;
    let answer = match dialled {
        Ok(mut stream) => stream.call(b"abc", SOON).await,
        Err(error) => Err(error),
    };
    serving.abort();
    answer
}

fn code(result: Result<Vec<u8>, LinkError>) -> String {
    match result {
        Err(LinkError::Refused(refusal)) => refusal.code,
        Err(other) => other.to_string(),
        Ok(_) => "accepted".to_owned(),
    }
}

fn edited(wire: WirePurpose, edit: impl FnOnce(&mut v1::Purpose)) -> WirePurpose {
    let mut purpose = wire.unwrap();
    edit(&mut purpose);
    Some(purpose)
}

// I3: catches each field that the prologue leaves out. This acceptor looks at the run only, so that
// nothing but the prologue can refuse.
#[tokio::test]
async fn i3_a_purpose_changed_on_the_way_gives_no_channel() {
    assert_eq!(with_network(|named| named).await.unwrap(), b"cba");
    let changes: [fn(WirePurpose) -> WirePurpose; 2] = [
        |named| edited(named, |purpose| purpose.policy_digest[0] ^= 1),
        |named| edited(named, |purpose| purpose.fencing += 1),
    ];
    for change in changes {
        // The worker's second Noise message does not authenticate under the root's prologue.
        let error = with_network(change).await.unwrap_err();
        assert!(
            matches!(
                error,
                LinkError::Session(SessionError::Frame { frame: 2, .. })
            ),
            "{error}"
        );
    }
    let other_run = with_network(|named| edited(named, |purpose| purpose.run_id[0] ^= 1));
    assert_eq!(code(other_run.await), "unknown-run");
}

// I14: absent fields, fields of impossible length, no purpose where one is needed.
#[tokio::test]
async fn i14_hostile_purposes_are_refused() {
    let changes: [fn(WirePurpose) -> WirePurpose; 6] = [
        |named| edited(named, |purpose| purpose.run_id.clear()),
        |named| edited(named, |purpose| purpose.run_id.push(0)),
        |named| edited(named, |purpose| purpose.policy_digest.clear()),
        |named| edited(named, |purpose| purpose.policy_digest.truncate(31)),
        |named| edited(named, |purpose| purpose.fencing = 0),
        |_| Some(v1::Purpose::default()),
    ];
    for change in changes {
        assert_eq!(code(with_network(change).await), "bad-purpose");
    }
    assert_eq!(code(with_network(|_| None).await), "unknown-run");
}

// A KMS node is asked for nothing in particular: a purpose there is a mistake or an attack.
#[tokio::test]
async fn i3_a_kms_node_takes_no_purpose() {
    let net = Net::new();
    let (at, _task) = serve_echo(&net, "pipe:kms", kms_node()).await;
    let mut raw = Raw::dial(&net, &at).await;
    let purpose = Some(crate::purpose::to_wire(&PURPOSE));
    let data = vec![1; 32];
    raw.out.send(Ok(Frame { data, purpose })).await.unwrap();
    assert_eq!(raw.refused().await.code, "handshake");
    // Nor does an honest side dial with one.
    let node = worker();
    let setup = node.setup(Expect::Kms(cluster()), Some(PURPOSE));
    let error = dial(&node.platform, net.channel(&at), setup).await;
    assert!(matches!(
        error.map(|_| ()),
        Err(LinkError::Session(SessionError::Purpose { .. }))
    ));
}

// I14: a purpose in a later frame is bound by nobody.
#[tokio::test]
async fn i14_a_purpose_comes_first_or_never() {
    let net = Net::new();
    let (at, _task) = serve_echo(&net, "pipe:kms", kms_node()).await;
    let mut raw = Raw::dial(&net, &at).await;
    raw.send(vec![1; 32]).await;
    raw.recv().await.unwrap();
    let purpose = Some(crate::purpose::to_wire(&Purpose {
        run: RunId::from_bytes([1; 16]),
        policy: PolicyDigest::from_bytes([2; 32]),
        fencing: Fencing(3),
    }));
    let data = vec![1; 32];
    raw.out.send(Ok(Frame { data, purpose })).await.unwrap();
    assert_eq!(raw.refused().await.code, "bad-purpose");
}
