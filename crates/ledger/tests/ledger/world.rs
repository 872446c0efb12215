//! A cluster, a log and everybody who signs, for the tests of this crate.

use siegel_attest::{ClusterConfig, Genesis, Profile};
use siegel_endorse::Endorsement;
use siegel_endorse::testing::of_policy;
use siegel_ident::{
    Budget, ConfigDigest, EpochId, Fencing, ObjectDigest, PolicyDigest, RequestId, RunId, Seconds,
    Timestamp,
};
use siegel_ledger::{
    Applied, Done, EndorsementProof, Entry, Event, Ledger, Outcome, Receipt, Refusal,
    ReleaseCommit, RunClaim, StepCommit, Wrapped,
};
use siegel_policy::AccessPolicy;
use siegel_translog::predicate;
use siegel_translog::testing::{TestLog, TestSigner, TestWitness};

pub(crate) use crate::fixtures::*;

pub(crate) struct World {
    pub(crate) log: TestLog,
    pub(crate) author: TestSigner,
    pub(crate) endorser: TestSigner,
    pub(crate) cluster_signer: TestSigner,
    pub(crate) genesis: Vec<u8>,
    pub(crate) ledger: Ledger,
    pub(crate) config: ConfigDigest,
    pub(crate) entries: Vec<Entry>,
    pub(crate) now: u64,
    requests: u64,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with_seed(None)
    }

    pub(crate) fn with_seed(seed: Option<[u8; 32]>) -> Self {
        Self::with(|config| config.seed = seed)
    }

    /// A cluster of profile production.
    pub(crate) fn production() -> Self {
        Self::with(|config| {
            config.profile = Profile::Production;
            config.simulation_root = None;
            config.peers = vec![siegel_policy::testing::real(3)];
            config.witnesses = TestWitness::quorum(&[1, 2].map(TestWitness::new), 2, Seconds(600));
        })
    }

    pub(crate) fn with(change: impl FnOnce(&mut ClusterConfig)) -> Self {
        let log = TestLog::new("log.example", [7; 32]);
        let cluster_signer = TestSigner::generate().unwrap();
        let mut genesis = Genesis {
            schema: Genesis::SCHEMA.to_owned(),
            random: [3; 32],
            cluster_key: *cluster_signer.key().point(),
            config: ClusterConfig {
                schema: ClusterConfig::SCHEMA.to_owned(),
                profile: Profile::Simulation,
                simulation_root: Some([5; 32]),
                peers: vec![reference("kms")],
                min_voters: 3,
                log_origin: log.origin().to_owned(),
                log_key: log.key(),
                witnesses: siegel_ident::WitnessQuorum::none(),
                seed: None,
            },
        };
        change(&mut genesis.config);
        let config = genesis.config.digest().unwrap();
        let genesis = genesis.to_bytes().unwrap();
        let ledger = Ledger::new(&genesis).unwrap();
        Self {
            log,
            author: TestSigner::generate().unwrap(),
            endorser: TestSigner::generate().unwrap(),
            cluster_signer,
            genesis,
            ledger,
            config,
            entries: Vec::new(),
            now: START,
            requests: 0,
        }
    }

    /// A world in which one policy is registered and one epoch is open.
    pub(crate) fn open() -> (Self, PolicyDigest, EpochId) {
        let mut world = Self::new();
        let policy = world.register(&world.policy());
        let epoch = world.epoch(policy);
        (world, policy, epoch)
    }

    /// Bytes of a policy, and the proof that they are in the log.
    pub(crate) fn publish(&mut self, policy: &AccessPolicy) -> (Vec<u8>, Vec<u8>) {
        let bytes = policy.to_bytes().unwrap();
        let bundle = self
            .log
            .publish(&self.author, "policy", &bytes, predicate::POLICY)
            .unwrap();
        (bytes, bundle)
    }

    pub(crate) fn registration(&mut self, policy: &AccessPolicy) -> Event {
        self.endorsed_registration(policy, Vec::new())
    }

    pub(crate) fn endorsed_registration(
        &mut self,
        policy: &AccessPolicy,
        endorsements: Vec<EndorsementProof>,
    ) -> Event {
        let (policy, bundle) = self.publish(policy);
        Event::RegisterPolicy {
            policy,
            bundle,
            endorsements,
        }
    }

    /// Endorsements of all that the policy lets in, by its endorser, in the log.
    pub(crate) fn endorse(
        &mut self,
        policy: &AccessPolicy,
        from: u64,
        until: u64,
    ) -> Vec<EndorsementProof> {
        of_policy(policy, Timestamp(from), Timestamp(until))
            .iter()
            .map(|endorsement| prove(&mut self.log, &self.endorser, endorsement))
            .collect()
    }

    pub(crate) fn register(&mut self, policy: &AccessPolicy) -> PolicyDigest {
        let event = self.registration(policy);
        match self.done(event) {
            Done::PolicyRegistered { policy } => policy,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn epoch(&mut self, policy: PolicyDigest) -> EpochId {
        match self.done(Event::OpenEpoch {
            policy,
            secret: Wrapped::new(vec![1; 60]),
        }) {
            Done::EpochOpened { epoch, .. } => epoch,
            other => panic!("{other:?}"),
        }
    }

    /// Registers the claim under the n-th run id.
    pub(crate) fn start(&mut self, n: u8, claim: &RunClaim) -> RunId {
        match self.done(run_event(n, claim)) {
            Done::RunRegistered { run, .. } => run,
            other => panic!("{other:?}"),
        }
    }

    /// Registers the n-th run and lets root `n` take it.
    pub(crate) fn taken(&mut self, n: u8, policy: PolicyDigest, epoch: EpochId) -> RunId {
        let run = self.start(n, &self.claim(policy, vec![epoch]));
        let root = self.root(n);
        self.done(Event::TakeRun { run, root });
        run
    }

    /// The next commit of a run as its root would make it.
    pub(crate) fn next_commit(&self, run: RunId) -> StepCommit {
        let view = self.ledger.run(run).unwrap();
        let step = view.step.next();
        StepCommit {
            run,
            fencing: view.fencing,
            step,
            previous: view.previous,
            next: ObjectDigest::of(format!("checkpoint {step}").as_bytes()),
            release: Some(ReleaseCommit {
                digest: ObjectDigest::of(format!("release {step}").as_bytes()),
                header: vec![9; 200],
            }),
            cost: view
                .allotment
                .get(step.0 as usize - 1)
                .copied()
                .unwrap_or(Budget::ZERO),
        }
    }

    /// Commits the next step.
    pub(crate) fn commit(&mut self, run: RunId) -> u64 {
        let commit = self.next_commit(run);
        let by = self.holder(run);
        match self.done(Event::CommitStep { commit, by }) {
            Done::StepCommitted { receipt, .. } => receipt,
            other => panic!("{other:?}"),
        }
    }

    /// Signing key of the run's present root.
    pub(crate) fn holder(&self, run: RunId) -> Vec<u8> {
        let view = self.ledger.run(run).unwrap();
        view.root
            .map(|root| root.signing_key.clone())
            .unwrap_or_default()
    }

    pub(crate) fn fencing(&self, run: RunId) -> Fencing {
        self.ledger.run(run).unwrap().fencing
    }

    /// The proof that a receipt is in the log.
    pub(crate) fn log_receipt(&mut self, seq: u64) -> Vec<u8> {
        let body = self.ledger.receipt(seq).unwrap().to_vec();
        self.log
            .publish(&self.cluster_signer, "receipt", &body, predicate::RECEIPT)
            .unwrap()
    }

    /// Asks under a fresh request id.
    pub(crate) fn ask(&mut self, event: Event) -> Applied {
        self.requests += 1;
        self.ask_as(self.requests, event)
    }

    /// Asks under a chosen request id.
    pub(crate) fn ask_as(&mut self, request: u64, event: Event) -> Applied {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&request.to_be_bytes());
        let entry = Entry {
            request_id: RequestId::from_bytes(id),
            now: Timestamp(self.now),
            event,
        };
        // What is applied has crossed the wire.
        let entry = Entry::parse(&entry.to_bytes().unwrap()).unwrap();
        let applied = self.ledger.apply(&entry);
        self.entries.push(entry);
        applied
    }

    pub(crate) fn done(&mut self, event: Event) -> Done {
        match self.ask(event).outcome {
            Outcome::Done(done) => done,
            Outcome::Refused(refusal) => panic!("refused: {refusal}"),
        }
    }

    /// Asks for something that must be refused, and checks that the refusal changed nothing but the
    /// clock, what had expired anyway, and the table of requests.
    pub(crate) fn refused(&mut self, event: Event) -> Refusal {
        self.ask(Event::Tick {});
        let before = self.facts();
        let applied = self.ask(event);
        assert_eq!(applied.effects, [], "a refused request has no effect");
        assert_eq!(self.facts(), before, "a refused request changes nothing");
        match applied.outcome {
            Outcome::Done(done) => panic!("done: {done:?}"),
            Outcome::Refused(refusal) => refusal,
        }
    }

    pub(crate) fn code(&mut self, event: Event) -> (&'static str, &'static str) {
        let refusal = self.refused(event);
        assert!(!refusal.place().is_empty() && !refusal.to_string().is_empty());
        (refusal.code(), refusal.invariant())
    }

    /// Everything but the table of requests.
    fn facts(&self) -> serde_json::Value {
        let mut state: serde_json::Value =
            serde_json::from_slice(&self.ledger.snapshot().unwrap()).unwrap();
        state["state"]["requests"] = serde_json::Value::Null;
        state
    }

    pub(crate) fn receipts(&self) -> Vec<Receipt> {
        (1..=self.ledger.receipts())
            .map(|seq| Receipt::parse(self.ledger.receipt(seq).unwrap()).unwrap())
            .collect()
    }

    pub(crate) fn spent(&self) -> Budget {
        self.ledger.pipeline(PIPELINE).unwrap().spent
    }
}

/// The endorsement by this key in this log, as it is sent.
pub(crate) fn prove(
    log: &mut TestLog,
    by: &TestSigner,
    endorsement: &Endorsement,
) -> EndorsementProof {
    let document = endorsement.to_bytes().unwrap();
    let bundle = log.publish(by, "endorsement", &document, predicate::ENDORSEMENT);
    EndorsementProof {
        bundle: bundle.unwrap(),
        document,
    }
}
