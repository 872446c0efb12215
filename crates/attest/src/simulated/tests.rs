use super::*;
use crate::{
    Appraisal, Binding, CLOCK_SKEW, CLUSTER_KEY_LEN, Context, Profile, ReferenceValue, Role,
    TrustAnchors, appraise,
};
use siegel_ident::{ClusterId, Seconds};

mod hostile;

const NOW: Timestamp = Timestamp(1_800_000_000);

fn attester(seed: u8) -> Attester {
    Attester::new(&Secret::new([seed; 32])).unwrap()
}

fn measured(exe: u8) -> Measurement {
    measurement(Digest::from_bytes([exe; 32]), &["siegel-worker"], &[])
}

fn config(byte: u8) -> ConfigDigest {
    ConfigDigest::from_bytes([byte; 32])
}

fn binding(role: Role) -> Binding {
    let bundle = role == Role::KmsBundle;
    Binding {
        role,
        deployment: Some(ClusterId::from_bytes([1; 32])),
        signing_key: vec![2; if bundle { CLUSTER_KEY_LEN } else { 32 }],
        kem_key: vec![0, 2, 3, 3],
        config: config(4),
        challenge: if bundle { Vec::new() } else { vec![5; 32] },
        checkpoint: bundle.then(|| Digest::from_bytes([7; 32])),
    }
}

/// What a good launcher would quote for this binding.
fn claims(binding: &Binding) -> Claims {
    Claims {
        measurement: measured(1),
        config: binding.config,
        report_data: binding.report_data().unwrap(),
        issued_at: NOW,
        debug: false,
    }
}

/// A verifier; the tests change one thing each.
struct Verifier {
    root: Option<[u8; 32]>,
    allowed: Vec<ReferenceValue>,
    policy: Profile,
    genesis: Profile,
}

impl Verifier {
    fn good() -> Self {
        let measured = ReferenceValue::simulated(measured(1));
        Self {
            root: Some(attester(9).public_key()),
            allowed: vec![measured],
            policy: Profile::Simulation,
            genesis: Profile::Simulation,
        }
    }

    fn appraise(&self, evidence: &[u8], binding: &Binding) -> Result<Appraisal, Refusal> {
        let anchors = TrustAnchors {
            simulation_root: self.root,
            ..TrustAnchors::default()
        };
        let ctx = Context {
            now: NOW,
            profile: self.policy,
            genesis_profile: self.genesis,
            anchors: &anchors,
        };
        appraise(evidence, binding, &self.allowed, &ctx)
    }
}

fn evidence(role: Role) -> Vec<u8> {
    attester(9).sign(&claims(&binding(role)))
}

#[test]
fn good_evidence_gives_an_appraisal_of_what_was_bound() {
    for role in Role::ALL {
        let bound = binding(role);
        let appraisal = Verifier::good().appraise(&evidence(role), &bound).unwrap();
        assert_eq!(appraisal.role(), role);
        assert_eq!(appraisal.reference().measurement(), Some(measured(1)));
        assert_eq!(appraisal.config(), bound.config);
        assert_eq!(appraisal.signing_key(), bound.signing_key);
        assert_eq!(appraisal.kem_key(), bound.kem_key);
        assert_eq!(appraisal.deployment(), bound.deployment);
        assert_eq!(appraisal.issued_at(), Some(NOW));
        assert_eq!(appraisal.valid_until(), None);
    }
}

// I3: catches a role that is not hashed. All other fields are alike where the table allows it.
#[test]
fn i3_evidence_of_each_role_fits_no_other_slot() {
    for presented in Role::ALL {
        for slot in Role::ALL {
            let result = Verifier::good().appraise(&evidence(presented), &binding(slot));
            match result {
                Ok(_) => assert_eq!(presented, slot),
                Err(Refusal::ReportData { role }) => {
                    assert_ne!(presented, slot);
                    assert_eq!(role, slot);
                }
                Err(other) => panic!("{presented} as {slot}: {other}"),
            }
        }
    }
}

// I3: catches a field of the binding that is not compared.
#[test]
fn i3_evidence_binds_every_field() {
    let changes: [fn(&mut Binding); 5] = [
        |b| b.deployment = Some(ClusterId::from_bytes([9; 32])),
        |b| b.signing_key[0] ^= 1,
        |b| b.kem_key[1] ^= 1,
        |b| b.kem_key[3] ^= 1,
        |b| b.challenge[31] ^= 1,
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let mut expected = binding(Role::Worker);
        change(&mut expected);
        let result = Verifier::good().appraise(&evidence(Role::Worker), &expected);
        assert_eq!(
            result,
            Err(Refusal::ReportData { role: Role::Worker }),
            "change {i}"
        );
    }
    let mut expected = binding(Role::KmsBundle);
    expected.checkpoint = Some(Digest::from_bytes([8; 32]));
    let result = Verifier::good().appraise(&evidence(Role::KmsBundle), &expected);
    assert_eq!(
        result,
        Err(Refusal::ReportData {
            role: Role::KmsBundle
        })
    );
}

// I3: the config field is compared by itself, and report data too: a launcher that puts one digest
// into the field and quotes report data for another must not pass either way.
#[test]
fn i3_wrong_configuration() {
    let bound = binding(Role::Worker);
    let other = Binding {
        config: config(8),
        ..bound.clone()
    };
    let in_field = attester(9).sign(&Claims {
        config: config(8),
        ..claims(&bound)
    });
    let in_report = attester(9).sign(&Claims {
        config: bound.config,
        ..claims(&other)
    });
    let refused = Refusal::Config {
        found: config(8),
        expected: bound.config,
    };
    assert_eq!(Verifier::good().appraise(&in_field, &bound), Err(refused));
    let refused = Refusal::ReportData { role: Role::Worker };
    assert_eq!(Verifier::good().appraise(&in_report, &bound), Err(refused));
}

// I3: catches a comparison with "any" or "no" measurement.
#[test]
fn i3_wrong_measurement_and_empty_policy() {
    let bound = binding(Role::Worker);
    let other = attester(9).sign(&Claims {
        measurement: measured(2),
        ..claims(&bound)
    });
    let refused = Refusal::Measurement { found: measured(2) };
    assert_eq!(Verifier::good().appraise(&other, &bound), Err(refused));
    let nothing_allowed = Verifier {
        allowed: Vec::new(),
        ..Verifier::good()
    };
    let result = nothing_allowed.appraise(&evidence(Role::Worker), &bound);
    assert_eq!(result, Err(Refusal::NoReferenceValue));
}

// I11: each of the three gates alone must refuse (the third, the feature, is tested in a build
// without it).
#[test]
fn i11_simulated_evidence_needs_genesis_and_policy_to_say_so() {
    use Profile::{Production, Simulation};
    for (genesis, policy) in [
        (Production, Production),
        (Production, Simulation),
        (Simulation, Production),
    ] {
        let verifier = Verifier {
            genesis,
            policy,
            ..Verifier::good()
        };
        let result = verifier.appraise(&evidence(Role::Worker), &binding(Role::Worker));
        assert_eq!(
            result,
            Err(Refusal::SimulationNotAllowed { genesis, policy })
        );
    }
}

#[test]
fn wrong_root_and_no_root() {
    let verifier = Verifier {
        root: Some(attester(8).public_key()),
        ..Verifier::good()
    };
    let result = verifier.appraise(&evidence(Role::Worker), &binding(Role::Worker));
    assert_eq!(result, Err(Refusal::Signature));
    let verifier = Verifier {
        root: None,
        ..Verifier::good()
    };
    let result = verifier.appraise(&evidence(Role::Worker), &binding(Role::Worker));
    assert_eq!(result, Err(Refusal::NoAnchor));
}

#[test]
fn debug_and_future() {
    let bound = binding(Role::Worker);
    let debug = attester(9).sign(&Claims {
        debug: true,
        ..claims(&bound)
    });
    assert_eq!(
        Verifier::good().appraise(&debug, &bound),
        Err(Refusal::Debug)
    );
    let issued = |issued_at| {
        attester(9).sign(&Claims {
            issued_at,
            ..claims(&bound)
        })
    };
    let edge = NOW.plus(CLOCK_SKEW);
    assert!(Verifier::good().appraise(&issued(edge), &bound).is_ok());
    let issued_at = edge.plus(Seconds(1));
    let refused = Refusal::FromFuture {
        issued_at,
        now: NOW,
    };
    assert_eq!(
        Verifier::good().appraise(&issued(issued_at), &bound),
        Err(refused)
    );
}

// Made with another implementation (Python's hashlib).
#[test]
fn measurement_is_golden_and_covers_all_parts() {
    let exe = Digest::from_bytes([1; 32]);
    let golden = measurement(exe, &["a", "b"], &[("K", "V")]);
    assert_eq!(
        golden.digest().to_string(),
        "93506eaf58946b16c6cb93ebfb39dfaf06e8a93338484b324ea9b10d424bdc1e"
    );
    for other in [
        measurement(Digest::from_bytes([2; 32]), &["a", "b"], &[("K", "V")]),
        measurement(exe, &["ab"], &[("K", "V")]),
        measurement(exe, &["a"], &[("b", "K"), ("V", "")]),
        measurement(exe, &["a", "b"], &[]),
        measurement(exe, &["a", "b"], &[("K", "W")]),
        measurement(exe, &["a", "b", "K", "V"], &[]),
    ] {
        assert_ne!(other, golden);
    }
    let (x, y) = (("A", "1"), ("B", "2"));
    assert_eq!(
        measurement(exe, &[], &[x, y]),
        measurement(exe, &[], &[y, x])
    );
}
