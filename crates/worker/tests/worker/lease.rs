//! I9: keys live no longer than their lease.

use std::sync::atomic::Ordering;
use std::time::Duration;

use siegel_link::{LinkError, refusal};

use super::setting::*;

async fn setting() -> Setting {
    let setting = Setting::new(|s| vec![s.seal(&record(1, &["the"]))]).await;
    assert_eq!(setting.prepare().await, None);
    setting
}

// Catches keys that outlive their lease: after it, the run is as if never prepared.
#[tokio::test(start_paused = true)]
async fn keys_are_erased_when_the_lease_ends() {
    let setting = setting().await;
    let mut session = setting.session().await.unwrap();
    assert!(compute(&mut session, setting.ask(&[0])).await.is_ok());
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(
        refused(&mut session, setting.ask(&[0])).await,
        "not-prepared"
    );
    let error = setting.session().await.err().unwrap();
    assert!(matches!(error, LinkError::Refused(_)), "{error}");
    // A fresh grant brings the run back.
    assert_eq!(setting.prepare().await, None);
    assert!(compute(&mut session, setting.ask(&[0])).await.is_ok());
}

// Each question renews: catches a worker that lives on its first lease only.
#[tokio::test(start_paused = true)]
async fn every_question_renews_the_lease() {
    let setting = setting().await;
    let mut session = setting.session().await.unwrap();
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(compute(&mut session, setting.ask(&[0])).await.is_ok());
    }
}

// The key service says that the run is over: nothing is computed, the keys go at once, although the
// lease had time left.
#[tokio::test(start_paused = true)]
async fn a_refused_renewal_erases_at_once() {
    let setting = setting().await;
    let mut session = setting.session().await.unwrap();
    *setting.kms.renew.lock().unwrap() = Err(refusal("run-over", "I9", "run_id", "finished"));
    assert_eq!(refused(&mut session, setting.ask(&[0])).await, "run-over");
    *setting.kms.renew.lock().unwrap() = Ok(30);
    assert_eq!(
        refused(&mut session, setting.ask(&[0])).await,
        "not-prepared"
    );
}

// Without a quorum the present lease counts to its end and no longer.
#[tokio::test(start_paused = true)]
async fn without_a_quorum_the_worker_stops_with_its_lease() {
    let setting = setting().await;
    let mut session = setting.session().await.unwrap();
    *setting.kms.renew.lock().unwrap() = Err(refusal("no-quorum", "I9", "cluster", "two are dead"));
    assert!(compute(&mut session, setting.ask(&[0])).await.is_ok());
    tokio::time::sleep(Duration::from_secs(15)).await;
    // The renewal gives up after 10 s, when the lease of 30 s is over or nearly so.
    let second = compute(&mut session, setting.ask(&[0])).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(
        refused(&mut session, setting.ask(&[0])).await,
        "not-prepared"
    );
    if let Err(told) = second {
        assert!(
            ["no-quorum", "no-lease"].contains(&told.code.as_str()),
            "{}",
            told.code
        );
    }
}

// A depot that stalls must not hold the keys in use beyond the lease, where no renewal comes.
#[tokio::test(start_paused = true)]
async fn a_stalled_fetch_ends_with_the_lease() {
    let setting = setting().await;
    let mut session = setting.session().await.unwrap();
    *setting.kms.renew.lock().unwrap() = Err(refusal("no-quorum", "I9", "cluster", "two are dead"));
    tokio::time::sleep(Duration::from_secs(15)).await;
    setting.depot.stalls.store(true, Ordering::SeqCst);
    let asked = tokio::time::Instant::now();
    assert_eq!(refused(&mut session, setting.ask(&[0])).await, "no-lease");
    assert!(
        asked.elapsed() <= Duration::from_secs(16),
        "{:?}",
        asked.elapsed()
    );
    assert_eq!(
        refused(&mut session, setting.ask(&[0])).await,
        "not-prepared"
    );
}

// A root that goes away ends the work on its question: otherwise a few restarts of the root would
// leave no room for the next one.
#[tokio::test(start_paused = true)]
async fn a_root_that_goes_away_leaves_room() {
    let setting = setting().await;
    setting.depot.stalls.store(true, Ordering::SeqCst);
    for _ in 0..4 {
        let mut session = setting.session().await.unwrap();
        let asking = compute(&mut session, setting.ask(&[0]));
        assert!(
            tokio::time::timeout(Duration::from_secs(1), asking)
                .await
                .is_err()
        );
    }
    setting.depot.stalls.store(false, Ordering::SeqCst);
    let mut session = setting.session().await.unwrap();
    let asked = tokio::time::Instant::now();
    assert!(compute(&mut session, setting.ask(&[0])).await.is_ok());
    assert!(
        asked.elapsed() < Duration::from_secs(5),
        "{:?}",
        asked.elapsed()
    );
}
