//! `siegel serve` over TLS, and the commands that read and write there.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use siegel_audit::testing::{Scene, log_key};
use siegel_rekor::testing::TestAuthority;
use siegel_rekor::{Log, Storage};

const LOG: [&str; 8] = [
    "serve",
    "log",
    "--folder",
    "log",
    "--key",
    "key.pem",
    "--listen",
    "127.0.0.1:0",
];
const TLS: [&str; 4] = ["--tls-cert", "tls.pem", "--tls-key", "tls-key.pem"];

/// A part that serves; killed when this is dropped.
struct Part {
    child: Child,
    ready: Value,
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Part {
    fn url(&self) -> String {
        self.ready["url"].as_str().unwrap().to_owned()
    }
}

/// The command in `dir`; it trusts the authority whose certificate is in this file of it.
fn command(dir: &Path, authority: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siegel"));
    command
        .current_dir(dir)
        .env("XDG_STATE_HOME", dir)
        .env("SSL_CERT_FILE", authority)
        .env_remove("SSL_CERT_DIR")
        .args(arguments)
        .arg("--json");
    command
}

fn start(dir: &Path, arguments: &[&str]) -> Part {
    let mut child = command(dir, "ca.pem", arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let ready = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
    Part { child, ready }
}

/// A folder with an authority's certificate, `ca.pem`, another's, `other.pem`, and what a server needs.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let (authority, other) = (TestAuthority::generate(), TestAuthority::generate());
    authority.write_root(&dir.path().join("ca.pem"));
    other.write_root(&dir.path().join("other.pem"));
    authority.issue(2).write(dir.path());

    dir
}

fn audit<'a>(url: &'a str, state: &'a str) -> [&'a str; 7] {
    [
        "audit",
        url,
        "--anchors",
        "anchors.json",
        "--state",
        state,
        "--rebaseline",
    ]
}

fn error(output: &Output) -> (Option<i32>, String) {
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let message = said["error"]["message"].as_str().unwrap();
    (output.status.code(), message.to_owned())
}

/// Catches: a log over TLS that our own commands cannot read, write or believe; and commands that talk
/// to whoever has a certificate of anybody.
#[test]
fn a_log_over_tls_is_read_and_written_by_who_trusts_its_authority() {
    let dir = folder();
    let dir = dir.path();
    let origin = ["--origin", "log.example.test"];
    let log = start(dir, &[&LOG[..], &origin, &TLS].concat());
    let url = log.url();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let scene = Scene::over(Log::open(&Storage::Memory, log_key()).unwrap());
    std::fs::write(dir.join("policy.json"), scene.policy().to_bytes().unwrap()).unwrap();
    let publish = [
        "policy",
        "publish",
        "policy.json",
        "--log",
        &url,
        "--key",
        "p.pem",
        "--now",
        "1700000000",
    ];
    // Who does not trust the authority learns how to; nothing is written.
    for arguments in [&publish[..], &audit(&url, "none")] {
        let output = command(dir, "other.pem", arguments).output().unwrap();
        let (code, message) = error(&output);
        assert!(
            code == Some(1) && message.contains("SSL_CERT_FILE"),
            "{message}"
        );
    }
    let missing = command(dir, "missing.pem", &audit(&url, "none")).output();
    let (code, message) = error(&missing.unwrap());
    assert!(
        code == Some(2) && message.contains("missing.pem"),
        "{message}"
    );
    // Who knows another scheme is told.
    let plain = url.replace("https://", "http://");
    let output = command(dir, "ca.pem", &audit(&plain, "none")).output();
    let (code, message) = error(&output.unwrap());
    assert!(
        code == Some(1) && message.contains("use https://"),
        "{message}"
    );

    let trusting = |arguments: &[&str]| {
        let output = command(dir, "ca.pem", arguments).output().unwrap();
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), said)
    };
    let (code, report) = trusting(&audit(&url, "state"));
    assert_eq!((code, &report["log"]["size"]), (Some(0), &0.into()));
    let (code, said) = trusting(&publish);
    assert_eq!(code, Some(0), "{said}");
    // The policy is of a cluster that nobody knows: that it was read is the point here.
    let (_, report) = trusting(&audit(&url, "state"));
    let read = (&report["log"]["size"], &report["entries"]["policies"]);
    assert_eq!(read, (&1.into(), &1.into()), "{report}");
}

/// Catches: a part that has the options and does not use them; a log that cannot reach its witness over
/// TLS, and a mirror that cannot follow.
#[test]
fn witness_and_mirror_speak_tls_too() {
    let dir = folder();
    let dir = dir.path();
    drop(start(dir, &[&LOG[..], &TLS].concat()));
    let anchors: Value =
        serde_json::from_slice(&std::fs::read(dir.join("anchors.json")).unwrap()).unwrap();
    let (origin, key) = (&anchors["log"]["origin"], &anchors["log"]["key"]);
    let watched = format!("{}={}", origin.as_str().unwrap(), key.as_str().unwrap());
    let listen = ["--listen", "127.0.0.1:0"];
    let witness = [
        "serve", "witness", "--name", "w.test", "--key", "w.pem", "--state", "w", "--log", &watched,
    ];
    let witness = start(dir, &[&witness[..], &listen, &TLS].concat());
    let asked = format!(
        "w.test={}@{}",
        witness.ready["key"].as_str().unwrap(),
        witness.url()
    );
    let log = start(dir, &[&LOG[..], &TLS, &["--witness", &asked]].concat());
    // The anchors demand the witness by now, over TLS like the log.
    assert!(witness.url().starts_with("https://"));
    let url = log.url();
    let begun = Instant::now();
    let audited = |state: &str| {
        command(dir, "ca.pem", &audit(&url, state))
            .output()
            .unwrap()
    };
    // The log asks again after a while, if the machine was slow.
    while audited("state").status.code() != Some(0) {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{:?}",
            audited("last")
        );
        std::thread::sleep(Duration::from_millis(500));
    }
    let mirror = [
        "serve",
        "mirror",
        "--of",
        &url,
        "--anchors",
        "anchors.json",
        "--name",
        "m.test",
        "--key",
        "m.pem",
        "--state",
        "m",
    ];
    let mirror = start(dir, &[&mirror[..], &listen, &TLS].concat());
    assert!(mirror.url().starts_with("https://"));
    let observer = format!("{}/checkpoint", mirror.url());
    let compare = [&audit(&url, "compared")[..], &["--observer", &observer]].concat();
    let output = command(dir, "ca.pem", &compare).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// Catches: a part that serves plain HTTP where TLS was half asked for, or with files that are no use.
#[test]
fn what_is_half_or_bad_is_a_wrong_use() {
    let dir = folder();
    let dir = dir.path();
    for half in [&TLS[..2], &TLS[2..]] {
        let output = command(dir, "ca.pem", &[&LOG[..], half].concat()).output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("--tls-cert") && said.contains("--tls-key"),
            "{said}"
        );
    }
    let refused = |tls: &[&str], code: &str| {
        let output = command(dir, "ca.pem", &[&LOG[..], tls].concat()).output();
        let output = output.unwrap();
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        let error = &said["error"];
        assert_eq!(
            (output.status.code(), &error["code"]),
            (Some(2), &code.into()),
            "{said}"
        );
        assert!(!error["help"].as_str().unwrap().is_empty(), "{error}");
    };
    refused(
        &["--tls-cert", "none.pem", "--tls-key", "tls-key.pem"],
        "bad-tls-cert",
    );
    refused(
        &["--tls-cert", "tls-key.pem", "--tls-key", "tls-key.pem"],
        "bad-tls-cert",
    );
    refused(
        &["--tls-cert", "tls.pem", "--tls-key", "tls.pem"],
        "bad-tls-key",
    );
    refused(
        &["--tls-cert", "ca.pem", "--tls-key", "tls-key.pem"],
        "other-tls-key",
    );
    let everybody = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(dir.join("tls-key.pem"), everybody).unwrap();
    refused(&TLS, "bad-tls-key");
    // Nothing was made on the way.
    assert!(!dir.join("log").exists() && !dir.join("key.pem").exists());
}

/// Catches: a stop that waits for a client which says nothing, or that such a client makes unclean.
#[test]
fn a_stop_is_clean_beside_a_silent_client() {
    let dir = folder();
    let dir = dir.path();
    let mut log = start(dir, &[&LOG[..], &TLS].concat());
    let url = log.url();
    let mut silent = TcpStream::connect(log.ready["listen"].as_str().unwrap()).unwrap();
    let output = command(dir, "ca.pem", &audit(&url, "state")).output();
    assert_eq!(output.unwrap().status.code(), Some(0));
    let pid = log.child.id().to_string();
    let sent = Command::new("kill").args(["-s", "TERM", &pid]).status();
    assert!(sent.unwrap().success());
    let begun = Instant::now();
    assert_eq!(log.child.wait().unwrap().code(), Some(0));
    // It has 5 seconds for requests, and none is open.
    assert!(begun.elapsed() < Duration::from_secs(5));
    silent
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let ended = silent.read(&mut [0; 1]);
    assert!(
        matches!(ended, Ok(0))
            || ended.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset)
    );
}
