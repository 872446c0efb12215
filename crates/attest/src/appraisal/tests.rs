//! Evidence of hardware as sessions and key offers bring it: the mock platform, under its own roots.

use siegel_ident::Digest;

use super::*;
use crate::hardware::snp::mock::{self, Platform, at};
use crate::hardware::snp::{Product, SigningKey};
use crate::hardware::{Check, Evidence};
use crate::{CLUSTER_KEY_LEN, evidence};

/// A verifier and a guest; the tests change one thing each.
struct Case {
    platform: Platform,
    binding: Binding,
    allowed: Vec<ReferenceValue>,
    anchors: TrustAnchors,
    now: Timestamp,
    profile: Profile,
}

fn binding(role: Role) -> Binding {
    let bundle = role == Role::KmsBundle;
    Binding {
        role,
        deployment: Some(ClusterId::from_bytes([1; 32])),
        signing_key: vec![2; if bundle { CLUSTER_KEY_LEN } else { 32 }],
        kem_key: vec![0, 2, 3, 3],
        config: ConfigDigest::from_bytes([4; 32]),
        challenge: if bundle { Vec::new() } else { vec![5; 32] },
        checkpoint: bundle.then(|| Digest::from_bytes([7; 32])),
    }
}

impl Case {
    fn of(role: Role) -> Self {
        let mut platform = Platform::new(Product::Genoa, SigningKey::Vcek).unwrap();
        let mut reference = mock::reference(&platform.report, Product::Genoa);
        reference.host_data = Rule::Ignore("held against the configuration digest".into());
        let binding = binding(role);
        platform
            .report
            .put(at::REPORT_DATA, &binding.report_data().unwrap())
            .put(at::HOST_DATA, binding.config.as_bytes());
        let mut other = reference.clone();
        other.measurement = Rule::Exact(Hex([9; 48]));
        let mut allowed = [other, reference]
            .map(|r| ReferenceValue::SevSnp(Box::new(r)))
            .to_vec();
        allowed.insert(
            0,
            ReferenceValue::simulated(Measurement::from_bytes([6; 32])),
        );
        Self {
            platform,
            binding,
            allowed,
            anchors: TrustAnchors {
                simulation_root: None,
                vendors: mock::roots().unwrap(),
            },
            now: mock::NOW,
            profile: Profile::Production,
        }
    }

    fn evidence(&self) -> Vec<u8> {
        let endorsements = self.platform.endorsements().unwrap();
        self.platform
            .evidence()
            .unwrap()
            .staple(&endorsements)
            .unwrap()
    }

    fn appraise(&self, evidence: &[u8]) -> Result<Appraisal, Refusal> {
        let ctx = Context {
            now: self.now,
            profile: self.profile,
            genesis_profile: self.profile,
            anchors: &self.anchors,
        };
        appraise(evidence, &self.binding, &self.allowed, &ctx)
    }

    fn refused(&self) -> &'static str {
        self.appraise(&self.evidence()).unwrap_err().code()
    }
}

#[test]
fn real_evidence_gives_an_appraisal_of_what_was_bound() {
    for role in Role::ALL {
        let case = Case::of(role);
        let found = case.appraise(&case.evidence()).unwrap();
        assert_eq!((found.role(), found.tee()), (role, TeeKind::SevSnp));
        assert_eq!(found.reference(), &case.allowed[2]);
        assert_eq!(found.config(), case.binding.config);
        assert_eq!(found.signing_key(), case.binding.signing_key);
        assert_eq!(found.kem_key(), case.binding.kem_key);
        assert_eq!(found.issued_at(), None, "a report has no time of its own");
        assert!(found.valid_until().unwrap() > case.now);
        assert!(!found.outcomes().is_empty());
        let marks = found.marks();
        assert_eq!(marks.len(), 1);
        assert_eq!(marks[0].what, "amd/genoa/crl");
    }
}

// I3: catches a slot that takes the evidence of another, or evidence for other keys, another cluster, challenge,
// checkpoint or configuration.
#[test]
fn i3_evidence_fits_its_own_slot_only() {
    for presented in Role::ALL {
        let evidence = Case::of(presented).evidence();
        for slot in Role::ALL.into_iter().filter(|slot| *slot != presented) {
            let refused = Case::of(slot).appraise(&evidence).unwrap_err();
            assert_eq!(refused.code(), "report-data", "{presented} as {slot}");
        }
    }
    type Change = fn(&mut Binding);
    let changes: [Change; 4] = [
        |b| b.signing_key = vec![9; 32],
        |b| b.kem_key = vec![0, 2, 9, 9],
        |b| b.deployment = Some(ClusterId::from_bytes([9; 32])),
        |b| b.challenge = vec![9; 32],
    ];
    for change in changes {
        let mut case = Case::of(Role::Worker);
        change(&mut case.binding);
        assert_eq!(case.refused(), "report-data");
    }
    let mut case = Case::of(Role::KmsBundle);
    case.binding.checkpoint = Some(Digest::from_bytes([9; 32]));
    assert_eq!(case.refused(), "report-data");
    // The guest's own word about its configuration, against the host's field.
    let mut case = Case::of(Role::Worker);
    case.platform.report.put(at::HOST_DATA, &[9; 32]);
    assert_eq!(case.refused(), "snp-host-data");
}

// I1, I3: the roots are the verifier's; the values are the policy's.
#[test]
fn i3_roots_kinds_and_values_decide() {
    let mut case = Case::of(Role::Root);
    case.anchors.vendors = TrustRoots::vendors();
    assert_eq!(case.refused(), "snp-chain", "AMD did not sign it");
    case.anchors = TrustAnchors::default();
    assert_eq!(case.refused(), "snp-chain", "nobody is trusted by default");

    let mut case = Case::of(Role::Root);
    case.allowed.truncate(2);
    assert_eq!(case.refused(), "snp-measurement");
    case.allowed.truncate(1);
    assert_eq!(case.refused(), "kind");
    case.allowed.clear();
    assert_eq!(case.refused(), "evidence-no-reference-value");

    let mut case = Case::of(Role::Root);
    case.platform
        .report
        .put(at::POLICY, &0xb_0000u64.to_le_bytes());
    assert_eq!(case.refused(), "snp-guest-policy", "a debug guest");

    let mut case = Case::of(Role::Root);
    let evidence = case.evidence();
    case.now = case
        .appraise(&evidence)
        .unwrap()
        .valid_until()
        .unwrap()
        .plus(siegel_ident::Seconds(1));
    assert!(case.appraise(&evidence).is_err(), "after its window");
}

// I11: neither kind passes for the other.
#[test]
fn i11_relabelled_evidence_is_refused() {
    let case = Case::of(Role::Worker);
    let mut relabelled = case.evidence();
    relabelled[1] = evidence::KIND_SIMULATED;
    let refused = case.appraise(&relabelled).unwrap_err();
    assert!(
        matches!(refused, Refusal::SimulationNotAllowed { .. }),
        "{refused}"
    );
    for kind in 2..=4 {
        relabelled[1] = kind;
        let refused = case.appraise(&relabelled).unwrap_err();
        let Refusal::Hardware(why) = &refused else {
            panic!("{refused}")
        };
        assert!(
            matches!(why.check, Check::QuoteFormat | Check::NitroFormat),
            "{why}"
        );
    }
}

// Real evidence under AMD's own roots, through the same door.
#[test]
fn a_real_report_passes_the_door_and_stops_at_its_binding() {
    use crate::hardware::tests::vectors::{folder, pem, read};
    if folder().is_none() {
        return;
    }
    let body = read("snp/genoa_v5.report.bin");
    let mut certificates = vec![read("snp/genoa_v5.vcek.der")];
    certificates.extend(pem("snp/ask_genoa.pem"));
    certificates.extend(pem("snp/ark_genoa.pem"));
    let endorsements = hardware::Endorsements {
        certificates,
        ..hardware::Endorsements::default()
    };
    let evidence = Evidence {
        kind: hardware::Kind::SevSnp,
        body,
    };
    let mut case = Case::of(Role::Root);
    case.anchors.vendors = TrustRoots::vendors();
    case.now = Timestamp(1_767_225_600);
    let refused = case
        .appraise(&evidence.staple(&endorsements).unwrap())
        .unwrap_err();
    let Refusal::Hardware(why) = refused else {
        panic!("{refused}")
    };
    let failed: Vec<_> = why
        .outcomes
        .iter()
        .filter(|o| o.status == hardware::Status::Failed)
        .collect();
    assert!(failed.iter().any(|o| o.check == Check::ReportData));
    assert!(
        why.outcomes
            .iter()
            .any(|o| o.check == Check::SnpSignature && o.status == hardware::Status::Passed)
    );
}
