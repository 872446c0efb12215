//! The step before a checkpoint is published: who is asked, about what, and what becomes of it.

use std::sync::Mutex;

use siegel_ident::Digest;
use siegel_translog::merkle::{verify_consistency, verify_inclusion};

use super::*;
use crate::{CosignRequest, Cosigner};

/// Note text, size, and the proof from the size before.
type Asked = (String, u64, Option<Vec<Digest>>);

/// Remembers what it was asked, and answers what it is told.
#[derive(Default)]
struct Told {
    lines: Mutex<Vec<String>>,
    asked: Mutex<Vec<Asked>>,
}

impl Cosigner for Told {
    fn cosign(&self, request: CosignRequest<'_>) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap();
        let before = asked.last().map_or(0, |(_, size, _)| *size);
        let proof = request.consistency_proof(before);
        assert_eq!(request.consistency_proof(request.size + 1), None);
        asked.push((request.note.to_owned(), request.size, proof));
        self.lines.lock().unwrap().clone()
    }
}

fn own(note: &str) -> String {
    let end = note.find("\n\n").unwrap() + 2;
    let line = note[end..].lines().next().unwrap();
    format!("{}{line}\n", &note[..end])
}

#[tokio::test]
async fn a_checkpoint_is_published_with_its_cosignatures() {
    let told = Arc::new(Told::default());
    let dir = tempfile::tempdir().unwrap();
    let storage = Storage::folder(dir.path());
    let log = Log::open_with(&storage, key(), told.clone()).unwrap();
    let signer = PolicySigner::generate().unwrap();
    let line = "\u{2014} witness.example AAAAAQ==";
    *told.lines.lock().unwrap() = vec![line.to_owned()];
    let mut entries = Vec::new();
    for i in 0..5 {
        entries.push(log.submit(&record(&signer, i)).await.unwrap());
    }
    let asked = told.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 5);
    let mut before = None;
    for ((note, size, proof), entry) in asked.iter().zip(&entries) {
        let checkpoint = key()
            .anchors()
            .verify_checkpoint(note, siegel_ident::Timestamp(0))
            .unwrap();
        assert_eq!(checkpoint.size, *size);
        // Catches a proof from a tree that does not have the new entries yet.
        let (from, root) = before.unwrap_or((0, siegel_translog::merkle::empty_root()));
        let proof = proof.as_ref().unwrap();
        verify_consistency(from, &root, *size, &checkpoint.root, proof).unwrap();
        before = Some((*size, checkpoint.root));
        // I1: the proof that is answered carries exactly the published note.
        let published = entry.proof.checkpoint();
        assert_eq!(published, format!("{note}{line}\n"));
        let leaf = siegel_translog::merkle::leaf_hash(&entry.canonicalized_body);
        let hashes = &entry.proof.hashes;
        verify_inclusion(&leaf, entry.log_index, *size, hashes, &checkpoint.root).unwrap();
    }
    let published = log.checkpoint();
    assert_eq!(
        std::fs::read_to_string(dir.path().join("checkpoint")).unwrap(),
        published
    );

    // Again, without a new entry.
    let other = "\u{2014} other.example AAAAAg==";
    *told.lines.lock().unwrap() = vec![other.to_owned()];
    log.refresh().await.unwrap();
    assert_eq!(log.checkpoint(), format!("{}{other}\n", own(&published)));
    assert_eq!(log.size(), 5);
    let again = log.submit(&record(&signer, 99)).await.unwrap();
    let refreshed = log.submit(&again_of(&again)).await.unwrap();
    assert_eq!(refreshed.log_index, again.log_index);
    drop(log);

    // A restart keeps the note as it is, with its cosignatures.
    let kept = std::fs::read_to_string(dir.path().join("checkpoint")).unwrap();
    let log = Log::open(&storage, key()).unwrap();
    assert_eq!((log.checkpoint(), log.size()), (kept.clone(), 6));
    // Catches a refresh that keeps cosignatures of those who were not asked again.
    log.refresh().await.unwrap();
    assert_eq!(log.checkpoint(), own(&kept));
    assert_eq!(
        std::fs::read_to_string(dir.path().join("checkpoint")).unwrap(),
        own(&kept)
    );
}

fn again_of(entry: &siegel_translog::TlogEntry) -> HashedRekord {
    HashedRekord::parse(&entry.canonicalized_body).unwrap()
}

/// I14. Catches a cosigner whose answer makes the note unreadable, for others or for the next start.
#[tokio::test]
async fn i14_lines_that_are_no_signatures_are_left_out() {
    let told = Arc::new(Told::default());
    let dir = tempfile::tempdir().unwrap();
    let storage = Storage::folder(dir.path());
    let log = Log::open_with(&storage, key(), told.clone()).unwrap();
    let good = "\u{2014} witness.example AAAAAQ==";
    let long = format!("\u{2014} witness.example {}", "A".repeat(5000));
    *told.lines.lock().unwrap() = [
        "",
        "hello",
        "\u{2014} witness.example",
        "\u{2014}  AAAA",
        "\u{2014} witness.example AAAA\n",
        "\u{2014} witness.example AAAA\n\nlog.example.test\n9\n",
        "\u{2014} witness.example AA AA",
        "\u{2014} a+b AAAA",
        &long,
        good,
    ]
    .map(str::to_owned)
    .to_vec();
    let signer = PolicySigner::generate().unwrap();
    let entry = log.submit(&record(&signer, 1)).await.unwrap();
    let note = entry.proof.checkpoint().to_owned();
    assert_eq!(note, format!("{}{good}\n", own(&note)));
    drop(log);
    assert_eq!(Log::open(&storage, key()).unwrap().checkpoint(), note);
}

/// Catches a refresh that does nothing on an empty log, or signs another one.
#[tokio::test]
async fn an_empty_log_is_refreshed_too() {
    let told = Arc::new(Told::default());
    let log = Log::open_with(&Storage::Memory, key(), told.clone()).unwrap();
    let before = log.checkpoint();
    *told.lines.lock().unwrap() = vec!["\u{2014} w.example AAAAAQ==".to_owned()];
    log.refresh().await.unwrap();
    assert_eq!(
        log.checkpoint(),
        format!("{before}\u{2014} w.example AAAAAQ==\n")
    );
}
