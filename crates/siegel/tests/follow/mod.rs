//! An auditor at the command line, with a state folder of its own.

use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use siegel_audit::AuditAnchors;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// Longest wait for a line or an end.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Follower {
    home: tempfile::TempDir,
    url: String,
    origin: String,
}

pub(crate) struct Watching {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

/// Ids of the findings of a severity.
pub(crate) fn findings(report: &Value, severity: &str) -> Vec<String> {
    let all = report["findings"].as_array().unwrap().iter();
    all.filter(|finding| finding["severity"] == severity)
        .map(|finding| finding["id"].as_str().unwrap().to_owned())
        .collect()
}

impl Follower {
    pub(crate) fn new(url: &str, anchors: &AuditAnchors) -> Self {
        let follower = Self {
            home: tempfile::tempdir().unwrap(),
            url: url.to_owned(),
            origin: anchors.log.origin.clone(),
        };
        follower.pin(anchors);
        follower
    }

    pub(crate) fn pin(&self, anchors: &AuditAnchors) {
        std::fs::write(self.anchors(), serde_json::to_vec(anchors).unwrap()).unwrap();
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.home.path().join("siegel/audit").join(&self.origin)
    }

    /// Files of evidence.
    pub(crate) fn evidence(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.state().join("evidence")) else {
            return Vec::new();
        };
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> (i32, Output) {
        let output = self.command(arguments).output();
        let output = tokio::time::timeout(PATIENCE, output)
            .await
            .unwrap()
            .unwrap();
        (output.status.code().unwrap(), output)
    }

    /// Exit code, and what `--json` says.
    pub(crate) async fn audit(&self, arguments: &[&str]) -> (i32, Value) {
        let (code, output) = self.run(arguments).await;
        (code, said(&output))
    }

    /// An audit that can write to no file.
    pub(crate) async fn without_disk(&self) -> (i32, Value) {
        let script = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_siegel")]);
        let output = self.finish(&mut command, &[]).output();
        let output = tokio::time::timeout(PATIENCE, output)
            .await
            .unwrap()
            .unwrap();
        (output.status.code().unwrap(), said(&output))
    }

    pub(crate) async fn killed_after(&self, time: Duration) {
        let mut child = self.command(&[]).stdout(Stdio::null()).spawn().unwrap();
        tokio::time::sleep(time).await;
        assert!(child.try_wait().unwrap().is_none(), "it was over already");
        child.kill().await.unwrap();
    }

    pub(crate) fn watch(&self) -> Watching {
        let mut command = self.command(&["--watch", "1"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Watching { child, lines }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_siegel"));
        self.finish(&mut command, arguments);
        command
    }

    fn finish<'a>(&self, command: &'a mut Command, arguments: &[&str]) -> &'a mut Command {
        command
            .args(["audit", &self.url, "--json", "--anchors"])
            .arg(self.anchors())
            .args(arguments)
            .env("XDG_STATE_HOME", self.home.path())
            .kill_on_drop(true)
    }

    fn anchors(&self) -> PathBuf {
        self.home.path().join("anchors.json")
    }
}

fn said(output: &Output) -> Value {
    let said = serde_json::from_slice(&output.stdout);
    said.unwrap_or_else(|_| panic!("{output:?}"))
}

impl Watching {
    pub(crate) async fn line(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await;
        serde_json::from_str(&line.unwrap().unwrap().unwrap()).unwrap()
    }

    /// Exit code after Ctrl-C.
    pub(crate) async fn interrupted(self) -> i32 {
        let id = self.child.id().unwrap().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status().await;
        assert!(sent.unwrap().success());
        self.ended().await
    }

    pub(crate) async fn ended(mut self) -> i32 {
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        status.unwrap().unwrap().code().unwrap()
    }
}
