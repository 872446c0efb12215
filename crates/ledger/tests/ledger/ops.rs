//! What the random sequences are made of.

use proptest::prelude::*;

pub(crate) const PIPELINES: [&str; 2] = ["one", "two"];
const RUNS: u8 = 4;

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Version {
        pipeline: usize,
        rho: u64,
        delta: u64,
        follow: bool,
        endorsed: Endorsed,
    },
    Epoch {
        pipeline: usize,
    },
    Register {
        pipeline: usize,
        run: u8,
        rho: u64,
        delta: u64,
        steps: usize,
        lasts: u64,
    },
    Take {
        run: u8,
        root: u8,
    },
    Authorize {
        run: u8,
        worker: u8,
    },
    Lease {
        run: u8,
        worker: u8,
    },
    Commit {
        run: u8,
        spoil: u8,
    },
    Open {
        run: u8,
        step: u64,
    },
    Cancel {
        run: u8,
    },
    Abandon {
        run: u8,
        spoil: bool,
    },
    Finish {
        run: u8,
    },
    Wait {
        seconds: u64,
    },
    /// Another leader, whose clock is behind.
    Lag {
        seconds: u64,
    },
    /// An earlier entry once more, perhaps from another proposer.
    Retry {
        entry: prop::sample::Index,
        other_values: bool,
    },
}

/// What a version demands of its endorser, and what comes with it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Endorsed {
    /// Nothing, and nothing.
    NotDemanded,
    /// All, from some seconds before or after now on, for some seconds.
    For { early: i64, lasts: u64 },
    /// All but this one, which lacks.
    Lacking(usize),
    /// All, by somebody else.
    ByAnother,
}

fn endorsed() -> impl Strategy<Value = Endorsed> {
    prop_oneof![
        3 => Just(Endorsed::NotDemanded),
        5 => (-20..300i64, 10..1500u64).prop_map(|(early, lasts)| Endorsed::For { early, lasts }),
        1 => (0..2usize).prop_map(Endorsed::Lacking),
        1 => Just(Endorsed::ByAnother),
    ]
}

/// Mostly what moves a run on, now and then what must be refused.
pub(crate) fn op() -> impl Strategy<Value = Op> {
    let pipeline = 0..PIPELINES.len();
    let run = 0..RUNS;
    prop_oneof![
        2 => (pipeline.clone(), 20..110u64, 5..55u64, any::<bool>(), endorsed()).prop_map(
            |(pipeline, rho, delta, follow, endorsed)| {
                Op::Version { pipeline, rho, delta, follow, endorsed }
            }
        ),
        2 => pipeline.clone().prop_map(|pipeline| Op::Epoch { pipeline }),
        7 => (pipeline, run.clone(), 0..20u64, 0..8u64, 1..3usize, 50..1100u64).prop_map(
            |(pipeline, run, rho, delta, steps, lasts)| {
                Op::Register { pipeline, run, rho, delta, steps, lasts }
            }
        ),
        7 => (run.clone(), 1..4u8).prop_map(|(run, root)| Op::Take { run, root }),
        3 => (run.clone(), 1..4u8).prop_map(|(run, worker)| Op::Authorize { run, worker }),
        2 => (run.clone(), 1..4u8).prop_map(|(run, worker)| Op::Lease { run, worker }),
        12 => (run.clone(), 0..24u8).prop_map(|(run, spoil)| Op::Commit { run, spoil }),
        6 => (run.clone(), 0..3u64).prop_map(|(run, step)| Op::Open { run, step }),
        2 => run.clone().prop_map(|run| Op::Cancel { run }),
        1 => (run.clone(), any::<bool>()).prop_map(|(run, spoil)| Op::Abandon { run, spoil }),
        3 => run.prop_map(|run| Op::Finish { run }),
        2 => (0..250u64).prop_map(|seconds| Op::Wait { seconds }),
        1 => (0..500u64).prop_map(|seconds| Op::Lag { seconds }),
        4 => (any::<prop::sample::Index>(), any::<bool>())
            .prop_map(|(entry, other_values)| Op::Retry { entry, other_values }),
    ]
}
