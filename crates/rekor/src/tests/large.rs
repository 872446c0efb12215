//! A log of many entries: proofs, reading beside the writer, starting again.

use siegel_ident::Digest;
use siegel_translog::merkle::{leaf_hash, verify_inclusion};
use siegel_translog::{Checkpoint, SpkiKey, TlogEntry, Tree};

use super::*;
use crate::FolderLog;

/// Entries whose signatures nobody has checked: the log itself does not.
fn made_up(key: SpkiKey, range: std::ops::Range<u32>) -> Vec<HashedRekord> {
    let record = |i: u32| HashedRekord {
        digest: Digest::of(&i.to_be_bytes()),
        signature: i.to_be_bytes().repeat(18),
        verifier: siegel_translog::Verifier::Key(key),
    };
    range.map(record).collect()
}

fn check(entry: &TlogEntry) {
    let proof = &entry.proof;
    let note = Checkpoint::verify_note(proof.checkpoint(), ORIGIN, &key().public_key()).unwrap();
    assert_eq!((note.size, note.root), (proof.tree_size, proof.root_hash));
    let leaf = leaf_hash(&entry.canonicalized_body);
    let (index, size) = (entry.log_index, note.size);
    verify_inclusion(&leaf, index, size, &proof.hashes, &note.root).unwrap();
}

/// Catches: an entry, tile or proof that goes wrong only when there are many; a start that finds
/// another tree; a reader that does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_entries_are_there_and_provable() {
    const ENTRIES: u32 = 100_000;
    let dir = tempfile::tempdir().unwrap();
    let storage = Storage::folder(dir.path());
    let log = Log::open(&storage, key()).unwrap();
    let signer = PolicySigner::generate().unwrap().key();
    let reader = FolderLog::open(dir.path()).unwrap();
    for part in 0..20 {
        let all = made_up(signer, part * 5000..(part + 1) * 5000);
        let submitted = all.iter().map(|record| log.submit(record));
        for (i, entry) in futures::future::join_all(submitted)
            .await
            .iter()
            .enumerate()
        {
            let entry = entry.as_ref().unwrap();
            if i % 97 == 0 {
                check(entry);
            }
        }
        // I8: what a reader sees at any time is what some checkpoint covers.
        let note = reader.checkpoint().await.unwrap();
        let size = Checkpoint::verify_note(&note, ORIGIN, &key().public_key())
            .unwrap()
            .size;
        assert_eq!(reader.entries(size - 10, size).await.unwrap().len(), 10);
    }
    assert_eq!(log.size(), u64::from(ENTRIES));
    let last = log.checkpoint();
    drop(log);

    let log = Log::open(&storage, key()).unwrap();
    assert_eq!(log.checkpoint(), last);
    let sample = (0..ENTRIES)
        .step_by(1009)
        .chain([0, 255, 256, 65_535, 65_536, 99_999]);
    for i in sample {
        let entry = log.submit(&made_up(signer, i..i + 1)[0]).await.unwrap();
        assert_eq!(entry.proof.tree_size, u64::from(ENTRIES), "{i} is there");
        check(&entry);
    }
    let bodies = reader.entries(0, ENTRIES.into()).await.unwrap();
    let tree: Tree = bodies.iter().map(|body| leaf_hash(body)).collect();
    let root = Checkpoint::verify_note(&last, ORIGIN, &key().public_key());
    assert_eq!(tree.root(), root.unwrap().root);
}

/// Catches: a reader without a lock that trips over tiles which became full, and were removed in
/// their narrow form, while it looked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_beside_the_writer_always_finds_what_the_checkpoint_covers() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(&Storage::folder(dir.path()), key()).unwrap();
    let signer = PolicySigner::generate().unwrap().key();
    let path = dir.path().to_owned();
    let reading = tokio::spawn(async move {
        let reader = FolderLog::open(&path).unwrap();
        let (mut readings, mut size) = (0, 0);
        while size < 700 {
            let note = reader.checkpoint().await.unwrap();
            let found = Checkpoint::verify_note(&note, ORIGIN, &key().public_key()).unwrap();
            assert!(found.size >= size, "the log shrank");
            size = found.size;
            let bodies = reader.entries(0, size).await.unwrap();
            let tree: Tree = bodies.iter().map(|body| leaf_hash(body)).collect();
            assert_eq!(tree.root(), found.root, "at {size}");
            readings += 1;
        }
        readings
    });
    for part in 0..70 {
        submit_all(&log, &made_up(signer, part * 10..(part + 1) * 10)).await;
    }
    assert!(reading.await.unwrap() > 1);
}

/// Proofs at each size up to 600, as answered by the log, and over the borders of tiles.
#[tokio::test]
async fn every_size_gives_proofs_of_exactly_that_size() {
    let log = memory();
    let signer = PolicySigner::generate().unwrap().key();
    for (i, record) in made_up(signer, 0..600).iter().enumerate() {
        let entry = log.submit(record).await.unwrap();
        assert_eq!(entry.proof.tree_size, i as u64 + 1);
        check(&entry);
        for old in [0, i / 2, i.saturating_sub(1)] {
            let again = &made_up(signer, old as u32..old as u32 + 1)[0];
            let again = log.submit(again).await.unwrap();
            assert_eq!(again.proof.tree_size, i as u64 + 1);
            check(&again);
        }
    }
}
