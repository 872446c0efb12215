//! Endorsements that are not what a policy needs, each broken in one way.

use crate::testing::NOW;
use siegel_attest::Profile;
use siegel_endorse::{Endorsement, Subject};
use siegel_ident::{Digest, KeyDigest, Timestamp};
use siegel_ledger::{Fact, Receipt};
use siegel_rekor::LogReader;
use siegel_translog::predicate;

use super::{errors, found, ids};
use crate::testing::{START, Scene, Vouch, build_of, lived};
use crate::{AuditAnchors, AuditReport, audit};

async fn audited(vouch: fn(&mut Vouch), bend: fn(&mut Vec<Receipt>)) -> AuditReport {
    let mut scene = Scene::new();
    scene.told.vouch = vouch;
    let mut receipts = lived(&scene).await;
    bend(&mut receipts);
    scene.log_receipts(&receipts).await;
    scene.audit().await
}

fn until(vouch: &mut Vouch, end: u64) {
    for document in &mut vouch.documents {
        document.not_before = document.not_before.min(Timestamp(end - 1));
        document.not_after = Timestamp(end);
    }
}

fn stated(receipts: &mut [Receipt], end: Option<u64>) {
    for receipt in receipts {
        if let Fact::PolicyRegistered { endorsed_until, .. } = &mut receipt.fact {
            *endorsed_until = end.map(Timestamp);
        }
    }
}

fn binaries(vouch: &mut Vouch) -> &mut siegel_endorse::Binaries {
    match &mut vouch.documents[0].subject {
        Subject::Binaries(binaries) => binaries,
        Subject::Program(_) => panic!("binaries"),
    }
}

/// I1, I2, I3, I9, I11.
#[tokio::test]
async fn every_lack_of_an_endorsement_is_found() {
    type Row = (
        &'static str,
        &'static str,
        &'static str,
        fn(&mut Vouch),
        fn(&mut Vec<Receipt>),
    );
    let rows: &[Row] = &[
        (
            "binary-not-endorsed",
            "I3",
            "receipt 1:",
            |v| drop(v.documents.remove(0)),
            |_| (),
        ),
        (
            "program-not-endorsed",
            "I3",
            "receipt 1:",
            |v| drop(v.documents.pop()),
            |_| (),
        ),
        (
            "binary-not-endorsed",
            "I3",
            "is endorsed by nobody",
            |v| v.documents.clear(),
            |_| (),
        ),
        (
            "binary-not-endorsed",
            "I3",
            "not one of the policy's",
            |v| v.by_stranger = true,
            |_| (),
        ),
        (
            "endorsed-other-flavour",
            "I11",
            "receipt 1:",
            |v| {
                binaries(v).flavour = Profile::Production;
            },
            |_| (),
        ),
        (
            "endorsement-expired",
            "I9",
            "receipt 1:",
            |v| until(v, START),
            |_| (),
        ),
        (
            "endorsement-expired",
            "I9",
            "receipt 2:",
            |v| until(v, START + 50),
            |r| {
                r[1].at = Timestamp(START + 50);
                r.truncate(2);
            },
        ),
        (
            "endorsement-expired",
            "I9",
            "receipt 3:",
            |v| until(v, START + 50),
            |r| {
                r[2].at = Timestamp(START + 50);
                r.truncate(3);
            },
        ),
        (
            "endorsement-expired",
            "I9",
            "the epoch outlives",
            |v| until(v, START + 999),
            |r| {
                stated(r, Some(START + 999));
            },
        ),
        (
            "endorsement-misquoted",
            "I2",
            "receipt 1:",
            |_| (),
            |r| stated(r, None),
        ),
        (
            "endorsement-misquoted",
            "I2",
            "receipt 1:",
            |_| (),
            |r| stated(r, Some(START + 100_001)),
        ),
        (
            "endorsement-misquoted",
            "I2",
            "receipt 1:",
            |_| (),
            |r| stated(r, Some(START + 99_999)),
        ),
        (
            "endorsement-misquoted",
            "I2",
            "receipt 1:",
            |v| v.documents[0].not_after = Timestamp(START + 50_000),
            |_| (),
        ),
        (
            "payload-withheld",
            "I1",
            "source manifest",
            |v| v.manifest = None,
            |_| (),
        ),
        (
            "payload-withheld",
            "I1",
            "recipe",
            |v| v.recipe = None,
            |_| (),
        ),
        (
            "manifest-unreadable",
            "I2",
            "source manifest",
            |v| {
                build_of(&mut v.documents[0]).unwrap().source = Digest::of(b"{}");
                v.manifest = Some(b"{}".to_vec());
            },
            |_| (),
        ),
        (
            "recipe-unreadable",
            "I2",
            "recipe",
            |v| {
                build_of(&mut v.documents[0]).unwrap().recipe = Some(Digest::of(&[0xff]));
                v.recipe = Some(vec![0xff]);
            },
            |_| (),
        ),
    ];
    for (id, invariant, words, vouch, bend) in rows {
        let report = audited(*vouch, *bend).await;
        assert!(
            found(&report, id, invariant, words),
            "{id} {words}: {:#?}",
            report.findings
        );
        assert!(!report.ok, "{id}");
    }
}

/// A cluster that was shown fewer endorsements than the log has ends the policy sooner: no lie.
#[tokio::test]
async fn an_earlier_end_that_an_endorsement_bears_out_is_good() {
    let short = |v: &mut Vouch| {
        let mut first = v.documents[0].clone();
        first.not_after = Timestamp(START + 5000);
        v.documents.push(first);
    };
    let report = audited(short, |r| stated(r, Some(START + 5000))).await;
    assert_eq!(errors(&report), Vec::<&str>::new());
    let report = audited(|_| (), |r| stated(r, Some(START + 5000))).await;
    assert!(errors(&report).contains(&"endorsement-misquoted"));
}

/// I1. Catches: an endorsement that is put into the log only when somebody looks.
#[tokio::test]
async fn i1_an_endorsement_logged_after_the_registration_is_found() {
    let mut scene = Scene::new();
    scene.told.vouch = |v| v.documents.clear();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts[..1]).await;
    scene.told.vouch = |_| ();
    scene.endorse().await;
    let report = scene.audit().await;
    assert_eq!(errors(&report), ["endorsement-late"]);
    assert!(found(&report, "endorsement-late", "I1", "receipt 1:"));
}

#[tokio::test]
async fn i2_an_endorsement_that_does_not_parse_is_found() {
    let scene = Scene::new();
    scene
        .publish(&scene.endorser, predicate::ENDORSEMENT, b"{}")
        .await;
    let report = scene.audit().await;
    assert_eq!(errors(&report), ["endorsement-unreadable"]);
    assert_eq!(report.entries.endorsements, 1);
}

/// I3. A policy adds a demand, it chooses no anchors.
#[tokio::test]
async fn i3_the_auditors_endorsers_count() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let log = LogReader::Open(scene.log.clone());
    let pinned = async |endorsers: Vec<KeyDigest>| {
        let anchors = AuditAnchors {
            endorsers,
            ..scene.anchors()
        };
        audit(&log, &anchors, NOW).await.unwrap()
    };
    let ours = scene.endorser.key().digest();
    assert!(pinned(vec![ours, scene.author.key().digest()]).await.ok);
    let report = pinned(vec![scene.author.key().digest()]).await;
    assert_eq!(errors(&report), ["policy-other-endorser"; 2]);

    let mut policy = scene.policy();
    policy.endorsers.clear();
    let bytes = policy.to_bytes().unwrap();
    scene
        .publish(&scene.author, predicate::POLICY, &bytes)
        .await;
    let report = pinned(vec![ours]).await;
    assert_eq!(errors(&report), ["policy-no-endorser"]);
    assert!(found(
        &report,
        "policy-no-endorser",
        "I3",
        "demands no endorsement"
    ));
}

/// What nobody can be expected to rebuild is said of the endorsements that count, and of no other.
#[tokio::test]
async fn builds_that_nobody_can_repeat_are_said() {
    type Row = (&'static str, fn(&mut Vouch));
    let rows: &[Row] = &[
        ("build-unknown", |v| binaries(v).build = None),
        ("plain-cargo-build", |v| {
            build_of(&mut v.documents[0]).unwrap().recipe = None
        }),
        ("dirty-tree", |v| {
            build_of(&mut v.documents[0]).unwrap().commit = None
        }),
        ("dirty-tree", |v| {
            build_of(&mut v.documents[0]).unwrap().dirty = true
        }),
    ];
    let all = ["build-unknown", "plain-cargo-build", "dirty-tree"];
    let said = |report: &AuditReport| -> Vec<String> {
        let ids = ids(report).into_iter().filter(|id| all.contains(id));
        ids.map(str::to_owned).collect()
    };
    assert!(said(&audited(|_| (), |_| ()).await).is_empty());
    for (id, vouch) in rows {
        let report = audited(*vouch, |_| ()).await;
        assert!(report.ok, "{:#?}", report.findings);
        assert_eq!(said(&report), [*id]);
    }
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let mut strangers = scene.vouched();
    binaries(&mut strangers).build = None;
    let bytes = strangers.documents[0].to_bytes().unwrap();
    scene
        .publish(&scene.author, predicate::ENDORSEMENT, &bytes)
        .await;
    assert!(said(&scene.audit().await).is_empty());
}

#[tokio::test]
async fn the_report_says_who_vouches_for_what() {
    let scene = Scene::new();
    lived(&scene).await;
    // A longer one wins, but not if a stranger signs it.
    for (signer, end) in [
        (&scene.endorser, START + 200_000),
        (&scene.author, START + 300_000),
        (&scene.endorser, START + 50_000),
    ] {
        let mut document: Endorsement = scene.vouched().documents.remove(1);
        document.not_after = Timestamp(end);
        let bytes = document.to_bytes().unwrap();
        scene.publish(signer, predicate::ENDORSEMENT, &bytes).await;
    }
    let report = scene.audit().await;
    let endorsed = &report.policies[0].endorsed;
    let roles: Vec<&str> = endorsed.iter().map(|thing| thing.role.as_str()).collect();
    assert_eq!(roles, ["kms", "root", "worker", "program"]);
    let ends: Vec<u64> = endorsed.iter().map(|thing| thing.until.0 - START).collect();
    assert_eq!(ends, [100_000, 100_000, 100_000, 200_000]);
    assert!(
        endorsed
            .iter()
            .all(|thing| thing.endorser == scene.endorser.key().digest())
    );
    let built: Vec<bool> = endorsed
        .iter()
        .map(|thing| thing.commit.is_some() && thing.recipe.is_some())
        .collect();
    assert_eq!(built, [true, true, true, false]);
}
