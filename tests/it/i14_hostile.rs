//! I14: bad input gets a clear error that names what, where and what to do.

use std::io::Cursor;

use siegel_depot::Store;
use siegel_fleet::clients;
use siegel_fleet::data::read_jsonl;
use siegel_store::RuledStore;
use siegel_tests::{World, crowd, people};

/// Catches a reader that panics, guesses, or does not say which line.
#[test]
fn bad_lines_are_named() {
    let read = |text: &str| read_jsonl(Cursor::new(text.as_bytes()), "f.jsonl", None);
    let cases = [
        (
            "{\"client\":\"a\",\"text\":\"x\"}\n{\"client\":\"b\"}\n",
            "line 2",
        ),
        ("not json\n", "line 1"),
        ("{\"client\":\"a\",\"text\":\"x\",\"more\":1}\n", "line 1"),
        ("\n\n[1]\n", "line 3"),
    ];
    for (text, line) in cases {
        let why = read(text).err().expect(text).to_string();
        assert!(why.contains(line) && why.contains("f.jsonl"), "{why}");
    }
    assert!(read("").err().expect("empty").to_string().contains("empty"));
}

/// A client without words is a client all the same: it uploads, and counts as zero.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_words_is_a_documented_zero() {
    let mut world = World::new().await;
    let (report, epoch) = world.upload(&people(&["", "   ", "..."])).await;
    assert_eq!(report.accepted, 3);
    assert_eq!(world.run_and_open(epoch).await.run.blobs, 3);
}

/// Catches a depot that says yes with a full disk.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_is_a_clear_error() {
    let world = World::with(|options| {
        options.store =
            Some(Store::memory().wrapped(|inner| RuledStore::full_after(inner, 20_000)));
    })
    .await;
    let (offer, _) = world.offer().await;
    let depot = world.deployment.operator.depot();
    let clock = world.deployment.cluster.clock();
    let offer = std::sync::Arc::new(offer);
    let full = clients::upload_all(
        &crowd(200, "water"),
        &offer,
        &world.clients(),
        depot,
        clock,
        &mut |_| (),
    )
    .await
    .expect_err("the store is full")
    .to_string();
    assert!(full.contains("full"), "{full}");
}
