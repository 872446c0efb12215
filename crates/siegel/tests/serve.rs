//! `siegel serve`: what cannot be used is a wrong use (exit 2), and what serves says where it is.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use siegel_audit::AuditAnchors;

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

fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siegel"));
    command.current_dir(dir).args(arguments).arg("--json");
    command
}

fn start(dir: &Path, arguments: &[&str]) -> Part {
    let mut child = command(dir, arguments)
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

/// Exit code and error code.
fn refused(dir: &Path, arguments: &[&str]) -> (i32, String) {
    let output = command(dir, arguments).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let error = &said["error"];
    assert!(!error["help"].as_str().unwrap().is_empty(), "{error}");
    let code = error["code"].as_str().unwrap().to_owned();
    (output.status.code().unwrap(), code)
}

const LOG: [&str; 6] = ["serve", "log", "--folder", "log", "--key", "key.pem"];

/// Catches: a log whose auditors have to write its anchors by hand; a port of 0 that nobody learns; and
/// a second start that changes what the auditor has.
#[test]
fn a_log_writes_anchors_that_an_audit_takes() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = [&LOG[..], &["--listen", "127.0.0.1:0"]].concat();
    let log = start(dir.path(), &arguments);
    assert_eq!(log.ready["anchors"], "anchors.json");
    let file = dir.path().join("anchors.json");
    let first = std::fs::read(&file).unwrap();
    let anchors: AuditAnchors = serde_json::from_slice(&first).unwrap();
    assert_eq!(
        hex::encode(anchors.log.key),
        log.ready["key"].as_str().unwrap()
    );
    let url = format!("http://{}", log.ready["listen"].as_str().unwrap());
    let state = ["--state", "state", "--rebaseline"];
    let audit = [&["audit", &url, "--anchors", "anchors.json"], &state[..]].concat();
    let output = command(dir.path(), &audit).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    drop(log);
    let again = start(dir.path(), &arguments);
    assert_eq!(std::fs::read(&file).unwrap(), first);
    drop(again);
}

/// Catches: a wrong command line that looks like a failure which may pass, and the other way round.
#[test]
fn what_cannot_be_used_is_a_wrong_use() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bad.pem"), "hello").unwrap();
    let at = |rest: &[&'static str]| {
        let listens = rest.contains(&"--listen");
        let listen: &[&str] = if listens {
            &[]
        } else {
            &["--listen", "127.0.0.1:0"]
        };
        refused(dir.path(), &[rest, listen].concat())
    };
    let key = "ab".repeat(32);
    let watched: &'static str = format!("log.example.test={key}").leak();
    let wrong: [(&[&'static str], &str); 9] = [
        (
            &[
                "serve", "log", "--folder", "log", "--key", "k.pem", "--listen", "nonsense",
            ],
            "bad-address",
        ),
        (
            &[
                "serve",
                "log",
                "--folder",
                "log",
                "--key",
                "k.pem",
                "--listen",
                "192.0.2.1:1",
            ],
            "bad-address",
        ),
        (
            &["serve", "log", "--folder", "log", "--key", "bad.pem"],
            "bad-key",
        ),
        (
            &["serve", "log", "--folder", "log", "--key", "no/key.pem"],
            "cannot-open",
        ),
        (
            &["serve", "log", "--folder", "bad.pem", "--key", "k.pem"],
            "cannot-open",
        ),
        (
            &[
                "serve", "log", "--folder", "l", "--key", "k.pem", "--origin", "a b",
            ],
            "bad-origin",
        ),
        (
            &[
                "serve", "witness", "--name", "w", "--key", "w.pem", "--state", "bad.pem", "--log",
                watched,
            ],
            "cannot-open",
        ),
        (
            &[
                "serve", "witness", "--name", "w", "--key", "bad.pem", "--state", "w", "--log",
                watched,
            ],
            "bad-key",
        ),
        (&["serve", "depot", "--store", "nonsense"], "bad-store"),
    ];
    for (arguments, code) in wrong {
        assert_eq!(at(arguments), (2, code.to_owned()), "{arguments:?}");
    }
    // Somebody has the port: that may pass.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address: &'static str = taken.local_addr().unwrap().to_string().leak();
    let depot = ["serve", "depot", "--store", "memory:", "--listen", address];
    for part in [&[&LOG[..], &["--listen", address]].concat()[..], &depot] {
        assert_eq!(refused(dir.path(), part), (1, "cannot-listen".to_owned()));
    }
}

/// Catches: a wrong --origin that is blamed on the key; a key that is made for a folder which has one
/// already; and damage that is reported of another file.
#[test]
fn what_does_not_fit_the_folder_of_a_log_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let listen = ["--listen", "127.0.0.1:0"];
    let arguments = [&LOG[..], &listen].concat();
    drop(start(dir, &arguments));
    let renamed = [&arguments[..], &["--origin", "other.example.test"]].concat();
    assert_eq!(refused(dir, &renamed), (2, "other-origin".to_owned()));
    let keyless = ["serve", "log", "--folder", "log", "--key", "none.pem"];
    let keyless = [&keyless[..], &listen].concat();
    assert_eq!(refused(dir, &keyless), (2, "no-key".to_owned()));
    assert!(!dir.join("none.pem").exists() && !dir.join("none.tsa.pem").exists());

    let error = |arguments: &[&str]| {
        let output = command(dir, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        let part = |name: &str| said["error"][name].as_str().unwrap().to_owned();
        (part("message"), part("help"))
    };
    std::fs::write(dir.join("log/pending"), "nonsense").unwrap();
    let (message, help) = error(&arguments);
    assert!(message.contains("`pending`"), "{message}");
    assert!(help.contains("restore this file"), "{help}");
    std::fs::remove_file(dir.join("log/pending")).unwrap();
    // Another key.
    let elsewhere = ["serve", "log", "--folder", "log2", "--key", "other.pem"];
    drop(start(dir, &[&elsewhere[..], &listen].concat()));
    let other = ["serve", "log", "--folder", "log", "--key", "other.pem"];
    let (message, help) = error(&[&other[..], &listen].concat());
    assert!(message.contains("`checkpoint`"), "{message}");
    assert!(help.contains("is --key the key"), "{help}");
    std::fs::remove_file(dir.join("log/checkpoint")).unwrap();
    std::fs::create_dir_all(dir.join("log/tile/0")).unwrap();
    let (message, help) = error(&arguments);
    assert!(message.contains("no checkpoint"), "{message}");
    assert!(help.contains("restore what it names"), "{help}");

    // A witness' own.
    let watched = format!("log.example.test={}", "ab".repeat(32));
    let witness = [
        &[
            "serve", "witness", "--name", "w", "--key", "w.pem", "--state", "w", "--log", &watched,
        ][..],
        &listen,
    ]
    .concat();
    drop(start(dir, &witness));
    let state = dir.join("w/state");
    let text = std::fs::read_to_string(&state).unwrap();
    std::fs::write(&state, text + "nonsense").unwrap();
    let (message, help) = error(&witness);
    assert!(message.starts_with("state of the witness"), "{message}");
    assert!(help.contains("--name"), "{help}");
}

/// Catches: a file of somebody else that is replaced, and one that is told as this log's.
#[test]
fn files_of_another_log_are_left_and_not_told_as_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let arguments = [&LOG[..], &["--listen", "127.0.0.1:0"]].concat();
    let second = [
        "serve",
        "log",
        "--folder",
        "second",
        "--key",
        "second.pem",
        "--listen",
        "127.0.0.1:0",
    ];
    let log = start(dir, &arguments);
    assert_eq!(log.ready["trusted_root"], "trusted_root.json");
    drop(log);
    let read = |name: &str| std::fs::read(dir.join(name)).unwrap();
    let own = (read("anchors.json"), read("trusted_root.json"));
    // Another log, whose key lies in the same folder.
    let log = start(dir, &second);
    assert_eq!(
        (&log.ready["anchors"], &log.ready["trusted_root"]),
        (&Value::Null, &Value::Null)
    );
    drop(log);
    assert_eq!((read("anchors.json"), read("trusted_root.json")), own);
    // Somebody's own, of this log.
    let changed = String::from_utf8(own.1.clone())
        .unwrap()
        .replacen("https://", "https://x.", 1);
    for theirs in [changed.as_bytes(), b"no JSON"] {
        std::fs::write(dir.join("trusted_root.json"), theirs).unwrap();
        let log = start(dir, &arguments);
        assert_eq!(
            (&log.ready["anchors"], &log.ready["trusted_root"]),
            (&"anchors.json".into(), &Value::Null)
        );
        drop(log);
        assert_eq!(read("trusted_root.json"), theirs);
    }
    // Its own, of an authority that is gone.
    std::fs::write(dir.join("trusted_root.json"), &own.1).unwrap();
    std::fs::remove_file(dir.join("key.tsa.pem")).unwrap();
    let log = start(dir, &arguments);
    assert_eq!(log.ready["trusted_root"], "trusted_root.json");
    drop(log);
    assert_ne!(read("trusted_root.json"), own.1);
}
