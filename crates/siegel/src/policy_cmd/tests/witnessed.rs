//! I1: `publish` under the publisher's own anchors, with witnesses; and with an archive elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use siegel_ident::{Seconds, Secret};
use siegel_rekor::{CosignRequest, Cosigner, LogClient, LogReader};
use siegel_translog::testing::TestWitness;

use super::super::publish::publish_within;
use super::*;

const ORIGIN: &str = "log.example.test";
const SOON: Duration = Duration::from_millis(300);

/// Two witnesses, of which the second may be away.
struct Two {
    second: AtomicBool,
}

impl Cosigner for Two {
    fn cosign(&self, request: CosignRequest<'_>) -> Vec<String> {
        let here = 1 + usize::from(self.second.load(Ordering::SeqCst));
        let text = request.note.split_inclusive("\n\n").next().unwrap();
        let text = text.strip_suffix('\n').unwrap();
        let lines = witnesses().into_iter().take(here);
        let lines = lines.map(|one| one.cosign(text, NOW));
        lines.map(|line| line.trim_end().to_owned()).collect()
    }
}

fn witnesses() -> [TestWitness; 2] {
    [TestWitness::new(1), TestWitness::new(2)]
}

/// A log with these witnesses, and anchors that require both, in `anchors.json`.
async fn witnessed_log(folder: &Folder) -> (String, Log, Arc<Two>) {
    let key = LogKey::from_seed(ORIGIN, &Secret::new([5; 32])).unwrap();
    let anchors = LogAnchors {
        witnesses: TestWitness::quorum(&witnesses(), 2, Seconds(3_600)),
        ..key.anchors()
    };
    put_anchors(folder, &anchors);
    let two = Arc::new(Two {
        second: AtomicBool::new(false),
    });
    let log = Log::open_with(&Storage::Memory, key, Arc::clone(&two) as _).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = siegel_rekor::serve(listener, log.clone(), std::future::pending());
    tokio::spawn(serving);
    (url, log, two)
}

fn put_anchors(folder: &Folder, anchors: &LogAnchors) {
    let text = serde_json::json!({ "log": anchors }).to_string();
    folder.put("anchors.json", text.as_bytes());
}

fn args(folder: &Folder, url: &str) -> PublishArgs {
    PublishArgs {
        file: folder.path("policy.json"),
        log: url.to_owned(),
        key: folder.path("publisher.pem"),
        anchors: Some(folder.path("anchors.json")),
        log_key: None,
        archive: None,
        tsa: None,
        certificate: None,
        out: None,
        proof: None,
        force: false,
    }
}

async fn size(url: &str) -> String {
    let note = LogClient::new(url).unwrap().checkpoint().await.unwrap();
    note.lines().nth(1).unwrap().to_owned()
}

/// Catches a proof that is written without the witnesses, one that is not asked for again, and a
/// refusal that does not say who is missing and what stands in the log.
#[tokio::test(flavor = "multi_thread")]
async fn i1_publish_waits_for_the_witnesses_of_its_anchors() {
    let folder = Folder::new().built();
    let (url, log, two) = witnessed_log(&folder).await;
    let args = args(&folder, &url);
    let refused = publish_within(&args, NOW, SOON).await.unwrap_err();
    assert_eq!((refused.exit, &*refused.code), (1, "unwitnessed"));
    let [first, second] = witnesses();
    let names = [first, second].map(|one| one.named_key().name.clone());
    assert!(refused.message.contains(&names[1]), "{}", refused.message);
    assert!(!refused.message.contains(&names[0]), "{}", refused.message);
    assert!(refused.help.contains("entry 0"), "{}", refused.help);
    assert!(!folder.path("policy.proof.json").exists());
    assert!(!folder.path("policy.sigstore.json").exists());

    let back = async {
        tokio::time::sleep(SOON).await;
        two.second.store(true, Ordering::SeqCst);
        log.refresh().await.unwrap();
    };
    let patient = publish_within(&args, NOW, Duration::from_secs(20));
    let (published, ()) = tokio::join!(patient, back);
    let published = published.unwrap();
    assert_eq!((published.verified, published.log_index), (true, 1));
    assert_eq!(published.witnessed_at, Some(NOW));
    assert!(!ids(&published).contains(&"witnesses-not-checked"));
    assert_eq!(size(&url).await, "2", "the same entry was sent again");
}

fn ids(published: &super::super::publish::Published) -> Vec<&str> {
    published.findings().iter().map(|f| f.id.as_str()).collect()
}

/// Catches anchors that are given and not held to: of another log, that nobody could enforce, or that
/// contradict `--log-key`. Nothing is sent.
#[tokio::test]
async fn i1_publish_takes_only_anchors_that_it_can_hold_to() {
    let folder = Folder::new().built();
    let (url, _, _) = witnessed_log(&folder).await;
    let good = LogKey::from_seed(ORIGIN, &Secret::new([5; 32]))
        .unwrap()
        .anchors();
    let other_key = PublishArgs {
        log_key: Some("01".repeat(32)),
        ..args(&folder, &url)
    };
    refusal(publish(&other_key, NOW).await, Exit::Usage, "two-log-keys");
    let mut alone = good.clone();
    alone.witnesses = TestWitness::quorum(&witnesses(), 3, Seconds(3_600));
    put_anchors(&folder, &alone);
    refusal(
        publish(&args(&folder, &url), NOW).await,
        Exit::Usage,
        "bad-anchors",
    );
    put_anchors(
        &folder,
        &LogAnchors::unwitnessed("other.example.test", good.key),
    );
    refusal(
        publish(&args(&folder, &url), NOW).await,
        Exit::Usage,
        "other-log",
    );
    assert_eq!(size(&url).await, "0");
    assert!(!folder.path("publisher.pem").exists());

    put_anchors(&folder, &good);
    let both = PublishArgs {
        log_key: Some(hex::encode(good.key)),
        ..args(&folder, &url)
    };
    let published = publish(&both, NOW).await.unwrap();
    assert_eq!((published.verified, published.witnessed_at), (true, None));
}

/// I17. Catches payloads that go to the log all the same, and an entry without its bytes.
#[tokio::test]
async fn i17_publish_archives_elsewhere_and_before_it_logs() {
    let folder = Folder::new().built();
    let (url, key) = serve_log(ORIGIN).await;
    let (elsewhere, _) = serve_log("archive.example.test").await;
    put_anchors(&folder, &LogAnchors::unwitnessed(ORIGIN, key));
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let with = |archive: &str| PublishArgs {
        archive: Some(archive.to_owned()),
        ..args(&folder, &url)
    };
    let refused = publish(&with(&dead), NOW).await.unwrap_err();
    assert_eq!((refused.exit, &*refused.code), (1, "archive"));
    assert_eq!(*refused.at, *format!("{dead}/"));
    assert!(
        refused.help.contains("nothing was logged"),
        "{}",
        refused.help
    );
    assert_eq!(size(&url).await, "0");
    refusal(
        publish(&with("nowhere"), NOW).await,
        Exit::Usage,
        "bad-archive",
    );

    let published = publish(&with(&elsewhere), NOW).await.unwrap();
    let digest = published.sha256.digest();
    let there = LogClient::new(&elsewhere).unwrap();
    assert!(there.archive_get(&digest).await.is_ok());
    assert!(
        LogClient::new(&url)
            .unwrap()
            .archive_get(&digest)
            .await
            .is_err()
    );
    let both = LogClient::new(&url)
        .unwrap()
        .with_archive(&elsewhere)
        .unwrap();
    assert!(both.archive_get(&digest).await.is_ok());
    // An auditor finds them there, too.
    let reader = LogReader::new(&url).unwrap();
    assert!(reader.archive_get(&digest).await.is_err());
    let reader = reader.with_archive(&elsewhere).unwrap();
    assert!(reader.archive_get(&digest).await.is_ok());
    assert_eq!(
        (size(&url).await, size(&elsewhere).await),
        ("1".into(), "0".into())
    );
}
