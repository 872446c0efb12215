//! Each upload is read and opened once per run, as long as memory and lease allow.

use std::num::NonZeroUsize;
use std::time::Duration;

use siegel_ident::{EpochId, Fencing, Secret};
use siegel_seal::{Suite, derive_kem};
use siegel_wire::v1::ComputeBlocks;
use siegel_worker::Limits;

use super::setting::*;

const USERS: u8 = 40;

fn uploads(s: &Sealer) -> Vec<Vec<u8>> {
    let seal = |user| s.seal(&record(user, &["the", "to", "and"]));
    (1..=USERS).map(seal).collect()
}

async fn setting(cache_bytes: usize) -> Setting {
    let threads = NonZeroUsize::new(2).unwrap();
    let limits = Limits {
        cache_bytes,
        threads,
    };
    let setting = Setting::within(limits, uploads).await;
    assert_eq!(setting.prepare().await, None);
    setting
}

/// Uploads that the depot was asked for since the last look, in order.
fn read(setting: &Setting) -> Vec<Vec<u8>> {
    let mut gets = std::mem::take(&mut *setting.depot.gets.lock().unwrap());
    gets.retain(|digest| setting.uploads.iter().any(|blob| blob.to_vec() == *digest));
    gets
}

fn all(setting: &Setting) -> Vec<u32> {
    (0..setting.blocks().get()).collect()
}

fn whole(setting: &Setting) -> Vec<Vec<u8>> {
    setting.uploads.iter().map(|blob| blob.to_vec()).collect()
}

// Catches a worker that reads again what it has opened, or, in its first pass, reads by the blocks
// that it was asked for: what is fetched must tell the depot nothing.
#[tokio::test]
async fn later_questions_of_a_run_read_nothing() {
    let setting = setting(1 << 20).await;
    let mut session = setting.session().await.unwrap();
    compute(&mut session, setting.ask(&[3])).await.unwrap();
    assert_eq!(read(&setting), whole(&setting));
    // From now on the depot has no upload at all.
    for blob in &setting.uploads {
        setting.depot.lie(blob.to_vec(), None);
    }
    let sums = compute(&mut session, setting.ask(&all(&setting))).await;
    let total = setting.total(&sums.unwrap());
    assert_eq!(total.iter().sum::<i64>(), 2 * i64::from(USERS));
    let second = ComputeBlocks {
        step: 2,
        spec: bytes(&priced(&setting.spec, 500)),
        ..setting.ask(&[0, 1])
    };
    assert!(compute(&mut session, second).await.is_ok());
    assert!(read(&setting).is_empty());
}

// I8: a new incarnation of the root goes on where the old one was.
#[tokio::test]
async fn a_fresh_grant_of_the_run_goes_on_with_what_is_open() {
    let setting = setting(1 << 20).await;
    let mut session = setting.session().await.unwrap();
    compute(&mut session, setting.ask(&[0])).await.unwrap();
    read(&setting);
    setting.kms.grant.lock().unwrap().fencing = Fencing(6);
    assert_eq!(setting.prepare().await, None);
    let mut session = setting.session().await.unwrap();
    let ask = ComputeBlocks {
        fencing: 6,
        ..setting.ask(&[1])
    };
    assert!(compute(&mut session, ask).await.is_ok());
    assert!(read(&setting).is_empty());
}

// I9: catches plaintexts that outlive the lease, or serve a grant that names other things.
#[tokio::test(start_paused = true)]
async fn another_grant_or_an_ended_lease_reads_anew() {
    let setting = setting(1 << 20).await;
    let mut session = setting.session().await.unwrap();
    compute(&mut session, setting.ask(&[0])).await.unwrap();
    read(&setting);
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(setting.prepare().await, None);
    compute(&mut session, setting.ask(&[0])).await.unwrap();
    assert_eq!(read(&setting), whole(&setting));

    let another = derive_kem(Suite::X25519, &Secret::new([12; 32])).0;
    let epochs = &setting.kms.grant;
    epochs.lock().unwrap().epochs.push((EpochId(9), another));
    assert_eq!(setting.prepare().await, None);
    compute(&mut session, setting.ask(&[0])).await.unwrap();
    assert_eq!(read(&setting), whole(&setting));
}

// The memory of a run is free when the run is over: catches space that is taken for ever.
#[tokio::test(start_paused = true)]
async fn space_comes_back() {
    let sealed = uploads_len().await;
    let setting = setting(sealed).await;
    let mut session = setting.session().await.unwrap();
    for _ in 0..3 {
        compute(&mut session, setting.ask(&[0])).await.unwrap();
        assert_eq!(read(&setting), whole(&setting));
        compute(&mut session, setting.ask(&[1])).await.unwrap();
        assert!(read(&setting).is_empty());
        tokio::time::sleep(Duration::from_secs(31)).await;
        assert_eq!(setting.prepare().await, None);
    }
}

// A run that does not fit by one byte: every question reads all uploads, in digest order, and the
// sums are the same. Catches a bound that is not kept, and plaintexts of unasked blocks that are.
#[tokio::test]
async fn a_run_beyond_the_bound_is_right_and_not_kept() {
    let setting = setting(uploads_len().await - 1).await;
    let mut session = setting.session().await.unwrap();
    let mut total = vec![0; 5];
    for block in all(&setting) {
        let sums = compute(&mut session, setting.ask(&[block])).await.unwrap();
        let sums = setting.total(&sums);
        total.iter_mut().zip(sums).for_each(|(a, b)| *a += b);
        assert_eq!(read(&setting), whole(&setting));
    }
    let within = self::setting(1 << 20).await;
    let mut session = within.session().await.unwrap();
    let sums = compute(&mut session, within.ask(&all(&within))).await;
    assert_eq!(total, within.total(&sums.unwrap()));
}

// Two questions at once: one pass serves both if the run fits, else each makes its own.
#[tokio::test]
async fn two_questions_at_once_share_one_pass() {
    for (bytes, passes) in [(1 << 20, 1), (1000, 2)] {
        let setting = setting(bytes).await;
        let mut one = setting.session().await.unwrap();
        let mut two = setting.session().await.unwrap();
        let (a, b) = tokio::join!(
            compute(&mut one, setting.ask(&[0])),
            compute(&mut two, setting.ask(&[1]))
        );
        assert!(a.is_ok() && b.is_ok());
        assert_eq!(read(&setting).len(), passes * usize::from(USERS));
    }
}

// A run with one question keeps nothing, even where all of it would fit: every question, as those
// about a lost worker's blocks, reads all uploads in digest order. The sums are those of plaintexts
// that are kept, and many uploads of a user are still one unit (I4, I7).
#[tokio::test]
async fn a_run_with_one_question_keeps_no_upload_and_sums_the_same() {
    let words: [&[&str]; 3] = [&["the"], &["to", "of"], &["and", "the", "else"]];
    let seal = |s: &Sealer| {
        let users = (0..60).map(|n: u8| (n % 7, words[usize::from(n) % 3]));
        users
            .map(|(user, words)| s.seal(&record(user, words)))
            .collect()
    };
    let threads = NonZeroUsize::new(2).unwrap();
    let kept = Setting::within(
        Limits {
            cache_bytes: 1 << 20,
            threads,
        },
        seal,
    )
    .await;
    assert_eq!(kept.prepare().await, None);
    let mut session = kept.session().await.unwrap();
    let sums = compute(&mut session, kept.ask(&all(&kept))).await.unwrap();
    let expected = kept.total(&sums);
    assert!(expected.iter().sum::<i64>() > 7, "{expected:?}");

    let setting = Setting::within(
        Limits {
            cache_bytes: 1 << 20,
            threads,
        },
        seal,
    )
    .await;
    let single = plan(vec![vec![setting.spec.clone()]]);
    {
        let mut grant = setting.kms.grant.lock().unwrap();
        grant.plan = setting.depot.put(&single.to_bytes().unwrap());
        grant.steps = single.steps.iter().map(|step| step.cost).collect();
    }
    assert_eq!(setting.prepare().await, None);
    let mut session = setting.session().await.unwrap();
    let blocks = all(&setting);
    let (some, others) = blocks.split_at(5);
    let mut total = vec![0; 5];
    for asked in [some, others] {
        let sums = compute(&mut session, setting.ask(asked)).await.unwrap();
        assert_eq!(sums.blocks.len(), asked.len());
        let sums = setting.total(&sums);
        total.iter_mut().zip(sums).for_each(|(a, b)| *a += b);
        assert_eq!(read(&setting), whole(&setting));
    }
    assert_eq!(total, expected);
    // As everywhere, a missing upload stops the run.
    setting.depot.lie(setting.uploads[30].to_vec(), None);
    assert_eq!(
        refused(&mut session, setting.ask(&[0])).await,
        "blob-missing"
    );
}

/// Bytes of all uploads of the setting.
async fn uploads_len() -> usize {
    let setting = setting(0).await;
    let objects = setting.depot.objects.lock().unwrap();
    let len = |blob: &siegel_ident::BlobDigest| objects[&blob.to_vec()].len();
    setting.uploads.iter().map(len).sum()
}
