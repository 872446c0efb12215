//! Keys and kinds that the auditor does not know; what policies mean together.

use siegel_policy::Severity;
use siegel_rekor::LogReader;
use siegel_translog::predicate;

use super::{errors, ids};
use crate::testing::{NOW, Scene, Signer, chained, lived, quorum};
use crate::{AuditAnchors, AuditReport, audit};

async fn pinned(scene: &Scene) -> AuditReport {
    let anchors = AuditAnchors {
        publishers: vec![scene.author.key().digest()],
        ..scene.anchors()
    };
    let log = LogReader::Open(scene.log.clone());
    audit(&log, &anchors, NOW).await.unwrap()
}

/// I1. Catches: an entry of a key that nobody knows, whatever part it plays; a known key in a part
/// that is not its own; and an honest log that is cried over.
#[tokio::test]
async fn i1_entries_of_unknown_keys_are_errors_where_publishers_are_pinned() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let good = pinned(&scene).await;
    assert!(
        good.ok && !ids(&good).contains(&"unknown-signer"),
        "{:#?}",
        good.findings
    );

    let stranger = Signer::generate();
    for kind in [
        predicate::PROGRAM,
        predicate::ENDORSEMENT,
        predicate::RECEIPT,
    ] {
        for who in 0..4 {
            let scene = Scene::new();
            let receipts = lived(&scene).await;
            scene.log_receipts(&receipts).await;
            let (bytes, own) = match kind {
                predicate::PROGRAM => (b"another program".to_vec(), 1),
                predicate::ENDORSEMENT => (scene.vouched().documents[0].to_bytes().unwrap(), 2),
                _ => (chained(scene.id(), &receipts[..1]).remove(0), 3),
            };
            let signers = [&stranger, &scene.author, &scene.endorser, &scene.cluster];
            scene.publish(signers[who], kind, &bytes).await;
            let report = pinned(&scene).await;
            if who == own {
                assert!(report.ok, "{kind}: {:#?}", report.findings);
                continue;
            }
            assert_eq!(errors(&report), ["unknown-signer"], "{kind} by {who}");
            let key = signers[who].key().digest().to_string();
            assert!(report.findings[0].message.contains(&key), "{kind} by {who}");
        }
    }
}

/// Without pinned publishers the keys are listed, in one warning.
#[tokio::test]
async fn unknown_keys_are_listed_where_nobody_is_pinned() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let stranger = Signer::generate();
    scene
        .publish(&stranger, predicate::PROGRAM, b"another")
        .await;
    let report = scene.audit().await;
    let listed: Vec<_> = report
        .findings
        .iter()
        .filter(|f| f.id == "unknown-signer")
        .collect();
    assert!(listed.len() == 1 && listed[0].severity == Severity::Warning);
    for key in [scene.author.key(), stranger.key()] {
        assert!(listed[0].message.contains(&key.digest().to_string()));
    }
    for key in [scene.cluster.key(), scene.endorser.key()] {
        assert!(!listed[0].message.contains(&key.digest().to_string()));
    }
}

/// I14. Catches: a report that a log full of strangers makes unreadable.
#[tokio::test]
async fn i14_many_unknown_keys_are_counted() {
    let scene = Scene::new();
    scene.birth().await;
    for i in 0..30u8 {
        scene
            .publish(&Signer::generate(), predicate::PROGRAM, &[i])
            .await;
    }
    let report = pinned(&scene).await;
    assert_eq!(errors(&report).len(), 11);
    assert!(
        report
            .findings
            .iter()
            .any(|f| f.message == "20 more of this kind")
    );
    assert_eq!(report.grouped[0].count, 30);
}

#[tokio::test]
async fn an_unknown_kind_is_an_error_where_publishers_are_pinned() {
    let scene = Scene::new();
    scene
        .publish(&scene.author, "https://example.test/note", b"hello")
        .await;
    assert!(scene.audit().await.ok);
    assert_eq!(errors(&pinned(&scene).await), ["unknown-statement"]);
    // I14: all are counted, whatever was kept of them.
    for i in 0..49u8 {
        scene
            .publish(&scene.author, "https://example.test/note", &[i])
            .await;
    }
    for (report, severity) in [
        (scene.audit().await, Severity::Warning),
        (pinned(&scene).await, Severity::Error),
    ] {
        let group = &report.grouped[0];
        assert_eq!((group.count, group.severity), (50, severity));
        assert_eq!(
            (group.id.as_str(), group.entries[19]),
            ("unknown-statement", 19)
        );
        assert_eq!((report.grouped.len(), report.entries.other), (1, 50));
    }
}

/// I11. Witnesses of a simulation are no witnesses.
#[tokio::test]
async fn i11_simulated_witnesses_are_said() {
    let mut scene = Scene::new();
    scene.birth().await;
    assert!(!ids(&scene.audit().await).contains(&"simulated-witnesses"));
    scene.genesis.config.witnesses = quorum(2);
    scene.birth().await;
    assert!(ids(&scene.audit().await).contains(&"simulated-witnesses"));
}

/// I6. Two pipelines over the same input at one cluster.
#[tokio::test]
async fn i6_overlapping_pipelines_are_said() {
    let scene = Scene::new();
    scene.birth().await;
    let mut policy = scene.policy();
    for (pipeline, said) in [("org.example.words", false), ("org.example.others", true)] {
        policy.pipeline = pipeline.to_owned();
        let bytes = policy.to_bytes().unwrap();
        scene
            .publish(&scene.author, predicate::POLICY, &bytes)
            .await;
        let report = scene.audit().await;
        assert_eq!(ids(&report).contains(&"pipelines-overlap"), said);
    }
}
