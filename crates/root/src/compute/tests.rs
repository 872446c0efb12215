//! I7 and I8 with stand-in workers that do the real sums: whatever happens to them, the noisy
//! counts are the same bytes, or the run stops with a clear error. Time is tokio's paused clock.

use std::sync::Mutex;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use siegel_dp::{DiscreteGaussian, NoiseRng};
use siegel_ident::{Digest, NanoRho, PrivacyId};
use siegel_keys::KeysError;
use siegel_program::{
    BlockCount, Bundle, ClippedSumSpec, ClippedSumTerms, Column, HistogramSpec, IndexKey,
    NOISE_CHUNK, Query, Record, SumBuilder, SumPlace,
};
use siegel_seal::sealed_box::seal_box;
use siegel_seal::{KemPrivate, KemPublic, Suite, derive_kem};
use siegel_tensor::{Classifier, Model};
use siegel_wire::v1;
use tokio::sync::mpsc;

use super::*;

const BLOBS: u64 = 1500;

/// What goes wrong with a worker's next answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Plan {
    Fine,
    Lost,
    Refuses,
    Hangs,
    Forgets,
    Doubles,
    OtherBlock,
    OtherKey,
    OtherStep,
    OtherState,
    Fenced,
}

struct Fake {
    plans: Arc<Mutex<Vec<Plan>>>,
    then: Plan,
    root: KemPublic,
}

fn kem() -> (KemPrivate, KemPublic) {
    derive_kem(Suite::XWing, &Secret::new([5; 32]))
}

fn bundle() -> Bundle {
    Bundle::new(
        "t",
        "",
        [("w.txt".to_owned(), "ant\nbee\ncow\n".to_owned())].into(),
    )
    .unwrap()
}

fn histogram() -> Intrinsic {
    let rho = NanoRho(80_000_000);
    Intrinsic::Histogram(HistogramSpec::new(&bundle(), "words", "w.txt", 2, rho).unwrap())
}

/// A model of more parameters than one chunk of noise has.
fn large() -> Intrinsic {
    let terms = ClippedSumTerms {
        column: "rows",
        alphabet: None,
        model: Model::Classifier(Classifier {
            features: 6600,
            hidden: 0,
            classes: 10,
        }),
        max_items_per_user: 1,
        epochs: 1,
        batch: 1,
        rate_micro: 1,
        clip_micro: 1,
        scale: 1 << 16,
        rho: NanoRho(80_000_000),
    };
    Intrinsic::ClippedSum(ClippedSumSpec::new(&bundle(), terms).unwrap())
}

impl Fake {
    fn answer(&self, q: &v1::ComputeBlocks, plan: Plan) -> v1::BlockSums {
        let (bundle, spec) = (bundle(), Intrinsic::parse(&q.spec).unwrap());
        let query = Query::new(&spec, &bundle, &q.state).unwrap();
        let (key, blocks) = (
            IndexKey::new(&Secret::new([6; 32])),
            BlockCount::new(q.block_count).unwrap(),
        );
        let mut sums = SumBuilder::new(&query, &key, blocks, &q.blocks).unwrap();
        for user in 0..BLOBS {
            let mut id = [0; 32];
            id[..8].copy_from_slice(&user.to_be_bytes());
            let words = ["ant", "bee", "yak"]
                .into_iter()
                .cycle()
                .skip(user as usize % 3)
                .take(2)
                .collect();
            let columns = vec![Column::words("words", words)];
            sums.add(&Record {
                privacy_id: PrivacyId::from_bytes(id),
                columns,
            });
        }
        let step = Step(q.step + u64::from(plan == Plan::OtherStep));
        let state = match plan {
            Plan::OtherState => Digest::of(b"another state"),
            _ => Digest::of(&q.state),
        };
        let other = derive_kem(Suite::XWing, &Secret::new([9; 32])).1;
        let to = if plan == Plan::OtherKey {
            &other
        } else {
            &self.root
        };
        let mut out: Vec<v1::BlockSum> = Vec::new();
        for sum in sums.finish().unwrap() {
            let place = SumPlace {
                step,
                intrinsic: q.intrinsic,
                spec: &q.spec,
                state,
                blocks,
                block: sum.block(),
            };
            let info = BlockSum::seal_info(&run_id(), Fencing(q.fencing), &place);
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            let sealed = seal_box(&mut rng, to, &info, sum.to_bytes().expose()).unwrap();
            out.push(v1::BlockSum {
                block: sum.block(),
                sealed,
            });
        }
        match plan {
            Plan::Forgets => drop(out.pop()),
            Plan::Doubles => out.push(out[0].clone()),
            Plan::OtherBlock => out[0].block = (out[0].block + 1) % q.block_count,
            _ => {}
        }
        v1::BlockSums { blocks: out }
    }
}

impl Hand for Fake {
    async fn ask(
        &mut self,
        q: v1::ComputeBlocks,
        limit: Duration,
    ) -> Result<v1::BlockSums, Trouble> {
        let plan = self.plans.lock().unwrap().pop().unwrap_or(self.then);
        let refused = |code| Box::new(siegel_link::refusal(code, "", "worker", ""));
        tokio::time::sleep(Duration::from_millis(10)).await;
        match plan {
            Plan::Lost => Err(Trouble::Lost("gone".into())),
            Plan::Refuses => Err(Trouble::Refused(refused("blob-missing"))),
            Plan::Fenced => Err(Trouble::Over(KeysError::Refused(refused("stale-fencing")))),
            Plan::Hangs => {
                tokio::time::sleep(limit).await;
                Err(Trouble::Lost("slow".into()))
            }
            plan => Ok(self.answer(&q, plan)),
        }
    }
}

fn run_id() -> RunId {
    RunId::from_bytes([1; 16])
}

/// The first list of each worker is popped from its end; after it, `then`.
async fn counts(workers: &[(&[Plan], Plan)], noise: u8, step: u64) -> Result<Vec<i64>, RunStop> {
    asked(workers, noise, step, histogram(), Vec::new()).await
}

async fn asked(
    workers: &[(&[Plan], Plan)],
    noise: u8,
    step: u64,
    intrinsic: Intrinsic,
    state: Vec<u8>,
) -> Result<Vec<i64>, RunStop> {
    let hands = workers.iter().map(|(plans, then)| Fake {
        plans: Arc::new(Mutex::new(plans.to_vec())),
        then: *then,
        root: kem().1,
    });
    let job = Job {
        run: run_id(),
        policy: PolicyDigest::of(b"policy"),
        fencing: Fencing(3),
        blob_count: BLOBS,
        noise: Arc::new(Secret::new([noise; 32])),
    };
    let private = kem().0;
    let open = move |info: &Transcript, sealed: &[u8]| open_box(&private, info, sealed).ok();
    let mut crew = Crew::new(job, hands.collect(), Arc::new(open));
    let (sender, _receiver) = mpsc::channel(1);
    let (events, step) = (Events(sender), Step(step));
    crew.noisy_sum(&events, step, 0, intrinsic, state).await
}

const FINE: (&[Plan], Plan) = (&[], Plan::Fine);

// I7. Catches a result that depends on how many workers there are or which of them fail.
#[tokio::test(start_paused = true)]
async fn the_same_bytes_whatever_happens_to_workers() {
    let expected = counts(&[FINE], 7, 1).await.unwrap();
    // Close to the truth: each word of two in three users, none in "cow".
    for (bin, truth) in [(0, 1000), (1, 1000), (2, 0), (3, 1000)] {
        assert!((expected[bin] - truth).abs() < 60, "{expected:?}");
    }
    use Plan::{
        Doubles, Fine, Forgets, Hangs, Lost, OtherBlock, OtherKey, OtherState, OtherStep, Refuses,
    };
    let crews: Vec<Vec<(&[Plan], Plan)>> = vec![
        vec![FINE; 2],
        vec![FINE; 7],
        vec![FINE; 40],
        vec![(&[Lost, Lost, Lost], Fine)],
        vec![(&[], Lost), FINE],
        vec![(&[], Hangs), FINE],
        vec![(&[Hangs], Fine), (&[], Lost)],
        vec![(&[], Refuses), FINE],
        vec![(&[], Forgets), FINE],
        vec![(&[], Doubles), FINE],
        vec![(&[], OtherBlock), FINE],
        vec![(&[], OtherKey), FINE],
        vec![(&[], OtherStep), FINE, FINE],
        vec![(&[], OtherState), FINE],
        vec![(&[Lost], Refuses), (&[Hangs], Lost), (&[Lost, Lost], Fine)],
    ];
    for crew in crews {
        assert_eq!(counts(&crew, 7, 1).await.unwrap(), expected, "{crew:?}");
    }
}

// I6, I7: the noise belongs to (run secret, step) and to nothing else.
#[tokio::test(start_paused = true)]
async fn noise_differs_by_secret_and_step() {
    let one = counts(&[FINE], 7, 1).await.unwrap();
    assert_ne!(one, counts(&[FINE], 8, 1).await.unwrap());
    assert_ne!(one, counts(&[FINE], 7, 2).await.unwrap());
}

// I6, I7: every chunk of 65,536 numbers has a stream of its own. Catches one stream for all, the
// same stream twice, and chunks of another size.
#[tokio::test(start_paused = true)]
async fn noise_comes_in_chunks() {
    let large = large();
    // Nobody has such rows: the exact sum is zero.
    let state = vec![0; large.state_bytes()];
    let sum = asked(&[FINE], 7, 2, large.clone(), state).await.unwrap();
    assert!(sum.len() > NOISE_CHUNK);
    let sampler = DiscreteGaussian::new(large.sigma2().unwrap()).unwrap();
    for (n, numbers) in sum.chunks(NOISE_CHUNK).enumerate() {
        let noise = Secret::new([7; 32]);
        let key = chunk_key(&noise, RunPurpose::Noise, Step(2), 0, n as u64);
        let expected = sampler.fill(&mut NoiseRng::new(&key), numbers.len());
        assert!(numbers == expected, "chunk {n}");
    }
}

// I8: a clear error in bounded time, and never a partial total.
#[tokio::test(start_paused = true)]
async fn troubles_without_end_stop_the_run() {
    use Plan::{Forgets, Hangs, Lost, OtherKey, Refuses};
    for crew in [vec![Lost], vec![Lost, Lost], vec![Hangs], vec![Hangs, Lost]] {
        let crew: Vec<(&[Plan], Plan)> = crew.into_iter().map(|plan| (&[][..], plan)).collect();
        let began = Instant::now();
        let stop = counts(&crew, 7, 1).await.unwrap_err();
        assert!(matches!(&stop, RunStop::WorkersLost { .. }), "{stop}");
        assert!(
            began.elapsed() < Duration::from_secs(180),
            "{:?}",
            began.elapsed()
        );
    }
    for crew in [
        vec![Refuses],
        vec![Refuses; 3],
        vec![Forgets],
        vec![OtherKey; 2],
    ] {
        let crew: Vec<(&[Plan], Plan)> = crew.into_iter().map(|plan| (&[][..], plan)).collect();
        let stop = counts(&crew, 7, 1).await.unwrap_err();
        assert!(matches!(&stop, RunStop::Refused(_)), "{stop}");
    }
}

// I6: a root that lost its fencing does not go on with other workers.
#[tokio::test(start_paused = true)]
async fn lost_fencing_stops_at_once() {
    let stop = counts(&[(&[], Plan::Fenced), (&[], Plan::Hangs)], 7, 1)
        .await
        .unwrap_err();
    assert_eq!(stop.to_refusal().code, "stale-fencing");
}
