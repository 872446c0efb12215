//! I1, I17: what the ledger takes as public, its witnesses have seen, and lately.

use siegel_ident::{Seconds, Timestamp};
use siegel_ledger::Event;
use siegel_translog::testing::{TestLog, TestWitness};

use crate::world::*;

const MAX_AGE: u64 = 600;

impl World {
    /// A cluster whose genesis demands two witnesses, and its log.
    fn witnessed() -> Self {
        let witnesses = || [1, 2].map(TestWitness::new);
        let quorum = TestWitness::quorum(&witnesses(), 2, Seconds(MAX_AGE));
        let mut world = Self::with(|config| config.witnesses = quorum);
        world.log = log_of(witnesses().into());
        world
    }

    /// From now on the witnesses cosign so long ago.
    fn cosigned(&mut self, ago: u64) {
        self.log.set_time(Timestamp(self.now - ago));
    }
}

fn log_of(witnesses: Vec<TestWitness>) -> TestLog {
    let mut log = TestLog::new("log.example", [7; 32]).witnessed(witnesses, Seconds(MAX_AGE));
    log.set_time(Timestamp(START));
    log
}

/// Policies: a proof that one witness lacks, one witness twice, and stale ones.
#[test]
fn i1_a_policy_is_taken_when_its_witnesses_have_seen_it_lately() {
    let mut world = World::witnessed();
    let policy = world.policy();
    let refused = |world: &mut World, log: TestLog| {
        world.log = log;
        let ask = world.registration(&policy);
        world.code(ask)
    };
    let not_logged = ("bad-proof", "I1");
    let one = || vec![TestWitness::new(1)];
    assert_eq!(refused(&mut world, log_of(Vec::new())), not_logged);
    assert_eq!(refused(&mut world, log_of(one())), not_logged);
    let stranger = vec![TestWitness::new(1), TestWitness::new(3)];
    assert_eq!(refused(&mut world, log_of(stranger)), not_logged);
    let twice = vec![TestWitness::new(1), TestWitness::new(1)];
    assert_eq!(refused(&mut world, log_of(twice)), not_logged);

    world.log = log_of([1, 2].map(TestWitness::new).into());
    world.cosigned(MAX_AGE + 1);
    let stale = world.registration(&policy);
    assert_eq!(world.code(stale), not_logged);
    world.cosigned(MAX_AGE);
    world.register(&policy);
}

/// Releases: the receipt is public to the witnesses before the key leaves, by the ledger's own clock.
#[test]
fn i17_a_release_opens_only_on_fresh_cosignatures() {
    let mut world = World::witnessed();
    let policy = world.policy();
    let policy = world.register(&policy);
    let epoch = world.epoch(policy);
    let run = world.taken(1, policy, epoch);
    let seq = world.commit(run);
    world.cosigned(MAX_AGE + 1);
    let stale = world.log_receipt(seq);
    assert_eq!(
        world.code(first_release(run, stale)),
        ("receipt-not-logged", "I17")
    );
    world.cosigned(0);
    let fresh = world.log_receipt(seq);
    world.done(first_release(run, fresh.clone()));
    // The same proof, a while later.
    world.now += MAX_AGE;
    world.done(first_release(run, fresh.clone()));
    world.now += 1;
    assert_eq!(
        world.code(first_release(run, fresh)),
        ("receipt-not-logged", "I17")
    );
}

/// Endorsements are held to the same quorum as the policy.
#[test]
fn i3_an_endorsement_is_taken_when_its_witnesses_have_seen_it_lately() {
    let mut world = World::witnessed();
    let mut policy = world.policy();
    policy.endorsers = vec![world.endorser.key().digest()];
    world.cosigned(MAX_AGE + 1);
    let stale = world.endorse(&policy, START, START + 100_000);
    world.cosigned(0);
    let fresh = world.endorse(&policy, START, START + 100_000);
    let ask = |world: &mut World, proofs| -> Event { world.endorsed_registration(&policy, proofs) };
    let with_stale = ask(&mut world, stale);
    assert_eq!(world.code(with_stale).0, "bad-endorsement");
    let with_fresh = ask(&mut world, fresh);
    world.done(with_fresh);
}
