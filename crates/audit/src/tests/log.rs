//! The log itself: empty, withheld, rewritten, another's.

use crate::testing::NOW;
use siegel_ident::Digest;
use siegel_rekor::{FolderLog, Log, LogKey, LogReader, Storage};
use siegel_translog::{HashedRekord, Statement, Verifier, predicate};

use super::{errors, ids};
use crate::testing::{Scene, Signer, last_bundle, lived, log_key};
use crate::{AuditAnchors, AuditError, ExpectedCluster, KnownCheckpoint, Verdict, audit};

#[tokio::test]
async fn an_empty_log_is_good_and_says_so() {
    let report = Scene::new().audit().await;
    assert_eq!(
        (report.verdict, ids(&report)),
        (Verdict::Good, vec!["nothing-to-audit"])
    );
    assert_eq!(report.log.size, Some(0));
}

/// Catches: a good verdict that hides which checks its anchors did not ask for.
#[tokio::test]
async fn what_the_anchors_leave_open_is_said() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let reader = LogReader::Open(scene.log.clone());
    let open = async |anchors: AuditAnchors| -> Vec<String> {
        let report = audit(&reader, &anchors, NOW).await.unwrap();
        assert_eq!(report.verdict, Verdict::Good);
        let said = report.findings.into_iter().map(|finding| finding.id);
        said.filter(|id| id.starts_with("anchors-")).collect()
    };
    let nothing = AuditAnchors::of(log_key().anchors());
    assert_eq!(
        open(nothing).await,
        [
            "anchors-no-cluster",
            "anchors-no-simulation-root",
            "anchors-no-endorser",
            "anchors-no-checkpoint"
        ]
    );
    let mut full = scene.anchors();
    full.clusters = vec![ExpectedCluster {
        id: scene.id(),
        receipts: None,
    }];
    full.simulation_root = scene.genesis.config.simulation_root.map(Digest::from_bytes);
    full.endorsers = vec![scene.endorser.key().digest()];
    let without_count = open(full.clone()).await;
    assert_eq!(without_count[0], "anchors-no-receipt-count");
    full.clusters[0].receipts = Some(receipts.len() as u64);
    assert_eq!(open(full).await, ["anchors-no-checkpoint"]);
}

/// Catches: "good" over a log in which nothing was ever run, without a word.
#[tokio::test]
async fn a_log_without_a_run_is_good_and_says_so() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts[..2]).await;
    let report = scene.audit().await;
    assert!(report.ok && ids(&report).contains(&"no-run"));
    scene.log_receipts(&receipts[..3]).await;
    assert!(!ids(&scene.audit().await).contains(&"no-run"));
}

/// I1, I17. Catches: an auditor that skips what it cannot read.
#[tokio::test]
async fn i17_a_withheld_payload_is_an_error() {
    for (kind, with_statement) in [
        (predicate::RECEIPT, true),
        (predicate::POLICY, true),
        (predicate::POLICY, false),
    ] {
        let scene = Scene::new();
        scene.birth().await;
        scene
            .publish_bare(&scene.author, kind, b"kept secret", with_statement)
            .await;
        let report = scene.audit().await;
        assert_eq!(errors(&report), ["payload-withheld"]);
        assert_eq!(report.entries.unreadable, 1);
        let invariant = if kind == predicate::RECEIPT {
            "I17"
        } else {
            "I1"
        };
        assert_eq!(report.findings[0].invariant.as_deref(), Some(invariant));
    }
}

/// I1. Catches: an entry under a key that has not signed it, and one that nobody can read, passed over.
#[tokio::test]
async fn i1_an_entry_that_is_not_signed_or_not_read_is_an_error() {
    let scene = Scene::new();
    scene.birth().await;
    let other = Signer::generate();
    let statement = Statement::about("test", b"x", predicate::PROGRAM);
    let envelope = scene.author.sign(&statement);
    scene.archive(b"x").await;
    scene.archive(&envelope.pae()).await;
    let foreign = HashedRekord::of(&envelope, &other.key());
    let mut endless = HashedRekord::of(&envelope, &scene.author.key());
    endless.signature = vec![0x30; 1000];
    for (record, id) in [(foreign, "entry-not-signed"), (endless, "entry-unreadable")] {
        let before = scene.audit().await;
        let index = scene.log.submit(&record).await.unwrap().log_index;
        let report = scene.audit().await;
        assert_eq!(report.entries.unreadable, before.entries.unreadable + 1);
        assert_eq!(report.entries.programs, before.entries.programs);
        let named = format!("log entry {index}: ");
        assert!(
            super::found(&report, id, "I1", &named),
            "{id}: {:?}",
            errors(&report)
        );
    }
}

/// I1. Catches: a certificate that lends a voice; an entry that breaks the audit, or is passed over.
#[tokio::test]
async fn i1_an_entry_with_a_certificate_is_named_and_has_no_voice() {
    let scene = Scene::new();
    scene.birth().await;
    let statement = Statement::about("policy/other", b"{}", predicate::POLICY);
    let envelope = scene.author.sign(&statement);
    let verifier = Verifier::Certificate(b"not even DER".to_vec());
    let record = HashedRekord::of_verifier(&envelope, verifier);
    let entry = scene.log.submit(&record).await.unwrap();
    let report = scene.audit().await;
    assert!(report.ok);
    let told = |id: &str| report.findings.iter().find(|found| found.id == id);
    let finding = told("entry-with-certificate").unwrap();
    assert_eq!(finding.severity, siegel_policy::Severity::Warning);
    assert!(
        finding
            .message
            .contains(&format!("entry {}", entry.log_index))
    );
    assert_eq!(report.entries.unreadable, 1);
    assert_eq!(report.entries.policies, 0);
    let anchors = AuditAnchors {
        publishers: vec![scene.author.key().digest()],
        ..scene.anchors()
    };
    let log = LogReader::Open(scene.log.clone());
    let report = audit(&log, &anchors, NOW).await.unwrap();
    assert_eq!(errors(&report), ["entry-with-certificate"]);
}

/// I1. Catches: an auditor that believes the checkpoint, or the entries, without comparing them.
#[tokio::test]
async fn i1_a_rewritten_entry_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(&Storage::folder(dir.path()), log_key()).unwrap();
    let scene = Scene::over(log);
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let anchors = scene.anchors();
    let folder = LogReader::Folder(FolderLog::open(dir.path()).unwrap());
    assert!(audit(&folder, &anchors, NOW).await.unwrap().ok);

    // The operator changes the last entry in its file.
    let path = last_bundle(dir.path());
    let bytes = std::fs::read(&path).unwrap();
    let bodies = scene.log.size();
    let mut rewritten = bytes.clone();
    let at = bytes.len() - 400;
    rewritten[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
    std::fs::write(&path, &rewritten).unwrap();
    let folder = LogReader::Folder(FolderLog::open(dir.path()).unwrap());
    let report = audit(&folder, &anchors, NOW).await.unwrap();
    assert!(
        errors(&report).contains(&"log-rewritten"),
        "{:?}",
        errors(&report)
    );
    assert_eq!(report.entries.total, bodies);

    // An entry held back.
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let folder = LogReader::Folder(FolderLog::open(dir.path()).unwrap());
    let report = audit(&folder, &anchors, NOW).await.unwrap();
    assert!(
        errors(&report).contains(&"entries-withheld"),
        "{:?}",
        errors(&report)
    );
}

/// I1. Catches: a log that is rewritten as a whole and signed again by its own key. Only a
/// checkpoint that somebody kept tells.
#[tokio::test]
async fn i1_a_log_must_grow_from_every_known_checkpoint() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts[..10]).await;
    let before = scene.audit().await;
    let known = KnownCheckpoint {
        size: before.log.size.unwrap(),
        root: before.log.root.unwrap(),
    };
    scene.log_receipts(&receipts).await;
    let anchors = AuditAnchors {
        known_checkpoints: vec![known],
        ..scene.anchors()
    };
    let grown = audit(&LogReader::Open(scene.log.clone()), &anchors, NOW)
        .await
        .unwrap();
    assert!(grown.ok, "{:#?}", grown.findings);

    let rewritten = Scene {
        log: Scene::new().log,
        ..scene
    };
    rewritten.birth().await;
    for _ in 0..2 {
        let report = audit(&LogReader::Open(rewritten.log.clone()), &anchors, NOW)
            .await
            .unwrap();
        assert_eq!(errors(&report), ["log-not-consistent"]);
        // Once shorter than the known size, once longer.
        for i in 0..20u8 {
            rewritten
                .publish(&rewritten.author, predicate::PROGRAM, &[i])
                .await;
        }
    }
}

#[tokio::test]
async fn i1_another_logs_checkpoint_is_found() {
    let scene = Scene::new();
    scene.birth().await;
    let other = LogKey::generate(log_key().origin()).unwrap();
    let anchors = AuditAnchors::of(other.anchors());
    let report = audit(&LogReader::Open(scene.log.clone()), &anchors, NOW)
        .await
        .unwrap();
    assert_eq!(errors(&report), ["checkpoint-invalid"]);
    assert_eq!(report.log.size, None);
    let mut witnessed = scene.anchors();
    witnessed.log.witnesses.required = 2;
    let refused = audit(&LogReader::Open(scene.log.clone()), &witnessed, NOW).await;
    assert!(matches!(refused, Err(AuditError::Anchors(_))));
}

/// That the log cannot be reached says nothing about it: no report, an error.
#[tokio::test]
async fn an_unreachable_log_is_no_verdict() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let log = LogReader::new(&url).unwrap();
    let result = audit(&log, &AuditAnchors::of(log_key().anchors()), NOW).await;
    assert!(matches!(result, Err(AuditError::Source(_))));
}

/// The same verdict over HTTP.
#[tokio::test]
async fn over_http_as_well() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(siegel_rekor::serve(
        listener,
        scene.log.clone(),
        std::future::pending(),
    ));
    let log = LogReader::new(&url).unwrap();
    assert_eq!(
        audit(&log, &scene.anchors(), NOW).await.unwrap(),
        scene.audit().await
    );
    scene
        .publish_bare(&scene.author, predicate::POLICY, b"secret", true)
        .await;
    let report = audit(&log, &scene.anchors(), NOW).await.unwrap();
    assert_eq!(errors(&report), ["payload-withheld"]);
    server.abort();
}

/// I14: a log full of rubbish gives a report that can be read.
#[tokio::test]
async fn i14_findings_are_bounded() {
    let scene = Scene::new();
    let stranger = Signer::generate();
    for i in 0..1010u32 {
        scene
            .publish_bare(&stranger, predicate::POLICY, &i.to_be_bytes(), false)
            .await;
    }
    let report = scene.audit().await;
    assert_eq!(report.entries.unreadable, 1010);
    assert!(report.findings.len() < 20 && !report.ok);
    let group = &report.grouped[0];
    assert_eq!((group.id.as_str(), group.count), ("payload-withheld", 1010));
    assert_eq!(group.entries, (0..20).collect::<Vec<_>>());
    assert_eq!(report.count(siegel_policy::Severity::Error), 1010);
    let more = "1000 more of this kind, in log entries 10, ";
    assert!(report.findings.iter().any(|f| f.message.starts_with(more)));
}
