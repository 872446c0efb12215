//! I4, I12: a user counts once, however many uploads; what does not open contributes zero.

use bytes::Bytes;
use siegel_client::{Content, Words, verify};
use siegel_fleet::clients;
use siegel_ident::BlobDigest;
use siegel_link::depot::ObjectKind;
use siegel_platform::rng::os_rng;
use siegel_program::Table;
use siegel_tests::{World, crowd};

/// How far a noisy count may be from the truth: 8 standard errors never happen.
fn near(table: &Table, label: &str, truth: i64) {
    let row = table
        .rows
        .iter()
        .find(|row| row.label == label)
        .expect(label);
    let off = (row.count - truth).abs() as f64;
    assert!(
        off < 8.0 * row.standard_error,
        "{label}: {} for {truth}",
        row.count
    );
}

/// Catches per-upload and per-block bounding: 400 uploads of one user are one voice, wherever they
/// fall, and a crowd of 400 is 400.
#[tokio::test(flavor = "multi_thread")]
async fn many_uploads_of_one_user_count_once() {
    let mut world = World::new().await;
    let (offer, epoch) = world.offer().await;
    let options = world.clients();
    let verified = verify(
        &options.config,
        &offer.as_offer(),
        world.deployment.cluster.clock().now(),
    )
    .expect("a good offer");
    let depot = world.deployment.operator.depot();
    let mut one = clients::device(None, "one", options.config.device_cap);
    for _ in 0..400 {
        let words = Words::of("house");
        let now = world.deployment.cluster.clock().now();
        let upload = one
            .seal_record(
                &mut os_rng(),
                &verified,
                &[("words", Content::Words(&words))],
                now,
            )
            .unwrap();
        let put = depot
            .put(ObjectKind::Upload, Bytes::copy_from_slice(upload.bytes()))
            .await;
        // Nothing outside differs: a second upload of a user is taken like any other.
        assert!(!put.unwrap().duplicate);
    }
    world.upload(&crowd(400, "water")).await;
    let result = world.run_and_open(epoch).await;
    assert_eq!(result.run.blobs, 800);
    near(&result.table, "house", 1);
    near(&result.table, "water", 400);
}

/// Catches an upload that stops the run, or counts, because its bytes are wrong: the same blob
/// twice, one flipped byte anywhere, one missing byte.
#[tokio::test(flavor = "multi_thread")]
async fn damaged_uploads_contribute_zero() {
    let mut world = World::new().await;
    let (offer, epoch) = world.offer().await;
    let options = world.clients();
    let now = world.deployment.cluster.clock().now();
    let verified = verify(&options.config, &offer.as_offer(), now).expect("a good offer");
    let depot = world.deployment.operator.depot();
    let mut device = clients::device(None, "one", options.config.device_cap);
    let words = Words::of("house");
    let upload = device
        .seal_record(
            &mut os_rng(),
            &verified,
            &[("words", Content::Words(&words))],
            now,
        )
        .unwrap();
    let good = upload.bytes().to_vec();
    let put = |bytes: Vec<u8>| depot.put(ObjectKind::Upload, Bytes::from(bytes));

    assert!(!put(good.clone()).await.unwrap().duplicate);
    assert!(
        put(good.clone()).await.unwrap().duplicate,
        "the same blob twice is one blob"
    );

    // Damage behind the header is stored: the depot cannot see it. In the header it may refuse.
    let mut stored = 0;
    for at in (0..good.len()).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        stored += u64::from(put(bad).await.is_ok());
    }
    assert!(stored > 50, "{stored}");
    let mut short = good.clone();
    short.pop();
    assert!(
        put(short).await.is_err(),
        "a missing byte is seen by the depot"
    );

    world.upload(&crowd(300, "water")).await;
    let result = world.run_and_open(epoch).await;
    near(&result.table, "house", 1);
    near(&result.table, "water", 300);
}

/// Catches a depot or a worker that takes other bytes under a blob's name.
#[tokio::test(flavor = "multi_thread")]
async fn another_blobs_bytes_are_caught_by_digest() {
    let world = World::new().await;
    let (_, epoch) = world.upload(&crowd(5, "water")).await;
    let blobs = world
        .deployment
        .operator
        .uploads(&world.policy, epoch)
        .await
        .unwrap();
    let depot = world.deployment.operator.depot();
    let get = async |blob: &BlobDigest| depot.get(ObjectKind::Upload, blob.digest(), 1 << 20).await;
    let (one, other) = (get(&blobs[0]).await.unwrap(), get(&blobs[1]).await.unwrap());
    assert_eq!(one.len(), other.len());
    overwrite(&world.dir.path().join("depot/upload"), &other, &one);
    assert!(
        get(&blobs[1]).await.is_err(),
        "the client of the depot checks"
    );
    let stopped = world.run(epoch).await.expect_err("a run over other bytes");
    assert_eq!(siegel_tests::code(&stopped), "blob-different");
}

/// Puts `new` in the place of `old`, wherever the depot has packed it.
fn overwrite(folder: &std::path::Path, old: &[u8], new: &[u8]) {
    let mut open = vec![folder.to_path_buf()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            continue;
        }
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(at) = bytes.windows(old.len()).position(|window| window == old) {
            bytes[at..at + new.len()].copy_from_slice(new);
            std::fs::write(&path, bytes).unwrap();
            return;
        }
    }
    panic!("the upload is in no segment");
}
