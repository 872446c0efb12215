//! Key offers that are not what clients may believe, each broken in one way.

use crate::testing::NOW;
use std::sync::OnceLock;

use siegel_ident::{ClusterId, Digest, EpochId, PolicyDigest, Timestamp};
use siegel_rekor::{Log, LogReader, Storage};
use siegel_translog::predicate;

use super::{errors, found, ids};
use crate::testing::{Quote, START, Scene, TTL, lived, log_key, reference};
use crate::{AuditAnchors, AuditReport, ExpectedCluster, audit};

async fn audited(quote: fn(&mut Quote)) -> AuditReport {
    let mut scene = Scene::new();
    scene.told.quote = quote;
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let anchors = AuditAnchors {
        clusters: vec![ExpectedCluster {
            id: scene.id(),
            receipts: Some(receipts.len() as u64),
        }],
        ..scene.anchors()
    };
    audit(&LogReader::Open(scene.log.clone()), &anchors, NOW)
        .await
        .unwrap()
}

fn note(quote: &mut Quote, note: String) {
    quote.bundle.checkpoint = Digest::of(note.as_bytes());
    quote.checkpoint = note;
}

/// A checkpoint of a log with the same name and key, but other entries.
static SPLIT: OnceLock<String> = OnceLock::new();

/// I1, I2, I3, I9, I11.
#[tokio::test]
async fn every_flaw_of_a_key_offer_is_found() {
    let twin = Scene::new();
    for i in 0..10u8 {
        twin.publish(&twin.author, predicate::PROGRAM, &[i]).await;
    }
    SPLIT.set(twin.log.checkpoint()).unwrap();

    type Row = (&'static str, &'static str, &'static str, fn(&mut Quote));
    let rows: &[Row] = &[
        ("evidence-missing", "I1", "epoch 1 was opened", |q| {
            q.logged = false
        }),
        ("evidence-missing", "I1", "epoch 2 was opened", |q| {
            q.logged = q.bundle.epoch.0 == 1
        }),
        (
            "evidence-invalid",
            "I3",
            "none of the reference values",
            |q| {
                q.measurement = reference("other").measurement().unwrap();
            },
        ),
        ("evidence-invalid", "I9", "older than its key", |q| {
            q.issued_at = Timestamp(q.bundle.not_before.0 - TTL - 1);
        }),
        ("evidence-invalid", "I3", "issued at", |q| {
            q.issued_at = Timestamp(q.bundle.expires.0 + 61);
        }),
        ("key-bundle-forged", "I1", "not by the cluster key", |q| {
            q.by_stranger = true
        }),
        ("key-bundle-forged", "I1", "genesis of its cluster", |q| {
            q.bundle.cluster_id = ClusterId::of(b"other");
        }),
        ("key-bundle-misquotes", "I3", "is not in the log", |q| {
            q.bundle.policy = PolicyDigest::of(b"other");
        }),
        ("key-bundle-misquotes", "I3", "suite 3", |q| {
            q.bundle.suite = 3
        }),
        ("key-bundle-misquotes", "I9", "lives longer", |q| {
            q.bundle.expires.0 += 1
        }),
        ("key-bundle-misquotes", "I2", "than the receipts", |q| {
            q.bundle.expires.0 -= 1
        }),
        ("key-bundle-misquotes", "I2", "than the receipts", |q| {
            q.bundle.not_before.0 += 1
        }),
        ("key-bundle-misquotes", "I2", "than the receipts", |q| {
            q.bundle.epoch = EpochId(9)
        }),
        ("key-bundle-misquotes", "I1", "checkpoint", |q| {
            note(q, "log\n1\nroot\n".into())
        }),
        (
            "key-bundle-misquotes",
            "I1",
            "names another checkpoint",
            |q| {
                q.bundle.checkpoint = Digest::of(b"other");
            },
        ),
        (
            "key-bundle-misquotes",
            "I1",
            "does not cover its policy",
            |q| {
                note(
                    q,
                    Log::open(&Storage::Memory, log_key()).unwrap().checkpoint(),
                );
            },
        ),
        ("log-not-consistent", "I1", "clients were shown", |q| {
            note(q, SPLIT.get().unwrap().clone());
        }),
    ];
    for (id, invariant, words, quote) in rows {
        let report = audited(*quote).await;
        assert!(
            found(&report, id, invariant, words),
            "{id} {words}: {:#?}",
            report.findings
        );
        // A key without good evidence is as good as none.
        assert!(
            errors(&report).contains(&"evidence-missing"),
            "{id} {words}"
        );
    }
    let good = audited(|_| ()).await;
    assert!(good.ok, "{:#?}", good.findings);
    assert_eq!(good.entries.key_offers, 2);
}

/// The ends of what is allowed.
#[tokio::test]
async fn evidence_may_be_as_old_as_a_key_and_as_young_as_its_end() {
    let ends: [fn(&mut Quote); 2] = [
        |q| q.issued_at = Timestamp(q.bundle.not_before.0 - TTL),
        |q| q.issued_at = Timestamp(q.bundle.expires.0 + 60),
    ];
    for quote in ends {
        assert_eq!(errors(&audited(quote).await), Vec::<&str>::new());
    }
}

/// I1. Catches: evidence that is put into the log only after clients have encrypted.
#[tokio::test]
async fn i1_a_key_offer_logged_after_the_run_is_found() {
    let mut scene = Scene::new();
    scene.told.quote = |q| q.logged = false;
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts[..4]).await;
    scene.told.quote = |_| ();
    let policy = PolicyDigest::of(&scene.policy().to_bytes().unwrap());
    scene.offer(policy, EpochId(1), START).await;
    let report = scene.audit().await;
    assert_eq!(errors(&report), ["evidence-late"]);
    assert!(found(&report, "evidence-late", "I1", "receipt 3:"));
}

/// I1. Catches: some clients are given another key than the others. Asking twice is no harm.
#[tokio::test]
async fn i1_two_keys_of_one_epoch_are_found() {
    let mut scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let policy = PolicyDigest::of(&scene.policy().to_bytes().unwrap());
    scene.offer(policy, EpochId(1), START).await;
    assert!(scene.audit().await.ok);
    // Each suite has a key of its own.
    scene.told.quote = |q| (q.bundle.suite, q.bundle.kem_key) = (2, vec![7; 32]);
    scene.offer(policy, EpochId(1), START).await;
    assert!(scene.audit().await.ok);
    scene.told.quote = |q| q.bundle.kem_key[0] ^= 1;
    scene.offer(policy, EpochId(1), START).await;
    assert_eq!(errors(&scene.audit().await), ["key-bundle-fork"]);
}

/// I3. Catches: a cluster that offers a key under a policy that names another cluster.
#[tokio::test]
async fn i3_a_key_under_another_clusters_policy_is_found() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let twin = Scene::over(scene.log.clone());
    twin.birth().await;
    let policy = PolicyDigest::of(&scene.policy().to_bytes().unwrap());
    twin.offer(policy, EpochId(1), START).await;
    let report = scene.audit().await;
    assert_eq!(errors(&report), ["key-bundle-misquotes"]);
    assert!(found(
        &report,
        "key-bundle-misquotes",
        "I3",
        "names another cluster"
    ));
}

/// A courier may be slow: a key whose epoch's receipt is not there yet is said, and no error, unless
/// the anchors say that all receipts are there.
#[tokio::test]
async fn a_key_ahead_of_the_receipts_is_said() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts[..10]).await;
    let log = LogReader::Open(scene.log.clone());
    let open = scene.audit().await;
    assert!(open.ok && ids(&open).contains(&"key-offer-ahead"));
    let anchors = AuditAnchors {
        clusters: vec![ExpectedCluster {
            id: scene.id(),
            receipts: Some(10),
        }],
        ..scene.anchors()
    };
    let all = audit(&log, &anchors, NOW).await.unwrap();
    assert_eq!(errors(&all), ["key-bundle-misquotes"]);
}

/// I11. The pinned root counts, not the one that the genesis names.
#[tokio::test]
async fn i11_evidence_under_another_root_is_found() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let anchors = AuditAnchors {
        simulation_root: Some(Digest::from_bytes([6; 32])),
        ..scene.anchors()
    };
    let report = audit(&LogReader::Open(scene.log.clone()), &anchors, NOW)
        .await
        .unwrap();
    assert!(found(
        &report,
        "evidence-invalid",
        "I3",
        "not signed by the configured root"
    ));
}

#[tokio::test]
async fn i2_a_key_offer_that_does_not_parse_is_found() {
    let scene = Scene::new();
    scene
        .publish(&scene.author, predicate::KEY_OFFER, b"{}")
        .await;
    assert_eq!(errors(&scene.audit().await), ["key-offer-unreadable"]);
}
