//! Policies for the tests of this crate and of others (feature `test-util`).

#![allow(clippy::unwrap_used)] // constants that parse

use siegel_attest::hardware::snp::{Product, SigningKey, mock};
use siegel_attest::hardware::{Hex, Rule};
use siegel_attest::{Profile, ReferenceValue};
use siegel_dp::zcdp;
use siegel_ident::{
    Budget, ClusterId, ConfigDigest, Delta, Measurement, ProgramDigest, Seconds, Timestamp,
};

use crate::*;

/// A simulated reference value of 32 equal bytes.
pub fn measured(byte: u8) -> ReferenceValue {
    ReferenceValue::simulated(Measurement::from_bytes([byte; 32]))
}

/// A simulation policy with one of everything.
pub fn sample() -> AccessPolicy {
    let (epsilon, delta): (Decimal, Decimal) = ("2".parse().unwrap(), "0.000001".parse().unwrap());
    let rho_nano = zcdp::max_rho(epsilon.lower(), delta.lower());
    AccessPolicy {
        schema: AccessPolicy::SCHEMA.into(),
        name: "word-histogram".into(),
        pipeline: "org.example.words".into(),
        predecessor: None,
        not_before: Timestamp(1_800_000_000),
        not_after: Timestamp(1_802_592_000),
        profile: Profile::Simulation,
        log: LogRule {
            origin: "log.example.org".into(),
            witnesses: 0,
        },
        kms: KmsRule {
            cluster_id: ClusterId::from_bytes([1; 32]),
            config: ConfigDigest::from_bytes([2; 32]),
            reference_values: vec![measured(3)],
        },
        roles: Roles {
            root: RoleRule {
                reference_values: vec![measured(4)],
            },
            worker: RoleRule {
                reference_values: vec![measured(5), measured(6)],
            },
        },
        programs: vec![
            ProgramDigest::from_bytes([7; 32]),
            ProgramDigest::from_bytes([8; 32]),
        ],
        sideloads: vec![],
        input: InputSchema {
            columns: vec![Column {
                name: "words".into(),
                kind: ColumnKind::Words,
            }],
        },
        suites: vec![1, 2],
        key_ttl: Seconds(86_400),
        privacy: Privacy {
            unit: Unit::Installation,
            adjacency: Adjacency::ZeroOut,
            mechanisms: vec![Mechanism::DiscreteGaussian],
            total: Budget {
                rho_nano,
                delta0: Delta(0),
            },
            epsilon,
            delta,
        },
        bounds: Bounds {
            max_items_per_user: 32,
        },
        min_blobs: 100,
        public_counters: vec!["blobs".into()],
        recipients: vec![Recipient::Public],
        endorsers: vec![],
        rebuilders: 0,
    }
}

/// A reference value that production may name: a mock SNP guest with this measurement.
pub fn real(byte: u8) -> ReferenceValue {
    let platform = mock::Platform::new(Product::Genoa, SigningKey::Vcek).unwrap();
    let mut reference = mock::reference(&platform.report, Product::Genoa);
    reference.measurement = Rule::Exact(Hex([byte; 48]));
    reference.host_data = Rule::Ignore("held against the configuration digest".into());
    ReferenceValue::SevSnp(Box::new(reference))
}

/// The same for production.
pub fn production() -> AccessPolicy {
    let mut policy = sample();
    policy.profile = Profile::Production;
    policy.log.witnesses = 2;
    policy.kms.reference_values = vec![real(3)];
    policy.roles.root.reference_values = vec![real(4)];
    policy.roles.worker.reference_values = vec![real(5), real(6)];
    policy
}
