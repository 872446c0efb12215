//! The document: what binds it to a cluster, a log and a run, and what happens if any of it is changed.

#![allow(clippy::unwrap_used, clippy::panic)]

use siegel_attest::{ClusterConfig, Genesis, Profile, ReferenceValue};
use siegel_ident::{
    BlobDigest, Budget, ClusterId, Digest, EpochId, Fencing, InputRoot, Measurement, PolicyDigest,
    ProgramDigest, RunId, Seconds, Timestamp, WitnessQuorum,
};
use siegel_ledger::receipt::RECEIPT_SCHEMA;
use siegel_ledger::{Fact, Receipt};
use siegel_participation::{
    LoggedReceipt, Participated, Participation, ParticipationError as Error,
};
use siegel_program::input_root;
use siegel_translog::predicate;
use siegel_translog::testing::{TestLog, TestSigner, TestWitness};

const AT: Timestamp = Timestamp(1_700_000_000);

/// A cluster that registered one run over the blobs 1, 3 and 5.
struct World {
    log: TestLog,
    signer: TestSigner,
    genesis: Vec<u8>,
    list: Vec<u8>,
    root: InputRoot,
}

fn blob(n: u8) -> BlobDigest {
    BlobDigest::from_bytes([n; 32])
}

impl World {
    fn new() -> Self {
        Self::over(TestLog::new("log.example", [7; 32]))
    }

    fn over(log: TestLog) -> Self {
        let signer = TestSigner::generate().unwrap();
        let genesis = Genesis {
            schema: Genesis::SCHEMA.to_owned(),
            random: [3; 32],
            cluster_key: *signer.key().point(),
            config: ClusterConfig {
                schema: ClusterConfig::SCHEMA.to_owned(),
                profile: Profile::Simulation,
                simulation_root: Some([5; 32]),
                peers: vec![ReferenceValue::simulated(Measurement::of(b"kms"))],
                min_voters: 3,
                log_origin: log.origin().to_owned(),
                log_key: log.key(),
                witnesses: WitnessQuorum::none(),
                seed: None,
            },
        };
        let sorted = [1, 3, 5].map(blob);
        Self {
            log,
            signer,
            genesis: genesis.to_bytes().unwrap(),
            list: sorted.iter().flat_map(|blob| *blob.as_bytes()).collect(),
            root: input_root(&sorted).unwrap(),
        }
    }

    fn id(&self) -> ClusterId {
        ClusterId::of(&self.genesis)
    }

    fn registered(&self) -> Receipt {
        self.receipt(Fact::RunRegistered {
            run: RunId::from_bytes([9; 16]),
            policy: PolicyDigest::of(b"policy"),
            program: ProgramDigest::of(b"program"),
            pipeline: "org.example.words".to_owned(),
            parameters: Digest::of(b"parameters"),
            epochs: vec![EpochId(1)],
            deadline: Timestamp(AT.0 + 60),
            input_root: self.root,
            blob_count: 3,
            steps: 1,
            cost: Budget::ZERO,
            spent: Budget::ZERO,
        })
    }

    fn receipt(&self, fact: Fact) -> Receipt {
        Receipt {
            schema: RECEIPT_SCHEMA.to_owned(),
            cluster: self.id(),
            seq: 3,
            previous: Digest::of(b"the one before"),
            at: AT,
            fact,
        }
    }

    fn log(&mut self, receipt: &Receipt) -> LoggedReceipt {
        let body = receipt.to_bytes().unwrap();
        let bundle = self
            .log
            .publish(&self.signer, "receipt", &body, predicate::RECEIPT)
            .unwrap();
        LoggedReceipt::new(&self.genesis, &body, &bundle).unwrap()
    }

    fn registration(&mut self) -> LoggedReceipt {
        let receipt = self.registered();
        self.log(&receipt)
    }

    fn verify(&self, document: &Participation) -> Result<Participated, Error> {
        document.verify(&self.log.anchors(), &[self.id()], AT)
    }
}

#[test]
fn both_answers_are_proved_offline() {
    let mut world = World::new();
    let registration = world.registration();
    for n in 0..7 {
        let document = Participation::new(blob(n), registration.clone(), &world.list).unwrap();
        let bytes = document.to_bytes().unwrap();
        let answer = world
            .verify(&Participation::parse(&bytes).unwrap())
            .unwrap();
        assert_eq!(answer.participated, [1, 3, 5].contains(&n), "{n}");
        assert_eq!((answer.blob_count, answer.input_root), (3, world.root));
        assert!(answer.receipt.simulation);
    }
}

/// I2. Every byte of the document, one bit of it: nothing that differs holds. Catches a field that is
/// carried along and never looked at.
#[test]
fn i2_every_flipped_byte_is_refused() {
    let mut world = World::new();
    let registration = world.registration();
    for n in [3, 4] {
        let document = Participation::new(blob(n), registration.clone(), &world.list).unwrap();
        let bytes = document.to_bytes().unwrap();
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            let held = Participation::parse(&bad).and_then(|document| {
                // The blob that is asked about is the reader's; a changed one is another question.
                let same = document.blob == blob(n);
                world
                    .verify(&document)
                    .map(|answer| (same, answer.participated))
            });
            match held {
                Err(_) => {}
                Ok((false, false)) if n == 4 => {}
                Ok(held) => panic!("byte {at} of {n}: {held:?}"),
            }
        }
    }
}

/// I1. Anyone can make a cluster, a log and a receipt.
#[test]
fn i1_a_receipt_of_strangers_proves_nothing() {
    let mut world = World::new();
    let registration = world.registration();
    let (anchors, id) = (world.log.anchors(), world.id());

    let stranger = ClusterId::of(b"another");
    let found = registration.verify(&anchors, &[stranger], AT);
    assert!(matches!(found, Err(Error::UnknownCluster(found)) if found == id));
    assert!(registration.verify(&anchors, &[], AT).is_ok());

    let elsewhere = TestLog::new("log.example", [8; 32]).anchors();
    let found = registration.verify(&elsewhere, &[id], AT);
    assert!(matches!(found, Err(Error::OtherLog { .. })));

    let other = World::new();
    let genesis = String::from_utf8(other.genesis).unwrap();
    let swapped = LoggedReceipt {
        genesis,
        ..registration.clone()
    };
    let found = swapped.verify(&anchors, &[], AT);
    assert!(matches!(found, Err(Error::OtherCluster { .. })));

    world.signer = TestSigner::generate().unwrap();
    let forged = world.registration();
    let found = forged.verify(&anchors, &[id], AT);
    assert!(matches!(found, Err(Error::Proof(_))), "{found:?}");

    let unlogged = LoggedReceipt {
        bundle: registration.bundle,
        ..forged
    };
    let mut receipt = world.registered();
    receipt.seq = 4;
    let receipt = String::from_utf8(receipt.to_bytes().unwrap()).unwrap();
    let found = LoggedReceipt {
        receipt,
        ..unlogged
    }
    .verify(&anchors, &[id], AT);
    assert!(matches!(found, Err(Error::Proof(_))), "{found:?}");
}

/// I2. Catches a root or a number that is taken from the document in place of the receipt.
#[test]
fn i2_root_and_number_are_the_receipts() {
    let mut world = World::new();
    for change in [
        |fact: &mut Fact| {
            if let Fact::RunRegistered { blob_count, .. } = fact {
                *blob_count = 4;
            }
        },
        |fact: &mut Fact| {
            if let Fact::RunRegistered { input_root, .. } = fact {
                *input_root = InputRoot::of(b"another list");
            }
        },
    ] {
        let mut receipt = world.registered();
        change(&mut receipt.fact);
        let registration = world.log(&receipt);
        let document = Participation::new(blob(9), registration, &world.list).unwrap();
        assert!(world.verify(&document).is_err());
    }
}

#[test]
fn only_a_registration_has_a_list() {
    let mut world = World::new();
    let taken = world.receipt(Fact::RunTaken {
        run: RunId::from_bytes([9; 16]),
        fencing: Fencing(1),
    });
    let taken = world.log(&taken);
    let document = Participation::new(blob(1), taken, &world.list).unwrap();
    assert!(matches!(
        world.verify(&document),
        Err(Error::NotARegistration)
    ));
    let registration = world.registration();
    let list = &world.list[1..];
    let found = Participation::new(blob(1), registration, list);
    assert!(matches!(found, Err(Error::ListLength { len: 95 })));
}

/// A receipt tells of the past: witnesses that signed then are as good. Catches one that holds for an
/// hour only, and witnesses that count without having signed.
#[test]
fn witnesses_are_demanded_and_may_have_signed_then() {
    let witnesses = [1, 2].map(TestWitness::new).into();
    let log = TestLog::new("log.example", [7; 32]).witnessed(witnesses, Seconds(3600));
    let mut world = World::over(log);
    world.log.set_time(AT);
    let registration = world.registration();
    let anchors = world.log.anchors();
    let days = |days: u64| Timestamp(AT.0 + days * 86_400);
    for (now, holds) in [(0, true), (1, true), (365, true), (367, false)] {
        let found = registration.verify(&anchors, &[], days(now));
        assert_eq!(found.is_ok(), holds, "{now} days: {found:?}");
    }
    // Signed a day before the receipt says it was written.
    world.log.set_time(Timestamp(AT.0 - 86_400));
    let stale = world.registration();
    assert!(stale.verify(&anchors, &[], AT).is_err());
    let plain = TestLog::new("log.example", [7; 32]);
    let mut unwitnessed = World::over(plain);
    let registration = unwitnessed.registration();
    assert!(registration.verify(&anchors, &[], AT).is_err());
}
