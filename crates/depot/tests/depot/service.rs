//! The depot through real tonic on loopback.
//!
//! Each test names the invariant it holds and the bug it would catch.

use std::time::Duration;

use siegel_depot::{Depot, Limits, Store};
use siegel_ident::Digest;
use siegel_store::RuledStore;
use siegel_wire::v1::ObjectKind;
use tonic::Code;

use super::setting::*;

// I8: catches an index that lives only in memory, an answer before the bytes are in the folder, and
// a list that is not ascending. Aborting the task is the kill: no destructor writes anything.
#[tokio::test]
async fn uploads_survive_a_kill_and_list_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let (mut client, task) = start(folder(dir.path()), Limits::default()).await;
    let uploads: Vec<_> = (0..20).map(|n| upload(n, 1)).collect();
    for bytes in &uploads {
        assert!(!put(&mut client, ObjectKind::Upload, bytes).await.unwrap());
    }
    assert!(
        !put(&mut client, ObjectKind::Upload, &upload(99, 2))
            .await
            .unwrap()
    );
    task.abort();

    let (mut client, _task) = start(folder(dir.path()), Limits::default()).await;
    let mut expected: Vec<_> = uploads.iter().map(|b| Digest::of(b).to_vec()).collect();
    expected.sort();
    assert_eq!(list(&mut client, 1).await, expected);
    assert_eq!(list(&mut client, 2).await.len(), 1);
    assert!(list(&mut client, 3).await.is_empty());
    let first = &uploads[0];
    assert_eq!(
        get(&mut client, ObjectKind::Upload, Digest::of(first))
            .await
            .unwrap(),
        *first
    );
}

// I8: catches half an upload that is listed, served, or in the way of the whole one. A kill leaves
// the bytes under a name with a number, whole or not.
#[tokio::test]
async fn what_a_kill_left_half_written_is_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (mut client, task) = start(folder(dir.path()), Limits::default()).await;
    let (kept, lost) = (upload(1, 1), upload(2, 1));
    put(&mut client, ObjectKind::Upload, &kept).await.unwrap();
    task.abort();
    let name = Digest::of(b"its directory").to_string();
    let shelf = dir.path().join(format!("upload/{}", &name[..2]));
    std::fs::create_dir_all(&shelf).unwrap();
    std::fs::write(shelf.join(format!("{name}#1")), &lost[..100]).unwrap();
    std::fs::write(shelf.join(format!("{name}#2")), &lost).unwrap();
    let before = files(dir.path());

    let (mut client, _task) = start(folder(dir.path()), Limits::default()).await;
    assert_eq!(list(&mut client, 1).await, [Digest::of(&kept).to_vec()]);
    let missing = get(&mut client, ObjectKind::Upload, Digest::of(&lost)).await;
    assert_eq!(refusal(&missing.unwrap_err()).code, "not-found");
    assert_eq!(files(dir.path()), before - 2, "leftovers fill the disk");
    let duplicate = put(&mut client, ObjectKind::Upload, &lost).await.unwrap();
    assert!(!duplicate);
    assert_eq!(list(&mut client, 1).await.len(), 2);
    let whole = get(&mut client, ObjectKind::Upload, Digest::of(&lost)).await;
    assert_eq!(whole.unwrap(), lost);
}

// I4: a retry sends the same bytes; catches a second copy, or an error instead of "duplicate".
#[tokio::test]
async fn the_same_bytes_twice_are_one_object() {
    let dir = tempfile::tempdir().unwrap();
    for store in [Store::memory(), folder(dir.path())] {
        let (mut client, _task) = start(store, Limits::default()).await;
        let bytes = upload(1, 1);
        assert!(!put(&mut client, ObjectKind::Upload, &bytes).await.unwrap());
        assert!(put(&mut client, ObjectKind::Upload, &bytes).await.unwrap());
        assert_eq!(list(&mut client, 1).await.len(), 1);
    }
    assert_eq!(files(dir.path()), 1);
}

// I2: catches a depot that stores under the sender's claim instead of the digest.
#[tokio::test]
async fn bytes_under_another_name_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (mut client, _task) = start(folder(dir.path()), Limits::default()).await;
    let sent = chunks(
        ObjectKind::Upload,
        Digest::of(b"other").to_vec(),
        &upload(1, 1),
    );
    let status = client.put(tokio_stream::iter(sent)).await.unwrap_err();
    assert_eq!(
        (status.code(), refusal(&status).code.as_str()),
        (Code::InvalidArgument, "digest-mismatch")
    );
    assert_eq!(files(dir.path()), 0);
}

// I14: catches a decoder that panics or stores what it refused. A flipped byte in the header that
// still parses is another upload, with another digest; opening it contributes zero (I12).
#[tokio::test]
async fn malformed_uploads_are_refused_and_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits {
        max_object_bytes: 20_000,
        ..Limits::default()
    };
    let (mut client, _task) = start(folder(dir.path()), limits).await;
    let good = upload(1, 1);
    let mut version = good.clone();
    version[0] = 9;
    let longer = [good.as_slice(), b"x"].concat();
    for bad in [
        &[][..],
        b"hello",
        &good[..60],
        &good[..good.len() - 1],
        &longer,
        &version,
    ] {
        let status = put(&mut client, ObjectKind::Upload, bad).await.unwrap_err();
        assert_eq!(refusal(&status).code, "malformed-upload", "{status:?}");
    }
    let status = put(&mut client, ObjectKind::Sealed, &[0; 20_001])
        .await
        .unwrap_err();
    assert_eq!(refusal(&status).code, "too-long");
    let status = put(&mut client, ObjectKind::Unspecified, b"x")
        .await
        .unwrap_err();
    assert_eq!(refusal(&status).code, "unknown-kind");
    let sent = chunks(ObjectKind::Upload, vec![1, 2, 3], &good);
    let status = client.put(tokio_stream::iter(sent)).await.unwrap_err();
    assert_eq!(refusal(&status).code, "malformed-digest");
    let status = client
        .put(tokio_stream::iter(Vec::new()))
        .await
        .unwrap_err();
    assert_eq!(refusal(&status).code, "empty-stream");
    assert_eq!(files(dir.path()), 0);
    assert!(!put(&mut client, ObjectKind::Upload, &good).await.unwrap());
}

// Catches one namespace for all kinds: a public program must not be served as a sealed object.
#[tokio::test]
async fn kinds_are_apart() {
    let (mut client, _task) = start(Store::memory(), Limits::default()).await;
    put(&mut client, ObjectKind::Program, b"program")
        .await
        .unwrap();
    let digest = Digest::of(b"program");
    assert_eq!(
        get(&mut client, ObjectKind::Program, digest).await.unwrap(),
        b"program"
    );
    for other in [ObjectKind::Sealed, ObjectKind::Upload] {
        let status = get(&mut client, other, digest).await.unwrap_err();
        assert_eq!(
            (status.code(), refusal(&status).code.as_str()),
            (Code::NotFound, "not-found")
        );
    }
}

// I14: catches ENOSPC reported as an internal error, and a listed upload that is not there.
#[tokio::test]
async fn a_full_store_says_so_and_stores_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let first = upload(1, 1);
    let room = first.len() as u64 + 100;
    let store = folder(dir.path()).wrapped(|inner| RuledStore::full_after(inner, room));
    let (mut client, _task) = start(store, Limits::default()).await;
    assert!(!put(&mut client, ObjectKind::Upload, &first).await.unwrap());
    let second = upload(2, 1);
    let status = put(&mut client, ObjectKind::Upload, &second)
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(refusal(&status).code, "store-full");
    assert!(status.message().contains("full"), "{}", status.message());
    assert_eq!(list(&mut client, 1).await, [Digest::of(&first).to_vec()]);
    assert!(
        get(&mut client, ObjectKind::Upload, Digest::of(&second))
            .await
            .is_err()
    );
    assert_eq!(files(dir.path()), 1);
}

// Catches a sender that holds a slot for ever.
#[tokio::test]
async fn a_silent_sender_is_dropped() {
    let limits = Limits {
        idle: Duration::from_millis(50),
        ..Limits::default()
    };
    let (mut client, _task) = start(Store::memory(), limits).await;
    let first = chunks(ObjectKind::Sealed, Digest::of(b"x").to_vec(), b"x");
    let stream = futures::StreamExt::chain(tokio_stream::iter(first), tokio_stream::pending());
    let put = tokio::time::timeout(Duration::from_secs(5), client.put(stream)).await;
    assert_eq!(refusal(&put.unwrap().unwrap_err()).code, "idle");
}

// Catches a store in a folder that something else uses, and URLs that are silently misread.
#[tokio::test]
async fn foreign_paths_and_odd_urls_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("upload")).unwrap();
    std::fs::write(dir.path().join("upload/readme"), "hi").unwrap();
    assert!(
        Depot::open(folder(dir.path()), Limits::default())
            .await
            .is_err()
    );
    for bad in [
        "",
        "s3://bucket",
        "file:relative",
        "file://host/p%20q",
        "memory:x",
        "/plain",
    ] {
        assert!(Store::open(bad).is_err(), "{bad}");
    }
}
