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
    // It sees more, and this log does not show it: the observer's own tiles tell.
    assert_eq!(
        errors(&seen_by(&scene, &[&split.url]).await),
        ["split-view"]
    );

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

fn info(audited: &Audited, id: &str) -> bool {
    let mut all = audited.report.findings.iter();
    all.any(|finding| finding.severity == Severity::Info && finding.id == id)
}

/// A log in a folder, of which the first `n` entries are those of a scene.
async fn in_folder(scene: &Scene, dir: &std::path::Path, n: u64, more: u64) -> Scene {
    let copy = Scene::over(Log::open(&Storage::folder(dir), log_key()).unwrap());
    let reader = LogReader::Open(scene.log.clone());
    for body in reader.entries(0, n).await.unwrap() {
        let record = siegel_translog::HashedRekord::parse(&body).unwrap();
        copy.log.submit(&record).await.unwrap();
    }
    for i in 0..more {
        self::more(&copy, 7, i as u32).await;
    }
    copy
}

/// I1. Catches: a fork that is ahead of what is shown here, and taken for a log that has grown; a log
/// that has grown, and taken for a fork. By folder, by URL and by the URL of the log's note, at sizes
/// before, at and after a power of two and a full tile.
#[tokio::test]
async fn i1_a_whole_log_that_is_ahead_is_held_against_ours() {
    for (n, ahead) in [(1, 1), (3, 2), (4, 3), (5, 4), (256, 3), (255, 5)] {
        let scene = log(n, 1).await;
        let fork = tempfile::tempdir().unwrap();
        let grown = tempfile::tempdir().unwrap();
        let n = u64::from(n);
        let other = in_folder(&scene, fork.path(), n - 1, ahead + 1).await;
        let same = in_folder(&scene, grown.path(), n, ahead).await;
        let (forked, honest) = (
            Liar::serve(other.log.clone()).await,
            Liar::serve(same.log.clone()).await,
        );
        let by_note = |liar: &Liar| format!("{}/api/v2/checkpoint", liar.url);
        let folder = |dir: &tempfile::TempDir| dir.path().to_str().unwrap().to_owned();
        for at in [folder(&fork), forked.url.clone(), by_note(&forked)] {
            let audited = seen_by(&scene, &[&at]).await;
            assert_eq!(errors(&audited), ["split-view"], "{n}: {at}");
            let evidence = &audited.report.evidence[0];
            assert_eq!(evidence.other.note, other.log.checkpoint());
            assert_eq!(evidence.shown.note, scene.log.checkpoint());
        }
        for at in [folder(&grown), honest.url.clone(), by_note(&honest)] {
            let audited = seen_by(&scene, &[&at]).await;
            assert_eq!(errors(&audited), Vec::<&str>::new(), "{n}: {at}");
            assert!(info(&audited, "observer-ahead") && !warns(&audited, "observer-ahead"));
        }
    }
}

/// I1. Catches: a log that is accused by wrong tiles of an observer, or acquitted by them.
#[tokio::test]
async fn i1_wrong_tiles_of_an_observer_prove_nothing() {
    for n in [4, 5] {
        let scene = log(n, 1).await;
        let (fork, grown) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let n = u64::from(n);
        let other = in_folder(&scene, fork.path(), n - 1, 4).await;
        let same = in_folder(&scene, grown.path(), n, 3).await;
        let liar = Liar::serve(same.log.clone()).await;
        // Another log's tiles under this one's note.
        for (shown, tiles) in [(&same, other.log.clone()), (&other, same.log.clone())] {
            let note = shown.log.checkpoint();
            liar.show(tiles);
            liar.lie(move |path, body| match path.ends_with("/checkpoint") {
                true => Some(note.clone().into_bytes()),
                false => Some(body),
            });
            let audited = seen_by(&scene, &[&liar.url]).await;
            assert_eq!(errors(&audited), Vec::<&str>::new());
            assert!(warns(&audited, "observer-ahead"));
        }
    }
}

/// I1. Catches: a note that was ahead and is forgotten, one that is never settled, and one that is
/// settled without a look.
#[tokio::test]
async fn i1_a_note_that_is_ahead_is_kept_until_the_log_has_grown_past_it() {
    for forked in [false, true] {
        let scene = log(3, 1).await;
        let anchors = scene.anchors();
        let (dir, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let other = in_folder(&scene, dir.path(), if forked { 2 } else { 3 }, 2).await;
        let note = home.path().join("note");
        std::fs::write(&note, other.log.checkpoint()).unwrap();
        let observing = AuditAnchors {
            observers: vec![note.to_str().unwrap().to_owned()],
            ..anchors.clone()
        };
        let mut state = State::new(&anchors.log);
        let first = audit(&scene, &observing, &state).await;
        assert!(first.report.ok && warns(&first, "observer-ahead"));
        assert!(state.take(&first, NOW));
        // Read again, and the observer is not asked any more.
        let mut state = State::parse(&state.to_bytes().unwrap(), &anchors.log).unwrap();
        assert_eq!(state.ahead().len(), 1);
        let second = audit(&scene, &anchors, &state).await;
        assert!(second.report.ok && warns(&second, "observer-ahead"));
        state.take(&second, NOW);
        // This log grows: into what was seen, or past it.
        let own = tempfile::tempdir().unwrap();
        let grown = match forked {
            true => in_folder(&scene, own.path(), 3, 3).await,
            false => in_folder(&other, own.path(), other.log.size(), 1).await,
        };
        let third = audit(&grown, &anchors, &state).await;
        state.take(&third, NOW);
        assert!(state.ahead().is_empty() && !warns(&third, "observer-ahead"));
        assert_eq!(errors(&third).contains(&"split-view"), forked);
        match forked {
            false => assert!(!state.is_contradicted()),
            true => {
                let evidence = &third.report.evidence[0];
                assert_eq!(evidence.other.note, other.log.checkpoint());
                assert!(state.is_contradicted());
            }
        }
    }
}

/// I1. Catches: two observers who are ahead of us, and contradict each other.
#[tokio::test]
async fn i1_two_notes_of_one_size_are_two_views() {
    let scene = log(2, 1).await;
    let dir = tempfile::tempdir().unwrap();
    let mut notes = Vec::new();
    for tag in [3, 4] {
        let at = dir.path().join(tag.to_string());
        std::fs::write(&at, log(5, tag).await.log.checkpoint()).unwrap();
        notes.push(at.to_str().unwrap().to_owned());
    }
    let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
    let audited = seen_by(&scene, &notes).await;
    assert_eq!(errors(&audited), ["split-view"]);
    assert_eq!(audited.report.evidence[0].shown.from, notes[0]);
}

/// Catches: open notes that grow without limit; one that is given up without a word.
#[tokio::test]
async fn no_more_than_some_notes_are_kept() {
    let scene = log(2, 1).await;
    let anchors = scene.anchors();
    let dir = tempfile::tempdir().unwrap();
    let mut observing = anchors.clone();
    for size in 10..80 {
        let at = dir.path().join(size.to_string());
        std::fs::write(&at, signed_note(size, siegel_ident::Digest::of(b"x"))).unwrap();
        observing.observers.push(at.to_str().unwrap().to_owned());
    }
    let mut state = State::new(&anchors.log);
    let first = audit(&scene, &observing, &state).await;
    state.take(&first, NOW);
    assert_eq!(state.ahead().len(), 64);
    let another = Seen::verify(scene.log.checkpoint(), &anchors.log).unwrap();
    let mut kept = state.ahead().to_vec();
    assert!(!crate::Ahead::new("another", &another, false).keep_in(&mut kept));
    kept[5].proven = true;
    assert!(crate::Ahead::new("another", &another, false).keep_in(&mut kept));
    assert!(kept.len() == 64 && kept.iter().all(|ahead| !ahead.proven));
}

/// I1. Catches: a mirror or witness that is named by its URL, as one would, and not reached.
#[tokio::test]
async fn i1_served_mirrors_and_witnesses_are_observers() {
    use std::sync::Arc;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use siegel_rekor::{Followed, Mirror, Mirroring, serve_mirror};
    use siegel_rekor::{Witness, WitnessLog, Witnessing, serve_witness};

    let scene = log(3, 1).await;
    let anchors = scene.anchors();
    let dir = tempfile::tempdir().unwrap();
    let (key, state) = (dir.path().join("key"), dir.path().join("state"));
    let with = Mirroring {
        name: "mirror.example",
        key_file: &key,
        state: &state,
        anchors: &anchors.log,
        names: Box::new(|_, _| Vec::new()),
    };
    let mirror = Arc::new(Mirror::open(with, Arc::new(|| NOW)).await.unwrap());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (served, forever) = (Arc::clone(&mirror), std::future::pending());
    let server = tokio::spawn(serve_mirror(listener, served, forever));
    // It has followed nothing yet.
    assert!(warns(&seen_by(&scene, &[&url]).await, "observer-away"));
    let fork = log(2, 2).await;
    let reader = LogReader::Open(fork.log.clone());
    let followed = mirror.catch_up(&reader, &mut Followed::default()).await;
    followed.unwrap();
    for at in [url.clone(), format!("{url}/"), format!("{url}/checkpoint")] {
        assert_eq!(
            errors(&seen_by(&scene, &[&at]).await),
            ["split-view"],
            "{at}"
        );
        assert_eq!(errors(&seen_by(&fork, &[&at]).await), Vec::<&str>::new());
    }
    server.abort();

    // A witness serves what it cosigned last, by the digest of the log's name.
    let (key, state) = (dir.path().join("w-key"), dir.path().join("w-state"));
    let watched = [WitnessLog {
        origin: anchors.log.origin.clone(),
        key: anchors.log.key,
    }];
    let with = Witnessing {
        name: "witness.example",
        key_file: &key,
        state: &state,
        logs: &watched,
    };
    let witness = Witness::open(&with, Arc::new(|| NOW)).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let at = listener.local_addr().unwrap();
    let server = tokio::spawn(serve_witness(listener, witness, std::future::pending()));
    let add = format!("old 0\n\n{}", fork.log.checkpoint());
    let length = add.len();
    let head = format!(
        "POST /add-checkpoint HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\ncontent-length: {length}"
    );
    let mut stream = tokio::net::TcpStream::connect(at).await.unwrap();
    let request = format!("{head}\r\n\r\n{add}");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let name = siegel_ident::Digest::of(anchors.log.origin.as_bytes());
    for at in [url.clone(), format!("{url}/checkpoint/{name}")] {
        assert_eq!(
            errors(&seen_by(&scene, &[&at]).await),
            ["split-view"],
            "{at}"
        );
        assert_eq!(errors(&seen_by(&fork, &[&at]).await), Vec::<&str>::new());
    }
    server.abort();
}
