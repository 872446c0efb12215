//! What a device asks of the log beyond its signature: witnesses, mirrors, and that it only grows.

use siegel_ident::Seconds;
use siegel_translog::testing::{TestMirror, TestWitness};
use siegel_translog::{Archived, MirrorQuorum};

use super::*;
use crate::testing::{MAX_AGE, witnesses};
use crate::{Device, SeenLogs};

const TWO: &[&str] = &["operator 1", "operator 2"];

/// A world whose log has two witnesses, and a policy that asks for them.
fn witnessed() -> Plan {
    Plan {
        policy: |p| p.log.witnesses = 2,
        witnesses: TWO,
        ..Plan::default()
    }
}

/// Catches a device that takes a log which nobody else has seen, or has seen long ago.
#[test]
fn i1_a_quorum_of_fresh_witnesses_is_demanded() {
    let mut world = World::with(witnessed());
    assert_eq!(world.outcome(), "ok");
    let late = |by| {
        let now = NOW.plus(Seconds(by));
        verify(&world.config, &world.offer(), now)
            .err()
            .map(|e| e.code())
    };
    // The key outlives the cosignatures here.
    assert_eq!(MAX_AGE, Seconds(3_600));
    assert_eq!(late(3_599), None);
    let stale = World::with(Plan {
        witnessed_at: Timestamp(NOW.0 - MAX_AGE.0 - 1),
        ..witnessed()
    });
    assert_eq!(stale.outcome(), "policy-not-logged");
    let barely = World::with(Plan {
        witnessed_at: Timestamp(NOW.0 - MAX_AGE.0),
        ..witnessed()
    });
    assert_eq!(barely.outcome(), "ok");
    // A third that did not cosign.
    let third = TestWitness::new(3).of_operator("operator 3");
    let quorum = &mut world.config.log.witnesses;
    quorum.witnesses.push(third.named_key().clone());
    assert_eq!(world.outcome(), "ok");
    world.config.log.witnesses.required = 3;
    assert_eq!(world.outcome(), "policy-not-logged");
}

/// Two witnesses of one operator are one voice.
#[test]
fn i1_one_operator_is_one_voice() {
    let mut world = World::with(witnessed());
    for witness in &mut world.config.log.witnesses.witnesses {
        witness.operator = "operator 1".into();
    }
    assert_eq!(world.outcome(), "policy-not-logged");
    // With somebody to make up the number of operators, the two still count once.
    let third = TestWitness::new(3).of_operator("operator 3");
    let quorum = &mut world.config.log.witnesses;
    quorum.witnesses.push(third.named_key().clone());
    assert_eq!(world.outcome(), "policy-not-logged");
}

/// The checkpoint of the evidence is held to the same quorum as the proofs.
#[test]
fn i1_the_bound_checkpoint_is_cosigned_too() {
    let mut world = World::with(Plan {
        bundle: |b| b.checkpoint = Digest::of(b"set below"),
        ..witnessed()
    });
    let lines: Vec<&str> = world.checkpoint.lines().collect();
    world.checkpoint = lines[..lines.len() - 1].join("\n") + "\n";
    assert_eq!(world.outcome(), "checkpoint");
}

/// The cluster opens releases by its own anchors: they are as strict as the device's (I17).
#[test]
fn i17_a_cluster_that_believes_fewer_or_other_witnesses() {
    let with = |genesis| {
        World::with(Plan {
            genesis,
            policy: |p| p.log.witnesses = 1,
            witnesses: TWO,
            ..Plan::default()
        })
        .outcome()
    };
    assert_eq!(with(|_| {}), "ok");
    assert_eq!(with(|g| g.config.witnesses.required = 1), "cluster-quorum");
    assert_eq!(
        with(|g| g.config.witnesses.max_age.0 += 1),
        "cluster-quorum"
    );
    assert_eq!(with(|g| g.config.witnesses.max_age.0 -= 1), "ok");
    let stranger = |g: &mut siegel_attest::Genesis| {
        let named = witnesses(&["a", "b", "c"]).remove(2).named_key().clone();
        g.config.witnesses.witnesses.push(named);
    };
    assert_eq!(with(stranger), "cluster-witness");
    let renamed = |g: &mut siegel_attest::Genesis| {
        g.config.witnesses.witnesses[0].operator = "another".into();
    };
    assert_eq!(with(renamed), "cluster-witness");
}

/// Catches a device that is shown an older log than it has seen, or another one of the same size.
#[test]
fn i1_no_rollback_behind_what_was_seen() {
    let world = World::with(witnessed());
    let mut rng: rand_chacha::ChaCha20Rng = rand_chacha::rand_core::SeedableRng::from_seed([1; 32]);
    let mut device = Device::generate(&mut rng, world.config.device_cap);
    let verify = |device: &mut Device| {
        let verified = device.verify(&world.config, &world.offer(), NOW);
        verified.map(drop).map_err(|e| e.code())
    };
    assert_eq!(verify(&mut device), Ok(()));
    let log = world.config.log.log_id();
    let (size, root) = device.seen().last(&log).unwrap();
    assert_eq!(size, 5);
    assert_eq!(verify(&mut device), Ok(()), "the same again");
    let of = |size, root| {
        let mut seen = SeenLogs::new();
        seen.advance(log, size, root).unwrap();
        // What is stored is what counts.
        SeenLogs::parse(&seen.to_bytes().unwrap()).unwrap()
    };
    device = device.with_seen(of(size + 1, Digest::of(b"x")));
    assert_eq!(verify(&mut device), Err("log-rollback"));
    assert_eq!(device.seen().last(&log).unwrap().0, size + 1);
    device = device.with_seen(of(size, Digest::of(b"x")));
    assert_eq!(verify(&mut device), Err("log-equivocates"));
    // An older proof beside a newer checkpoint: its size was seen with another root.
    device = device.with_seen(of(1, Digest::of(b"x")));
    assert_eq!(verify(&mut device), Err("log-equivocates"));
    device = device.with_seen(of(size - 1, Digest::of(b"unknown")));
    let first = World::honest().config.log.log_id();
    assert_eq!(first, log);
    device = device.with_seen(of(size, root));
    assert_eq!(verify(&mut device), Ok(()));
}

/// Catches a policy whose bytes only the log's own archive is said to have.
#[test]
fn i1_mirrors_keep_the_policy_for_a_while() {
    let mut world = World::with(witnessed());
    let mirrors = [TestMirror::new(41), TestMirror::new(42)];
    world.config.mirrors = MirrorQuorum {
        required: 2,
        min_age: Seconds(600),
        mirrors: mirrors.iter().map(|m| m.named_key().clone()).collect(),
    };
    assert_eq!(world.outcome(), "policy-not-archived");
    let said = |age: u64, bytes: &[u8]| Archived {
        origin: "log.example.test".into(),
        time: Timestamp(NOW.0 - age),
        sha256: Digest::of(bytes),
    };
    let policy = world.policy.clone();
    let notes = |ages: [u64; 2]| {
        let each = mirrors.iter().zip(ages);
        each.map(|(m, age)| m.sign(&said(age, &policy))).collect()
    };
    world.archived = notes([600, 601]);
    assert_eq!(world.outcome(), "ok");
    world.archived = notes([600, 599]);
    let refusal = world.verify().err().unwrap();
    assert_eq!(
        (refusal.code(), refusal.invariant()),
        ("policy-not-archived", "I1")
    );
    // Of other bytes.
    world.archived = vec![mirrors[0].sign(&said(600, b"genesis")); 2];
    assert_eq!(world.outcome(), "policy-not-archived");
}
