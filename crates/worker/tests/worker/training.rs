//! Clipped sums of model updates: the same on any threads, and zero for whatever is not a number.

use std::num::NonZeroUsize;

use siegel_ident::{NanoRho, PrivacyId, Secret, SecretBytes};
use siegel_program::{
    BlockCount, ClippedSumSpec, ClippedSumTerms, Column, IndexKey, Intrinsic, Query, Record,
    SumBuilder,
};
use siegel_tensor::{Classifier, Model, NextChar};
use siegel_wire::v1::{BlockSums, ComputeBlocks};
use siegel_worker::Limits;

use super::setting::*;

const SCALE: u64 = 1 << 16;
const TEXT: Model = Model::NextChar(NextChar {
    alphabet: 10,
    context: 2,
    embedding: 3,
    hidden: 4,
});
const ROWS: Model = Model::Classifier(Classifier {
    features: 2,
    hidden: 3,
    classes: 2,
});

fn intrinsic(setting: &Setting, model: Model) -> Intrinsic {
    let text = matches!(model, Model::NextChar(_));
    let terms = ClippedSumTerms {
        column: if text { "text" } else { "rows" },
        alphabet: text.then_some("letters.txt"),
        model,
        max_items_per_user: 32,
        epochs: 2,
        batch: 4,
        rate_micro: 500_000,
        clip_micro: 1_000_000,
        scale: SCALE,
        rho: NanoRho(10_000_000),
    };
    Intrinsic::ClippedSum(ClippedSumSpec::new(&setting.bundle, terms).unwrap())
}

fn state(model: Model) -> Vec<u8> {
    let params = model.initial(7);
    params.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A prepared worker whose plan is one step of training this model.
async fn training(threads: usize, model: Model, plaintexts: &[SecretBytes]) -> Setting {
    let threads = NonZeroUsize::new(threads).unwrap();
    let limits = Limits {
        threads,
        ..Limits::default()
    };
    let seal = |s: &Sealer| plaintexts.iter().map(|plain| s.seal(plain)).collect();
    let setting = Setting::within(limits, seal).await;
    setting.register(&plan_of(vec![vec![intrinsic(&setting, model)]]));
    assert_eq!(setting.prepare().await, None);
    setting
}

fn ask(setting: &Setting, model: Model, blocks: &[u32]) -> ComputeBlocks {
    ComputeBlocks {
        spec: intrinsic(setting, model).to_bytes().unwrap(),
        state: state(model),
        ..setting.ask(blocks)
    }
}

fn all(setting: &Setting) -> Vec<u32> {
    (0..setting.blocks().get()).collect()
}

/// The total over these shares of blocks, one question each, and all answers.
async fn total(setting: &Setting, model: Model, shares: &[Vec<u32>]) -> (Vec<i64>, Vec<BlockSums>) {
    let mut session = setting.session().await.unwrap();
    let mut total = vec![0; model.dimension()];
    let mut answers = Vec::new();
    for share in shares {
        let ask = ask(setting, model, share);
        let sums = compute(&mut session, ask.clone()).await.unwrap();
        assert!(
            sums.blocks
                .iter()
                .map(|sum| sum.block)
                .eq(share.iter().copied())
        );
        let part = setting.total_of(&ask, &sums);
        total.iter_mut().zip(part).for_each(|(a, b)| *a += b);
        answers.push(sums);
    }
    (total, answers)
}

fn texts() -> Vec<SecretBytes> {
    let text = |user, text| columns(user, vec![Column::text("text", text)]);
    let mut all: Vec<_> = (1..30).map(|user| text(user, "abba bad cafe")).collect();
    all.push(text(1, "a second upload: gab"));
    all.push(text(30, ""));
    all
}

/// What `program` alone makes of them.
fn reference(setting: &Setting, model: Model, plaintexts: &[SecretBytes]) -> Vec<i64> {
    let intrinsic = intrinsic(setting, model);
    let state = state(model);
    let query = Query::new(&intrinsic, &setting.bundle, &state).unwrap();
    let (key, one) = (IndexKey::new(&Secret::new([2; 32])), BlockCount::new(1));
    let mut sum = SumBuilder::new(&query, &key, one.unwrap(), &[0]).unwrap();
    for plaintext in plaintexts {
        sum.add(&Record::decode(plaintext.expose()).ok().unwrap());
    }
    let sums = sum.finish().unwrap().remove(0).to_bytes();
    let (numbers, _) = sums.expose().as_chunks::<8>();
    numbers.iter().map(|n| i64::from_le_bytes(*n)).collect()
}

// I7: neither threads nor shares of blocks can be seen in the total. Catches another state than the
// broadcast one, too, and a unit that two threads have half of.
#[tokio::test]
async fn sums_are_the_same_on_any_threads_and_in_any_shares() {
    let texts = texts();
    for threads in [1, 2, 4] {
        let setting = training(threads, TEXT, &texts).await;
        let expected = reference(&setting, TEXT, &texts);
        assert!(expected.iter().any(|&q| q != 0));
        let whole = vec![all(&setting)];
        let single: Vec<_> = all(&setting)
            .iter()
            .rev()
            .map(|&block| vec![block])
            .collect();
        let pairs: Vec<_> = all(&setting).chunks(2).map(<[u32]>::to_vec).collect();
        for shares in [whole, single, pairs] {
            assert_eq!(
                total(&setting, TEXT, &shares).await.0,
                expected,
                "{threads}"
            );
        }
    }
}

fn rows(user: u8, rows: &[f32]) -> SecretBytes {
    columns(user, vec![Column::floats("rows", rows.to_vec())])
}

/// Users of one block, in the order in which one thread takes them: what is left in a buffer of one
/// would show at the next.
fn neighbours(count: usize) -> Vec<u8> {
    let key = IndexKey::new(&Secret::new([2; 32]));
    let unit = |user: &u8| key.unit(&PrivacyId::from_bytes([*user; 32]));
    let blocks = BlockCount::for_blobs(count as u64);
    let mut users: Vec<u8> = (0..=255).collect();
    users.retain(|user| blocks.block_of(&unit(user)) == 0);
    users.truncate(count);
    assert_eq!(users.len(), count);
    users.sort_by_key(|user| unit(user));
    users
}

fn norm(values: &[i64]) -> f64 {
    values
        .iter()
        .map(|&q| (q as f64).powi(2))
        .sum::<f64>()
        .sqrt()
}

// I5, I12: whatever numbers a user sends, it counts zero or at most the clip, the answers have the
// same sizes, and nobody is told. The last three are no rows at all.
#[tokio::test]
async fn hostile_numbers_count_zero_or_are_clipped_silently() {
    let users = neighbours(7);
    let (bad, honest_users) = users.split_last().unwrap();
    let bad = *bad;
    let honest = |&user: &u8| rows(user, &[0.5, -0.25, 1.0, 0.125, 1.5, 0.0]);
    let good: Vec<_> = honest_users.iter().map(honest).collect();
    let clean = training(1, ROWS, &good).await;
    let shares = [all(&clean)];
    let (expected, lengths) = total(&clean, ROWS, &shares).await;
    let lengths: Vec<usize> = sizes(&lengths);
    let infinite = f32::INFINITY;
    let hostile = [
        (rows(bad, &[f32::NAN, 0.5, 1.0]), true),
        (rows(bad, &[0.5, 0.5, f32::NAN]), true),
        (rows(bad, &[infinite, -infinite, 0.0]), true),
        (rows(bad, &[1e38, -1e38, 1.0, -1e38, 1e38, 0.0]), false),
        (rows(bad, &[f32::MIN_POSITIVE / 4.0, 1e-45, 1.0]), false),
        (rows(bad, &[0.5, 0.5, 2.0]), true),
        (rows(bad, &[0.5, 0.5, -1.0]), true),
        (rows(bad, &[0.5, 0.5]), true),
        (rows(bad, &[]), true),
        (columns(bad, vec![Column::text("rows", "abc")]), true),
    ];
    for (at, (hostile, zero)) in hostile.into_iter().enumerate() {
        let mut with: Vec<_> = honest_users.iter().map(honest).collect();
        with.push(hostile);
        let setting = training(1, ROWS, &with).await;
        let (found, answers) = total(&setting, ROWS, &shares).await;
        let differs: Vec<i64> = found.iter().zip(&expected).map(|(a, b)| a - b).collect();
        let most = if zero { 0.0 } else { SCALE as f64 };
        assert!(norm(&differs) <= most, "{at}: {}", norm(&differs));
        assert_eq!(sizes(&answers), lengths, "{at}");
    }
    // All of them.
    let nan = |&user: &u8| rows(user, &[f32::NAN; 3]);
    let every: Vec<_> = users.iter().map(nan).collect();
    let setting = training(2, ROWS, &every).await;
    let (found, answers) = total(&setting, ROWS, &shares).await;
    assert_eq!(norm(&found), 0.0);
    assert_eq!(sizes(&answers), lengths);
}

fn sizes(answers: &[BlockSums]) -> Vec<usize> {
    let blocks = answers.iter().flat_map(|answer| &answer.blocks);
    blocks.map(|block| block.sealed.len()).collect()
}

// I14: catches a broadcast that is taken at any length, or by an intrinsic that has none.
#[tokio::test]
async fn a_broadcast_of_another_length_is_refused() {
    let setting = training(2, TEXT, &texts()).await;
    let mut session = setting.session().await.unwrap();
    let good = ask(&setting, TEXT, &[0]);
    for len in [0, 1, good.state.len() - 1, good.state.len() + 4] {
        let mut ask = good.clone();
        ask.state.resize(len, 0);
        assert_eq!(refused(&mut session, ask).await, "bad-state");
    }
    assert!(compute(&mut session, good).await.is_ok());
    setting.register(&plan(vec![vec![setting.spec.clone()]]));
    setting.prepare().await;
    let ask = ComputeBlocks {
        state: vec![0; 4],
        ..setting.ask(&[0])
    };
    assert_eq!(refused(&mut session, ask).await, "bad-state");
}

// I5: catches sums that could leave 64 bits, were there as many users as there are uploads.
#[tokio::test]
async fn a_sum_that_may_not_fit_is_refused() {
    let setting = training(2, TEXT, &texts()).await;
    for (blobs, code) in [
        (1 << 46, "specification-not-allowed"),
        (1 << 45, "too-many-inputs"),
    ] {
        setting.kms.grant.lock().unwrap().blob_count = blobs;
        setting.prepare().await;
        let mut session = setting.session().await.unwrap();
        let ask = ask(&setting, TEXT, &[0]);
        assert_eq!(refused(&mut session, ask).await, code);
    }
}

// I6, I7: an answer for one state cannot pass as the answer for another one of the same step.
#[tokio::test]
async fn sums_are_sealed_for_their_state() {
    let setting = training(2, TEXT, &texts()).await;
    let mut session = setting.session().await.unwrap();
    let ask = ask(&setting, TEXT, &[0]);
    let sums = compute(&mut session, ask.clone()).await.unwrap();
    let info = |state: &[u8]| {
        let place = siegel_program::SumPlace {
            step: STEP,
            intrinsic: 0,
            spec: &ask.spec,
            state: siegel_ident::Digest::of(state),
            blocks: setting.blocks(),
            block: 0,
        };
        siegel_program::BlockSum::seal_info(&RUN, FENCING, &place)
    };
    let open = |state: &[u8]| {
        let sealed = &sums.blocks[0].sealed;
        siegel_seal::sealed_box::open_box(setting.root().kem(), &info(state), sealed).is_ok()
    };
    assert!(open(&ask.state) && !open(&state_of_zeros()));
}

fn state_of_zeros() -> Vec<u8> {
    vec![0; TEXT.dimension() * 4]
}

// The largest model: one block fills an answer. Catches an answer that no message can hold.
#[tokio::test]
async fn the_largest_model_comes_block_by_block() {
    let model = Model::Classifier(Classifier {
        features: 1023,
        hidden: 0,
        classes: 1024,
    });
    assert_eq!(model.dimension(), 1 << 20);
    let mut row = vec![0.5; 1024];
    row[1023] = 3.0;
    let setting = training(2, model, &[rows(1, &row)]).await;
    let mut session = setting.session().await.unwrap();
    let two = ask(&setting, model, &[0, 1]);
    assert_eq!(refused(&mut session, two).await, "too-many-blocks");
    let unit = IndexKey::new(&Secret::new([2; 32])).unit(&PrivacyId::from_bytes([1; 32]));
    let block = setting.blocks().block_of(&unit);
    let (total, _) = total(&setting, model, &[vec![block]]).await;
    let found = norm(&total);
    assert!(found > 0.0 && found <= SCALE as f64, "{found}");
}
