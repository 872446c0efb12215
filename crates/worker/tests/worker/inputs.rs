//! I2: which uploads are read is what was registered, whoever stored the list of them.

use siegel_ident::{BlobDigest, Digest, InputRoot};
use siegel_keys::fake::FakeGrant;

use super::setting::*;

async fn setting() -> Setting {
    let words: &[&[&str]] = &[&["the"], &["of", "the"], &[]];
    Setting::new(|s| {
        let records = words.iter().zip(1..);
        records
            .map(|(words, user)| s.seal(&record(user, words)))
            .collect()
    })
    .await
}

// Catches each check taken out: a list that is missing, short, long, torn, unsorted, or that names
// an upload twice or another one.
#[tokio::test]
async fn a_list_that_is_not_the_registered_one_is_refused() {
    let setting = setting().await;
    let [a, b, c] = setting.uploads[..] else {
        panic!("three uploads")
    };
    let other = BlobDigest::of(b"another upload");
    let mut torn = list(&setting.uploads);
    torn.push(0);
    let wrong = [
        Vec::new(),
        list(&[a, b]),
        list(&[a, b, c, c]),
        torn[..95].to_vec(),
        torn,
        list(&[b, a, c]),
        list(&[a, b, b]),
        list(&[a, b, other]),
    ];
    let mut all: Vec<_> = wrong
        .map(|wrong| (setting.depot.put(&wrong), "input-mismatch"))
        .into();
    all.push((Digest::from_bytes([1; 32]), "inputs-missing"));
    for (at, (inputs, code)) in all.into_iter().enumerate() {
        setting.kms.grant.lock().unwrap().inputs = inputs;
        setting.prepare().await;
        let mut session = setting.session().await.unwrap();
        assert_eq!(refused(&mut session, setting.ask(&[0])).await, code, "{at}");
    }
    // No upload was asked for, and the right list still does it.
    let read = |d: &Vec<u8>| setting.uploads.iter().any(|blob| blob.to_vec() == *d);
    assert!(!setting.depot.gets.lock().unwrap().iter().any(read));
    setting.kms.grant.lock().unwrap().inputs = Digest::of(&list(&setting.uploads));
    setting.prepare().await;
    let mut session = setting.session().await.unwrap();
    assert!(compute(&mut session, setting.ask(&[0])).await.is_ok());
}

// Catches a worker that takes the list as it comes: both root and count are the registered ones.
#[tokio::test]
async fn another_registered_root_or_count_refuses_the_list() {
    let edits: [fn(&mut FakeGrant); 3] = [
        |grant| grant.input_root = InputRoot::from_bytes([9; 32]),
        |grant| grant.blob_count = 2,
        |grant| grant.blob_count = 4,
    ];
    for edit in edits {
        let setting = setting().await;
        edit(&mut setting.kms.grant.lock().unwrap());
        setting.prepare().await;
        let mut session = setting.session().await.unwrap();
        assert_eq!(
            refused(&mut session, setting.ask(&[0])).await,
            "input-mismatch"
        );
    }
}

// The depot serves other bytes for the list's digest.
#[tokio::test]
async fn a_depot_that_lies_about_the_list_is_not_believed() {
    let setting = setting().await;
    let lie = list(&setting.uploads[..2]);
    let inputs = {
        let mut grant = setting.kms.grant.lock().unwrap();
        grant.blob_count = 2;
        grant.inputs
    };
    setting.depot.lie(inputs.to_vec(), Some(lie));
    setting.prepare().await;
    let mut session = setting.session().await.unwrap();
    assert_eq!(
        refused(&mut session, setting.ask(&[0])).await,
        "inputs-missing"
    );
}

// I8: an upload that came after the registration is no part of the run and stops nothing.
#[tokio::test]
async fn a_late_upload_harms_nothing() {
    let setting = setting().await;
    let late = setting.depot.put(b"late, and not even sealed");
    setting.prepare().await;
    let all: Vec<u32> = (0..setting.blocks().get()).collect();
    let mut session = setting.session().await.unwrap();
    let sums = compute(&mut session, setting.ask(&all)).await.unwrap();
    assert_eq!(setting.total(&sums), [0, 1, 2, 0, 0]);
    assert!(!setting.depot.gets.lock().unwrap().contains(&late.to_vec()));
}
