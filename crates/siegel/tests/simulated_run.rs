//! A run as `siegel simulate` leaves it, before all who read it: `audit` and every `verify`.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use common::{pem, siegel, verdict};
use serde_json::json;
use siegel_ident::{Seconds, Secret, Timestamp};
use siegel_rekor::{CosignRequest, Cosigner, Log, LogKey, Storage};
use siegel_translog::LogAnchors;
use siegel_translog::testing::TestWitness;

/// All parts in this process; nothing is downloaded, nothing listens beyond loopback.
fn simulate(out: &Path, more: &[&str]) -> (i32, serde_json::Value) {
    let out = out.display().to_string();
    let args = ["simulate", "--in-process", "--clients", "12", "--seed", "7"];
    verdict(&[&args[..], &["--out", &out], more].concat())
}

/// I1, I2. Catches a run whose own anchors refuse its log or its proofs, files of one run that do not fit together, and a proof that only its
/// maker can verify.
#[test]
fn i1_a_simulated_run_passes_its_audit_and_every_check() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let (exit, said) = simulate(&run, &[]);
    assert_eq!((exit, &said["verdict"]), (0, &json!("good")), "{said}");

    let at = |name: &str| run.join(name).display().to_string();
    let folder = run.display().to_string();
    let good = |args: &[&str]| {
        let (exit, said) = verdict(args);
        assert_eq!(exit, 0, "{args:?}: {said}");
        said
    };
    let audit = good(&["audit", &folder]);
    assert_eq!(audit["verdict"], "good");
    let spent = &audit["budgets"][0]["spent"];
    assert_ne!(spent["rho_nano"], json!(0), "{audit}");

    let (anchors, policy) = (at("anchors.json"), at("policy.json"));
    let bytes = std::fs::read(&policy).unwrap();
    let sha256 = siegel_ident::Digest::of(&bytes).to_string();
    let key = siegel_rekor::public_key_of(&run.join("operator-key.pem")).unwrap();
    let public = dir.path().join("operator.pub").display().to_string();
    std::fs::write(&public, pem(&key.spki_der())).unwrap();
    let strict = good(&[
        "verify",
        "bundle",
        "--bundle",
        &at("policy.proof.json"),
        "--anchors",
        &anchors,
        "--key",
        &public,
        &policy,
    ]);
    assert_eq!(strict["sha256"], sha256);
    assert_eq!(strict["times"].as_array().unwrap().len(), 1, "witnessed");
    let general = good(&[
        "verify-bundle",
        "--bundle",
        &at("policy.sigstore.json"),
        "--key",
        &public,
        "--trusted-root",
        &at("trusted_root.json"),
        &policy,
    ]);
    assert_eq!(
        (&general["sha256"], &general["log_index"]),
        (&json!(sha256), &strict["log_index"])
    );

    let receipt = good(&["verify", "receipt", &folder]);
    assert!(receipt["witnessed_at"].is_u64(), "{receipt}");
    let uploads = std::fs::read_to_string(run.join("registration/uploads.txt")).unwrap();
    let blob = uploads.lines().next().unwrap();
    let asked = ["verify", "participation", "--run", &folder, "--blob"];
    assert_eq!(good(&[&asked[..], &[blob]].concat())["participated"], true);
    let none = "00".repeat(32);
    assert_eq!(
        good(&[&asked[..], &[&none]].concat())["participated"],
        false
    );
    options_and_files(&run, blob);
}

/// An option without effect would look like a check that was made; a file that is not there is named.
fn options_and_files(run: &Path, blob: &str) {
    let folder = run.display().to_string();
    let asked = ["verify", "participation", "--blob", blob];
    for option in ["--inputs", "--genesis", "--receipt-proof"] {
        let out = siegel(&[&asked[..], &["--run", &folder, option, "absent"]].concat());
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains("cannot be used with"), "{said}");
    }
    let refused = |args: &[&str], code: &str, at: &str| {
        let (exit, said) = verdict(args);
        let error = &said["error"];
        assert_eq!((exit, &error["code"]), (2, &json!(code)), "{said}");
        assert_eq!(error["where"], at, "{said}");
    };
    let absent = run.join("absent").display().to_string();
    let policy = run.join("policy.json").display().to_string();
    refused(&["verify", "receipt", &absent], "cannot-read", &absent);
    let depot = run.join("depot").display().to_string();
    refused(&["verify", "receipt", &depot], "no-run", &depot);
    for other in [&absent, &policy, &depot] {
        refused(&[&asked[..], &["--run", other]].concat(), "no-run", other);
    }
    for (other, says) in [(&policy, "exists"), (&depot, "folder")] {
        let args = [&asked[..], &["--run", &folder, "--write", other]].concat();
        refused(&args, "cannot-write", other);
        let (_, said) = verdict(&args);
        assert!(
            said["error"]["message"].as_str().unwrap().contains(says),
            "{said}"
        );
    }
    let nowhere = run.join("absent/mine.json").display().to_string();
    let args = [&asked[..], &["--run", &folder, "--write", &nowhere]].concat();
    refused(&args, "cannot-write", &nowhere);
}

/// Two witnesses that cosign whatever they see.
struct Both;

impl Cosigner for Both {
    fn cosign(&self, request: CosignRequest<'_>) -> Vec<String> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = Timestamp(now.unwrap().as_secs());
        let text = request.note.split_inclusive("\n\n").next().unwrap();
        let text = text.strip_suffix('\n').unwrap();
        let lines = [1, 2].map(|n| TestWitness::new(n).cosign(text, now));
        lines.map(|line| line.trim_end().to_owned()).to_vec()
    }
}

/// I1. The same over a log that somebody else runs, with verifiers who have much patience already. Catches
/// anchors for later that are aged beyond what a quorum may have: they refuse themselves.
#[tokio::test(flavor = "multi_thread")]
async fn i1_a_run_over_a_patient_log_passes_its_audit_too() {
    let key = LogKey::from_seed("log.example.test", &Secret::new([9; 32])).unwrap();
    let witnesses = [1, 2].map(TestWitness::new);
    let anchors = LogAnchors {
        witnesses: TestWitness::quorum(&witnesses, 2, Seconds(30 * 86_400)),
        ..key.anchors()
    };
    let log = Log::open_with(&Storage::Memory, key, Arc::new(Both)).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(siegel_rekor::serve(listener, log, std::future::pending()));

    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let mine = at("mine.json");
    std::fs::write(&mine, json!({ "log": anchors }).to_string()).unwrap();
    let run = dir.path().join("run");
    let log = ["--log", &url, "--anchors", &mine];
    let (exit, said) = tokio::task::block_in_place(|| simulate(&run, &log));
    assert_eq!((exit, &said["verdict"]), (0, &json!("good")), "{said}");
    let (theirs, state) = (at("run/anchors.json"), at("state"));
    let args = ["audit", &url, "--anchors", &theirs, "--state", &state];
    let args = [&args[..], &["--rebaseline"]].concat();
    let (exit, said) = tokio::task::block_in_place(|| verdict(&args));
    assert_eq!((exit, &said["verdict"]), (0, &json!("good")), "{said}");
    let (proof, policy) = (at("run/policy.proof.json"), at("run/policy.json"));
    let args = ["verify", "bundle", "--bundle", &proof, "--anchors", &theirs];
    let (exit, said) = verdict(&[&args[..], &[&policy]].concat());
    assert_eq!(exit, 0, "{said}");
    serving.abort();
}

/// Catches a dead log that is waited for as one that restarts, one that starts a run all the same, and a
/// log of another key.
#[test]
fn i1_a_log_that_is_not_there_is_said_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let log = siegel_translog::testing::TestLog::new("log.example.test", [7; 32]);
    let anchors = dir.path().join("anchors.json");
    std::fs::write(&anchors, json!({ "log": log.anchors() }).to_string()).unwrap();
    let anchors = anchors.display().to_string();
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("http://{free}");
    let begun = Instant::now();
    let (exit, said) = simulate(&run, &["--log", &url, "--anchors", &anchors]);
    assert_eq!((exit, &said["error"]["code"]), (1, &json!("log")), "{said}");
    let message = said["error"]["message"].as_str().unwrap();
    assert!(message.contains("refused"), "{message}");
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    assert!(!run.exists(), "nothing was started");
}
