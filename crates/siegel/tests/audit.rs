//! The command `siegel audit` over logs on disk, each with one lie in it: exit 3, and the finding that
//! names the lie and the invariant. And over what is no log at all.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use siegel_audit::testing::{
    Quote, Scene, Told, Vouch, budget, chained, last_bundle, lived, log_key, reference, rot,
    withhold,
};
use siegel_audit::{AuditAnchors, ExpectedCluster};
use siegel_ident::{Digest, Timestamp};
use siegel_ledger::{Fact, Receipt};
use siegel_rekor::{Log, Storage};
use siegel_translog::predicate;

/// One lie: what is told to the scene, done to the receipts, to their chained bodies, and to the
/// folder and the anchors afterwards.
#[derive(Clone, Copy)]
struct Lie {
    what: &'static str,
    id: &'static str,
    invariant: &'static str,
    told: Told,
    receipts: fn(&mut Vec<Receipt>),
    bodies: fn(&mut Vec<Vec<u8>>),
    after: fn(&Scene, &Path, &mut AuditAnchors),
}

fn lie(what: &'static str, id: &'static str, invariant: &'static str) -> Lie {
    Lie {
        what,
        id,
        invariant,
        told: Told::default(),
        receipts: |_| (),
        bodies: |_| (),
        after: |_, _, _| (),
    }
}

impl Lie {
    fn vouch(mut self, vouch: fn(&mut Vouch)) -> Self {
        self.told.vouch = vouch;
        self
    }
    fn quote(mut self, quote: fn(&mut Quote)) -> Self {
        self.told.quote = quote;
        self
    }
    fn receipts(mut self, receipts: fn(&mut Vec<Receipt>)) -> Self {
        self.receipts = receipts;
        self
    }
    fn bodies(mut self, bodies: fn(&mut Vec<Vec<u8>>)) -> Self {
        self.bodies = bodies;
        self
    }
    fn after(mut self, after: fn(&Scene, &Path, &mut AuditAnchors)) -> Self {
        self.after = after;
        self
    }

    /// Makes the run's folder: `log` and `anchors.json`.
    async fn tell(&self, dir: &Path) {
        let log = dir.join("log");
        let mut scene = Scene::over(Log::open(&Storage::folder(&log), log_key()).unwrap());
        scene.told = self.told;
        let mut receipts = lived(&scene).await;
        (self.receipts)(&mut receipts);
        let mut bodies = chained(scene.id(), &receipts);
        (self.bodies)(&mut bodies);
        for body in &bodies {
            scene
                .publish(&scene.cluster, predicate::RECEIPT, body)
                .await;
        }
        let mut anchors = scene.anchors();
        anchors.clusters.push(ExpectedCluster {
            id: scene.id(),
            receipts: Some(receipts.len() as u64),
        });
        anchors.simulation_root = Some(Digest::from_bytes(scene.attester.public_key()));
        anchors.endorsers.push(scene.endorser.key().digest());
        (self.after)(&scene, &log, &mut anchors);
        let anchors = serde_json::to_vec(&anchors).unwrap();
        std::fs::write(dir.join("anchors.json"), anchors).unwrap();
    }
}

fn ends(vouch: &mut Vouch, at: Timestamp) {
    for document in &mut vouch.documents {
        document.not_after = at;
    }
}

/// Another pipeline than the policy's, in receipt `seq`.
fn elsewhere(receipts: &mut [Receipt], seq: usize) {
    match &mut receipts[seq - 1].fact {
        Fact::RunRegistered { pipeline, .. } | Fact::PolicyRegistered { pipeline, .. } => {
            *pipeline = "org.example.other".to_owned();
        }
        other => panic!("{other:?}"),
    }
}

/// What run `seq` costs, and the running total after it.
fn costs(receipts: &mut [Receipt], seq: usize, own: u64, all: u64) {
    match &mut receipts[seq - 1].fact {
        Fact::RunRegistered { cost, spent, .. } => {
            (*cost, *spent) = (budget(own, 6), budget(all, 12));
        }
        other => panic!("{other:?}"),
    }
}

fn lies() -> Vec<Lie> {
    vec![
        lie("a policy withheld", "payload-withheld", "I1")
            .after(|scene, log, _| withhold(log, &scene.policy().to_bytes().unwrap())),
        lie("a source manifest withheld", "payload-withheld", "I1")
            .after(|scene, log, _| withhold(log, &scene.vouched().manifest.unwrap())),
        lie("a recipe withheld", "payload-withheld", "I1")
            .after(|scene, log, _| withhold(log, &scene.vouched().recipe.unwrap())),
        lie("a payload that cannot be read", "payload-unreadable", "I1").after(|scene, log, _| {
            rot(log, &scene.policy().to_bytes().unwrap());
        }),
        lie("a receipt left out", "receipt-missing", "I17").bodies(|bodies| {
            bodies.remove(4);
        }),
        lie("the last receipt held back", "receipt-missing", "I17").bodies(|bodies| {
            bodies.pop();
        }),
        lie("two runs beyond the total", "budget-overspent", "I6").receipts(|receipts| {
            costs(receipts, 3, 60, 60);
            costs(receipts, 8, 60, 120);
        }),
        lie("one step, two results", "step-order", "I6").receipts(|receipts| {
            receipts.insert(5, receipts[4].clone());
        }),
        lie("receipts of another birth", "receipt-not-chained", "I17").bodies(|bodies| {
            let mut first = Receipt::parse(&bodies[0]).unwrap();
            first.previous = Digest::of(b"another genesis");
            bodies[0] = first.to_bytes().unwrap();
        }),
        lie(
            "a run that another pipeline pays for",
            "run-other-pipeline",
            "I6",
        )
        .receipts(|receipts| elsewhere(receipts, 3)),
        lie(
            "a successor of another pipeline's policy",
            "policy-order",
            "I6",
        )
        .receipts(|receipts| elsewhere(receipts, 10)),
        lie(
            "endorsements that end too early",
            "endorsement-expired",
            "I9",
        )
        .vouch(|vouch| ends(vouch, Timestamp(siegel_audit::testing::START + 10))),
        lie("binaries that nobody endorsed", "binary-not-endorsed", "I3")
            .vouch(|vouch| drop(vouch.documents.remove(0))),
        lie(
            "a program that nobody endorsed",
            "program-not-endorsed",
            "I3",
        )
        .vouch(|vouch| drop(vouch.documents.pop())),
        lie("endorsed with another key", "binary-not-endorsed", "I3")
            .vouch(|vouch| vouch.by_stranger = true),
        lie(
            "endorsers that the auditor does not know",
            "policy-other-endorser",
            "I3",
        )
        .after(|scene, _, anchors| anchors.endorsers = vec![scene.author.key().digest()]),
        lie("keys without evidence", "evidence-missing", "I1").quote(|quote| quote.logged = false),
        lie("evidence of another measurement", "evidence-invalid", "I3")
            .quote(|quote| quote.measurement = reference("other").measurement().unwrap()),
        lie(
            "a key that the cluster did not sign",
            "key-bundle-forged",
            "I1",
        )
        .quote(|quote| quote.by_stranger = true),
        lie("a log without its entries", "entries-withheld", "I1")
            .after(|_, log, _| std::fs::remove_file(last_bundle(log)).unwrap()),
        lie("a checkpoint that is none", "checkpoint-invalid", "I1")
            .after(|_, log, _| std::fs::write(log.join("checkpoint"), [0xff]).unwrap()),
    ]
}

fn siegel(arguments: &[&str]) -> (i32, Output) {
    let output = Command::new(env!("CARGO_BIN_EXE_siegel"))
        .args(arguments)
        .output()
        .unwrap();
    (output.status.code().unwrap(), output)
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Each invariant by the name that the finding carries.
#[tokio::test]
async fn every_break_of_the_chain_is_found_and_named() {
    for lie in lies() {
        let dir = tempfile::tempdir().unwrap();
        lie.tell(dir.path()).await;
        let log = dir.path().join("log").display().to_string();
        let anchors = dir.path().join("anchors.json").display().to_string();
        let (code, output) = siegel(&["audit", &log, "--anchors", &anchors, "--json"]);
        assert_eq!(code, 3, "{}: {output:?}", lie.what);
        let report = json(&output);
        assert_eq!(report["verdict"], "not-trustworthy", "{}", lie.what);
        let named = report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|finding| {
                (&finding["id"], &finding["severity"], &finding["invariant"])
                    == (&lie.id.into(), &"error".into(), &lie.invariant.into())
            });
        assert!(
            named,
            "{}: {} not in {}",
            lie.what, lie.id, report["findings"]
        );
    }
}

/// The folder of a run needs no anchors beside it, and the text says who vouches for what.
#[tokio::test]
async fn an_honest_run_is_good() {
    let dir = tempfile::tempdir().unwrap();
    lie("nothing", "", "").tell(dir.path()).await;
    let run = dir.path().display().to_string();
    let (code, output) = siegel(&["audit", &run, "--json"]);
    assert_eq!(code, 0, "{output:?}");
    let report = json(&output);
    assert_eq!(report["verdict"], "good");
    assert_eq!(
        report["policies"][0]["endorsed"].as_array().unwrap().len(),
        4
    );

    let (code, output) = siegel(&["audit", &run]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(code, 0, "{text}");
    let endorsed = |role: &str| {
        text.lines().any(|line| {
            line.trim_start().starts_with(role)
                && line.contains(" endorsed by ")
                && line.contains(" until 2023-11-16 02:00:00 UTC")
        })
    };
    for role in ["kms", "root", "worker", "program"] {
        assert!(endorsed(role), "{role}: {text}");
    }
    assert!(text.contains(", commit 0123456789abcdef") && text.contains(", recipe "));
    assert!(text.ends_with("verdict: good\n"));
}

/// Exit 2: nothing there to judge.
#[tokio::test]
async fn what_is_no_log_is_a_wrong_use() {
    let dir = tempfile::tempdir().unwrap();
    lie("nothing", "", "").tell(dir.path()).await;
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().display().to_string();
    let log = dir.path().join("log").display().to_string();
    let anchors = dir.path().join("anchors.json").display().to_string();
    for (arguments, error) in [
        (vec![empty.as_str(), "--anchors", &anchors], "no-such-log"),
        (vec!["/nowhere", "--anchors", &anchors], "no-such-log"),
        (vec![log.as_str()], "no-anchors"),
        (vec![log.as_str(), "--anchors", "/nowhere"], "cannot-read"),
        (
            vec![
                log.as_str(),
                "--anchors",
                &anchors,
                "--observer",
                "/nowhere/note",
            ],
            "no-such-observer",
        ),
        // I1: without publishers everybody would be a stranger.
        (
            vec![log.as_str(), "--anchors", &anchors, "--shared"],
            "no-publishers",
        ),
    ] {
        let arguments = [&["audit", "--json"], &arguments[..]].concat();
        let (code, output) = siegel(&arguments);
        assert_eq!(code, 2, "{arguments:?}: {output:?}");
        assert_eq!(json(&output)["error"]["code"], error);
    }
}

/// Catches a panic in place of the exit code where standard error cannot be written.
#[test]
fn a_full_standard_error_changes_no_exit_code() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_siegel"))
        .args(["audit", "/nowhere"])
        .stderr(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}

/// Catches an option that is taken and does nothing.
#[test]
fn a_time_is_refused_where_none_is_asked_for() {
    let (code, output) = siegel(&["audit", "/nowhere", "--watch", "--now", "1"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(code == 2 && said.contains("--now"), "{said}");
}

fn pipe(at: &Path) {
    let made = Command::new("mkfifo").arg(at).status().unwrap();
    assert!(made.success());
}

/// I14. Catches: a command that waits for ever for a named pipe in the place of a file.
#[tokio::test]
async fn i14_a_pipe_is_no_file_and_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    lie("nothing", "", "").tell(dir.path()).await;
    let run = dir.path().display().to_string();
    let fifo = dir.path().join("fifo");
    pipe(&fifo);
    let fifo = fifo.display().to_string();
    let (code, output) = siegel(&["audit", &run, "--anchors", &fifo, "--json"]);
    assert_eq!(
        (code, &json(&output)["error"]["code"]),
        (2, &"cannot-read".into())
    );
    let (code, output) = siegel(&["audit", &run, "--observer", &fifo, "--json"]);
    let found = json(&output)["findings"].to_string();
    assert!(code == 0 && found.contains("observer-away"), "{found}");
    for at in [
        last_bundle(&dir.path().join("log")),
        dir.path().join("log/checkpoint"),
    ] {
        std::fs::remove_file(&at).unwrap();
        pipe(&at);
        let (code, output) = siegel(&["audit", &run, "--json"]);
        assert_eq!(code, 3, "{output:?}");
    }
}

/// I8. Catches: a state that later audits cannot read, one that is put into a log's folder, and words
/// about what was given up where there was nothing, or where nothing was.
#[tokio::test]
async fn i8_a_state_is_written_where_and_as_it_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    lie("nothing", "", "").tell(dir.path()).await;
    let run = dir.path().display().to_string();
    let state = dir.path().join("state").display().to_string();
    let asked = ["audit", &run, "--json", "--state", &state, "--rebaseline"];
    for now in ["9007199254740992", "18446744073709551615"] {
        let (code, output) = siegel(&[&asked[..], &["--now", now]].concat());
        assert_eq!(
            (code, &json(&output)["error"]["code"]),
            (2, &"bad-time".into())
        );
    }
    let log = dir.path().join("log").display().to_string();
    let (code, output) = siegel(&["audit", &run, "--json", "--state", &log, "--rebaseline"]);
    assert_eq!(
        (code, &json(&output)["error"]["code"]),
        (2, &"not-a-state".into())
    );
    assert!(!dir.path().join("log/state.json").exists());

    let gives_up =
        |output: &Output| String::from_utf8_lossy(&output.stderr).contains("REBASELINED");
    let (code, output) = siegel(&asked);
    assert!(code == 0 && !gives_up(&output), "{output:?}");
    let checkpoint = dir.path().join("log/checkpoint");
    let note = std::fs::read(&checkpoint).unwrap();
    std::fs::write(&checkpoint, "no note").unwrap();
    let (code, output) = siegel(&asked);
    assert!(code == 3 && !gives_up(&output), "{output:?}");
    assert!(
        !json(&output)["findings"]
            .to_string()
            .contains("REBASELINED")
    );
    std::fs::write(&checkpoint, note).unwrap();
    let (code, output) = siegel(&[&asked[..], &["--now", "9007199254740991"]].concat());
    assert!(code == 0 && gives_up(&output), "{output:?}");
    let (code, output) = siegel(&asked[..5]);
    assert!(code == 0 && !gives_up(&output), "{output:?}");
}

/// Catches: a wrong use that is taken for a log that is away.
#[tokio::test]
async fn anchors_and_runs_that_cannot_be_used_are_named() {
    let dir = tempfile::tempdir().unwrap();
    lie("nothing", "", "").tell(dir.path()).await;
    let run = dir.path().display().to_string();
    let anchors = dir.path().join("anchors.json");
    let good = std::fs::read(&anchors).unwrap();
    let mut bad: AuditAnchors = serde_json::from_slice(&good).unwrap();
    bad.log.witnesses.required = 3;
    std::fs::write(&anchors, serde_json::to_vec(&bad).unwrap()).unwrap();
    let (code, output) = siegel(&["audit", &run, "--json"]);
    let error = &json(&output)["error"];
    assert_eq!((code, &error["code"]), (2, &"bad-anchors".into()));
    assert!(error.to_string().contains("anchors.json"), "{error}");

    std::fs::write(&anchors, good).unwrap();
    std::fs::remove_dir_all(dir.path().join("log")).unwrap();
    let (code, output) = siegel(&["audit", &run, "--json"]);
    let error = &json(&output)["error"];
    assert_eq!((code, &error["code"]), (2, &"log-elsewhere".into()));
    let command = format!("siegel audit URL --anchors {}", anchors.display());
    assert!(
        error["help"].as_str().unwrap().contains(&command),
        "{error}"
    );
}
