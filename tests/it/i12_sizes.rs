//! I12: sizes, receipts and events of a training say nothing about what was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use siegel_fleet::data::Dataset;
use siegel_tests::outside::Outside;
use siegel_tests::raw::{Column, seal_raw, send};
use siegel_tests::{World, people};

const ROUNDS: u64 = 3;
/// Who sends what is no record of this policy; the others send a text each.
const HOSTILE: &str = "client-11";

/// Trains on these texts; the hostile client, if there is one, sends numbers where a text should be.
/// Also the lengths of what is opened.
async fn seen(texts: &Arc<Dataset>, hostile: bool) -> (Outside, Vec<usize>) {
    let mut world = World::training(ROUNDS, |options| {
        options.seed = Some([1; 32]);
        options.workers = 1;
    })
    .await;
    let (report, epoch) = world.upload(texts).await;
    let last = match hostile {
        true => Column::floats("text", vec![f32::NAN; 90]),
        false => Column::text("text", "abba"),
    };
    let verified = world.verified().await;
    send(&world, seal_raw(&world, &verified, HOSTILE, last)).await;
    assert_eq!(report.accepted, 11);
    let (run, outside) = world.run_watched(epoch).await;
    let opened = world.open_all(&run).await;
    (outside, opened.iter().map(Vec::len).collect())
}

/// Eleven short texts, very different ones, and one hostile client against eleven others: of the same
/// padded sizes. Catches a checkpoint, release, receipt or event whose length or number follows from
/// values, from how many records open, or from what a user wrote.
#[tokio::test(flavor = "multi_thread")]
async fn two_data_sets_of_one_shape_look_alike() {
    let lively = |user: usize| "abcd zyx ".repeat(user) + "the end";
    let texts: Vec<String> = (0..11).map(lively).collect();
    let lively = people(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let still = people(&[
        "",
        "a",
        "",
        "a",
        "",
        "aaaaaaaaaaaaaaaa",
        "",
        "",
        "",
        "",
        "\u{1F600}",
    ]);
    let (one, opened) = seen(&lively, false).await;
    let (other, opened_there) = seen(&still, true).await;
    assert_eq!(one.objects, other.objects);
    assert_eq!(one.receipts, other.receipts);
    assert_eq!(one.events, other.events);
    assert_eq!(opened, opened_there);
    assert_eq!(opened[0], opened[1]);
    // It did look: one checkpoint and one release of each step, of one size each over all steps.
    let sealed = |what: &str| {
        let mut of = BTreeMap::new();
        for step in 1..=ROUNDS {
            of.extend(one.objects.get_key_value(&format!("{what} of step {step}")));
        }
        assert_eq!(of.len() as u64, ROUNDS, "{what}: {:?}", one.objects);
        let sizes: Vec<usize> = of.into_values().flatten().copied().collect();
        assert_eq!(sizes, vec![sizes[0]; ROUNDS as usize], "{what}");
        sizes[0]
    };
    assert!(sealed("Checkpoint") > sealed("Release"));
    assert_eq!(one.objects["upload"].len(), 12);
}
