//! State folders: first use, loss, damage, other logs, a second auditor, a kill.

use std::path::Path;

use super::*;
use crate::{Place, StateError, StateFolder};

fn open(dir: &Path, anchors: &AuditAnchors) -> Result<StateFolder, StateError> {
    as_asked(dir, anchors, true, false)
}

fn as_asked(
    dir: &Path,
    anchors: &AuditAnchors,
    may_begin: bool,
    rebaseline: bool,
) -> Result<StateFolder, StateError> {
    let place = Place {
        dir: dir.to_owned(),
        may_begin,
        rebaseline,
    };
    StateFolder::open(place, &anchors.log)
}

async fn round(scene: &Scene, folder: &mut StateFolder) -> Audited {
    let audited = audit(scene, &scene.anchors(), folder.state()).await;
    folder.keep(&audited, NOW).unwrap();
    audited
}

/// I1. Catches: a state that is gone and nobody notices, in each way that it can go.
#[tokio::test]
async fn i1_a_lost_state_is_no_first_audit() {
    let scene = log(2, 1).await;
    let anchors = scene.anchors();
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("deep").join("log");
    // Not there: a first audit only where that is allowed.
    let asked = as_asked(&dir, &anchors, false, false);
    assert!(matches!(asked, Err(StateError::Missing(_))));
    let mut folder = open(&dir, &anchors).unwrap();
    assert!(folder.is_new());
    drop(folder);
    // Killed before anything was saved: still a first audit.
    folder = open(&dir, &anchors).unwrap();
    round(&scene, &mut folder).await;
    drop(folder);
    assert!(!as_asked(&dir, &anchors, false, false).unwrap().is_new());

    let state = dir.join("state.json");
    let bytes = std::fs::read(&state).unwrap();
    std::fs::remove_file(&state).unwrap();
    assert!(matches!(open(&dir, &anchors), Err(StateError::Lost(_))));
    std::fs::write(&state, &bytes[1..]).unwrap();
    let damaged = open(&dir, &anchors);
    assert!(matches!(damaged, Err(StateError::Damaged { .. })));
    let message = damaged.err().unwrap().to_string();
    assert!(message.contains("--rebaseline"), "{message}");
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(matches!(open(&dir, &anchors), Err(StateError::Lost(_))));
    // Only by decision.
    let mut anew = as_asked(&dir, &anchors, false, true).unwrap();
    round(&scene, &mut anew).await;
    drop(anew);
    assert!(!open(&dir, &anchors).unwrap().is_new());
}

#[tokio::test]
async fn another_logs_state_is_refused() {
    let scene = log(2, 1).await;
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("log");
    round(&scene, &mut open(&dir, &scene.anchors()).unwrap()).await;
    let other = siegel_rekor::LogKey::generate(log_key().origin()).unwrap();
    let refused = open(&dir, &AuditAnchors::of(other.anchors()));
    assert!(matches!(refused, Err(StateError::OtherLog { .. })));
}

/// Catches: two auditors that write over each other's state.
#[tokio::test]
async fn one_auditor_at_a_time() {
    let scene = log(2, 1).await;
    let home = tempfile::tempdir().unwrap();
    let first = open(home.path(), &scene.anchors()).unwrap();
    let second = open(home.path(), &scene.anchors());
    assert!(matches!(second, Err(StateError::InUse(_))));
    drop(first);
    open(home.path(), &scene.anchors()).unwrap();
}

/// I1. Catches: a contradiction that leaves no trace, or that goes away without a decision; a decision
/// that throws the old state away.
#[tokio::test]
async fn i1_both_notes_are_kept_until_somebody_begins_anew() {
    let (honest, fork) = (log(4, 1).await, log(6, 2).await);
    let anchors = honest.anchors();
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("log");
    round(&honest, &mut open(&dir, &anchors).unwrap()).await;
    let caught = round(&fork, &mut open(&dir, &anchors).unwrap()).await;
    let evidence = &caught.report.evidence[0];
    let path = dir
        .join("evidence")
        .join(format!("{}.json", evidence.name()));
    let kept: crate::Evidence = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(&kept, evidence);
    let later = round(&honest, &mut open(&dir, &anchors).unwrap()).await;
    assert_eq!(errors(&later), ["log-not-consistent"]);
    // The file alone: evidence says that there was a state.
    let old = std::fs::read(dir.join("state.json")).unwrap();
    std::fs::remove_file(dir.join("state.json")).unwrap();
    std::fs::remove_file(home.path().join("log.followed")).unwrap();
    assert!(matches!(open(&dir, &anchors), Err(StateError::Lost(_))));
    std::fs::write(dir.join("state.json"), &old).unwrap();

    let mut anew = as_asked(&dir, &anchors, true, true).unwrap();
    let reader = LogReader::Open(fork.log.clone());
    let begun = Audit::new(&anchors, NOW)
        .since(anew.state())
        .rebaselined(true);
    let begun = begun.run(&reader).await.unwrap();
    assert!(begun.report.ok && warns(&begun, "rebaselined"));
    anew.keep(&begun, NOW).unwrap();
    drop(anew);
    let names = std::fs::read_dir(dir.join("evidence")).unwrap();
    let names = names.map(|entry| entry.unwrap().path());
    let given_up: Vec<_> = names
        .filter(|path| path.display().to_string().contains("rebaselined-"))
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    assert_eq!(given_up, [old]);
    let next = round(&fork, &mut open(&dir, &anchors).unwrap()).await;
    assert!(next.report.ok && !warns(&next, "rebaselined"));
}

/// I8. Catches: a half-written file of a killed audit that is taken for the state.
#[tokio::test]
async fn i8_what_a_killed_audit_was_writing_is_nothing() {
    let scene = log(2, 1).await;
    let home = tempfile::tempdir().unwrap();
    round(&scene, &mut open(home.path(), &scene.anchors()).unwrap()).await;
    let before = std::fs::read(home.path().join("state.json")).unwrap();
    let leftover = home.path().join("tmp-state");
    std::fs::write(&leftover, &before[..before.len() / 2]).unwrap();
    let folder = open(home.path(), &scene.anchors()).unwrap();
    assert!(!leftover.exists() && !folder.is_new());
    assert_eq!(
        std::fs::read(home.path().join("state.json")).unwrap(),
        before
    );
}
