//! A log that others write in, too; and entries under certificates.

use siegel_ident::{Digest, EpochId};
use siegel_ledger::{Fact, Receipt};
use siegel_policy::Severity;
use siegel_rekor::LogReader;
use siegel_translog::{HashedRekord, Statement, Verifier, predicate};

use super::{errors, ids};
use crate::testing::{NOW, Scene, Signer, certificate, chained, lived};
use crate::{Audit, AuditAnchors, AuditError, Audited, ExpectedCluster, State};

const THEIRS: &str = "https://example.test/note";

fn anchors(scene: &Scene) -> AuditAnchors {
    AuditAnchors {
        publishers: vec![scene.author.key().digest()],
        ..scene.anchors()
    }
}

async fn audited(scene: &Scene, anchors: &AuditAnchors, shared: bool) -> Audited {
    let log = LogReader::Open(scene.log.clone());
    let audit = Audit::new(anchors, NOW).shared(shared);
    audit.run(&log).await.unwrap()
}

/// A whole history.
async fn history() -> Scene {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    scene
}

async fn under_certificate(scene: &Scene, signer: &Signer, kind: &str, archived: bool) {
    let statement = Statement::about("test", b"{}", kind);
    let envelope = signer.sign(&statement);
    if archived {
        scene.archive(b"{}").await;
        scene.archive(&envelope.pae()).await;
    }
    let verifier = Verifier::Certificate(certificate(&signer.key()));
    let record = HashedRekord::of_verifier(&envelope, verifier);
    scene.log.submit(&record).await.unwrap();
}

/// I1. Catches: a stranger who spoils the audit of a shared log, and one who is not seen in a log of
/// one's own.
#[tokio::test]
async fn i1_strangers_are_an_alarm_unless_the_log_is_shared() {
    let scene = history().await;
    let stranger = Signer::generate();
    scene.publish(&stranger, THEIRS, b"hello").await;
    scene.publish_bare(&stranger, THEIRS, b"gone", true).await;
    scene
        .publish_bare(&stranger, THEIRS, b"all gone", false)
        .await;
    under_certificate(&scene, &stranger, THEIRS, false).await;
    let anchors = anchors(&scene);
    let report = audited(&scene, &anchors, false).await.report;
    let mut alarms = errors(&report);
    alarms.sort_unstable();
    alarms.dedup();
    let expected = [
        "entry-with-certificate",
        "payload-withheld",
        "unknown-signer",
        "unknown-statement",
    ];
    assert_eq!(alarms, expected);
    assert!(!ids(&report).contains(&"shared-log") && !report.log.shared);

    let report = audited(&scene, &anchors, true).await.report;
    assert!(report.ok && report.log.shared, "{:#?}", report.findings);
    assert_eq!(report.entries.strangers, 4);
    assert_eq!((report.entries.unreadable, report.entries.other), (0, 0));
    let note = report
        .findings
        .iter()
        .find(|f| f.id == "shared-log")
        .unwrap();
    assert_eq!(note.severity, Severity::Info);
    let first = report.entries.total - 4;
    assert!(note.message.contains("4 entries") && note.message.contains(&first.to_string()));
}

fn stranger(_: &Scene) -> &Signer {
    static STRANGER: std::sync::LazyLock<Signer> = std::sync::LazyLock::new(Signer::generate);
    &STRANGER
}

fn first_receipt(scene: &Scene) -> Vec<u8> {
    let receipt = Receipt {
        schema: "siegel/receipt/v1".to_owned(),
        cluster: scene.id(),
        seq: 1,
        previous: Digest::of(b""),
        at: NOW,
        fact: Fact::EpochExpired {
            epoch: EpochId(1),
            runs: Vec::new(),
        },
    };
    chained(scene.id(), &[receipt]).remove(0)
}

fn another_policy(scene: &Scene) -> Vec<u8> {
    let mut policy = scene.policy();
    policy.name = "another".to_owned();
    policy.to_bytes().unwrap()
}

/// I1, I17. Catches: a flag that hides what is about us, or what our own keys have signed.
#[tokio::test]
async fn i1_what_concerns_us_alarms_in_a_shared_log_as_well() {
    type Who = fn(&Scene) -> &Signer;
    type What = fn(&Scene) -> Vec<u8>;
    /// What is in the archive.
    enum There {
        All,
        Statement,
        Nothing,
    }
    use There::{All, Nothing, Statement};
    let (author, cluster, endorser): (Who, Who, Who) =
        (|s| &s.author, |s| &s.cluster, |s| &s.endorser);
    let x: What = |_| b"x".to_vec();
    let entries: [(&str, Who, &str, What, There, &str); 9] = [
        (
            "ours",
            stranger,
            predicate::POLICY,
            another_policy,
            All,
            "unknown-signer",
        ),
        (
            "ours, gone",
            stranger,
            predicate::POLICY,
            x,
            Statement,
            "payload-withheld",
        ),
        (
            "our name",
            stranger,
            "https://siegel.dev/x/v9",
            x,
            All,
            "unknown-statement",
        ),
        (
            "our policy",
            stranger,
            THEIRS,
            another_policy,
            All,
            "unknown-statement",
        ),
        (
            "our receipt",
            stranger,
            THEIRS,
            first_receipt,
            All,
            "unknown-statement",
        ),
        (
            "a document of ours",
            stranger,
            THEIRS,
            |s| s.genesis.to_bytes().unwrap(),
            All,
            "unknown-statement",
        ),
        (
            "the publisher",
            author,
            THEIRS,
            x,
            Nothing,
            "payload-withheld",
        ),
        (
            "the cluster",
            cluster,
            THEIRS,
            x,
            Nothing,
            "payload-withheld",
        ),
        ("an endorser", endorser, THEIRS, x, All, "unknown-statement"),
    ];
    for (what, who, kind, artifact, there, id) in entries {
        let scene = history().await;
        let (signer, artifact) = (who(&scene), artifact(&scene));
        match there {
            All => drop(scene.publish(signer, kind, &artifact).await),
            Statement => drop(scene.publish_bare(signer, kind, &artifact, true).await),
            Nothing => drop(scene.publish_bare(signer, kind, &artifact, false).await),
        }
        let report = audited(&scene, &anchors(&scene), true).await.report;
        assert!(
            errors(&report).contains(&id),
            "{what}: {:?}",
            errors(&report)
        );
        if what != "the cluster" && what != "an endorser" {
            assert_eq!(report.entries.strangers, 0, "{what}");
        }
        let note = report
            .findings
            .iter()
            .find(|f| f.id == "shared-log")
            .unwrap();
        assert!(
            note.message.contains("0 entries"),
            "{what}: {}",
            note.message
        );
    }
}

/// A document about somebody else's cluster is no alarm, once the anchors say which clusters are ours.
#[tokio::test]
async fn other_clusters_are_others() {
    let scene = history().await;
    let theirs = Scene::new();
    let genesis = theirs.genesis.to_bytes().unwrap();
    scene.publish(stranger(&scene), THEIRS, &genesis).await;
    let mut anchors = anchors(&scene);
    let report = audited(&scene, &anchors, true).await.report;
    assert_eq!(errors(&report), ["unknown-statement", "unknown-signer"]);
    anchors.clusters.push(ExpectedCluster {
        id: scene.id(),
        receipts: None,
    });
    let report = audited(&scene, &anchors, true).await.report;
    assert!(
        report.ok && report.entries.strangers == 1,
        "{:#?}",
        report.findings
    );
}

/// I1. Without publishers everybody would be a stranger.
#[tokio::test]
async fn i1_a_shared_log_needs_publishers() {
    let scene = history().await;
    let log = LogReader::Open(scene.log.clone());
    let unpinned = scene.anchors();
    let refused = Audit::new(&unpinned, NOW).shared(true).run(&log).await;
    assert!(matches!(refused, Err(AuditError::SharedByNobody)));
}

/// Catches: a choice that a later audit does not show.
#[tokio::test]
async fn the_choice_is_remembered() {
    let scene = history().await;
    let anchors = anchors(&scene);
    let log = LogReader::Open(scene.log.clone());
    let mut state = State::new(&scene.log.anchors());
    let choices = [
        (true, None),
        (true, None),
        (false, Some(Severity::Info)),
        (true, Some(Severity::Warning)),
    ];
    for (shared, said) in choices {
        let audit = Audit::new(&anchors, NOW).since(&state).shared(shared);
        let audited = audit.run(&log).await.unwrap();
        let changed = audited.report.findings.iter();
        let mut changed = changed.filter(|f| f.id == "shared-changed");
        assert_eq!(changed.next().map(|f| f.severity), said);
        state.take(&audited, NOW);
        assert_eq!(state.is_shared(), shared);
    }
}

/// I1. Catches: an alarm about a publisher's own entry; one about nobody's; a certificate that lends a
/// voice; and bytes that nobody looked for.
#[tokio::test]
async fn i1_a_publishers_certificate_is_the_publishers() {
    let scene = history().await;
    let anchors = anchors(&scene);
    let before = audited(&scene, &anchors, false).await.report;
    let policy = another_policy(&scene);
    let envelope = scene
        .author
        .sign(&Statement::about("test", &policy, predicate::POLICY));
    scene.archive(&policy).await;
    scene.archive(&envelope.pae()).await;
    let verifier = Verifier::Certificate(certificate(&scene.author.key()));
    let record = HashedRekord::of_verifier(&envelope, verifier);
    scene.log.submit(&record).await.unwrap();
    let report = audited(&scene, &anchors, false).await.report;
    assert!(report.ok, "{:#?}", report.findings);
    assert_eq!(
        (report.entries.certified, report.entries.unreadable),
        (1, 0)
    );
    assert_eq!(report.policies, before.policies);
    let note = report
        .findings
        .iter()
        .find(|f| f.id == "entry-with-certificate");
    assert_eq!(note.unwrap().severity, Severity::Info);

    // A publisher's key is no cluster's, under a certificate neither.
    let (publishers, own) = (&scene.author, Scene::new());
    under_certificate(&own, publishers, predicate::RECEIPT, true).await;
    let alarms = audited(&own, &anchors, false).await.report;
    assert_eq!(errors(&alarms), ["receipt-unreadable", "unknown-signer"]);

    // What it says must be there and make sense; its signature must be good.
    under_certificate(&scene, &scene.author, predicate::POLICY, true).await;
    assert_eq!(
        errors(&audited(&scene, &anchors, false).await.report),
        ["policy-unreadable"]
    );
    under_certificate(&scene, &scene.author, THEIRS, false).await;
    let report = audited(&scene, &anchors, false).await.report;
    assert_eq!(errors(&report), ["policy-unreadable", "payload-withheld"]);
    under_certificate(&scene, stranger(&scene), predicate::PROGRAM, true).await;
    let report = audited(&scene, &anchors, false).await.report;
    assert_eq!(
        errors(&report),
        [
            "policy-unreadable",
            "payload-withheld",
            "entry-with-certificate"
        ]
    );
}
