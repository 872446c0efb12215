//! What the depot finds at start.

use std::fs;
use std::path::PathBuf;

use siegel_depot::{Depot, DepotError, Kind, Limits};
use siegel_ident::{Digest, EpochId};

use super::setting::*;

/// The only segment's file.
fn segment(root: &std::path::Path) -> PathBuf {
    let only = |folder: PathBuf| {
        let mut found = fs::read_dir(folder).unwrap();
        let one = found.next().unwrap().unwrap().path();
        assert!(found.next().is_none());
        one
    };
    only(only(root.join("upload")))
}

async fn stored(root: &std::path::Path) -> Vec<u8> {
    let depot = Depot::open(folder(root), Limits::default()).await.unwrap();
    let bytes = upload(1, 1);
    let put = depot.put(Kind::Upload, Digest::of(&bytes), bytes.clone().into());
    put.await.unwrap();
    bytes
}

// I8, I14: catches a depot that starts without uploads that it has acknowledged, and one that does
// not say which file is wrong. A changed body is found by whoever reads it.
#[tokio::test]
async fn i8_a_damaged_segment_stops_the_start_and_is_named() {
    let dir = tempfile::tempdir().unwrap();
    stored(dir.path()).await;
    let file = segment(dir.path());
    let good = fs::read(&file).unwrap();
    let changed = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    let damaged = [
        Vec::new(),
        good[..8].to_vec(),
        good[..50].to_vec(),
        good[..good.len() - 1].to_vec(),
        [&good[..], b"x"].concat(),
        changed(0),
        changed(7),
        changed(11),
        changed(12),
        changed(12 + 75),
    ];
    for (n, bytes) in damaged.iter().enumerate() {
        fs::write(&file, bytes).unwrap();
        let opened = Depot::open(folder(dir.path()), Limits::default()).await;
        let Err(error @ DepotError::Damaged { .. }) = opened else {
            panic!("{n} must be refused");
        };
        let name = file.file_name().unwrap().to_string_lossy();
        assert!(error.to_string().contains(&*name), "{error}");
    }
    fs::write(&file, &good).unwrap();
    let depot = Depot::open(folder(dir.path()), Limits::default()).await;
    assert_eq!(depot.unwrap().list(policy(), EpochId(1)).len(), 1);
}

// Catches a file of the store that is taken for a segment, or passed over.
#[tokio::test]
async fn foreign_files_among_segments_stop_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = stored(dir.path()).await;
    let file = segment(dir.path());
    let digest = Digest::of(&bytes).to_string();
    let foreign = [
        // As depots kept them before there were segments.
        format!("upload/{}/1/{}/{digest}", policy(), &digest[..2]),
        // On the wrong shelf.
        format!("upload/xx/{}", file.file_name().unwrap().to_string_lossy()),
        "upload/readme".into(),
    ];
    for path in foreign {
        let at = dir.path().join(&path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::copy(&file, &at).unwrap();
        let opened = Depot::open(folder(dir.path()), Limits::default()).await;
        match opened.err() {
            Some(DepotError::Foreign { path: named }) => assert_eq!(named, path),
            other => panic!("{path}: {other:?}"),
        }
        fs::remove_file(at).unwrap();
    }
}
