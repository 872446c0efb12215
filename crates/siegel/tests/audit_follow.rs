//! The command `siegel audit` over a log at a URL that lies to it: exit 3, and the finding that names
//! the lie. And what it remembers from one audit to the next.

#![allow(clippy::unwrap_used, clippy::panic)]

mod follow;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use follow::{Follower, findings};
use serde_json::Value;
use siegel_audit::AuditAnchors;
use siegel_audit::testing::{
    Liar, NOW, Scene, Witness, bundle, chained, lived, quorum, signed_note, unbundle,
};
use siegel_ident::{Digest, RunId, Seconds};
use siegel_ledger::Fact;
use siegel_translog::{merkle, predicate};

const CHECKPOINT: &str = "/api/v2/checkpoint";
const ENTRIES: &str = "/api/v2/tile/entries/";

/// A whole history in a log, served; and an auditor that has audited it once.
async fn audited() -> (Scene, Liar, Follower) {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let liar = Liar::serve(scene.log.clone()).await;
    let follower = Follower::new(&liar.url, &scene.anchors());
    let (code, report) = follower.audit(&[]).await;
    assert_eq!((code, &report["verdict"]), (0, &"good".into()), "{report}");
    (scene, liar, follower)
}

type Tell = fn(&Scene, &Liar, &mut AuditAnchors);

fn bent(liar: &Liar, at: &'static str, bend: fn(Vec<u8>) -> Vec<u8>) {
    liar.lie(move |path, body| {
        Some(match path.starts_with(at) {
            true => bend(body),
            false => body,
        })
    });
}

/// The leaf hashes of a log of fewer than 256 entries, as its only bundle has them.
fn note_of(bundle: &[u8], size: u64) -> String {
    let leaves: Vec<Digest> = unbundle(bundle)
        .iter()
        .map(|b| merkle::leaf_hash(b))
        .collect();
    signed_note(size, merkle::root(&leaves))
}

/// Each lie, in the words of whoever asks for it, and what the finding is called. The last column says
/// whether the log is caught contradicting itself: then both notes are kept, and it stays caught.
fn lies() -> Vec<(&'static str, &'static str, Tell, bool)> {
    vec![
        (
            "an entry dropped",
            "entries-withheld",
            |_, liar, _| {
                bent(liar, ENTRIES, |body| {
                    let mut bodies = unbundle(&body);
                    bodies.remove(7);
                    bundle(&bodies)
                });
            },
            false,
        ),
        (
            "an entry altered",
            "log-rewritten",
            |_, liar, _| {
                bent(liar, ENTRIES, |body| {
                    let mut bodies = unbundle(&body);
                    let at = bodies[7].iter().position(|b| *b == b'A').unwrap();
                    bodies[7][at] = b'B';
                    bundle(&bodies)
                });
            },
            false,
        ),
        (
            "two entries changed places",
            "log-rewritten",
            |_, liar, _| {
                bent(liar, ENTRIES, |body| {
                    let mut bodies = unbundle(&body);
                    bodies.swap(7, 8);
                    bundle(&bodies)
                });
            },
            false,
        ),
        (
            "a proof for another size",
            "checkpoint-other-size",
            |_, liar, _| {
                // The root that is signed is the one of the log as it was one entry ago.
                let kept = Arc::new(Mutex::new(None));
                liar.lie(move |path, body| {
                    let mut kept = kept.lock().unwrap();
                    match path {
                        CHECKPOINT => Some(kept.clone().unwrap_or(body)),
                        _ if path.starts_with(ENTRIES) => {
                            let mut bodies = unbundle(&body);
                            let size = bodies.len() as u64;
                            bodies.pop();
                            *kept = Some(note_of(&bundle(&bodies), size).into_bytes());
                            Some(body)
                        }
                        _ => Some(body),
                    }
                });
            },
            true,
        ),
        (
            "an unsigned checkpoint",
            "checkpoint-invalid",
            |_, liar, _| {
                bent(liar, CHECKPOINT, |body| {
                    let text = String::from_utf8(body).unwrap();
                    text.split_once("\n\n").unwrap().0.as_bytes().to_vec()
                });
            },
            false,
        ),
        (
            "a stale checkpoint",
            "checkpoint-stale",
            |scene, liar, anchors| {
                anchors.log.witnesses = quorum(2);
                let old = siegel_ident::Timestamp(NOW.0 - 61);
                let mut note = scene.log.checkpoint();
                for n in [1, 2] {
                    note = Witness::new(n).cosign(&note, old);
                }
                liar.lie(move |path, body| {
                    Some(if path == CHECKPOINT {
                        note.clone().into_bytes()
                    } else {
                        body
                    })
                });
            },
            false,
        ),
        (
            "a payload withheld",
            "payload-withheld",
            |scene, liar, _| {
                let policy = Digest::of(&scene.policy().to_bytes().unwrap());
                let name = format!("/archive/{policy}");
                liar.lie(move |path, body| (path != name).then_some(body));
            },
            false,
        ),
        (
            "a rollback",
            "log-rollback",
            |_, liar, _| {
                liar.lie(|path, body| {
                    let root = merkle::leaf_hash(b"one entry");
                    Some(match path {
                        CHECKPOINT => signed_note(1, root).into_bytes(),
                        _ if path.starts_with(ENTRIES) => bundle(&[b"one entry".to_vec()]),
                        _ => body,
                    })
                });
            },
            true,
        ),
        (
            "a fork",
            "log-not-consistent",
            |_, liar, _| {
                // The first entry is another one, and all is signed again.
                let kept = Arc::new(Mutex::new(BTreeMap::new()));
                liar.lie(move |path, body| {
                    let mut kept = kept.lock().unwrap();
                    if path.starts_with(ENTRIES) {
                        return kept.get(ENTRIES).cloned().or(Some(body));
                    }
                    if path == CHECKPOINT {
                        let text = String::from_utf8(body).unwrap();
                        let size: usize = text.lines().nth(1).unwrap().parse().unwrap();
                        let bodies: Vec<_> = (0..size).map(|i| vec![i as u8; 40]).collect();
                        let forked = bundle(&bodies);
                        let note = note_of(&forked, size as u64);
                        kept.insert(ENTRIES, forked);
                        return Some(note.into_bytes());
                    }
                    Some(body)
                });
            },
            true,
        ),
    ]
}

/// I1, I17. The lying logs of the list, each found, named, and exit 3.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_lying_log_is_found_and_named() {
    for (what, id, tell, caught) in lies() {
        let (scene, liar, follower) = audited().await;
        let mut anchors = scene.anchors();
        tell(&scene, &liar, &mut anchors);
        follower.pin(&anchors);
        let mut result = follower.audit(&["--now", &NOW.to_string()]).await;
        if id == "checkpoint-other-size" {
            // Its checkpoint is made of the entries that were read, so it lies from the second on.
            result = follower.audit(&["--now", &NOW.to_string()]).await;
        }
        let (code, report) = result;
        assert_eq!(code, 3, "{what}: {report}");
        assert!(
            findings(&report, "error").contains(&id.to_owned()),
            "{what}: {report}"
        );
        assert_eq!(follower.evidence().len(), usize::from(caught), "{what}");
        // Honest again.
        liar.lie(|_, body| Some(body));
        follower.pin(&scene.anchors());
        let (code, report) = follower.audit(&[]).await;
        assert_eq!(code, if caught { 3 } else { 0 }, "{what}: {report}");
    }
}

/// I17, I6. The same by what is in the log: one receipt, two truths.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i17_a_double_spent_receipt_is_found_and_named() {
    let (scene, _liar, follower) = audited().await;
    let mut receipts = siegel_audit::testing::receipts(&scene).await;
    receipts.truncate(3);
    if let Fact::RunRegistered { run, .. } = &mut receipts[2].fact {
        *run = RunId::from_bytes([9; 16]);
    }
    let fork = chained(scene.id(), &receipts);
    scene
        .publish(&scene.cluster, predicate::RECEIPT, &fork[2])
        .await;
    let (code, report) = follower.audit(&[]).await;
    assert_eq!(code, 3, "{report}");
    assert_eq!(findings(&report, "error"), ["receipt-fork"]);
    assert_eq!(
        report["log"]["known"].as_u64().unwrap() + 1,
        report["log"]["size"]
    );
}

/// I1. Witnessed as the anchors ask: good, at the auditor's clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i1_witnesses_are_held_against_the_auditors_clock() {
    let (scene, liar, follower) = audited().await;
    let mut anchors = scene.anchors();
    anchors.log.witnesses = quorum(2);
    follower.pin(&anchors);
    let mut note = scene.log.checkpoint();
    for n in [1, 2] {
        note = Witness::new(n).cosign(&note, NOW);
        let shown = note.clone();
        liar.lie(move |path, body| {
            Some(if path == CHECKPOINT {
                shown.clone().into_bytes()
            } else {
                body
            })
        });
        let (code, report) = follower.audit(&["--now", &NOW.to_string()]).await;
        let errors = findings(&report, "error");
        let lacks = errors.contains(&"checkpoint-not-witnessed".to_owned());
        assert_eq!(
            (code, lacks),
            (3, n == 1),
            "the offers in it are not witnessed: {errors:?}"
        );
        let later = NOW.plus(Seconds(61)).to_string();
        let (code, report) = follower.audit(&["--now", &later]).await;
        let stale = findings(&report, "error").contains(&"checkpoint-stale".to_owned());
        assert!(code == 3 && stale == (n == 2), "{report}");
    }
    // Twice is no better than once: it is a fault.
    let twice = Witness::new(2).cosign(&note, NOW.plus(Seconds(1)));
    liar.lie(move |path, body| {
        Some(if path == CHECKPOINT {
            twice.clone().into_bytes()
        } else {
            body
        })
    });
    let (code, report) = follower.audit(&["--now", &NOW.to_string()]).await;
    let errors = findings(&report, "error");
    assert_eq!(code, 3);
    assert!(
        errors.contains(&"cosignature-invalid".to_owned()),
        "{errors:?}"
    );
}

/// I1. Lost, damaged, given up: never a first audit by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i1_a_state_that_is_not_what_it_was_stops_the_audit() {
    let (_scene, liar, follower) = audited().await;
    let code = |(code, report): (i32, Value)| (code, report["error"]["code"].clone());
    let state = follower.state().join("state.json");
    let bytes = std::fs::read(&state).unwrap();
    std::fs::remove_file(&state).unwrap();
    assert_eq!(code(follower.audit(&[]).await), (1, "state-lost".into()));
    std::fs::write(&state, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(code(follower.audit(&[]).await), (1, "state-damaged".into()));
    let elsewhere = follower.state().join("elsewhere").display().to_string();
    let named = ["--state", &elsewhere];
    let (exit, missing) = follower.audit(&named).await;
    assert_eq!(
        (exit, &missing["error"]["code"]),
        (2, &"state-missing".into())
    );
    let help = missing["error"]["help"].as_str().unwrap();
    assert!(
        help.contains(&format!("--state {elsewhere} --rebaseline")),
        "{help}"
    );
    assert!(help.contains(&liar.url), "{help}");

    let (exit, output) = follower.run(&["--rebaseline"]).await;
    assert_eq!(exit, 0);
    assert!(String::from_utf8_lossy(&output.stderr).contains("REBASELINED"));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(findings(&report, "warning").contains(&"rebaselined".to_owned()));
    assert_eq!(follower.evidence().len(), 1, "the damaged state is kept");
    let (exit, report) = follower.audit(&[]).await;
    assert_eq!(exit, 0);
    assert!(!findings(&report, "warning").contains(&"rebaselined".to_owned()));
    // The state follows the log, not its address.
    let mut other = Scene::new().anchors();
    other.log.key = siegel_rekor::LogKey::generate(&other.log.origin)
        .unwrap()
        .public_key();
    follower.pin(&other);
    assert_eq!(
        code(follower.audit(&[]).await),
        (2, "state-other-log".into())
    );
    drop(liar);
}

/// I8. A full disk, or a kill, leaves the old state; evidence of a lie ends with 3 all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i8_a_full_disk_or_a_kill_leaves_the_old_state() {
    let (scene, liar, follower) = audited().await;
    let state = follower.state().join("state.json");
    let before = std::fs::read(&state).unwrap();
    scene
        .publish(&scene.author, predicate::PROGRAM, b"one more")
        .await;
    let (code, report) = follower.without_disk().await;
    assert_eq!(
        (code, &report["error"]["code"]),
        (1, &"state-not-saved".into()),
        "{report}"
    );
    assert_eq!(std::fs::read(&state).unwrap(), before);

    // Killed while it reads: the log answers the checkpoint, and nothing after that.
    liar.lie(|path, body| {
        if path.starts_with(ENTRIES) {
            std::thread::sleep(std::time::Duration::from_secs(2));
        }
        Some(body)
    });
    follower
        .killed_after(std::time::Duration::from_millis(700))
        .await;
    assert_eq!(std::fs::read(&state).unwrap(), before);

    liar.lie(|_, body| Some(body));
    let (code, report) = follower.audit(&[]).await;
    assert_eq!((code, report["log"]["known"].is_u64()), (0, true));
    assert_ne!(std::fs::read(&state).unwrap(), before);
    liar.show(Scene::new().log);
    let (code, report) = follower.without_disk().await;
    assert_eq!(code, 3);
    assert!(findings(&report, "error").contains(&"log-rollback".to_owned()));
}

/// One line per change, the verdict's code at Ctrl-C, 3 at once when the log is caught.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_goes_on_until_the_log_is_caught() {
    let (scene, liar, follower) = audited().await;
    let mut watch = follower.watch();
    assert_eq!(watch.line().await["verdict"], "good");
    scene
        .publish(&scene.author, predicate::PROGRAM, b"one more")
        .await;
    let grown = watch.line().await;
    assert_eq!(
        grown["known"].as_u64().unwrap() + 1,
        grown["size"],
        "{grown}"
    );
    assert_eq!(watch.interrupted().await, 0);

    // A bad verdict that is no contradiction does not end it.
    scene
        .publish_bare(&scene.author, predicate::POLICY, b"secret", true)
        .await;
    let mut watch = follower.watch();
    let bad = watch.line().await;
    assert_eq!(bad["verdict"], "not-trustworthy");
    assert_eq!(watch.interrupted().await, 3);

    let mut watch = follower.watch();
    assert_eq!(watch.line().await["event"], "audited");
    liar.show(Scene::new().log);
    let caught = watch.line().await;
    assert!(
        caught["new_findings"].to_string().contains("log-rollback"),
        "{caught}"
    );
    assert_eq!(watch.ended().await, 3);
}

/// A log that is away is said once, and asked again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_waits_for_a_log_that_is_away() {
    let (scene, liar, _) = audited().await;
    let address = liar.url.clone();
    let follower = Follower::new(&address, &scene.anchors());
    drop(liar);
    let mut watch = follower.watch();
    assert_eq!(watch.line().await["event"], "away");
    let listener = tokio::net::TcpListener::bind(address.trim_start_matches("http://")).await;
    let server = tokio::spawn(siegel_rekor::serve(
        listener.unwrap(),
        scene.log.clone(),
        std::future::pending(),
    ));
    assert_eq!(watch.line().await["event"], "back");
    assert_eq!(watch.line().await["event"], "audited");
    assert_eq!(watch.interrupted().await, 0);
    server.abort();
}

/// What others see, by the command line.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i1_a_split_view_by_an_observer_is_found() {
    let (scene, _liar, follower) = audited().await;
    let other = Scene::new();
    other
        .publish(&other.author, predicate::PROGRAM, b"elsewhere")
        .await;
    let mirror = Liar::serve(other.log.clone()).await;
    let own = follower.state().join("own");
    std::fs::write(&own, scene.log.checkpoint()).unwrap();
    let own = own.display().to_string();
    let (code, report) = follower.audit(&["--observer", &own]).await;
    assert_eq!(code, 0, "{report}");
    let (code, report) = follower
        .audit(&["--observer", &own, "--observer", &mirror.url])
        .await;
    assert_eq!((code, follower.evidence().len()), (3, 1));
    assert_eq!(findings(&report, "error"), ["split-view"]);
    assert_eq!(
        report["evidence"][0]["other"]["note"],
        other.log.checkpoint()
    );
}
