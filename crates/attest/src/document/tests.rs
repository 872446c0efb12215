//! All documents of this crate, read strictly (I2, I14).

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use siegel_ident::{
    ClusterId, ConfigDigest, Digest, EpochId, Measurement, NamedKey, PolicyDigest, ProgramDigest,
    Seconds, Timestamp, WitnessQuorum,
};

use super::*;
use crate::{
    ClusterConfig, Genesis, KeyBundle, Profile, ReferenceValue, Role, RootConfig, root_config,
    worker_config,
};

fn config() -> ClusterConfig {
    let peer = |b| ReferenceValue::simulated(Measurement::from_bytes([b; 32]));
    ClusterConfig {
        schema: ClusterConfig::SCHEMA.into(),
        profile: Profile::Simulation,
        simulation_root: Some([1; 32]),
        peers: vec![peer(2), peer(3)],
        min_voters: 3,
        log_origin: "log.example/1".into(),
        log_key: [4; 32],
        witnesses: WitnessQuorum::none(),
        seed: None,
    }
}

fn genesis(cluster_key: [u8; 65]) -> Genesis {
    Genesis {
        schema: Genesis::SCHEMA.into(),
        random: [5; 32],
        cluster_key,
        config: config(),
    }
}

fn bundle(genesis: &Genesis) -> KeyBundle {
    KeyBundle {
        schema: KeyBundle::SCHEMA.into(),
        cluster_id: genesis.cluster_id().unwrap(),
        policy: PolicyDigest::from_bytes([6; 32]),
        epoch: EpochId(1),
        suite: 1,
        kem_key: vec![7; 32],
        not_before: Timestamp(100),
        expires: Timestamp(200),
        checkpoint: Digest::from_bytes([8; 32]),
    }
}

fn point() -> [u8; 65] {
    let mut point = [9; 65];
    point[0] = 4;
    point
}

/// Changes one field of canonical bytes and writes them canonically again.
fn with(bytes: &[u8], field: &str, value: Value) -> Vec<u8> {
    let mut doc: Value = serde_json::from_slice(bytes).unwrap();
    doc[field] = value;
    json::to_canonical(&doc).unwrap()
}

/// Strictness that every document shares.
fn check_strict<T>(bytes: &[u8], parse: fn(&[u8]) -> Result<T, DocumentError>) {
    let Value::Object(fields) = serde_json::from_slice(bytes).unwrap() else {
        panic!()
    };
    assert!(parse(bytes).is_ok());
    for field in fields.keys() {
        let mut missing = fields.clone();
        missing.remove(field);
        let missing = json::to_canonical(&missing).unwrap();
        assert!(
            parse(&missing).is_err(),
            "absent field {field} was accepted"
        );
        assert!(
            parse(&with(bytes, field, json!([[]]))).is_err(),
            "mistyped {field} was accepted"
        );
    }
    assert!(
        parse(&with(bytes, "extra", json!(1))).is_err(),
        "an unknown field was accepted"
    );
    assert!(matches!(
        parse(&with(bytes, "schema", json!("siegel/other/v1"))),
        Err(DocumentError::Schema { .. })
    ));
    for spaced in [[bytes, b"\n"].concat(), [b" ", bytes].concat()] {
        assert!(parse(&spaced).is_err(), "non-canonical bytes were accepted");
    }
    assert!(parse(&vec![b'{'; DOCUMENT_MAX + 1]).is_err());
}

// I2, checklist 44.
#[test]
fn i2_documents_are_strict() {
    check_strict(&config().to_bytes().unwrap(), ClusterConfig::parse);
    check_strict(&genesis(point()).to_bytes().unwrap(), Genesis::parse);
    check_strict(
        &bundle(&genesis(point())).to_bytes().unwrap(),
        KeyBundle::parse,
    );
    let root = RootConfig {
        schema: RootConfig::SCHEMA.into(),
        cluster: config(),
        program: ProgramDigest::from_bytes([1; 32]),
    };
    check_strict(&root.to_bytes().unwrap(), RootConfig::parse);
    assert_eq!(
        root.digest().unwrap(),
        root_config(config().digest().unwrap(), root.program),
    );
}

// Catches an accidental change of the format: it would change every cluster id.
#[test]
fn golden_bytes_and_digests() {
    let (one, two) = ("01".repeat(32), "02".repeat(32));
    let (three, four) = ("03".repeat(32), "04".repeat(32));
    let expected = format!(
        "{{\"log_key\":\"{four}\",\"log_origin\":\"log.example/1\",\"min_voters\":3,\"peers\":\
         [{{\"measurement\":\"{two}\",\"tee\":\"simulated\"}},\
         {{\"measurement\":\"{three}\",\"tee\":\"simulated\"}}],\"profile\":\"simulation\",\
         \"schema\":\"siegel/cluster-config/v1\",\"seed\":null,\"simulation_root\":\"{one}\",\
         \"witnesses\":{{\"max_age\":0,\"required\":0,\"witnesses\":[]}}}}"
    );
    let bytes = config().to_bytes().unwrap();
    assert_eq!(String::from_utf8(bytes.clone()).unwrap(), expected);
    assert_eq!(config().digest().unwrap(), ConfigDigest::of(&bytes));
    let genesis = genesis(point());
    assert_eq!(
        genesis.cluster_id().unwrap(),
        ClusterId::of(&genesis.to_bytes().unwrap())
    );
    let config = ConfigDigest::from_bytes([1; 32]);
    assert_eq!(
        worker_config(config).digest().to_string(),
        "ecd18e0f20d5a2f1807e73625ed9a0c04ec25cb323cbbdf3213ab2563c4c89a1"
    );
    assert_eq!(
        root_config(config, ProgramDigest::from_bytes([2; 32]))
            .digest()
            .to_string(),
        "d9ca27002325867b51344f68d279640565e1b691bb8d7d64a82d415f5544856a"
    );
}

fn quorum(required: u32) -> WitnessQuorum {
    let witness = |n: u8| NamedKey {
        name: format!("w{n}.example"),
        operator: format!("operator {n}"),
        key: [n; 32],
    };
    WitnessQuorum {
        required,
        max_age: Seconds(3600),
        witnesses: (1..=2).map(witness).collect(),
    }
}

/// A reference value that production may name.
fn real() -> ReferenceValue {
    use crate::hardware::snp::{Product, SigningKey, mock};
    let platform = mock::Platform::new(Product::Genoa, SigningKey::Vcek).unwrap();
    ReferenceValue::SevSnp(Box::new(mock::reference(&platform.report, Product::Genoa)))
}

// I3, I11: catches a production cluster that admits simulated members, or such a one whose code may be anything.
#[test]
fn i3_a_production_cluster_admits_real_tees_by_measurement() {
    let refused = |peers| {
        let config = ClusterConfig {
            profile: Profile::Production,
            simulation_root: None,
            witnesses: quorum(2),
            peers,
            ..config()
        };
        match config.to_bytes() {
            Err(DocumentError::ReferenceValue { source, .. }) => Some(source.field),
            Err(other) => panic!("{other}"),
            Ok(_) => None,
        }
    };
    assert_eq!(refused(vec![real()]), None);
    assert_eq!(refused(config().peers), Some("tee"));
    let ReferenceValue::SevSnp(mut open) = real() else {
        panic!()
    };
    open.measurement = crate::hardware::Rule::Ignore("a test".into());
    assert_eq!(
        refused(vec![ReferenceValue::SevSnp(open)]),
        Some("measurement")
    );
}

// I11: a production cluster with any trace of the simulator, or a simulation without its root,
// does not parse. I1: production needs two witnesses.
#[test]
fn i11_profile_rules_of_a_cluster() {
    let refused = |config: ClusterConfig, named: &str| match config.to_bytes() {
        Err(DocumentError::Field { field, .. }) => assert_eq!(field, named),
        other => panic!("{named}: {other:?}"),
    };
    let production = || ClusterConfig {
        profile: Profile::Production,
        simulation_root: None,
        peers: vec![real()],
        witnesses: quorum(2),
        ..config()
    };
    assert!(production().to_bytes().is_ok());
    refused(
        ClusterConfig {
            simulation_root: Some([1; 32]),
            ..production()
        },
        "simulation_root",
    );
    refused(
        ClusterConfig {
            seed: Some([1; 32]),
            ..production()
        },
        "seed",
    );
    refused(
        ClusterConfig {
            witnesses: quorum(1),
            ..production()
        },
        "witnesses",
    );
    refused(
        ClusterConfig {
            witnesses: quorum(3),
            ..production()
        },
        "witnesses",
    );
    refused(
        ClusterConfig {
            simulation_root: None,
            ..config()
        },
        "simulation_root",
    );
    assert!(
        ClusterConfig {
            seed: Some([1; 32]),
            ..config()
        }
        .to_bytes()
        .is_ok()
    );
    refused(
        ClusterConfig {
            peers: Vec::new(),
            ..config()
        },
        "peers",
    );
    let mut twice = config();
    twice.peers[1] = twice.peers[0].clone();
    refused(twice, "peers");
    refused(
        ClusterConfig {
            min_voters: 0,
            ..config()
        },
        "min_voters",
    );
    refused(
        ClusterConfig {
            log_origin: "a\nb".into(),
            ..config()
        },
        "log_origin",
    );
    refused(
        ClusterConfig {
            log_origin: String::new(),
            ..config()
        },
        "log_origin",
    );
}

// A kind of TEE that this build cannot appraise must not parse (checklist 40).
#[test]
fn unknown_tee_kind_does_not_parse() {
    let text = String::from_utf8(config().to_bytes().unwrap()).unwrap();
    assert!(
        ClusterConfig::parse(text.replacen("\"simulated\"", "\"sev-snp\"", 1).as_bytes()).is_err()
    );
}

#[test]
fn key_bundle_is_bound_to_its_cluster_and_key() {
    let rng = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &rng).unwrap();
    let key =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &rng).unwrap();
    let genesis = genesis(key.public_key().as_ref().try_into().unwrap());
    let sign = |bytes: &[u8]| key.sign(&rng, &KeyBundle::signing_bytes(bytes)).unwrap();

    let bytes = bundle(&genesis).to_bytes().unwrap();
    let signature = sign(&bytes);
    let read = KeyBundle::verify(&bytes, signature.as_ref(), &genesis).unwrap();
    assert_eq!(read, bundle(&genesis));
    assert!(read.in_use(Timestamp(100)) && read.in_use(Timestamp(199)));
    assert!(!read.in_use(Timestamp(99)) && !read.in_use(Timestamp(200)));

    // The signature does not cover the bare bytes, other bytes, or another cluster's bundle.
    let bare = key.sign(&rng, &bytes).unwrap();
    assert!(KeyBundle::verify(&bytes, bare.as_ref(), &genesis).is_err());
    let longer = with(&bytes, "expires", json!(300));
    assert!(KeyBundle::verify(&longer, signature.as_ref(), &genesis).is_err());
    let foreign = with(&bytes, "cluster_id", json!("00".repeat(32)));
    let result = KeyBundle::verify(&foreign, sign(&foreign).as_ref(), &genesis);
    assert!(matches!(
        result,
        Err(DocumentError::Field {
            field: "cluster_id",
            ..
        })
    ));

    let binding = read.binding(&genesis).unwrap();
    assert_eq!(binding.role, Role::KmsBundle);
    assert_eq!(binding.kem_key[..3], [0, 1, 7]);
    assert!(binding.report_data().is_ok());
    for (field, value) in [
        ("epoch", json!(0)),
        ("expires", json!(100)),
        ("kem_key", json!("")),
        ("kem_key", json!("00".repeat(4095))),
    ] {
        let result = KeyBundle::parse(&with(&bytes, field, value));
        assert!(
            matches!(result, Err(DocumentError::Field { .. })),
            "{field}"
        );
    }
}

// I11: catches a production binary that starts for a simulation. Its verifier would refuse all
// evidence later; it must not get that far.
#[test]
fn i11_a_production_build_takes_no_configuration_of_a_simulation() {
    let mut config = config();
    assert_eq!(config.check_build().is_ok(), cfg!(feature = "simulation"));
    if let Err(refused) = config.check_build() {
        assert!(matches!(refused, DocumentError::SimulationNotBuilt { .. }));
        assert!(refused.to_string().contains("I11"), "{refused}");
    }
    config.profile = Profile::Production;
    assert_eq!(config.check_build().is_ok(), cfg!(feature = "simulation"));
    config.simulation_root = None;
    assert!(config.check_build().is_ok());
}
