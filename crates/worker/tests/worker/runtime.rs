//! The runtime stays free while threads compute.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::setting::*;

const USERS: u8 = 50;

/// Opened already, and with enough words that a question takes its time.
async fn setting() -> Setting {
    let words: Vec<String> = (0..8000).map(|word| format!("word{word}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let seal = |s: &Sealer| {
        (1..=USERS)
            .map(|user| s.seal(&record(user, &words)))
            .collect()
    };
    let setting = Setting::new(seal).await;
    assert_eq!(setting.prepare().await, None);
    let mut session = setting.session().await.unwrap();
    assert!(compute(&mut session, setting.ask(&[0])).await.is_ok());
    setting
}

fn all(setting: &Setting) -> Vec<u32> {
    (0..setting.blocks().get()).collect()
}

// All of this test runs on one thread. Catches sums that are made on the runtime: then nothing else
// gets a turn but when a message comes, a few dozen times.
#[tokio::test]
async fn others_get_their_turns_while_sums_are_made() {
    let setting = setting().await;
    let turns = Arc::new(AtomicU64::new(0));
    let ticker = tokio::spawn({
        let turns = turns.clone();
        async move {
            loop {
                turns.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        }
    });
    let mut session = setting.session().await.unwrap();
    turns.store(0, Ordering::Relaxed);
    let sums = compute(&mut session, setting.ask(&all(&setting))).await;
    let turns = turns.load(Ordering::Relaxed);
    ticker.abort();
    assert_eq!(setting.total(&sums.unwrap())[4], i64::from(USERS));
    assert!(turns > 1000, "{turns}");
}

// I9: the lease ends while threads are at it; nothing is answered, and the run is erased. The clock
// stands still while they compute, but for what the test says.
#[tokio::test(start_paused = true)]
async fn a_lease_that_ends_while_computing_stops_it() {
    let setting = setting().await;
    let mut session = setting.session().await.unwrap();
    let renewals = setting.kms.renewals.load(Ordering::SeqCst);
    let computing = async {
        let asked = compute(&mut session, setting.ask(&all(&setting))).await;
        asked.err().map(|refusal| refusal.code)
    };
    let clock = async {
        while setting.kms.renewals.load(Ordering::SeqCst) == renewals {
            tokio::task::yield_now().await;
        }
        // The last thing before the sums is the renewal; let its answer arrive.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        tokio::time::advance(Duration::from_secs(31)).await;
    };
    let (code, ()) = tokio::join!(computing, clock);
    assert_eq!(code.as_deref(), Some("no-lease"));
    assert_eq!(
        refused(&mut session, setting.ask(&[0])).await,
        "not-prepared"
    );
}

// Catches a lease that is renewed only between batches of uploads: here there are none.
#[tokio::test(start_paused = true)]
async fn the_lease_is_renewed_while_computing() {
    let setting = setting().await;
    let mut session = setting.session().await.unwrap();
    let renewals = || setting.kms.renewals.load(Ordering::SeqCst);
    let before = renewals();
    let clock = async {
        for wanted in 1..=3 {
            while renewals() < before + wanted {
                tokio::task::yield_now().await;
            }
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            tokio::time::advance(Duration::from_secs(16)).await;
        }
        std::future::pending().await
    };
    let sums = tokio::select! {
        sums = compute(&mut session, setting.ask(&all(&setting))) => sums,
        () = clock => return,
    };
    assert!(sums.is_ok());
    assert!(renewals() >= before + 3);
}
