//! I8: what a store has answered is there, what it has refused is not, in memory and in a folder.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path as FilePath;

use bytes::Bytes;
use futures::TryStreamExt as _;
use siegel_store::{Path, Refusal, RuledStore, Store, StoreError};

fn parts(text: &str) -> [Bytes; 1] {
    [Bytes::copy_from_slice(text.as_bytes())]
}

async fn read(store: &Store, at: &str) -> Option<Vec<u8>> {
    let found = store.get(&Path::from(at)).await.unwrap();
    found.map(Vec::from)
}

async fn names(store: &Store, prefix: &str) -> Vec<String> {
    let mut all: Vec<_> = store
        .list(prefix)
        .map_ok(|object| object.location.to_string())
        .try_collect()
        .await
        .unwrap();
    all.sort();
    all
}

#[tokio::test]
async fn objects_are_put_once_or_replaced_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    for store in [Store::memory(), Store::folder(dir.path()).unwrap()] {
        let at = Path::from("a/b.p/1");
        assert!(!store.put(&at, parts("one")).await.unwrap());
        assert!(store.put(&at, parts("two")).await.unwrap());
        assert_eq!(read(&store, "a/b.p/1").await.unwrap(), b"one");
        store
            .replace(&at, [parts("tw"), parts("o")].concat())
            .await
            .unwrap();
        assert_eq!(read(&store, "a/b.p/1").await.unwrap(), b"two");
        let some = store.get_range(&at, 1..2).await.unwrap().unwrap();
        assert_eq!(&some[..], b"w");
        let missing = Path::from("a/c");
        assert_eq!(store.get_range(&missing, 1..2).await.unwrap(), None);
        assert_eq!(read(&store, "a/c").await, None);
        // I14: a reader says how much it can take.
        let long = store.get_at_most(&at, 2).await;
        assert!(matches!(long, Err(StoreError::TooLong { max: 2, .. })));
        assert!(store.get_at_most(&at, 3).await.unwrap().is_some());

        store.put(&Path::from("a/c"), parts("c")).await.unwrap();
        store.put(&Path::from("ab"), parts("ab")).await.unwrap();
        assert_eq!(names(&store, "a").await, ["a/b.p/1", "a/c"]);
        store.delete(&at).await.unwrap();
        store.delete(&at).await.unwrap();
        assert_eq!(names(&store, "a").await, ["a/c"]);
        assert!(names(&store, "nothing").await.is_empty());
    }
    // The folder of the deleted object went with it, the others stayed.
    assert!(!dir.path().join("a/b.p").exists() && dir.path().join("a").exists());
}

// Catches a sweep that takes an object away, or leaves what a killed process was writing.
#[tokio::test]
async fn i8_leftovers_are_swept_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::folder(dir.path()).unwrap();
    store
        .put(&Path::from("tile/0/000.p/5"), parts("x"))
        .await
        .unwrap();
    let shelf = dir.path().join("tile/0");
    for name in ["001#1", "000.p/5#2", "checkpoint#12"] {
        fs::write(shelf.join(name), "half").unwrap();
    }
    for name in ["a#b", "a#", "readme"] {
        fs::write(shelf.join(name), "mine").unwrap();
    }
    drop(store);
    let reading = Store::reading(dir.path()).unwrap();
    assert_eq!(read(&reading, "tile/0/000.p/5").await.unwrap(), b"x");
    assert!(shelf.join("001#1").exists(), "a reader changes nothing");
    Store::folder(dir.path()).unwrap();
    for (name, stays) in [
        ("001#1", false),
        ("000.p/5#2", false),
        ("checkpoint#12", false),
        ("000.p/5", true),
        ("a#b", true),
        ("a#", true),
        ("readme", true),
    ] {
        assert_eq!(shelf.join(name).exists(), stays, "{name}");
    }
}

#[test]
fn a_reader_makes_no_folder() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("not there");
    assert!(matches!(Store::reading(&path), Err(StoreError::Url { .. })));
    assert!(!path.exists());
}

// Catches ENOSPC taken for something else, and an object that a refused put has left.
#[tokio::test]
async fn a_full_store_says_so_and_keeps_what_it_has() {
    let at = Path::from("x");
    let store = Store::memory().wrapped(|inner| RuledStore::full_after(inner, 5));
    store.put(&at, parts("four")).await.unwrap();
    for refused in [
        store.put(&Path::from("y"), parts("more")).await.map(drop),
        store.replace(&at, parts("more")).await,
    ] {
        assert!(matches!(refused, Err(StoreError::Full)), "{refused:?}");
    }
    assert_eq!(read(&store, "x").await.unwrap(), b"four");
    assert_eq!(read(&store, "y").await, None);
    store.replace(&at, parts("1")).await.unwrap();

    let late = Store::memory().wrapped(|inner| RuledStore::when(inner, |_, _| Refusal::After));
    assert!(late.replace(&at, parts("late")).await.is_err());
    assert_eq!(read(&late, "x").await.unwrap(), b"late");
}

// The same from a real disk: a small one in memory, if this machine lets us mount it; else /dev/full
// stands in for it. A put that does not fit leaves neither the object nor a part of it.
#[tokio::test]
async fn a_full_disk_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::folder(dir.path()).unwrap();
    let Some(_disk) = SmallDisk::mount(dir.path()) else {
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let error = std::io::Write::write_all(&mut full.unwrap(), b"x").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
        return;
    };
    let at = Path::from("x");
    store.put(&at, parts("small")).await.unwrap();
    let big = "x".repeat(2 * 1024 * 1024);
    for _ in 0..2 {
        let refused = store.replace(&at, parts(&big)).await;
        assert!(matches!(refused, Err(StoreError::Full)), "{refused:?}");
        assert_eq!(read(&store, "x").await.unwrap(), b"small");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
    store.replace(&at, parts("still fits")).await.unwrap();
}

/// A file system of 1 MiB, unmounted when dropped.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(at: &FilePath) -> Option<Self> {
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "none"])
            .arg(at)
            .stderr(std::process::Stdio::null())
            .status();
        mounted.ok()?.success().then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}
