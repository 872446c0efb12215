//! A cluster on real TEEs, as far as a mock SNP platform can play one: from its offer to a key that is trusted (I1, I3).

use siegel_attest::hardware::TrustRoots;
use siegel_attest::hardware::snp::mock::{self, Platform, at};
use siegel_attest::hardware::snp::{Product, SigningKey};
use siegel_ident::Seconds;

use super::*;

const WITNESSES: &[&str] = &["one", "two"];

fn production() -> Plan {
    Plan {
        policy: |policy| {
            let kms = policy.kms.clone();
            policy.profile = Profile::Production;
            policy.log.witnesses = 2;
            policy.kms = siegel_policy::KmsRule {
                reference_values: vec![real(3)],
                ..kms
            };
            policy.roles.root.reference_values = vec![real(4)];
            policy.roles.worker.reference_values = vec![real(5)];
        },
        genesis: |genesis| {
            genesis.config.profile = Profile::Production;
            genesis.config.simulation_root = None;
            genesis.config.peers = vec![real(3)];
        },
        endorse: |said| {
            for one in said {
                if let siegel_endorse::Subject::Binaries(binaries) = &mut one.subject {
                    binaries.flavour = Profile::Production;
                }
            }
        },
        witnesses: WITNESSES,
        ..Plan::default()
    }
}

/// A node of it, in whose report the fields can still be changed.
fn node(world: &World) -> Platform {
    let (genesis, bundle) = world.parsed();
    let binding = bundle.binding(&genesis).unwrap();
    let platform = Platform::new(Product::Genoa, SigningKey::Vcek).unwrap();
    let mut platform = platform.living_at(NOW);
    platform
        .report
        .put(at::MEASUREMENT, &[3; 48])
        .put(at::HOST_DATA, binding.config.as_bytes())
        .put(at::REPORT_DATA, &binding.report_data().unwrap());
    platform
}

fn quote(platform: &Platform) -> Vec<u8> {
    let endorsements = platform.endorsements().unwrap();
    platform.evidence().unwrap().staple(&endorsements).unwrap()
}

fn world(plan: Plan) -> World {
    let mut world = World::with(plan);
    world.config.trust.simulation_root = None;
    world.config.trust.vendors = mock::roots().unwrap();
    world.config.limits.profiles = [Profile::Production, Profile::Simulation].into();
    world.evidence = quote(&node(&world));
    world
}

#[test]
fn i1_a_key_of_a_cluster_on_real_tees_is_trusted() {
    let world = world(production());
    let verified = world.verify().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(verified.policy().profile, Profile::Production);
    assert_eq!(verified.expires(), Timestamp(NOW.0 + 3600));
}

/// I9. A key is not trusted for longer than what the vendor says about the machine.
#[test]
fn i9_the_vendors_statements_end_the_offer() {
    let mut world = world(production());
    let mut platform = node(&world);
    let end = NOW.plus(Seconds(60));
    platform.list.as_mut().unwrap().next = Some(end);
    world.evidence = quote(&platform);
    assert_eq!(world.verify().unwrap().expires(), end);
}

/// I3. Each thing that the hardware states, and the roots by which it is believed.
#[test]
fn i3_evidence_of_another_node_key_or_vendor() {
    type Change = fn(&mut Platform);
    let changes: [(Change, &str); 5] = [
        (
            |p| _ = p.report.put(at::MEASUREMENT, &[4; 48]),
            "snp-measurement",
        ),
        (
            |p| _ = p.report.put(at::HOST_DATA, &[9; 32]),
            "snp-host-data",
        ),
        (
            |p| _ = p.report.put(at::REPORT_DATA, &[9; 64]),
            "report-data",
        ),
        (|p| p.list = None, "snp-crl"),
        (|p| p.leaf.window.1 = NOW.minus(Seconds(1)), "snp-chain"),
    ];
    let mut world = world(production());
    for (change, code) in changes {
        let mut platform = node(&world);
        change(&mut platform);
        world.evidence = quote(&platform);
        assert_eq!(world.outcome(), code);
    }
    world.evidence = quote(&node(&world));
    world.config.trust.vendors = TrustRoots::vendors();
    assert_eq!(world.outcome(), "snp-chain", "AMD did not sign it");
    world.config.trust.vendors = TrustRoots::default();
    assert_eq!(
        world.outcome(),
        "snp-chain",
        "no vendor is trusted by default"
    );
}

/// I1. A report has no time: only witnesses of its checkpoint date it.
#[test]
fn i1_a_report_needs_a_dated_checkpoint() {
    let stale = Plan {
        witnessed_at: NOW.minus(Seconds(3_601)),
        ..production()
    };
    let outcome = world(stale).outcome();
    assert_ne!(outcome, "ok");
    assert_ne!(outcome, "evidence-undated");
    // A simulation may name real TEEs, and have no witnesses: then nothing says when.
    let unwitnessed = Plan {
        policy: |policy| policy.kms.reference_values.push(real(3)),
        genesis: |_| (),
        ..Plan::default()
    };
    let mut world = world(unwitnessed);
    let root = World::honest().config.trust.simulation_root;
    world.config.trust.simulation_root = root;
    assert_eq!(world.outcome(), "evidence-undated");
}
