//! Logs that contradict themselves, and states that are not what they were.

mod folders;
mod observers;

use siegel_policy::Severity;
use siegel_rekor::{Log, LogReader, Storage};
use siegel_translog::predicate;

use super::{State, state::NotState};
use crate::testing::{NOW, Scene, log_key};
use crate::{Audit, AuditAnchors, Audited, Seen};

/// A log with `n` entries that differ by `tag`, all but the first.
async fn log(n: u32, tag: u8) -> Scene {
    let scene = Scene::over(Log::open(&Storage::Memory, log_key()).unwrap());
    for i in 0..n {
        more(&scene, if i == 0 { 0 } else { tag }, i).await;
    }
    scene
}

/// One entry more. The signature is not repeatable, so logs that share entries share a `Scene`.
async fn more(scene: &Scene, tag: u8, i: u32) {
    let bytes = [&[tag][..], &i.to_be_bytes()].concat();
    scene
        .publish(&scene.author, predicate::PROGRAM, &bytes)
        .await;
}

async fn audit(scene: &Scene, anchors: &AuditAnchors, state: &State) -> Audited {
    let audit = Audit::new(anchors, NOW).since(state);
    audit
        .run(&LogReader::Open(scene.log.clone()))
        .await
        .unwrap()
}

fn errors(audited: &Audited) -> Vec<&str> {
    let all = audited.report.findings.iter();
    all.filter(|finding| finding.severity == Severity::Error)
        .map(|finding| finding.id.as_str())
        .collect()
}

fn warns(audited: &Audited, id: &str) -> bool {
    let mut all = audited.report.findings.iter();
    all.any(|finding| finding.severity == Severity::Warning && finding.id == id)
}

/// I1. Catches: a log that grows taken for one that lies, and a first audit that remembers nothing.
#[tokio::test]
async fn a_log_that_grows_is_good() {
    let scene = log(3, 0).await;
    let anchors = scene.anchors();
    let mut state = State::new(&anchors.log);
    for size in 3..6u64 {
        let audited = audit(&scene, &anchors, &state).await;
        assert_eq!(errors(&audited), Vec::<&str>::new());
        let known = (size > 3).then_some(size - 1);
        assert_eq!(
            (audited.report.log.size, audited.report.log.known),
            (Some(size), known)
        );
        assert!(state.take(&audited, NOW));
        assert!(!state.take(&audited, NOW), "nothing new");
        more(&scene, 0, size as u32).await;
    }
    let parsed = State::parse(&state.to_bytes().unwrap(), &anchors.log);
    assert_eq!(parsed.unwrap(), state);
}

/// I1. Catches: each way in which a log can contradict what it showed; that the contradiction is
/// forgotten, or its notes; and that honest behaviour afterwards makes good for it.
#[tokio::test]
async fn i1_a_log_that_contradicts_itself_is_caught_and_stays_caught() {
    let honest = log(5, 1).await;
    let anchors = honest.anchors();
    let mut known = State::new(&anchors.log);
    known.take(&audit(&honest, &anchors, &known).await, NOW);
    for (size, id) in [
        (3, "log-rollback"),
        (0, "log-rollback"),
        (5, "log-not-consistent"),
        (9, "log-not-consistent"),
    ] {
        let other = log(size, 2).await;
        let mut state = known.clone();
        let audited = audit(&other, &anchors, &state).await;
        assert_eq!(errors(&audited), [id], "size {size}");
        assert_eq!(audited.verified, None);
        let [evidence] = &audited.report.evidence[..] else {
            panic!("one contradiction")
        };
        // Anyone can check it with the log's key alone.
        for note in [&evidence.shown.note, &evidence.other.note] {
            Seen::verify(note.clone(), &anchors.log).unwrap();
        }
        assert_ne!(evidence.shown.note, evidence.other.note);
        assert!(state.take(&audited, NOW) && state.is_contradicted());
        assert_eq!(
            state.last(),
            known.last(),
            "the lie is not what is followed"
        );

        let again = audit(&other, &anchors, &state).await;
        assert_eq!(errors(&again), [id], "said once");
        let bytes = state.to_bytes().unwrap();
        let Ok(state) = State::parse(&bytes, &anchors.log) else {
            panic!("reads back")
        };
        let later = audit(&honest, &anchors, &state).await;
        assert_eq!(errors(&later), [id], "it stands");
        assert!(later.report.findings[0].message.contains("--rebaseline"));
    }
}

/// I1. Catches: a single byte of the state that may rot unseen, and notes that are believed unread.
#[tokio::test]
async fn i1_no_byte_of_a_state_may_change() {
    let scene = log(2, 1).await;
    let anchors = scene.anchors();
    let mut state = State::new(&anchors.log);
    state.take(&audit(&scene, &anchors, &state).await, NOW);
    let bytes = state.to_bytes().unwrap();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        let parsed = State::parse(&flipped, &anchors.log);
        assert!(matches!(parsed, Err(NotState::Damaged(_))), "byte {at}");
        assert!(
            State::parse(&bytes[..at], &anchors.log).is_err(),
            "cut at {at}"
        );
    }
    let other = siegel_rekor::LogKey::generate(log_key().origin()).unwrap();
    let parsed = State::parse(&bytes, &other.anchors());
    assert!(matches!(parsed, Err(NotState::OtherLog(_))));
    // A note of another key in a document that is otherwise whole.
    let stranger = Log::open(&Storage::Memory, other).unwrap();
    let seen = Seen::verify(stranger.checkpoint(), &stranger.anchors()).unwrap();
    state.seen.push((NOW, seen));
    let parsed = State::parse(&state.to_bytes().unwrap(), &anchors.log);
    assert!(matches!(parsed, Err(NotState::Damaged(_))));
}
