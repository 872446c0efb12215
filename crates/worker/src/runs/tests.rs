use std::time::Duration;

use siegel_ident::{EpochId, Fencing, InputRoot, Secret};
use siegel_keys::fake::FakeGrant;
use siegel_seal::{Suite, derive_kem};

use crate::testing::{Setting, run};

use super::*;

// I9: the process was paused, so that nobody erased in time. Catches a table that serves what it
// should have erased.
#[tokio::test(start_paused = true)]
async fn a_paused_process_erases_before_it_serves() {
    let setting = Setting::new().await;
    let runs = Runs::default();
    runs.insert(setting.granted(1).await);
    assert!(runs.get(run(1)).is_ok());
    tokio::time::advance(Duration::from_secs(30)).await;
    assert!(matches!(runs.get(run(1)), Err(Stop::NotPrepared(_))));
    assert!(runs.lock().is_empty());
}

// I9: catches keys that lie about until somebody asks for them.
#[tokio::test(start_paused = true)]
async fn nobody_has_to_ask() {
    let setting = Setting::new().await;
    let runs = Arc::new(Runs::default());
    let eraser = tokio::spawn({
        let runs = runs.clone();
        async move { runs.keep_erasing().await }
    });
    runs.insert(setting.granted(1).await);
    let held = Arc::downgrade(&runs.get(run(1)).unwrap());
    tokio::time::sleep(Duration::from_secs(29)).await;
    assert!(held.upgrade().is_some());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(held.upgrade().is_none());
    eraser.abort();
}

// Catches an erasure of the old grant that takes a fresh one with it, and a table without bound.
#[tokio::test(start_paused = true)]
async fn the_table_is_bounded_and_erases_exactly_one_grant() {
    let setting = Setting::new().await;
    let runs = Runs::default();
    runs.insert(setting.granted(1).await);
    let old = runs.get(run(1)).unwrap();
    runs.insert(setting.granted(1).await);
    runs.erase(&old);
    let fresh = runs.get(run(1)).unwrap();
    runs.erase(&fresh);
    assert!(runs.get(run(1)).is_err());

    for id in 0..=MAX as u8 {
        runs.insert(setting.granted(id).await);
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    assert_eq!(runs.lock().len(), MAX);
    assert!(runs.get(run(0)).is_err() && runs.get(run(MAX as u8)).is_ok());
}

fn live(run: &Run) -> bool {
    run.check_lease().is_ok()
}

// I8: a fresh grant of the same things takes over what was fetched and opened; work for the very
// same root goes on, work for an earlier root ends.
#[tokio::test(start_paused = true)]
async fn a_fresh_grant_takes_over() {
    let setting = Setting::new().await;
    let runs = Runs::default();
    runs.insert(setting.granted(1).await);
    let first = runs.get(run(1)).unwrap();
    runs.insert(setting.granted(1).await);
    let second = runs.get(run(1)).unwrap();
    assert!(!Arc::ptr_eq(&first, &second) && Arc::ptr_eq(&first.kept, &second.kept));
    assert!(live(&first));
    setting.edit(|grant| {
        grant.fencing = Fencing(2);
        grant.root.signing_key = [9; 32];
    });
    runs.insert(setting.granted(1).await);
    let third = runs.get(run(1)).unwrap();
    assert!(Arc::ptr_eq(&first.kept, &third.kept));
    assert!(!live(&second) && live(&third));
    // Not of another run.
    runs.insert(setting.granted(2).await);
    let other = runs.get(run(2)).unwrap();
    assert!(!Arc::ptr_eq(&first.kept, &other.kept));
}

// I2, I9: catches each fact that is forgotten in the comparison: opened uploads would serve a grant
// that does not cover them.
#[tokio::test(start_paused = true)]
async fn a_grant_of_other_things_takes_over_nothing() {
    let edits: [fn(&mut FakeGrant); 7] = [
        |grant| grant.index = [9; 32],
        |grant| grant.input_root = InputRoot::from_bytes([9; 32]),
        |grant| grant.blob_count = 11,
        |grant| {
            let key = derive_kem(Suite::X25519, &Secret::new([9; 32])).0;
            grant.epochs.push((EpochId(9), key));
        },
        |grant| grant.plan = siegel_ident::Digest::of(b"another"),
        |grant| grant.steps.push(siegel_ident::Budget::ZERO),
        |grant| {
            let mut policy = (*grant.policy).clone();
            policy.name = "another".into();
            grant.policy = policy.compile().unwrap();
        },
    ];
    let setting = Setting::new().await;
    let runs = Runs::default();
    runs.insert(setting.granted(1).await);
    for edit in edits {
        let old = runs.get(run(1)).unwrap();
        let kept = Arc::downgrade(&old.kept);
        setting.edit(edit);
        runs.insert(setting.granted(1).await);
        assert!(!live(&old));
        drop(old);
        assert!(kept.upgrade().is_none());
    }
}

// I9: a lease that ended while nobody looked, and a grant that comes after it.
#[tokio::test(start_paused = true)]
async fn nothing_is_taken_over_from_an_ended_lease() {
    let setting = Setting::new().await;
    let runs = Runs::default();
    runs.insert(setting.granted(1).await);
    let kept = Arc::downgrade(&runs.get(run(1)).unwrap().kept);
    tokio::time::advance(Duration::from_secs(20)).await;
    let fresh = setting.granted(1).await;
    tokio::time::advance(Duration::from_secs(10)).await;
    runs.insert(fresh);
    assert!(runs.get(run(1)).is_ok());
    assert!(kept.upgrade().is_none());
}
