//! What others see of the log: the same, less, more, another log.

use super::*;
use crate::testing::{Liar, signed_note};

async fn seen_by(scene: &Scene, observers: &[&str]) -> Audited {
    let anchors = AuditAnchors {
        observers: observers.iter().map(|at| (*at).to_owned()).collect(),
        ..scene.anchors()
    };
    audit(scene, &anchors, &State::new(&anchors.log)).await
}

/// I1. Catches: a second view that is not compared, whichever of the two is longer.
#[tokio::test]
async fn i1_a_split_view_is_found_and_kept() {
    let scene = log(5, 1).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("note");
    let at = file.to_str().unwrap();
    for size in [2, 5] {
        let other = log(size, 2).await;
        std::fs::write(&file, other.log.checkpoint()).unwrap();
        let audited = seen_by(&scene, &[at]).await;
        assert_eq!(errors(&audited), ["split-view"]);
        let evidence = &audited.report.evidence[0];
        assert_eq!(evidence.other.note, other.log.checkpoint());
        assert_eq!(evidence.shown.note, scene.log.checkpoint());
        let mut state = State::new(&scene.anchors().log);
        state.take(&audited, NOW);
        assert!(state.is_contradicted());
    }
    // An earlier state of this very log.
    let earlier = scene.log.checkpoint();
    more(&scene, 1, 9).await;
    std::fs::write(&file, earlier).unwrap();
    let audited = seen_by(&scene, &[at, at]).await;
    assert_eq!(errors(&audited), Vec::<&str>::new());
    assert!(audited.report.evidence.is_empty());
}

/// Over HTTP: a mirror or log by its URL, a note by its own; what the log shows by then is read too.
#[tokio::test]
async fn i1_observers_that_see_more_are_compared_with_what_the_log_shows_by_then() {
    let scene = log(3, 1).await;
    let other = log(7, 2).await;
    let served = Liar::serve(scene.log.clone()).await;
    let split = Liar::serve(other.log.clone()).await;
    let note = format!("{}/api/v2/checkpoint", served.url);
    let same = seen_by(&scene, &[&served.url, &note]).await;
    assert_eq!(errors(&same), Vec::<&str>::new());
    assert!(!warns(&same, "observer-away") && !warns(&same, "observer-ahead"));
    // It sees more, and this log does not show it.
    let ahead = seen_by(&scene, &[&split.url]).await;
    assert_eq!(errors(&ahead), Vec::<&str>::new());
    assert!(warns(&ahead, "observer-ahead"));

    // The log grows while it is audited: the observer's view is held against what it shows then.
    let anchors = |at: &str| AuditAnchors {
        observers: vec![at.to_owned()],
        ..scene.anchors()
    };
    let first = scene.log.checkpoint();
    let mut expected = Vec::new();
    for i in 3..7 {
        more(&scene, 1, i).await;
    }
    for (observer, id) in [(&served.url, None), (&split.url, Some("split-view"))] {
        let asked = std::sync::atomic::AtomicBool::new(false);
        let first = first.clone();
        let liar = Liar::serve(scene.log.clone()).await;
        liar.lie(move |path, body| {
            let before = path == "/api/v2/checkpoint"
                && !asked.swap(true, std::sync::atomic::Ordering::SeqCst);
            Some(if before {
                first.clone().into_bytes()
            } else {
                body
            })
        });
        let reader = LogReader::new(&liar.url).unwrap();
        let anchors = anchors(observer);
        let audited = Audit::new(&anchors, NOW).run(&reader).await.unwrap();
        assert_eq!(audited.report.log.size, Some(3));
        assert!(!warns(&audited, "observer-ahead"));
        expected.extend(id);
        assert_eq!(errors(&audited), expected);
    }
}

/// Catches: an observer that shows nothing of this log and passes for one that agrees.
#[tokio::test]
async fn observers_without_a_view_are_said() {
    let scene = log(2, 1).await;
    let dir = tempfile::tempdir().unwrap();
    let (absent, forged) = (dir.path().join("absent"), dir.path().join("forged"));
    let note = signed_note(9, siegel_ident::Digest::of(b"x")).replace("\n9\n", "\n8\n");
    std::fs::write(&forged, note).unwrap();
    let at = [absent.to_str().unwrap(), "http://127.0.0.1:9", "ftp://x"];
    for at in at {
        let audited = seen_by(&scene, &[at]).await;
        assert!(
            warns(&audited, "observer-away") && audited.report.ok,
            "{at}"
        );
    }
    let audited = seen_by(&scene, &[forged.to_str().unwrap()]).await;
    assert!(warns(&audited, "observer-other-log"));
    assert!(!warns(&audited, "observer-ahead") && errors(&audited).is_empty());
}
