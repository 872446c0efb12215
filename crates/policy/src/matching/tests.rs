//! I3: what is not named is not allowed. Each check is seen to refuse and to accept.

use siegel_attest::{ClusterConfig, Profile, Role};
use siegel_ident::{ClusterId, ConfigDigest, ProgramDigest, Timestamp, WitnessQuorum};

use crate::NotAllowed;
use crate::testing::{measured, sample};

fn config() -> ClusterConfig {
    ClusterConfig {
        schema: ClusterConfig::SCHEMA.into(),
        profile: Profile::Simulation,
        simulation_root: Some([1; 32]),
        peers: vec![measured(3)],
        min_voters: 2,
        log_origin: "log.example.org".into(),
        log_key: [2; 32],
        witnesses: WitnessQuorum::none(),
        seed: None,
    }
}

#[test]
fn i3_program_window_suite_blobs() {
    let policy = sample();
    assert_eq!(
        policy.check_program(&ProgramDigest::from_bytes([7; 32])),
        Ok(())
    );
    let other = ProgramDigest::from_bytes([9; 32]);
    assert_eq!(
        policy.check_program(&other),
        Err(NotAllowed::Program { program: other })
    );
    let (first, end) = (policy.not_before, policy.not_after);
    assert!(
        policy.check_window(first).is_ok() && policy.check_window(Timestamp(end.0 - 1)).is_ok()
    );
    for now in [Timestamp(first.0 - 1), end] {
        assert!(matches!(
            policy.check_window(now),
            Err(NotAllowed::Window { .. })
        ));
    }
    assert!(policy.check_suite(2).is_ok());
    assert_eq!(policy.check_suite(3), Err(NotAllowed::Suite { suite: 3 }));
    assert!(policy.check_blobs(100).is_ok());
    assert_eq!(
        policy.check_blobs(99),
        Err(NotAllowed::TooFewBlobs {
            found: 99,
            min: 100
        })
    );
}

/// Catches roles mixed up: the worker's measurement must not do for a root.
#[test]
fn i3_reference_values_by_role() {
    let policy = sample();
    assert_eq!(policy.allowed(Role::Root), [measured(4)]);
    assert_eq!(policy.allowed(Role::Worker), [measured(5), measured(6)]);
    assert_eq!(policy.allowed(Role::KmsPeer), [measured(3)]);
    assert_eq!(policy.allowed(Role::KmsBundle), [measured(3)]);
}

#[test]
fn i3_cluster() {
    let (id, digest) = (
        ClusterId::from_bytes([1; 32]),
        ConfigDigest::from_bytes([2; 32]),
    );
    let check = |change: &dyn Fn(&mut ClusterConfig)| {
        let mut config = config();
        change(&mut config);
        sample().check_cluster(id, digest, &config)
    };
    assert_eq!(check(&|_| ()), Ok(()));
    let other = ClusterId::from_bytes([9; 32]);
    assert!(matches!(
        sample().check_cluster(other, digest, &config()),
        Err(NotAllowed::Cluster { .. })
    ));
    let other = ConfigDigest::from_bytes([9; 32]);
    assert!(matches!(
        sample().check_cluster(id, other, &config()),
        Err(NotAllowed::ClusterConfig { .. })
    ));
    let profile = check(&|c| c.profile = Profile::Production);
    assert!(matches!(profile, Err(NotAllowed::ClusterProfile { .. })));
    assert_eq!(
        check(&|c| c.peers.push(measured(9))),
        Err(NotAllowed::Peers)
    );
    let origin = check(&|c| c.log_origin = "other".into());
    assert!(matches!(origin, Err(NotAllowed::LogOrigin { .. })));
    assert_eq!(check(&|c| c.witnesses.required = 5), Ok(()));
    let mut strict = sample();
    strict.log.witnesses = 3;
    assert!(matches!(
        strict.check_log("log.example.org", 2),
        Err(NotAllowed::Witnesses { .. })
    ));
    assert!(strict.check_log("log.example.org", 3).is_ok());
}

#[test]
fn refusals_have_codes() {
    let error = NotAllowed::Peers;
    assert_eq!((error.code(), error.invariant()), ("policy-peers", "I3"));
}
