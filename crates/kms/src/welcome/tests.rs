use siegel_attest::{Profile, ReferenceValue};
use siegel_ident::{Measurement, PolicyDigest};
use siegel_platform::rng::os_rng;
use siegel_seal::generate_kem;

use super::*;
use crate::founding::{self, Birth};

const LEADER: [u8; 32] = [2; 32];
const JOINER: [u8; 32] = [9; 32];

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

struct Scene {
    config: ClusterConfig,
    cluster: Cluster,
    kem: KemPrivate,
    welcome: v1::Welcome,
}

fn scene() -> Scene {
    let rng = &mut os_rng();
    let founders = (1..=3).map(|n| (NodeId(n), [n as u8; 32]));
    let founders = founding::Members::new(founders, &config()).unwrap();
    let birth = Birth::new(&config(), founders, rng).unwrap();
    let (cluster, founders) = birth.into_parts().unwrap();
    let mut members = founders.to_ledger();
    let id = members.admit(NodeId(3), JOINER, NodeId(3), None).unwrap();
    let (kem, public) = generate_kem(siegel_seal::Suite::XWing, rng);
    let welcome = Welcome {
        cluster: &cluster,
        members: &members,
        id,
        leader: &LEADER,
        joiner: &JOINER,
    };
    let sealed_secrets = welcome.seal(&public, rng).unwrap();
    let signature = cluster.credential(id, NodeId(3), &JOINER).unwrap();
    let welcome = v1::Welcome {
        genesis: cluster.genesis_bytes().to_vec(),
        sealed_secrets,
        credential: Some(v1::Credential {
            member_id: id.0,
            place: 3,
            signature,
        }),
    };
    Scene {
        config: config(),
        cluster,
        kem,
        welcome,
    }
}

impl Scene {
    fn newcomer(&self) -> Newcomer<'_> {
        Newcomer {
            config: &self.config,
            place: NodeId(3),
            signing_key: &JOINER,
            kem: &self.kem,
            cluster: self.cluster.id(),
            leader: &LEADER,
        }
    }

    fn refused(&self, newcomer: &Newcomer<'_>, welcome: &v1::Welcome) -> JoinError {
        newcomer.accept(welcome).map(drop).unwrap_err()
    }
}

/// I10: a newcomer holds what the members hold.
#[test]
fn a_newcomer_unwraps_what_the_members_wrapped() {
    let scene = scene();
    let admitted = scene.newcomer().accept(&scene.welcome).unwrap();
    assert_eq!(admitted.id, NodeId(4));
    let policy = PolicyDigest::from_bytes([9; 32]);
    let wrapped = scene
        .cluster
        .new_epoch_secret(&mut os_rng(), policy)
        .unwrap();
    let secret = scene.cluster.epoch_secret(policy, &wrapped).unwrap();
    assert!(
        admitted
            .cluster
            .epoch_secret(policy, &wrapped)
            .unwrap()
            .same(&secret)
    );
}

/// "Epoch secrets between KMS peers too": an entry, and so the log and a snapshot, holds a secret only
/// wrapped; the wrapping key and the cluster key travel only sealed to the receiver's X-Wing key.
/// Catches a secret or key in the clear in anything that peers send each other.
#[test]
fn secrets_between_peers_are_wrapped_or_sealed() {
    let scene = scene();
    let (wrapping, pkcs8) = scene.cluster.secrets();
    let policy = PolicyDigest::from_bytes([9; 32]);
    let wrapped = scene
        .cluster
        .new_epoch_secret(&mut os_rng(), policy)
        .unwrap();
    let epoch = scene.cluster.epoch_secret(policy, &wrapped).unwrap();
    let entry = siegel_ledger::Entry {
        request_id: siegel_ident::RequestId::from_bytes([1; 16]),
        now: siegel_ident::Timestamp(1),
        event: siegel_ledger::Event::OpenEpoch {
            policy,
            secret: wrapped,
        },
    };
    let sent = [
        entry.to_bytes().unwrap(),
        prost::Message::encode_to_vec(&scene.welcome),
    ];
    for secret in [epoch.expose().as_slice(), wrapping.expose(), pkcs8.expose()] {
        let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        for bytes in &sent {
            assert!(!bytes.windows(secret.len()).any(|part| part == secret));
            assert!(!String::from_utf8_lossy(bytes).contains(&hex));
        }
    }
    // What is sealed opens with that one private key only.
    let (other, _) = generate_kem(siegel_seal::Suite::XWing, &mut os_rng());
    let newcomer = Newcomer {
        kem: &other,
        ..scene.newcomer()
    };
    let error = scene.refused(&newcomer, &scene.welcome);
    assert!(matches!(error, JoinError::Open(_)), "{error}");
}

/// I10: catches a process that joins whatever welcomes it.
#[test]
fn a_welcome_must_fit_in_every_part() {
    let scene = scene();
    let good = &scene.welcome;
    let mut other = config();
    other.min_voters = 2;
    let newcomer = Newcomer {
        config: &other,
        ..scene.newcomer()
    };
    assert!(matches!(
        scene.refused(&newcomer, good),
        JoinError::OtherConfig
    ));
    let newcomer = Newcomer {
        cluster: ClusterId::from_bytes([1; 32]),
        ..scene.newcomer()
    };
    assert!(matches!(
        scene.refused(&newcomer, good),
        JoinError::OtherCluster { .. }
    ));
    // Relayed: for somebody else, or by somebody else than the session proved.
    for (leader, joiner) in [([7; 32], JOINER), (LEADER, [7; 32])] {
        let newcomer = Newcomer {
            leader: &leader,
            signing_key: &joiner,
            ..scene.newcomer()
        };
        assert!(matches!(scene.refused(&newcomer, good), JoinError::Open(_)));
    }
    let newcomer = Newcomer {
        place: NodeId(2),
        ..scene.newcomer()
    };
    assert!(matches!(
        scene.refused(&newcomer, good),
        JoinError::Members(_)
    ));
    let credential = v1::Credential {
        member_id: 5,
        ..good.credential.clone().unwrap()
    };
    for credential in [None, Some(credential)] {
        let welcome = v1::Welcome {
            credential,
            ..good.clone()
        };
        let error = scene.refused(&scene.newcomer(), &welcome);
        assert!(matches!(error, JoinError::Members(_)), "{error}");
    }
    let second = self::scene();
    let mixed = v1::Welcome {
        genesis: second.welcome.genesis.clone(),
        ..good.clone()
    };
    let error = scene.refused(&scene.newcomer(), &mixed);
    assert!(matches!(error, JoinError::OtherCluster { .. }), "{error}");
}

/// I10: a credential is for one process under one id at one place of one cluster.
#[test]
fn a_credential_is_for_one_process() {
    let (scene, other) = (scene(), scene());
    let (id, place) = (NodeId(4), NodeId(3));
    let signature = scene.cluster.credential(id, place, &JOINER).unwrap();
    assert!(scene.cluster.admitted(id, place, &JOINER, &signature));
    assert!(
        !scene
            .cluster
            .admitted(NodeId(5), place, &JOINER, &signature)
    );
    assert!(!scene.cluster.admitted(id, NodeId(2), &JOINER, &signature));
    assert!(!scene.cluster.admitted(id, place, &LEADER, &signature));
    assert!(!other.cluster.admitted(id, place, &JOINER, &signature));
    assert!(!scene.cluster.admitted(id, place, &JOINER, &[]));
}
