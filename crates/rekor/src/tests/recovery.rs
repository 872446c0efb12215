//! I8: what a kill leaves behind, and what only a damaged disk does.

use std::fs;
use std::path::Path;

use siegel_ident::Digest;

use super::*;

/// A folder with so many entries, closed.
async fn left_behind(entries: u32) -> (tempfile::TempDir, Vec<HashedRekord>) {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(&Storage::folder(dir.path()), key()).unwrap();
    let signer = PolicySigner::generate().unwrap();
    let records: Vec<_> = (0..entries).map(|i| record(&signer, i)).collect();
    submit_all(&log, &records).await;
    (dir, records)
}

fn reopen(dir: &tempfile::TempDir) -> Result<Log, RekorError> {
    Log::open(&Storage::folder(dir.path()), key())
}

/// All files under a folder, sorted, with their bytes.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().display().to_string();
                all.push((name, fs::read(path).unwrap()));
            }
        }
    }
    all.sort();
    all
}

fn names(dir: &tempfile::TempDir) -> Vec<String> {
    files(dir.path())
        .into_iter()
        .map(|(name, _)| name)
        .collect()
}

#[tokio::test]
async fn i8_a_reopened_log_goes_on_where_it_was() {
    let (dir, records) = left_behind(5).await;
    let log = reopen(&dir).unwrap();
    assert_eq!(log.size(), 5);
    assert_eq!(log.submit(&records[3]).await.unwrap().log_index, 3);
    let next = record(&PolicySigner::generate().unwrap(), 9);
    let entry = log.submit(&next).await.unwrap();
    assert_eq!((entry.log_index, entry.proof.tree_size), (5, 6));
    log.archive_put(Digest::of(b"x"), b"x".to_vec())
        .await
        .unwrap();
    drop(log);
    fs::write(dir.path().join("tile/0/000.p/9#1"), b"half a tile").unwrap();
    let log = reopen(&dir).unwrap();
    assert_eq!(log.archive_get(Digest::of(b"x")).await.unwrap(), b"x");
    assert_eq!(log.size(), 6);
    assert!(!dir.path().join("tile/0/000.p/9#1").exists());
}

/// The names are those of C2SP tlog-tiles, and narrow tiles go when the full one is there.
#[tokio::test]
async fn the_folder_is_laid_out_as_tiles() {
    let (dir, records) = left_behind(2).await;
    let small = [
        "checkpoint",
        "lock",
        "tile/0/000.p/2",
        "tile/entries/000.p/2",
    ];
    let found = names(&dir);
    assert!(small.iter().all(|name| found.contains(&(*name).to_owned())));
    let log = reopen(&dir).unwrap();
    let signer = PolicySigner::generate().unwrap();
    for i in 2..5 {
        log.submit(&record(&signer, i)).await.unwrap();
    }
    assert!(names(&dir).contains(&"tile/0/000.p/3".to_owned()));
    let more: Vec<_> = (5..600).map(|i| record(&signer, i)).collect();
    submit_all(&log, &more).await;
    drop(log);
    let large = [
        "checkpoint",
        "lock",
        "tile/0/000",
        "tile/0/001",
        "tile/0/002.p/88",
        "tile/1/000.p/2",
        "tile/entries/000",
        "tile/entries/001",
        "tile/entries/002.p/88",
    ];
    let mut found = names(&dir);
    // How far the batches went depends on time; only the last narrow tiles must be there.
    found.retain(|name| !name.contains(".p/") || large.contains(&name.as_str()));
    assert_eq!(found, large);
    for full in ["000.p", "001.p"] {
        assert!(!dir.path().join("tile/entries").join(full).exists());
    }
    let log = reopen(&dir).unwrap();
    assert_eq!(log.size(), 600);
    assert_eq!(log.submit(&records[1]).await.unwrap().log_index, 1);
}

/// Catches: tiles beyond the checkpoint that are taken for entries, served, or stop the log. A kill
/// leaves them in any combination.
#[tokio::test]
async fn i8_tiles_beyond_the_checkpoint_never_count() {
    for (before, after) in [(5u32, 7u32), (254, 257), (256, 258), (300, 700)] {
        let (dir, _) = left_behind(before).await;
        let promised = fs::read(dir.path().join("checkpoint")).unwrap();
        let kept = files(dir.path());
        let log = reopen(&dir).unwrap();
        let signer = PolicySigner::generate().unwrap();
        let lost: Vec<_> = (before..after).map(|i| record(&signer, 1000 + i)).collect();
        submit_all(&log, &lost).await;
        drop(log);
        // The kill came just before the checkpoint; nothing was removed yet.
        fs::write(dir.path().join("checkpoint"), promised).unwrap();
        for (name, bytes) in kept {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let log = reopen(&dir).unwrap();
        assert_eq!(log.size(), u64::from(before));
        let (bundle, width) = (u64::from(before) / 256, u64::from(before) % 256 + 1);
        assert!(log.entries(bundle, width).await.unwrap().is_none());
        assert!(log.tile(0, bundle, width).is_none());
        // Other entries take their places, under the same names of tiles.
        let other: Vec<_> = (before..after).map(|i| record(&signer, 5000 + i)).collect();
        submit_all(&log, &other).await;
        assert_eq!(log.size(), u64::from(after));
        drop(log);
        let log = reopen(&dir).unwrap();
        let bodies = log.bodies(u64::from(before), u64::from(after)).await;
        let mut bodies = bodies.unwrap();
        let mut expected: Vec<_> = other.iter().map(HashedRekord::canonical_body).collect();
        bodies.sort();
        expected.sort();
        assert!(bodies == expected, "{before}..{after}");
    }
}

/// Catches: a log that loses or rewrites what it promised and signs the rest as if nothing were.
#[tokio::test]
async fn what_the_checkpoint_covers_is_never_repaired() {
    let (dir, _) = left_behind(300).await;
    let whole = files(dir.path());
    let damaged = |name: &str, bytes: Option<&[u8]>, why: &str| {
        let path = dir.path().join(name);
        match bytes {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let before = files(dir.path());
        let error = reopen(&dir).err();
        assert!(
            matches!(
                error,
                Some(RekorError::Damaged(_) | RekorError::NotOwn { .. })
            ),
            "{name} {why}: {error:?}"
        );
        assert!(files(dir.path()) == before, "{name} {why}: a refused open");
        fs::write(&path, &whole.iter().find(|(n, _)| n == name).unwrap().1).unwrap();
        error.unwrap().to_string()
    };
    for name in [
        "tile/0/000",
        "tile/0/001.p/44",
        "tile/1/000.p/1",
        "tile/entries/001.p/44",
        "checkpoint",
    ] {
        let bytes = fs::read(dir.path().join(name)).unwrap();
        damaged(name, None, "is missing");
        damaged(name, Some(&[]), "is empty");
        damaged(name, Some(&bytes[..bytes.len() - 1]), "is cut");
        damaged(name, Some(&[&bytes[..], &bytes[..]].concat()), "is longer");
        for at in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
            let mut rotten = bytes.clone();
            rotten[at] ^= 1;
            damaged(name, Some(&rotten), &format!("byte {at} flipped"));
        }
    }
    let why = damaged("tile/0/000", None, "is missing");
    assert!(why.contains("tile/0/000 is missing: restore it"), "{why}");
    // Consistent tiles of other entries: only the checkpoint's root tells.
    let other = left_behind(300).await.0;
    let others = fs::read(other.path().join("tile/0/000")).unwrap();
    damaged("tile/0/000", Some(&others), "is another log's");
    assert_eq!(reopen(&dir).unwrap().size(), 300);
}

/// I14. Catches: a bundle that is served without looking at it. It is read only when asked for.
#[tokio::test]
async fn a_rotten_bundle_is_an_error_when_it_is_read() {
    let (dir, records) = left_behind(300).await;
    let path = dir.path().join("tile/entries/000");
    let whole = fs::read(&path).unwrap();
    let log = reopen(&dir).unwrap();
    let mut rotten = whole.clone();
    rotten[whole.len() / 2] ^= 1;
    for bad in [&rotten[..], &whole[..whole.len() - 1], b""] {
        fs::write(&path, bad).unwrap();
        assert!(matches!(
            log.bodies(0, 256).await,
            Err(RekorError::Damaged(_))
        ));
        assert!(matches!(
            log.entries(0, 5).await,
            Err(RekorError::Damaged(_))
        ));
        assert_eq!(log.bodies(256, 300).await.unwrap().len(), 44);
        // Proofs come from the tree, and the log goes on.
        assert_eq!(log.submit(&records[7]).await.unwrap().proof.tree_size, 300);
    }
    fs::remove_file(&path).unwrap();
    let missing = log.bodies(0, 1).await.unwrap_err().to_string();
    assert!(missing.contains("tile/entries/000 is missing"), "{missing}");
    fs::write(&path, &whole).unwrap();
    assert_eq!(log.bodies(0, 300).await.unwrap().len(), 300);
}

#[tokio::test]
async fn a_folder_is_one_log_of_one_key_in_one_process() {
    let (dir, _) = left_behind(5).await;
    let stranger = LogKey::generate(ORIGIN).unwrap();
    let opened = Log::open(&Storage::folder(dir.path()), stranger);
    let not_own = |opened, expected| match opened {
        Err(RekorError::NotOwn { file, .. }) => assert_eq!(file, expected),
        Err(why) => panic!("{why}"),
        Ok(_) => panic!("opened"),
    };
    not_own(opened, "checkpoint");
    fs::write(dir.path().join("pending"), "nonsense").unwrap();
    not_own(reopen(&dir), "pending");
    fs::write(dir.path().join("pending"), [0xff]).unwrap();
    let damaged = reopen(&dir).err().unwrap().to_string();
    assert!(damaged.contains("`pending` is not text"), "{damaged}");
    fs::remove_file(dir.path().join("pending")).unwrap();
    let log = reopen(&dir).unwrap();
    assert!(matches!(reopen(&dir), Err(RekorError::Locked(_))));
    drop(log);
    assert!(reopen(&dir).is_ok());
    fs::remove_file(dir.path().join("checkpoint")).unwrap();
    assert!(matches!(reopen(&dir), Err(RekorError::Damaged(_))));
}

/// Catches: a log of an earlier version that is taken for an empty folder, and given a checkpoint.
#[tokio::test]
async fn a_folder_of_the_old_format_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("entries"), b"siegel/log-entries/v1\n").unwrap();
    fs::write(dir.path().join("checkpoint"), b"a note").unwrap();
    let refused = reopen(&dir).err().unwrap();
    assert!(matches!(refused, RekorError::OldFormat(_)));
    assert!(refused.to_string().contains("earlier format"), "{refused}");
    let read = crate::FolderLog::open(dir.path());
    assert!(matches!(read, Err(RekorError::OldFormat(_))));
    assert_eq!(names(&dir), ["checkpoint", "entries", "lock"]);
}

#[tokio::test]
async fn a_log_key_file_gives_the_same_key_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.key");
    let made = LogKey::load_or_create(ORIGIN, &path).unwrap().public_key();
    assert_eq!(
        LogKey::load_or_create(ORIGIN, &path).unwrap().public_key(),
        made
    );
    assert!(LogKey::generate("two words").is_err());
}

/// The folder survives a graceful stop of a server and is free afterwards.
#[tokio::test]
async fn serve_ends_on_request_and_frees_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let served = Served::start(reopen(&dir).unwrap()).await;
    let signer = PolicySigner::generate().unwrap();
    served
        .client
        .publish(&signed(&signer, 1), &signer.key(), &artifact(1))
        .await
        .unwrap();
    served.stop().await;
    assert_eq!(reopen(&dir).unwrap().size(), 1);
}
