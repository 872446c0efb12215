//! I8: what a kill leaves behind, byte by byte.

use std::fs;

use siegel_ident::Digest;

use super::*;

/// A folder with five entries, closed.
async fn left_behind() -> (tempfile::TempDir, Vec<HashedRekord>) {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(&Storage::folder(dir.path()), key()).unwrap();
    let signer = PolicySigner::generate().unwrap();
    let records: Vec<_> = (0..5).map(|i| record(&signer, i)).collect();
    for record in &records {
        log.submit(record).await.unwrap();
    }
    (dir, records)
}

fn reopen(dir: &tempfile::TempDir) -> Result<Log, RekorError> {
    Log::open(&Storage::folder(dir.path()), key())
}

#[tokio::test]
async fn i8_a_reopened_log_goes_on_where_it_was() {
    let (dir, records) = left_behind().await;
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
    fs::write(dir.path().join("tmp-1-0"), b"half an obj").unwrap();
    let log = reopen(&dir).unwrap();
    assert_eq!(log.archive_get(Digest::of(b"x")).await.unwrap(), b"x");
    assert_eq!(log.size(), 6);
    assert!(!dir.path().join("tmp-1-0").exists());
}

/// Catches: a torn record that is taken for an entry, or that stops the log for ever.
#[tokio::test]
async fn i8_a_torn_tail_is_dropped_at_every_length() {
    let (dir, records) = left_behind().await;
    let entries = dir.path().join("entries");
    let whole = fs::read(&entries).unwrap();
    let record_len = 4 + 32 + records[0].canonical_body().len();
    let mut sixth = Vec::new();
    let next = record(&PolicySigner::generate().unwrap(), 9);
    crate::store::encode(&mut sixth, &next.leaf(), &next.canonical_body());
    for torn in (0..sixth.len())
        .step_by(7)
        .chain([1, 3, 4, 35, 36, sixth.len() - 1])
    {
        fs::write(&entries, [&whole[..], &sixth[..torn]].concat()).unwrap();
        let log = reopen(&dir).unwrap();
        assert_eq!(log.size(), 5, "{torn} bytes of a sixth record");
        drop(log);
        assert_eq!(fs::read(&entries).unwrap(), whole);
    }
    // All of it arrived, only the checkpoint did not: the entry counts.
    fs::write(&entries, [&whole[..], &sixth[..]].concat()).unwrap();
    assert_eq!(reopen(&dir).unwrap().size(), 6);
    assert!(record_len > 300);
}

/// Catches: a log that loses or rewrites what it promised and signs the rest as if nothing were.
#[tokio::test]
async fn entries_below_the_checkpoint_are_never_repaired() {
    let (dir, _) = left_behind().await;
    let entries = dir.path().join("entries");
    let whole = fs::read(&entries).unwrap();
    let damaged = |bytes: &[u8], why: &str| {
        fs::write(&entries, bytes).unwrap();
        assert!(matches!(reopen(&dir), Err(RekorError::Damaged(_))), "{why}");
        assert_eq!(
            fs::read(&entries).unwrap(),
            bytes,
            "{why}: changed by a refused open"
        );
    };
    damaged(&whole[..whole.len() - 1], "one byte missing");
    let why = reopen(&dir).err().unwrap().to_string();
    assert!(why.contains("covers 5 entries, but only 4"), "{why}");
    damaged(&[], "all gone");
    for at in (0..whole.len()).step_by(13) {
        let mut rotten = whole.clone();
        rotten[at] ^= 1;
        damaged(&rotten, &format!("byte {at} flipped"));
    }
    // A consistent file of other entries: only the checkpoint's root tells.
    let other = left_behind().await.0;
    damaged(
        &fs::read(other.path().join("entries")).unwrap(),
        "other entries",
    );
    fs::write(&entries, &whole).unwrap();
    assert_eq!(reopen(&dir).unwrap().size(), 5);
}

#[tokio::test]
async fn a_folder_is_one_log_of_one_key_in_one_process() {
    let (dir, _) = left_behind().await;
    let stranger = LogKey::generate(ORIGIN).unwrap();
    let opened = Log::open(&Storage::folder(dir.path()), stranger);
    assert!(matches!(opened, Err(RekorError::Damaged(_))));
    let log = reopen(&dir).unwrap();
    assert!(matches!(reopen(&dir), Err(RekorError::Locked(_))));
    drop(log);
    assert!(reopen(&dir).is_ok());
    fs::remove_file(dir.path().join("checkpoint")).unwrap();
    assert!(matches!(reopen(&dir), Err(RekorError::Damaged(_))));
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

/// I2: an object that rotted on disk is not handed out, and can be stored again.
#[tokio::test]
async fn a_rotten_object_is_an_error_until_it_is_stored_again() {
    let dir = tempfile::tempdir().unwrap();
    let log = reopen(&dir).unwrap();
    let digest = Digest::of(b"good");
    assert!(log.archive_put(digest, b"good".to_vec()).await.unwrap());
    let name = digest.to_string();
    fs::write(
        dir.path().join("archive").join(&name[..2]).join(&name),
        b"rot",
    )
    .unwrap();
    assert!(matches!(
        log.archive_get(digest).await,
        Err(RekorError::OtherBytes { .. })
    ));
    assert!(log.archive_put(digest, b"good".to_vec()).await.unwrap());
    assert!(!log.archive_put(digest, b"good".to_vec()).await.unwrap());
    assert_eq!(log.archive_get(digest).await.unwrap(), b"good");
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
