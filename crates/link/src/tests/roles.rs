//! I3, on the wire: genuine evidence under a false name, in another role or of another cluster.

use siegel_attest::{Binding, Refusal, Role};
use siegel_ident::ClusterId;
use siegel_session::hostile::{Claim, prove};
use siegel_session::{Expect, SessionError};

use super::raw::{Raw, Shaken};
use super::world::*;
use crate::{LinkError, Net, dial};

const OTHER: ClusterId = ClusterId::from_bytes([0xEE; 32]);

/// Shows what the launcher of `node` says to this binding, signed by its own key.
async fn prove_with(shaken: &mut Shaken, dials: bool, node: &Node, binding: &Binding) {
    let evidence = node.quote(binding).await;
    let hash = shaken.channel.hash;
    let (own, peer) = (&shaken.own, &shaken.peer);
    let proof = prove(&node.identity, dials, hash, own, peer, evidence);
    shaken.prove(&proof).await;
}

/// The code with which an honest KMS node refuses a dialler that claims this and binds that.
async fn node_refuses(dialler: &Node, claim: Claim, bind: fn(&mut Binding)) -> String {
    let (net, kms) = (Net::new(), kms_node());
    let (at, _task) = serve_echo(&net, "127.0.0.1:0", kms.clone()).await;
    let mut shaken = Raw::dial(&net, &at).await.shake_as(claim).await;
    let mut binding = dialler.binding(&shaken.peer);
    bind(&mut binding);
    prove_with(&mut shaken, true, dialler, &binding).await;
    let told = shaken.raw.refused().await;
    assert_eq!(
        (told.invariant.as_str(), kms.served()),
        ("I3", 0),
        "{told:?}"
    );
    told.code
}

/// Why an honest worker refuses an acceptor that claims this and binds that.
async fn worker_refuses(acceptor: &Node, claim: Claim, bind: fn(&mut Binding)) -> SessionError {
    let net = Net::new();
    let (at, mut streams) = Raw::serve(&net, "127.0.0.1:0").await;
    let honest = worker();
    let channel = net.channel(&at);
    let dialled = tokio::spawn(async move {
        let mut setup = honest.setup(Expect::Kms(cluster()), None);
        setup.deployment = Some(CLUSTER);
        dial(&honest.platform, channel, setup).await.map(|_| ())
    });
    let accepting = streams.recv().await.unwrap();
    let acceptor = acceptor.clone();
    let hostile = tokio::spawn(async move {
        let mut shaken = accepting.accept_with(claim).await;
        let mut binding = acceptor.binding(&shaken.peer);
        bind(&mut binding);
        prove_with(&mut shaken, false, &acceptor, &binding).await;
        // Stays until the other side has had its say.
        let _ = shaken.raw.recv().await;
    });
    let refused = dialled.await.unwrap();
    hostile.abort();
    match refused {
        Err(LinkError::Session(error)) => error,
        Err(other) => panic!("{other}"),
        Ok(()) => panic!("a session"),
    }
}

fn as_kms_peer(node: &Node) -> Claim {
    Claim {
        role: Role::KmsPeer,
        deployment: Some(CLUSTER),
        ..node.claim()
    }
}

fn honest(_: &mut Binding) {}

// Catches a role that is not in the evidence: a worker's as a KMS node's, to a node and to a worker.
#[tokio::test]
async fn i3_worker_evidence_as_kms_peer_is_refused() {
    let worker = node(Role::Worker, 5, 3);
    let code = node_refuses(&worker, as_kms_peer(&worker), honest).await;
    assert!(code.starts_with("evidence-"), "{code}");
    let error = worker_refuses(&worker, as_kms_peer(&worker), honest).await;
    assert!(matches!(error, SessionError::Appraisal(_)), "{error}");

    // In the strongest position: the right binary and configuration, and another role.
    let kms = node(Role::KmsPeer, 5, 1);
    let other_roles: [fn(&mut Binding); 2] = [
        |binding| binding.role = Role::Worker,
        |binding| binding.role = Role::Root,
    ];
    for bind in other_roles {
        let code = node_refuses(&kms, kms.claim(), bind).await;
        assert_eq!(code, "evidence-report-data");
        let error = worker_refuses(&kms, kms.claim(), bind).await;
        assert!(
            matches!(error, SessionError::Appraisal(Refusal::ReportData { .. })),
            "{error}"
        );
    }
}

// Who expects a KMS node talks to nobody else, whatever it could prove.
#[tokio::test]
async fn i3_a_workload_in_place_of_a_kms_node_is_refused() {
    for role in [Role::Worker, Role::Root] {
        let other = node(role, 5, 3);
        let error = worker_refuses(&other, other.claim(), honest).await;
        assert!(
            matches!(error, SessionError::Role { found, .. } if found == role),
            "{error}"
        );
    }
}

// Catches a cluster that is not in the evidence, and one that nobody compares.
#[tokio::test]
async fn i3_another_cluster_is_refused() {
    let kms = node(Role::KmsPeer, 5, 1);
    let elsewhere = || Claim {
        deployment: Some(OTHER),
        ..kms.claim()
    };
    let bind_other = |binding: &mut Binding| binding.deployment = Some(OTHER);
    // It says so: refused before anything is proved.
    assert_eq!(
        node_refuses(&kms, elsewhere(), bind_other).await,
        "handshake"
    );
    let error = worker_refuses(&kms, elsewhere(), bind_other).await;
    assert!(
        matches!(error, SessionError::Cluster { found: OTHER, .. }),
        "{error}"
    );
    // It says otherwise than its evidence.
    let code = node_refuses(&kms, kms.claim(), bind_other).await;
    assert_eq!(code, "evidence-report-data");
    let error = worker_refuses(&kms, kms.claim(), bind_other).await;
    assert!(
        matches!(error, SessionError::Appraisal(Refusal::ReportData { .. })),
        "{error}"
    );
}
