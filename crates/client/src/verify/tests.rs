//! One test per refusal (I1, I2). Each starts from a world in which all is well, so that a check
//! that is taken out shows as "ok" or as a later refusal.

use siegel_attest::simulated::Attester;
use siegel_attest::{Profile, Role};
use siegel_endorse::Endorsement;
use siegel_ident::{Digest, Secret};
use siegel_policy::testing::{measured, real};
use siegel_translog::Bundle;
use siegel_translog::testing::{TestLog, TestSigner};

mod endorsements;
mod evidence;
mod hardware;
mod witnesses;

use super::*;
use crate::testing::{NOW, Plan, World, endorsed};

#[test]
fn i1_an_honest_offer_verifies() {
    let world = World::honest();
    let verified = world.verify().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(verified.policy().bytes(), world.policy);
    assert_eq!(verified.cluster(), ClusterId::of(&world.genesis));
    assert_eq!((verified.epoch(), verified.log_index()), (EpochId(1), 4));
    assert_eq!(verified.expires(), Timestamp(NOW.0 + 3600));
    assert_eq!(verified.upload_context().policy, verified.policy().digest());
}

/// I1. The policy is not in the log: its proof is that of another document.
#[test]
fn i1_policy_not_logged() {
    let mut world = World::honest();
    world.policy_bundle = world.genesis_bundle.clone();
    assert_eq!(world.outcome(), "policy-not-logged");
    world.policy_bundle = Vec::new();
    assert_eq!(world.outcome(), "policy-not-logged");
}

/// I2. Logged, but with other bytes: a policy with a lower minimum is shown beside the true proof.
#[test]
fn i2_policy_logged_with_other_bytes() {
    let mut world = World::honest();
    let text = String::from_utf8(world.policy.clone()).unwrap();
    world.policy = text
        .replace("\"min_blobs\":100", "\"min_blobs\":1")
        .into_bytes();
    assert_eq!(world.outcome(), "policy-not-logged");
    world.policy = format!("{text} ").into_bytes();
    assert_eq!(world.outcome(), "policy-malformed");
}

/// I1. Proved by a log that uses the same name with another key.
#[test]
fn i1_policy_proved_by_another_log() {
    let mut world = World::honest();
    let mut other = TestLog::new("log.example.test", [9; 32]);
    let (policy, signer) = (world.policy.clone(), TestSigner::generate().unwrap());
    world.policy_bundle = other
        .publish(&signer, "policy", &policy, predicate::POLICY)
        .unwrap();
    assert_eq!(world.outcome(), "policy-not-logged");
}

/// I1. Logged as something else than a policy.
#[test]
fn i1_policy_logged_under_another_predicate() {
    let mut world = World::honest();
    let policy = world.policy.clone();
    world.policy_bundle = world
        .log
        .publish(&world.signer, "policy", &policy, predicate::PROGRAM)
        .unwrap();
    assert_eq!(world.outcome(), "policy-not-logged");
}

/// I1. Beyond the device's own limits, each by one unit.
#[test]
fn i1_policy_beyond_own_limits() {
    let with = |change: &dyn Fn(&mut crate::ClientConfig)| {
        let mut world = World::honest();
        change(&mut world.config);
        world.outcome()
    };
    assert_eq!(with(&|c| c.limits.max_rho_nano.0 -= 1), "limit-rho");
    assert_eq!(with(&|c| c.limits.max_key_ttl.0 -= 1), "limit-key-ttl");
    assert_eq!(with(&|c| c.limits.pipelines.clear()), "limit-pipeline");
    assert_eq!(
        with(&|c| c.limits.profiles = [Profile::Production].into()),
        "limit-profile"
    );
}

/// I1, I9. The policy's window at the device's clock.
#[test]
fn i9_policy_out_of_its_window() {
    let world = World::honest();
    let policy = AccessPolicy::parse(&world.policy).unwrap();
    for now in [Timestamp(policy.not_before.0 - 1), policy.not_after] {
        let refusal = verify(&world.config, &world.offer(), now).err().unwrap();
        assert_eq!(
            (refusal.code(), refusal.invariant()),
            ("policy-window", "I9")
        );
    }
}

/// I1. The policy lives in another log, or under more witnesses, than the device looks at.
#[test]
fn i1_policy_for_another_log_or_more_witnesses() {
    // The device's own anchors are compared, not only those of the cluster.
    let own = |plan| match World::with(plan).verify().err() {
        Some(ClientRefusal::Limits(refusal)) => refusal.code(),
        _ => "not the device's own",
    };
    let plan = Plan {
        policy: |p| p.log.origin = "other.example".into(),
        ..Plan::default()
    };
    assert_eq!(own(plan), "policy-log-origin");
    let plan = Plan {
        policy: |p| p.log.witnesses = 2,
        ..Plan::default()
    };
    assert_eq!(own(plan), "policy-witnesses");
    // A quorum that nobody can fill is a refusal, not a silence.
    let mut world = World::honest();
    world.config.log.witnesses.required = 2;
    assert_eq!(world.outcome(), "policy-not-logged");
}

/// I1, I2. Another genesis than the one whose digest the policy names.
#[test]
fn i1_another_cluster() {
    let mut world = World::honest();
    let other = World::with(Plan {
        genesis: |g| g.random = [6; 32],
        ..Plan::default()
    });
    world.genesis = other.genesis;
    assert_eq!(world.outcome(), "policy-cluster");
    world.genesis.push(b' ');
    assert_eq!(world.outcome(), "genesis-malformed");
}

/// I3. The policy names another configuration, or its cluster admits a binary that it does not.
#[test]
fn i3_cluster_configuration_and_peers() {
    let plan = Plan {
        policy: |p| p.kms.config = Digest::of(b"").into(),
        ..Plan::default()
    };
    assert_eq!(World::with(plan).outcome(), "policy-cluster-config");
    let plan = Plan {
        genesis: |g| g.config.peers.push(measured(9)),
        ..Plan::default()
    };
    assert_eq!(World::with(plan).outcome(), "policy-peers");
}

/// I11. A simulated cluster under a production policy.
#[test]
fn i11_production_policy_over_a_simulated_cluster() {
    let plan = Plan {
        policy: |p| {
            p.profile = Profile::Production;
            p.log.witnesses = 2;
            p.kms.reference_values = vec![real(3)];
            p.roles.root.reference_values = vec![real(4)];
            p.roles.worker.reference_values = vec![real(5)];
        },
        ..Plan::default()
    };
    let mut world = World::with(plan);
    world.config.limits.profiles = [Profile::Production].into();
    // The device's log has no witnesses, so no production policy gets further than this.
    assert_eq!(world.outcome(), "policy-witnesses");
}

/// I1. The genesis is not in the log.
#[test]
fn i1_genesis_not_logged() {
    let mut world = World::honest();
    world.genesis_bundle = world.policy_bundle.clone();
    assert_eq!(world.outcome(), "genesis-not-logged");
}

/// I1. The cluster takes proofs of another log, or workloads of another vendor root.
#[test]
fn i1_cluster_with_other_anchors() {
    let plan = Plan {
        genesis: |g| g.config.log_key = [1; 32],
        ..Plan::default()
    };
    assert_eq!(World::with(plan).outcome(), "cluster-log-key");
    let plan = Plan {
        genesis: |g| g.config.simulation_root = Some([1; 32]),
        ..Plan::default()
    };
    assert_eq!(World::with(plan).outcome(), "cluster-trust");
    let mut world = World::honest();
    world.config.trust.simulation_root = None;
    assert_eq!(world.outcome(), "cluster-trust");
}

/// I1. The key bundle is signed by another key, or changed after signing, in any byte.
#[test]
fn i1_key_bundle_not_signed_by_the_cluster() {
    let other = World::honest();
    let mut world = World::honest();
    world.signature = other.cluster.sign(&world.key_bundle);
    assert_eq!(world.outcome(), "key-bundle");
    let world = World::honest();
    for at in 0..world.key_bundle.len() {
        let mut changed = world.key_bundle.clone();
        changed[at] ^= 1;
        let offer = Offer {
            key_bundle: &changed,
            ..world.offer()
        };
        let refusal = verify(&world.config, &offer, NOW).err().unwrap();
        assert_eq!(refusal.code(), "key-bundle");
    }
}

/// I3. A key of another policy of the same cluster.
#[test]
fn i3_key_of_another_policy() {
    let plan = Plan {
        bundle: |b| b.policy = Digest::of(b"other").into(),
        ..Plan::default()
    };
    assert_eq!(World::with(plan).outcome(), "key-policy");
    let plan = Plan {
        bundle: |b| b.cluster_id = Digest::of(b"other").into(),
        ..Plan::default()
    };
    assert_eq!(World::with(plan).outcome(), "key-bundle");
}

/// The policy's suites, and a key that is one.
#[test]
fn i3_key_of_another_suite() {
    let plan = Plan {
        policy: |p| p.suites = vec![2],
        ..Plan::default()
    };
    assert_eq!(World::with(plan).outcome(), "policy-suite");
    let plan = Plan {
        bundle: |b| b.kem_key.truncate(31),
        ..Plan::default()
    };
    assert_eq!(World::with(plan).outcome(), "key-malformed");
}

/// I9. The key's window at the device's clock, and its length.
#[test]
fn i9_key_out_of_its_window_or_too_long() {
    let world = World::honest();
    for now in [Timestamp(NOW.0 - 3601), Timestamp(NOW.0 + 3600)] {
        let refusal = verify(&world.config, &world.offer(), now).err().unwrap();
        assert_eq!(refusal.code(), "key-window");
    }
    let plan = Plan {
        bundle: |b| b.expires.0 = b.not_before.0 + 86_401,
        ..Plan::default()
    };
    assert_eq!(World::with(plan).outcome(), "key-lifetime");
    let plan = Plan {
        bundle: |b| b.expires.0 = b.not_before.0 + 86_400,
        ..Plan::default()
    };
    assert_eq!(World::with(plan).outcome(), "ok");
}

/// I9. A key that outlives its policy is used only as long as the policy.
#[test]
fn i9_nothing_is_sealed_after_the_policy() {
    let plan = Plan {
        policy: |p| p.not_after = Timestamp(NOW.0 + 60),
        ..Plan::default()
    };
    let verified = World::with(plan).verify().ok().unwrap();
    assert_eq!(verified.expires(), Timestamp(NOW.0 + 60));
}

/// I1. A checkpoint of another log, or not the one that the evidence binds.
#[test]
fn i1_checkpoint_of_another_log_or_not_bound() {
    let mut world = World::honest();
    world.checkpoint = TestLog::new("log.example.test", [9; 32]).checkpoint();
    assert_eq!(world.outcome(), "checkpoint");
    let mut world = World::honest();
    world.log.append(b"one more".to_vec());
    world.checkpoint = world.log.checkpoint();
    assert_eq!(world.outcome(), "checkpoint-not-bound");
}

/// I1. Evidence over a checkpoint from before the policy was public.
#[test]
fn i1_checkpoint_before_the_policy() {
    let mut world = World::honest();
    world.rebind(&TestLog::new("log.example.test", [3; 32]).checkpoint());
    assert_eq!(world.outcome(), "checkpoint-too-old");
}

/// I1. Two trees of one size under one key: the log shows two histories.
#[test]
fn i1_log_that_equivocates() {
    let mut world = World::honest();
    let mut fork = TestLog::new("log.example.test", [3; 32]);
    for _ in 0..5 {
        fork.append(b"a".to_vec());
    }
    world.rebind(&fork.checkpoint());
    assert_eq!(world.outcome(), "log-equivocates");
    // Of another size it cannot be seen here: that is the audit's and the witnesses' work.
    fork.append(b"c".to_vec());
    world.rebind(&fork.checkpoint());
    assert_eq!(world.outcome(), "ok");
    // An endorsement shows a tree of its own.
    world.endorse_again();
    assert_eq!(world.outcome(), "log-equivocates");
}

/// I14. Any flipped byte of anything offered is refused, and nothing panics.
#[test]
fn i14_every_flipped_byte_is_refused() {
    let world = World::honest();
    let good = world.offer();
    let flip = |bytes: &[u8], at: usize| {
        let mut changed = bytes.to_vec();
        changed[at] ^= 1;
        changed
    };
    let refuse = |offer: &Offer<'_>, what: &str, at: usize| {
        assert!(
            verify(&world.config, offer, NOW).is_err(),
            "{what} byte {at}"
        );
    };
    for at in (0..good.policy.len()).step_by(7) {
        refuse(
            &Offer {
                policy: &flip(good.policy, at),
                ..good
            },
            "policy",
            at,
        );
    }
    for at in 0..good.genesis.len() {
        refuse(
            &Offer {
                genesis: &flip(good.genesis, at),
                ..good
            },
            "genesis",
            at,
        );
    }
    for at in (0..good.policy_bundle.len()).step_by(5) {
        refuse(
            &Offer {
                policy_bundle: &flip(good.policy_bundle, at),
                ..good
            },
            "proof",
            at,
        );
    }
    for which in 0..world.endorsements.len() {
        let proof = &world.endorsements[which];
        let refuse_proof = |what: &str, at: usize, changed: EndorsementProof| {
            let mut endorsements = world.endorsements.clone();
            endorsements[which] = changed;
            let endorsements = &endorsements;
            let offer = Offer {
                endorsements,
                ..good
            };
            refuse(&offer, what, at);
        };
        for at in (0..proof.document.len()).step_by(11) {
            let document = flip(&proof.document, at);
            let bundle = proof.bundle.clone();
            refuse_proof("endorsement", at, EndorsementProof { document, bundle });
        }
        for at in (0..proof.bundle.len()).step_by(23) {
            let bundle = flip(&proof.bundle, at);
            let document = proof.document.clone();
            refuse_proof("its proof", at, EndorsementProof { document, bundle });
        }
    }
    for at in 0..good.evidence.len() {
        refuse(
            &Offer {
                evidence: &flip(good.evidence, at),
                ..good
            },
            "evidence",
            at,
        );
    }
    for at in 0..good.checkpoint.len() {
        if let Ok(text) = String::from_utf8(flip(good.checkpoint.as_bytes(), at)) {
            refuse(
                &Offer {
                    checkpoint: &text,
                    ..good
                },
                "checkpoint",
                at,
            );
        }
    }
    assert!(Bundle::parse(good.policy_bundle).is_ok());
}

impl World {
    fn parsed(&self) -> (Genesis, KeyBundle) {
        (
            Genesis::parse(&self.genesis).unwrap(),
            KeyBundle::parse(&self.key_bundle).unwrap(),
        )
    }

    /// The endorser says the first thing once more, after everything else.
    fn endorse_again(&mut self) {
        let said = Endorsement::parse(&self.endorsements[0].document).unwrap();
        self.endorsements[0] = endorsed(&mut self.log, &self.endorser, &said);
    }

    /// The cluster signs and quotes again, over this checkpoint.
    fn rebind(&mut self, note: &str) {
        let (genesis, mut bundle) = self.parsed();
        bundle.checkpoint = Digest::of(note.as_bytes());
        self.key_bundle = bundle.to_bytes().unwrap();
        self.signature = self.cluster.sign(&self.key_bundle);
        self.evidence =
            self.cluster
                .evidence(&bundle, &genesis, measured(3).measurement().unwrap(), NOW);
        self.checkpoint = note.to_owned();
    }
}
