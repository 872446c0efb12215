use siegel_attest::{Profile, ReferenceValue};
use siegel_ident::Measurement;
use siegel_platform::rng::os_rng;
use siegel_seal::{Suite, generate_kem};

use super::*;

const FOUNDER: [u8; 32] = [1; 32];
const PEER: [u8; 32] = [2; 32];

fn config() -> ClusterConfig {
    ClusterConfig {
        schema: ClusterConfig::SCHEMA.to_owned(),
        profile: Profile::Simulation,
        simulation_root: Some([5; 32]),
        peers: vec![ReferenceValue::simulated(Measurement::from_bytes([3; 32]))],
        min_voters: 3,
        log_origin: "log.example".to_owned(),
        log_key: [4; 32],
        witnesses: siegel_ident::WitnessQuorum::none(),
        seed: None,
    }
}

fn members() -> Members {
    let keys = [
        (NodeId(1), FOUNDER),
        (NodeId(2), PEER),
        (NodeId(3), [3; 32]),
    ];
    Members::new(keys, &config()).unwrap()
}

struct Scene {
    config: ClusterConfig,
    kem: KemPrivate,
    found: Found,
}

fn scene() -> Scene {
    let rng = &mut os_rng();
    let (kem, public) = generate_kem(Suite::XWing, rng);
    let birth = Birth::new(&config(), members(), rng).unwrap();
    let found = birth.found(&PEER, &public, &FOUNDER, rng).unwrap();
    Scene {
        config: config(),
        kem,
        found,
    }
}

impl Scene {
    fn invited(&self) -> Invited<'_> {
        Invited {
            config: &self.config,
            node: NodeId(2),
            signing_key: &PEER,
            kem: &self.kem,
            founder: &FOUNDER,
        }
    }
}

fn refused(result: Result<(Cluster, Members), FoundingError>) -> FoundingError {
    result.map(drop).unwrap_err()
}

#[test]
fn founder_and_peer_hold_the_same_cluster() {
    let rng = &mut os_rng();
    let (kem, public) = generate_kem(Suite::XWing, rng);
    let birth = Birth::new(&config(), members(), rng).unwrap();
    let found = birth.found(&PEER, &public, &FOUNDER, rng).unwrap();
    let (own, own_members) = birth.into_parts().unwrap();
    let (theirs, their_members) = Scene {
        config: config(),
        kem,
        found,
    }
    .invited_owned();
    assert_eq!((own.id(), own_members), (theirs.id(), their_members));
    // What one wraps, the other unwraps: they share the wrapping key.
    let policy = siegel_ident::PolicyDigest::from_bytes([9; 32]);
    let wrapped = own.new_epoch_secret(rng, policy).unwrap();
    let secret = theirs.epoch_secret(policy, &wrapped).unwrap();
    assert!(own.epoch_secret(policy, &wrapped).unwrap().same(&secret));
    let other = siegel_ident::PolicyDigest::from_bytes([8; 32]);
    assert!(
        theirs.epoch_secret(other, &wrapped).is_err(),
        "bound to its policy (I3)"
    );
}

impl Scene {
    fn invited_owned(self) -> (Cluster, Members) {
        self.invited().accept(&self.found).unwrap()
    }
}

/// I3, I10: catches a peer that joins whatever it is invited to.
#[test]
fn an_invitation_must_fit_in_every_part() {
    let scene = scene();
    let found = &scene.found;
    assert!(scene.invited().accept(found).is_ok());

    let mut other = config();
    other.min_voters = 2;
    let invited = Invited {
        config: &other,
        ..scene.invited()
    };
    assert!(matches!(
        refused(invited.accept(found)),
        FoundingError::OtherConfig
    ));

    // Relayed: sealed for somebody else, or by somebody else than the session proved.
    let invited = Invited {
        founder: &[7; 32],
        ..scene.invited()
    };
    assert!(matches!(
        refused(invited.accept(found)),
        FoundingError::Open(_)
    ));
    let invited = Invited {
        signing_key: &[3; 32],
        ..scene.invited()
    };
    assert!(matches!(
        refused(invited.accept(found)),
        FoundingError::Open(_)
    ));

    // Under a number that is not its own.
    let invited = Invited {
        node: NodeId(3),
        ..scene.invited()
    };
    assert!(matches!(
        refused(invited.accept(found)),
        FoundingError::Members(_)
    ));

    // Another genesis around the same secrets.
    let rng = &mut os_rng();
    let genesis = Birth::new(&config(), members(), rng).unwrap().genesis;
    let mixed = Found {
        genesis,
        ..found.clone()
    };
    assert!(matches!(
        refused(scene.invited().accept(&mixed)),
        FoundingError::Open(_)
    ));

    let long = Found {
        genesis: vec![b' '; MAX_GENESIS + 1],
        ..found.clone()
    };
    assert!(matches!(
        refused(scene.invited().accept(&long)),
        FoundingError::TooLong(_)
    ));
}

/// A founder that does not count itself among the members could found for others and stay outside.
#[test]
fn the_founder_must_be_a_member() {
    let rng = &mut os_rng();
    let (kem, public) = generate_kem(Suite::XWing, rng);
    let birth = Birth::new(&config(), members(), rng).unwrap();
    let outsider = [9; 32];
    let found = birth.found(&PEER, &public, &outsider, rng).unwrap();
    let scene = Scene {
        config: config(),
        kem,
        found,
    };
    let invited = Invited {
        founder: &outsider,
        ..scene.invited()
    };
    assert!(matches!(
        refused(invited.accept(&scene.found)),
        FoundingError::Members(_)
    ));
}

/// I10: one process with two votes, or too few processes, are no cluster.
#[test]
fn members_are_distinct_and_enough() {
    let three = |c: u64, key: u8| {
        Members::new(
            [
                (NodeId(1), [1; 32]),
                (NodeId(2), [2; 32]),
                (NodeId(c), [key; 32]),
            ],
            &config(),
        )
    };
    assert!(three(3, 3).is_ok());
    assert!(three(3, 2).is_err(), "one key under two numbers");
    assert!(three(2, 3).is_err(), "one number twice");
    assert!(three(0, 3).is_err(), "number 0");
    assert!(Members::new([(NodeId(1), [1; 32]), (NodeId(2), [2; 32])], &config()).is_err());
    let many = (1..=17).map(|n| (NodeId(n), [n as u8; 32]));
    assert!(Members::new(many, &config()).is_err());
}
