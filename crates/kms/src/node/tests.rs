//! Deterministic simulation of three replicas: the real [`Node`], a fake network, a seed.
//!
//! What counts as a failure:
//! - *election safety*: two leaders in one term;
//! - *log matching*: two logs with one (index, term) but another entry there or before it;
//! - *state machine equality*: two replicas that applied different entries at one index;
//! - *durability*: an acknowledged proposal that is not applied, or applied at another place;
//! - *linearizable reads*: a read that misses what was acknowledged before it was asked;
//! - *liveness*: after all faults end, a majority that does not serve within seconds;
//! - *membership*: another number of voters than at birth (two such sets while one is swapped), an id
//!   given twice, a configuration that the log did not agree to, an admission that never ends;
//! - *no quorum*: anything acknowledged with two of three dead, or a proposal without an answer.
//!
//! Everything follows from the seed. A failure prints it with the one command that replays it.

mod checks;
mod clients;
mod faults;
mod machine;
mod membership;
mod replacing;
mod sim;

use faults::Faults;
use sim::Sim;

/// Seeds of one test run; `SIEGEL_SIM_SEED` replays one, `SIEGEL_SIM_SEEDS` sets how many.
fn seeds() -> Vec<u64> {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    match number("SIEGEL_SIM_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("SIEGEL_SIM_SEEDS").unwrap_or(200)).collect(),
    }
}

/// Runs `body` for every seed; says how to replay the one that fails.
fn for_seeds(test: &str, body: impl Fn(u64) + std::panic::RefUnwindSafe) {
    for seed in seeds() {
        if let Err(cause) = std::panic::catch_unwind(|| body(seed)) {
            eprintln!(
                "REPRODUCE: SIEGEL_SIM_SEED={seed} cargo test -p siegel-kms --lib node::tests::{test}"
            );
            std::panic::resume_unwind(cause);
        }
    }
}

/// I8: drops, delays, doubles, reordering, partitions, and the death of a minority. Catches: an
/// answer before apply, a wrong truncation of the log, a leader that serves stale reads.
#[test]
fn safe_under_chaos_and_live_after_it() {
    for_seeds("safe_under_chaos_and_live_after_it", |seed| {
        let mut sim = Sim::new(seed, Faults::drawn(seed));
        sim.run(600);
        if seed % 3 == 0 {
            sim.crash_one();
            sim.run(300);
        }
        sim.heal();
        sim.run(120);
        sim.must_serve(60);
        sim.must_agree();
    });
}

/// I8, I9: two of three dead means no progress, and every proposal ends. Catches a node that
/// answers without a quorum, or that lets a caller wait for ever.
#[test]
fn two_dead_of_three_stop_and_say_so() {
    for_seeds("two_dead_of_three_stop_and_say_so", |seed| {
        let mut sim = Sim::new(seed, Faults::none());
        sim.run(60);
        sim.must_serve(60);
        sim.crash_one();
        sim.run(60);
        sim.must_serve(60);
        sim.crash_one();
        // What the dead sent before they died still arrives.
        sim.run(4);
        let acknowledged = sim.acknowledged();
        sim.run(sim::DEADLINE + 10);
        assert_eq!(
            sim.acknowledged(),
            acknowledged,
            "acknowledged without a quorum"
        );
        sim.stop_clients();
        sim.run(sim::DEADLINE + 1);
        assert_eq!(sim.waiting(), 0, "a proposal was never answered");
        assert_eq!(
            sim.leaders(),
            0,
            "a leader without a quorum did not step down"
        );
    });
}

/// A replica that lags behind the cut of all logs gets the state itself. Catches a snapshot that is
/// never sent, never reported, or taken without its hash chain.
#[test]
fn who_lags_behind_the_cut_catches_up() {
    for_seeds("who_lags_behind_the_cut_catches_up", |seed| {
        let mut sim = Sim::new(seed, Faults::none());
        sim.run(60);
        let alone = sim.cut_off_a_follower();
        sim.must_serve(60);
        sim.cut_all_logs();
        sim.run(20);
        assert_eq!(sim.snapshots, 0);
        sim.heal();
        sim.run(60);
        assert!(sim.snapshots > 0, "{alone} needed no snapshot");
        sim.must_serve(60);
        sim.must_agree();
    });
}

/// I15: one seed, one history. Catches a clock, a thread-local generator or hash-map order inside
/// (raft-rs draws its election timeouts from `thread_rng` unless told otherwise).
#[test]
fn a_seed_replays_bit_for_bit() {
    let trace = |seed| {
        let mut sim = Sim::new(seed, Faults::drawn(seed));
        sim.run(400);
        sim.trace()
    };
    for seed in 0..20 {
        assert_eq!(trace(seed), trace(seed), "seed {seed}");
    }
    assert_ne!(trace(1), trace(2));
}

/// A follower names the leader; a full log refuses at once and nothing is half done.
#[test]
fn followers_redirect_and_bounds_hold() {
    let mut sim = Sim::new(1, Faults::none());
    sim.stop_clients();
    sim.run(60);
    sim.check_redirect();
    sim.check_bounds();
}
