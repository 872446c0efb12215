//! Evidence: of the binary, the key, the cluster and the time that the policy asks for (I1, I3).

use super::*;

/// I3. Evidence of a binary that the policy does not name.
#[test]
fn i3_evidence_of_another_measurement() {
    let plan = Plan {
        measurement: measured(4).measurement().unwrap(),
        ..Plan::default()
    };
    assert_eq!(World::with(plan).outcome(), "evidence-measurement");
}

/// I3. Good evidence, but of another key, checkpoint, role or root.
#[test]
fn i3_evidence_of_something_else() {
    let world = World::honest();
    let (genesis, bundle) = world.parsed();
    let refused = |evidence: Vec<u8>, code: &str| {
        let offer = Offer {
            evidence: &evidence,
            ..world.offer()
        };
        assert_eq!(
            verify(&world.config, &offer, NOW).err().unwrap().code(),
            code
        );
    };
    let quote = |change: fn(&mut KeyBundle)| {
        let mut other = bundle.clone();
        change(&mut other);
        world
            .cluster
            .evidence(&other, &genesis, measured(3).measurement().unwrap(), NOW)
    };
    refused(quote(|b| b.kem_key = vec![7; 32]), "evidence-report-data");
    refused(
        quote(|b| b.checkpoint = Digest::of(b"")),
        "evidence-report-data",
    );
    refused(quote(|b| b.suite = 2), "evidence-report-data");
    refused(Vec::new(), "evidence-malformed");
    let binding = bundle.binding(&genesis).unwrap();
    assert_eq!(binding.role, Role::KmsBundle);
    let stranger = Attester::new(&Secret::new([77; 32])).unwrap();
    let data = binding.report_data().unwrap();
    let forged = stranger.attest(
        measured(3).measurement().unwrap(),
        binding.config,
        data,
        NOW,
    );
    refused(forged, "evidence-signature");
}

/// I1. Evidence from the future, or older than any key.
#[test]
fn i1_evidence_not_fresh() {
    let plan = Plan {
        quoted_at: Timestamp(NOW.0 + 61),
        ..Plan::default()
    };
    assert_eq!(World::with(plan).outcome(), "evidence-from-future");
    let plan = Plan {
        quoted_at: Timestamp(NOW.0 - 86_401),
        ..Plan::default()
    };
    assert_eq!(World::with(plan).outcome(), "evidence-too-old");
    let plan = Plan {
        quoted_at: Timestamp(NOW.0 - 86_400),
        ..Plan::default()
    };
    assert_eq!(World::with(plan).outcome(), "ok");
}
