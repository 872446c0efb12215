use siegel_attest::{ClusterConfig, Genesis, Profile, ReferenceValue};
use siegel_ident::{ClusterId, Measurement, PolicyDigest, RequestId, Seconds};
use siegel_ledger::{Event, Wrapped};
use siegel_policy::KmsRule;
use siegel_policy::testing::sample;
use siegel_translog::predicate;
use siegel_translog::testing::{TestLog, TestSigner};

use super::*;

const START: Timestamp = Timestamp(1_900_000_000);
const TTL: Seconds = Seconds(3600);

fn measured() -> Vec<ReferenceValue> {
    let measurement = Measurement::from_bytes([1; 32]);
    vec![ReferenceValue::simulated(measurement)]
}

fn genesis(log: &TestLog) -> Vec<u8> {
    let config = ClusterConfig {
        schema: ClusterConfig::SCHEMA.to_owned(),
        profile: Profile::Simulation,
        simulation_root: Some([5; 32]),
        peers: measured(),
        min_voters: 3,
        log_origin: log.origin().to_owned(),
        log_key: log.key(),
        witnesses: siegel_ident::WitnessQuorum::none(),
        seed: None,
    };
    let cluster_key = *TestSigner::generate().unwrap().key().point();
    let schema = Genesis::SCHEMA.to_owned();
    Genesis {
        schema,
        random: [3; 32],
        cluster_key,
        config,
    }
    .to_bytes()
    .unwrap()
}

fn policy(genesis: &[u8], log: &TestLog) -> Vec<u8> {
    let mut policy = sample();
    policy.not_before = START;
    policy.not_after = START.plus(Seconds(100_000));
    policy.log.origin = log.origin().to_owned();
    policy.kms = KmsRule {
        cluster_id: ClusterId::of(genesis),
        config: Genesis::parse(genesis).unwrap().config.digest().unwrap(),
        reference_values: measured(),
    };
    policy.key_ttl = TTL;
    policy.to_bytes().unwrap()
}

fn apply(machine: &mut Machine, id: u8, now: Timestamp, event: Event) -> Done {
    let request_id = RequestId::from_bytes([id; 16]);
    let entry = Entry {
        request_id,
        now,
        event,
    }
    .to_bytes()
    .unwrap();
    match machine.apply(&entry) {
        Some(Outcome::Done(done)) => done,
        other => panic!("{other:?}"),
    }
}

fn machine_with_an_epoch() -> (Machine, Vec<u8>) {
    let mut log = TestLog::new("log.example", [7; 32]);
    let genesis = genesis(&log);
    let policy = policy(&genesis, &log);
    let author = TestSigner::generate().unwrap();
    let bundle = log
        .publish(&author, "policy", &policy, predicate::POLICY)
        .unwrap();
    let mut machine = Machine::new(&genesis, Members::default()).unwrap();
    let digest = PolicyDigest::of(&policy);
    apply(
        &mut machine,
        1,
        START,
        Event::RegisterPolicy {
            policy,
            bundle,
            endorsements: Vec::new(),
        },
    );
    let secret = Wrapped::new(b"ciphertext of the epoch".to_vec());
    apply(
        &mut machine,
        2,
        START,
        Event::OpenEpoch {
            policy: digest,
            secret,
        },
    );
    (machine, genesis)
}

/// I9: catches an expiry that nobody proposes a Tick for, and a log that is not cut after it.
#[test]
fn an_expiry_is_known_and_then_erased() {
    let (mut machine, _) = machine_with_an_epoch();
    let expiry = START.plus(TTL);
    assert_eq!(machine.next_expiry(), Some(expiry));
    assert!(!machine.take_erased());
    apply(&mut machine, 3, Timestamp(expiry.0 - 1), Event::Tick {});
    assert!(!machine.take_erased());
    apply(&mut machine, 4, expiry, Event::Tick {});
    assert_eq!(machine.next_expiry(), None);
    assert!(machine.take_erased(), "the log still holds the secret");
    assert!(!machine.take_erased(), "once");
    let written = String::from_utf8_lossy(&machine.snapshot()).into_owned();
    assert!(
        !written.contains(&hex_of("ciphertext of the epoch")),
        "the secret lives on"
    );
}

fn hex_of(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// A replica that was restored knows the same ledger and the same expiries.
#[test]
fn a_snapshot_restores_ledger_and_expiries() {
    let (machine, genesis) = machine_with_an_epoch();
    let bytes = machine.snapshot();
    assert!(String::from_utf8_lossy(&bytes).contains(&hex_of("ciphertext of the epoch")));
    let mut other = Machine::new(&genesis, Members::default()).unwrap();
    other.restore(&bytes).unwrap();
    assert_eq!(other.snapshot(), bytes);
    assert_eq!(other.next_expiry(), machine.next_expiry());
    for cut in [0, 3, 4, 11, bytes.len() - 1] {
        let mut other = Machine::new(&genesis, Members::default()).unwrap();
        assert!(other.restore(&bytes[..cut]).is_err(), "cut to {cut}");
    }
}

/// I14: an entry that does not parse changes nothing, on any replica.
#[test]
fn garbage_is_skipped() {
    let (mut machine, _) = machine_with_an_epoch();
    let before = machine.snapshot();
    assert!(machine.apply(b"garbage").is_none());
    assert_eq!(machine.snapshot(), before);
}
