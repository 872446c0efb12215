//! I1: a pipeline over a log that somebody else runs.

use siegel_audit::{AuditAnchors, audit};
use siegel_fleet::cluster::{Mode, Options, RemoteLog};
use siegel_fleet::deployment::Deployment;
use siegel_ident::{ProgramDigest, Secret};
use siegel_rekor::{Log, LogKey, LogReader, Storage, serve};
use siegel_translog::LogAnchors;
use tokio::net::TcpListener;

async fn deployment(url: &str, anchors: &LogAnchors) -> (tempfile::TempDir, Deployment) {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::new(dir.path().into(), "run", ProgramDigest::of(b"program"));
    options.log = Some(RemoteLog {
        url: url.to_owned(),
        anchors: anchors.clone(),
        archive: None,
    });
    let deployment = Deployment::start(Mode::InProcess, options).await.unwrap();
    (dir, deployment)
}

// Catches a pipeline that starts a log of its own all the same, one that pins another key than it
// was told, and two pipelines that disturb each other in one log.
#[tokio::test]
async fn two_pipelines_share_a_log_that_neither_runs() {
    let key = LogKey::from_seed("log.example.test", &Secret::new([9; 32])).unwrap();
    let anchors = key.anchors();
    let log = Log::open(&Storage::Memory, key).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(serve(listener, log.clone(), std::future::pending()));

    let (dir, first) = deployment(&url, &anchors).await;
    assert!(!dir.path().join("log").exists());
    assert!(first.cluster.witnesses().is_empty());
    assert_eq!(first.log_anchors(), anchors);
    assert_eq!(first.cluster.config().log_key, anchors.key);
    let entries = log.size();
    assert!(entries >= 3, "genesis and two endorsements");
    let (_dir, second) = deployment(&url, &anchors).await;
    assert!(log.size() >= entries + 3);

    let reader = LogReader::new(&url).unwrap();
    let now = second.cluster.clock().now();
    let report = audit(&reader, &AuditAnchors::of(anchors.clone()), now)
        .await
        .unwrap();
    assert!(report.ok, "{:?}", report.findings);
    assert_eq!(report.entries.genesis, 2);
    let other = LogAnchors {
        key: [1; 32],
        ..anchors
    };
    let report = audit(&reader, &AuditAnchors::of(other), now).await.unwrap();
    assert!(!report.ok);
    serving.abort();
}
