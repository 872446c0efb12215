use std::time::Duration;

use siegel_ident::{BlobId, PrivacyId, Secret};
use siegel_seal::{Suite, UploadContext, derive_kem, seal_upload};

use crate::job::Asker;
use crate::open;
use crate::testing::{self, Setting, record};

use super::*;

/// Three users of one block, each with two uploads; one upload still sealed.
struct Under {
    work: Work,
    asker: Option<Asker>,
    upload: Vec<u8>,
}

impl Under {
    async fn way() -> Self {
        let setting = Setting::new().await;
        let run = Arc::new(Run::new(setting.granted(1).await, Arc::default()));
        let block_of = |user: &u8| {
            let unit = run.index.unit(&PrivacyId::from_bytes([*user; 32]));
            run.blocks().block_of(&unit)
        };
        let block = block_of(&1);
        let users: Vec<u8> = (1..=255).filter(|user| block_of(user) == block).collect();
        let records = users[..3].iter().flat_map(|&user| {
            let record = |words: &[&str]| record(user, words);
            [record(&["of"]), record(&["the"])]
        });
        let opened = Opened::of_block(block, records.collect());
        let ask = v1::ComputeBlocks {
            fencing: 1,
            step: 1,
            intrinsic: 0,
            spec: setting.intrinsic.to_bytes().unwrap(),
            block_count: run.blocks().get(),
            blocks: vec![block],
            state: Vec::new(),
        };
        let question = Question::check(&run, &setting.plan, &run.grant.root, ask).unwrap();
        let context = UploadContext {
            cluster: setting.world.cluster(),
            epoch: run.grant.epochs[0],
            policy: run.grant.policy.digest(),
        };
        let to = derive_kem(Suite::X25519, &Secret::new([1; 32])).1;
        let (blob, plain) = (BlobId::from_bytes([1; 16]), record(1, &["of"]));
        let upload = seal_upload(&mut setting.platform.rng(), &to, &context, blob, &plain);
        let (job, asker) = Job::new(run, question);
        Self {
            work: Work {
                platform: setting.platform,
                job,
                bundle: Arc::new(setting.bundle),
                uploads: Uploads::Opened(Arc::new(opened)),
                next: AtomicUsize::new(0),
            },
            asker: Some(asker),
            upload: upload.unwrap(),
        }
    }

    fn sum(&self) -> Result<usize, Stop> {
        self.work.next.store(0, Ordering::Relaxed);
        let check = || self.work.job.check();
        self.work.share(1, &check).map(|sums| sums.len())
    }

    fn open(&self) -> Result<usize, Stop> {
        let uploads = std::slice::from_ref(&self.upload);
        open::open_some(&self.work.job, uploads).map(|opened| opened.len())
    }
}

// I9: catches a thread that asks once per block only. Six records, three units, and once at the end.
#[tokio::test]
async fn a_thread_asks_before_each_record_and_unit() {
    let under = Under::way().await;
    for patience in 0..=10 {
        under.work.next.store(0, Ordering::Relaxed);
        let asked = AtomicUsize::new(0);
        let check = || match asked.fetch_add(1, Ordering::Relaxed) {
            before if before < patience => Ok(()),
            _ => Err(Stop::NobodyAsks),
        };
        let done = under.work.share(1, &check);
        assert_eq!(done.is_ok(), patience == 10);
        // It stops where it is told to; an interrupted sum asks once more for the reason.
        let most = if patience < 6 {
            patience + 1
        } else {
            patience + 2
        };
        assert!(asked.into_inner() <= most, "{patience}");
    }
}

// I9: the threads themselves look at the lease; catches work on plaintext that goes on after it
// because only the one who waits for it was told.
#[tokio::test(start_paused = true)]
async fn no_thread_touches_plaintext_without_a_live_lease() {
    let under = Under::way().await;
    assert!(matches!((under.open(), under.sum()), (Ok(1), Ok(1))));
    tokio::time::advance(Duration::from_secs(30)).await;
    assert!(matches!(under.open(), Err(Stop::NoLease(_))));
    assert!(matches!(under.sum(), Err(Stop::NoLease(_))));
}

// As above, for a run that was erased before its time.
#[tokio::test(start_paused = true)]
async fn no_thread_works_for_an_erased_run() {
    let under = Under::way().await;
    under.work.job.run.end();
    assert!(matches!(under.open(), Err(Stop::NoLease(run)) if run == testing::run(1)));
    assert!(matches!(under.sum(), Err(Stop::NoLease(_))));
}

// Catches threads that are busy for a root that has gone away.
#[tokio::test(start_paused = true)]
async fn no_thread_works_for_nobody() {
    let mut under = Under::way().await;
    drop(under.asker.take());
    assert!(matches!(under.open(), Err(Stop::NobodyAsks)));
    assert!(matches!(under.sum(), Err(Stop::NobodyAsks)));
}
