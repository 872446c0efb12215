//! The commands on real files: build, check, show, publish to a log, and each refusal.

use std::path::PathBuf;

use siegel_attest::{ClusterConfig, Genesis, Profile, ReferenceValue, simulated};
use siegel_ident::{Digest, Timestamp};
use siegel_policy::{AccessPolicy, Severity};
use siegel_rekor::{Log, LogKey, Services, Storage};
use siegel_translog::{LogAnchors, predicate, verify_logged};
use tempfile::TempDir;

mod endorsements;
mod files;
mod production;
mod witnessed;

use super::build::{BuildArgs, build};
use super::check::{CheckArgs, check};
use super::publish::{PublishArgs, publish};
use super::show::{ShowArgs, show};
use super::{Outcome as _, exit_of};
use crate::failure::{Exit, Failure};

const NOW: Timestamp = Timestamp(1_800_000_000);
const TOML: &str = include_str!("../../../../policies/word-histogram.toml");

struct Folder(TempDir);

impl Folder {
    /// Binaries, genesis of a cluster of that KMS binary, driver and policy file.
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for name in ["siegel-root", "siegel-worker", "siegel-kms"] {
            folder.put(name, name.as_bytes());
        }
        let kms = ReferenceValue::simulated(simulated::measurement(
            Digest::of(b"siegel-kms"),
            &["siegel-kms"],
            &[],
        ));
        let mut cluster_key = [7; 65];
        cluster_key[0] = 4;
        let config = ClusterConfig {
            schema: ClusterConfig::SCHEMA.into(),
            profile: Profile::Simulation,
            simulation_root: Some([1; 32]),
            peers: vec![kms],
            min_voters: 2,
            log_origin: "log.example.test".into(),
            log_key: [2; 32],
            witnesses: siegel_ident::WitnessQuorum::none(),
            seed: None,
        };
        let genesis = Genesis {
            schema: Genesis::SCHEMA.into(),
            random: [3; 32],
            cluster_key,
            config,
        };
        folder.put("genesis.json", &genesis.to_bytes().unwrap());
        folder.put("word-histogram.star", b"# a driver");
        folder.put("word-histogram.toml", TOML.as_bytes());
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    fn build_args(&self) -> BuildArgs {
        BuildArgs {
            file: self.path("word-histogram.toml"),
            cluster: self.path("genesis.json"),
            binaries: Some(self.0.path().to_owned()),
            references: Vec::new(),
            programs: vec![self.path("word-histogram.star")],
            assets: Vec::new(),
            endorsers: vec!["09".repeat(32)],
            out: Some(self.path("policy.json")),
            force: false,
        }
    }

    fn show_args(&self) -> ShowArgs {
        ShowArgs {
            file: self.path("policy.json"),
            log: None,
            anchors: None,
        }
    }

    fn built(self) -> Self {
        build(&self.build_args(), NOW).unwrap();
        self
    }

    fn check(&self, now: Timestamp) -> super::check::Checked {
        check(
            &CheckArgs {
                file: self.path("policy.json"),
            },
            now,
        )
        .unwrap()
    }
}

fn refusal<T>(result: Result<T, Failure>, exit: Exit, code: &str) -> String {
    let failure = result.err().unwrap();
    assert_eq!(
        (failure.exit, &*failure.code),
        (exit as u8, code),
        "{}",
        failure.message
    );
    failure.message.into()
}

/// I2. What is written is what the digest names, and parses.
#[test]
fn i2_build_writes_a_policy_of_this_cluster_and_these_binaries() {
    let folder = Folder::new();
    let built = build(&folder.build_args(), NOW).unwrap();
    let bytes = std::fs::read(&built.file).unwrap();
    let policy = AccessPolicy::parse(&bytes).unwrap();
    assert_eq!(policy.digest(), built.sha256);
    assert_eq!(policy.not_before, NOW);
    let worker = simulated::measurement(Digest::of(b"siegel-worker"), &["siegel-worker"], &[]);
    assert_eq!(
        policy.roles.worker.reference_values[0].measurement(),
        Some(worker)
    );
    assert_eq!(exit_of(built.findings()), Exit::Ok);
    assert!(
        built
            .findings()
            .iter()
            .any(|f| f.message.contains("INSECURE SIMULATION"))
    );
    // A second time: only if asked to.
    refusal(
        build(&folder.build_args(), NOW),
        Exit::Usage,
        "cannot-write",
    );
    let again = build(
        &BuildArgs {
            force: true,
            ..folder.build_args()
        },
        NOW,
    )
    .unwrap();
    assert_eq!(again.sha256, built.sha256);
}

/// I3. Another worker binary is another policy; another KMS binary is not this cluster's.
#[test]
fn i3_build_measures_the_binaries() {
    let folder = Folder::new();
    let before = build(&folder.build_args(), NOW).unwrap().sha256;
    folder.put("siegel-worker", b"siegel-worker, changed");
    let args = BuildArgs {
        force: true,
        ..folder.build_args()
    };
    assert_ne!(build(&args, NOW).unwrap().sha256, before);
    folder.put("siegel-kms", b"another");
    refusal(build(&args, NOW), Exit::Usage, "policy-peers");
}

#[test]
fn i14_build_says_what_is_wrong_and_where() {
    let folder = Folder::new();
    let args = folder.build_args();
    let none = BuildArgs {
        programs: Vec::new(),
        ..folder.build_args()
    };
    let message = refusal(build(&none, NOW), Exit::Usage, "bad-policy");
    assert!(
        message.contains("line") && message.contains("program"),
        "{message}"
    );
    folder.put(
        "word-histogram.toml",
        TOML.replacen("min_blobs", "min_blob", 1).as_bytes(),
    );
    let message = refusal(build(&args, NOW), Exit::Usage, "bad-policy");
    assert!(message.contains("unknown field `min_blob`"), "{message}");
    folder.put(
        "word-histogram.toml",
        TOML.replacen("\"siegel-root\"", "\"../root\"", 1)
            .as_bytes(),
    );
    refusal(build(&args, NOW), Exit::Usage, "bad-binary");
    folder.put("word-histogram.toml", TOML.as_bytes());
    folder.put("genesis.json", b"{}");
    refusal(build(&args, NOW), Exit::Usage, "bad-genesis");
    let other = Folder::new();
    let elsewhere = BuildArgs {
        binaries: Some(other.path("none")),
        ..other.build_args()
    };
    refusal(build(&elsewhere, NOW), Exit::Usage, "no-binary");
    assert!(!folder.path("policy.json").exists());
}

/// Exit 3 exactly with an error finding.
#[test]
fn check_gives_findings_and_exit_3_on_an_error() {
    let folder = Folder::new().built();
    let good = folder.check(NOW);
    assert!(good.ok && exit_of(good.findings()) == Exit::Ok);
    let early = folder.check(Timestamp(NOW.0 - 1));
    assert!(early.findings().iter().any(|f| f.id == "not-in-use"));

    let policy = std::fs::read_to_string(folder.path("policy.json")).unwrap();
    let production = policy
        .replace("\"profile\":\"simulation\"", "\"profile\":\"production\"")
        .replace("\"witnesses\":0", "\"witnesses\":2");
    folder.put("policy.json", production.as_bytes());
    let bad = folder.check(NOW);
    // I11: production takes no simulated measurement, so this is no policy at all.
    assert_eq!(bad.findings()[0].id, "policy-malformed");
    assert!(bad.findings()[0].message.contains("must be a real TEE"));
    assert_eq!(
        (bad.ok, exit_of(bad.findings())),
        (false, Exit::NotTrustworthy)
    );

    folder.put(
        "policy.json",
        policy
            .replace("\"epsilon\":\"2\"", "\"epsilon\":\"1\"")
            .as_bytes(),
    );
    let understated = folder.check(NOW);
    assert_eq!(understated.findings()[0].id, "policy-malformed");
    assert_eq!(understated.findings()[0].severity, Severity::Error);
    assert_eq!(exit_of(understated.findings()), Exit::NotTrustworthy);
    let toml = check(
        &CheckArgs {
            file: folder.path("word-histogram.toml"),
        },
        NOW,
    );
    refusal(toml, Exit::Usage, "not-compiled");
    let none = check(
        &CheckArgs {
            file: folder.path("none.json"),
        },
        NOW,
    );
    refusal(none, Exit::Usage, "cannot-read");
}

#[tokio::test]
async fn show_explains_and_refuses_what_is_no_policy() {
    let folder = Folder::new().built();
    let args = folder.show_args();
    let shown = show(&args, NOW).await.unwrap();
    assert!(shown.endorsed.is_none() && shown.text().contains("were not looked up"));
    assert!(shown.text().starts_with("INSECURE SIMULATION"));
    assert!(shown.text().contains(&shown.sha256.to_string()));
    folder.put("policy.json", b"{}");
    let refused = show(&args, NOW).await;
    refusal(refused, Exit::NotTrustworthy, "policy-malformed");
}

/// I1. After publishing, the strict check holds for exactly these bytes.
#[tokio::test]
async fn i1_publish_logs_archives_and_verifies() {
    let folder = Folder::new().built();
    let (url, key) = serve_log("log.example.test").await;
    let args = PublishArgs {
        file: folder.path("policy.json"),
        log: url.clone(),
        key: folder.path("publisher.pem"),
        anchors: None,
        archive: None,
        log_key: Some(hex::encode(key)),
        tsa: None,
        certificate: None,
        out: None,
        proof: None,
        force: false,
    };
    let published = publish(&args, NOW).await.unwrap();
    assert!(published.verified);
    let bundle = std::fs::read(&published.proof).unwrap();
    assert!(!published.timestamped, "this log has no authority");
    assert_eq!(std::fs::read(&published.bundle).unwrap(), bundle);
    let bytes = std::fs::read(folder.path("policy.json")).unwrap();
    let anchors = LogAnchors::unwitnessed("log.example.test", key);
    let entry = verify_logged(&bundle, &bytes, predicate::POLICY, None, &anchors, NOW).unwrap();
    assert_eq!(entry.log_index, published.log_index);
    let log = siegel_rekor::LogClient::new(&url).unwrap();
    assert_eq!(
        log.archive_get(&published.sha256.digest()).await.unwrap(),
        bytes
    );

    let out = Some(folder.path("second.json"));
    let proof = Some(folder.path("second.proof.json"));
    let unverified = publish(
        &PublishArgs {
            log_key: None,
            out,
            proof,
            ..args
        },
        NOW,
    )
    .await
    .unwrap();
    assert!(!unverified.verified);
    assert!(
        unverified
            .findings()
            .iter()
            .any(|f| f.id == "proof-not-verified")
    );
}

/// I1. A log of another name or key proves nothing; a policy with an error is not sent at all.
#[tokio::test]
async fn i1_publish_refuses_a_bad_proof_and_a_bad_policy() {
    let folder = Folder::new().built();
    let args = |log: &str, key: Option<String>| PublishArgs {
        file: folder.path("policy.json"),
        log: log.to_owned(),
        key: folder.path("publisher.pem"),
        anchors: None,
        archive: None,
        log_key: key,
        tsa: None,
        certificate: None,
        out: None,
        proof: None,
        force: false,
    };
    let (url, key) = serve_log("other.example.test").await;
    let other = publish(&args(&url, Some(hex::encode(key))), NOW).await;
    refusal(other, Exit::NotTrustworthy, "other-log");
    let (url, _) = serve_log("log.example.test").await;
    let forged = publish(&args(&url, Some("00".repeat(32))), NOW).await;
    refusal(forged, Exit::NotTrustworthy, "bad-proof");
    refusal(
        publish(&args(&url, Some("xyz".into())), NOW).await,
        Exit::Usage,
        "bad-log-key",
    );
    refusal(
        publish(&args("ftp://x", None), NOW).await,
        Exit::Usage,
        "bad-log",
    );
    refusal(
        publish(&args("http://127.0.0.1:9", None), NOW).await,
        Exit::Failed,
        "log",
    );
    let policy = std::fs::read_to_string(folder.path("policy.json")).unwrap();
    let production = policy
        .replace("\"profile\":\"simulation\"", "\"profile\":\"production\"")
        .replace("\"witnesses\":0", "\"witnesses\":2");
    folder.put("policy.json", production.as_bytes());
    let refused = publish(&args("http://127.0.0.1:9", None), NOW).await;
    refusal(refused, Exit::NotTrustworthy, "policy-malformed");
    assert!(!folder.path("policy.sigstore.json").exists());
    assert!(!folder.path("policy.proof.json").exists());
}

/// The general bundle beside the strict proof: with a time stamp, under the key or its certificate.
#[tokio::test]
async fn publish_writes_a_general_bundle_too() {
    let folder = Folder::new().built();
    let (url, key) = serve_stamped_log("log.example.test", &folder).await;
    // A key with a certificate of its own is at hand: the authority's.
    let pem = std::fs::read_to_string(folder.path("log-key.tsa.pem")).unwrap();
    let (signing, chain) = pem.split_at(pem.find("-----BEGIN CERTIFICATE").unwrap());
    folder.put("publisher.pem", signing.as_bytes());
    folder.put("publisher.crt", chain.as_bytes());
    let args = |certificate: Option<&str>, tsa: Option<&str>| PublishArgs {
        file: folder.path("policy.json"),
        log: url.clone(),
        key: folder.path("publisher.pem"),
        anchors: None,
        archive: None,
        log_key: Some(hex::encode(key)),
        tsa: tsa.map(str::to_owned),
        certificate: certificate.map(|name| folder.path(name)),
        out: None,
        proof: None,
        force: true,
    };
    let read = |path: &std::path::Path| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    let material = "verificationMaterial";
    let published = publish(&args(None, None), NOW).await.unwrap();
    assert!(published.timestamped && published.verified);
    assert!(!published.findings().iter().any(|f| f.id == "no-timestamp"));
    let (proof, bundle) = (read(&published.proof), read(&published.bundle));
    assert!(proof[material].get("timestampVerificationData").is_none());
    let tokens = &bundle[material]["timestampVerificationData"]["rfc3161Timestamps"];
    assert!(tokens[0]["signedTimestamp"].is_string() && tokens.get(1).is_none());
    assert_eq!(bundle[material]["publicKey"], proof[material]["publicKey"]);

    let published = publish(&args(Some("publisher.crt"), Some(&url)), NOW).await;
    let published = published.unwrap();
    let (proof, bundle) = (read(&published.proof), read(&published.bundle));
    assert!(published.verified && proof[material].get("certificate").is_none());
    assert!(bundle[material]["certificate"]["rawBytes"].is_string());
    assert!(bundle[material].get("publicKey").is_none());
    let index = |bundle: &serde_json::Value| bundle[material]["tlogEntries"][0]["logIndex"].clone();
    assert_eq!((index(&proof), index(&bundle)), ("1".into(), "2".into()));

    // Before anything is sent: a certificate of another key, or none.
    folder.put("other.crt", b"hello");
    let refused = publish(&args(Some("other.crt"), None), NOW).await;
    refusal(refused, Exit::Usage, "bad-certificate");
    let root = chain.rfind("-----BEGIN CERTIFICATE").unwrap();
    folder.put("other.crt", &chain.as_bytes()[root..]);
    let refused = publish(&args(Some("other.crt"), None), NOW).await;
    refusal(refused, Exit::Usage, "bad-certificate");
    let log = siegel_rekor::LogClient::new(&url).unwrap();
    let note = log.checkpoint().await.unwrap();
    assert_eq!(note.lines().nth(1), Some("3"));

    // An authority that is named must be one.
    let (bare, _) = serve_log("log.example.test").await;
    let refused = publish(&args(None, Some(&bare)), NOW).await;
    refusal(refused, Exit::Failed, "tsa");
    let refused = publish(&args(None, Some("nowhere")), NOW).await;
    refusal(refused, Exit::Usage, "bad-tsa");
}

async fn serve_stamped_log(origin: &str, folder: &Folder) -> (String, [u8; 32]) {
    let key = LogKey::from_seed(origin, &siegel_ident::Secret::new([5; 32])).unwrap();
    let public = key.anchors().key;
    let log = Log::open(&Storage::Memory, key).unwrap();
    let services = Services::beside_key(log, &folder.path("log-key.pem")).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = siegel_rekor::serve(listener, services, std::future::pending());
    tokio::spawn(serving);
    (url, public)
}

async fn serve_log(origin: &str) -> (String, [u8; 32]) {
    serve_log_in(origin, &Storage::Memory).await
}

async fn serve_log_in(origin: &str, storage: &Storage) -> (String, [u8; 32]) {
    let key = LogKey::from_seed(origin, &siegel_ident::Secret::new([5; 32])).unwrap();
    let public = key.anchors().key;
    let log = Log::open(storage, key).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(siegel_rekor::serve(listener, log, std::future::pending()));
    (url, public)
}
