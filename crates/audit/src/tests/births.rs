//! Genesis documents and policies: what they claim, against the anchors and each other.

use crate::testing::NOW;
use siegel_attest::Genesis;
use siegel_ident::{Digest, Timestamp};
use siegel_policy::testing::real;
use siegel_rekor::LogReader;
use siegel_translog::predicate;

use super::{errors, ids};
use crate::testing::{Scene, quorum, receipts};
use crate::{AuditAnchors, ExpectedCluster, audit};

/// Genesis documents against the anchors and against each other.
#[tokio::test]
async fn clusters_that_are_not_what_they_say() {
    let publish = async |scene: &Scene, genesis: &Genesis| {
        let bytes = genesis.to_bytes().unwrap();
        scene
            .publish(&scene.author, predicate::GENESIS, &bytes)
            .await;
    };
    // Two births claim the same key.
    let scene = Scene::new();
    publish(&scene, &scene.genesis).await;
    publish(
        &scene,
        &Genesis {
            random: [4; 32],
            ..scene.genesis.clone()
        },
    )
    .await;
    assert_eq!(errors(&scene.audit().await), ["cluster-key-shared"]);

    // Born with another log's key; with more witnesses than anyone checked.
    let mut scene = Scene::new();
    scene.genesis.config.log_key = [1; 32];
    publish(&scene, &scene.genesis).await;
    assert_eq!(errors(&scene.audit().await), ["cluster-other-log"]);
    let mut scene = Scene::new();
    scene.genesis.config.log_origin = "other.example.test".to_owned();
    publish(&scene, &scene.genesis).await;
    assert_eq!(errors(&scene.audit().await), ["cluster-other-log"]);
    let mut scene = Scene::new();
    scene.genesis.config.witnesses = quorum(2);
    publish(&scene, &scene.genesis).await;
    assert_eq!(errors(&scene.audit().await), ["witnesses-not-checked"]);

    // A seed, a foreign simulation root, an unexpected cluster, a missing one.
    let mut scene = Scene::new();
    scene.genesis.config.seed = Some([1; 32]);
    publish(&scene, &scene.genesis).await;
    assert!(ids(&scene.audit().await).contains(&"seeded"));
    let log = LogReader::Open(scene.log.clone());
    let anchors = AuditAnchors {
        simulation_root: Some(Digest::from_bytes([6; 32])),
        clusters: vec![ExpectedCluster {
            id: siegel_ident::ClusterId::of(b"absent"),
            receipts: None,
        }],
        ..scene.anchors()
    };
    let report = audit(&log, &anchors, NOW).await.unwrap();
    assert_eq!(errors(&report), ["cluster-not-logged", "simulation-root"]);
    assert!(ids(&report).contains(&"cluster-unexpected"));

    // Not a genesis at all.
    let scene = Scene::new();
    scene
        .publish(&scene.author, predicate::GENESIS, b"{}")
        .await;
    assert_eq!(errors(&scene.audit().await), ["genesis-unreadable"]);
}

/// Policies: parse, lint, their log and their cluster.
#[tokio::test]
async fn policies_that_are_not_what_they_say() {
    let published = async |change: fn(&mut siegel_policy::AccessPolicy)| {
        let scene = Scene::new();
        scene.birth().await;
        let mut policy = scene.policy();
        change(&mut policy);
        let bytes = policy.to_bytes().unwrap();
        scene
            .publish(&scene.author, predicate::POLICY, &bytes)
            .await;
        scene.audit().await
    };
    assert!(published(|_| ()).await.ok);
    let report = published(|policy| policy.log.origin = "other.example".into()).await;
    assert!(
        errors(&report).contains(&"policy-other-log"),
        "{:?}",
        errors(&report)
    );
    let report = published(|p| p.kms.cluster_id = siegel_ident::ClusterId::of(b"x")).await;
    assert_eq!(errors(&report), ["policy-cluster-unknown"]);
    let report = published(|p| p.kms.config = siegel_ident::ConfigDigest::of(b"x")).await;
    assert_eq!(errors(&report), ["policy-other-cluster"]);
    // I6: a successor of another pipeline's policy.
    let scene = Scene::new();
    scene.birth().await;
    let first = scene.policy();
    let bytes = first.to_bytes().unwrap();
    scene
        .publish(&scene.author, predicate::POLICY, &bytes)
        .await;
    let mut second = scene.successor(siegel_ident::PolicyDigest::of(&bytes));
    second.pipeline = "org.example.other".into();
    let bytes = second.to_bytes().unwrap();
    scene
        .publish(&scene.author, predicate::POLICY, &bytes)
        .await;
    assert_eq!(errors(&scene.audit().await), ["policy-other-pipeline"]);
    // Lint findings keep their severity: that nobody vouches for the binaries is an error in production.
    let report = published(|policy| {
        policy.profile = siegel_attest::Profile::Production;
        policy.log.witnesses = 2;
        policy.kms.reference_values = vec![real(1)];
        policy.roles.root.reference_values = vec![real(2)];
        policy.roles.worker.reference_values = vec![real(3)];
        policy.endorsers = Vec::new();
    })
    .await;
    assert!(
        errors(&report).contains(&"not-endorsed"),
        "{:?}",
        errors(&report)
    );
    // I11: one over simulated TEEs is none.
    let mut simulated = Scene::new().policy();
    simulated.profile = siegel_attest::Profile::Production;
    simulated.log.witnesses = 2;
    let refused = simulated.to_bytes().unwrap_err();
    assert!(
        refused.to_string().contains("must be a real TEE"),
        "{refused}"
    );
    let report = published(|policy| policy.not_after = Timestamp(u64::MAX >> 12)).await;
    assert!(ids(&report).contains(&"window-long"));

    let scene = Scene::new();
    scene.birth().await;
    scene
        .publish(
            &scene.author,
            predicate::POLICY,
            b"{\"schema\":\"siegel/policy/v1\"}",
        )
        .await;
    scene
        .publish(&scene.author, "https://example.test/note", b"hello")
        .await;
    let report = scene.audit().await;
    assert_eq!(errors(&report), ["policy-unreadable"]);
    assert!(ids(&report).contains(&"unknown-statement"));
    assert_eq!((report.entries.policies, report.entries.other), (1, 1));
}

/// I1. The order of birth: genesis, then the policies that name it.
#[tokio::test]
async fn a_genesis_logged_after_its_policy_is_said() {
    let scene = Scene::new();
    let policy = scene.policy().to_bytes().unwrap();
    scene
        .publish(&scene.author, predicate::POLICY, &policy)
        .await;
    scene.birth().await;
    let report = scene.audit().await;
    assert!(report.ok && ids(&report).contains(&"genesis-late"));
}

/// Receipts of a cluster that was never born in this log.
#[tokio::test]
async fn i1_receipts_without_a_genesis_are_found() {
    let scene = Scene::new();
    let receipts = receipts(&scene).await;
    scene.log_receipts(&receipts).await;
    assert_eq!(errors(&scene.audit().await), ["receipts-without-genesis"]);
}
