//! A command that is asked to end while it waits says so, and exits with 1.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use siegel_audit::AuditAnchors;
use siegel_audit::testing::{Scene, log_key};
use siegel_rekor::{Log, Storage};

/// Asks the command to end once it has reached a log that never answers.
fn interrupted(
    dir: &Path,
    log: &TcpListener,
    arguments: &[&str],
    signal: &str,
) -> (Option<i32>, Value) {
    let child = Command::new(env!("CARGO_BIN_EXE_siegel"))
        .current_dir(dir)
        .env("XDG_STATE_HOME", dir)
        .args(arguments)
        .arg("--json")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (_open, _) = log.accept().unwrap();
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", signal, &pid]).status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), said)
}

/// Catches a command that dies by the raw signal, without a word on what it leaves behind.
#[tokio::test]
async fn a_command_that_waits_for_a_log() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let scene = Scene::over(Log::open(&Storage::Memory, log_key()).unwrap());
    let anchors = AuditAnchors::of(log_key().anchors());
    std::fs::write(
        dir.join("anchors.json"),
        serde_json::to_vec(&anchors).unwrap(),
    )
    .unwrap();
    std::fs::write(dir.join("policy.json"), scene.policy().to_bytes().unwrap()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
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
    let audit = [
        "audit",
        &url,
        "--anchors",
        "anchors.json",
        "--state",
        "state",
        "--rebaseline",
    ];
    let watch = [&audit[..], &["--watch", "1"]].concat();
    for (arguments, signal, at) in [
        (&publish[..], "TERM", "policy publish"),
        (&publish, "INT", "policy publish"),
        (&audit, "TERM", "audit"),
        (&audit, "INT", "audit"),
        (&watch, "TERM", "audit"),
    ] {
        let (code, said) = interrupted(dir, &listener, arguments, signal);
        let error = &said["error"];
        assert_eq!(
            (code, &error["code"], &error["where"]),
            (Some(1), &"interrupted".into(), &at.into()),
            "{said}"
        );
        assert!(
            error["message"].as_str().unwrap().ends_with(signal),
            "{said}"
        );
        assert!(error["help"].as_str().unwrap().contains("again"), "{said}");
    }
}
