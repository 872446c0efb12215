//! A real ledger, asked step by step.

use siegel_attest::root_config;
use siegel_ident::{
    Digest, EpochId, InputRoot, ObjectDigest, PolicyDigest, ProgramDigest, RequestId, RunId,
    Timestamp,
};
use siegel_ledger::{
    Done, Entry, Event, FreshRun, Ledger, Outcome, Receipt, ReleaseCommit, RunClaim, StepCommit,
    Workload, WorkloadRole, Wrapped,
};
use siegel_policy::RunParameters;

use super::scene::{PROGRAM, START, Scene, budget, reference};

/// A ledger that is asked.
pub(super) struct Asked {
    ledger: Ledger,
    pub(super) now: u64,
    requests: u8,
}

impl Asked {
    pub(super) fn new(scene: &Scene) -> Self {
        Self {
            ledger: Ledger::new(&scene.genesis.to_bytes().unwrap()).unwrap(),
            now: START,
            requests: 0,
        }
    }

    /// All that it has written.
    pub(super) fn receipts(&self) -> Vec<Receipt> {
        let parsed = |body: &[u8]| Receipt::parse(body).unwrap();
        (1..)
            .map_while(|seq| self.ledger.receipt(seq).map(parsed))
            .collect()
    }

    pub(super) fn done(&mut self, event: Event) -> Done {
        self.requests += 1;
        let request_id = RequestId::from_bytes([self.requests; 16]);
        let entry = Entry {
            request_id,
            now: Timestamp(self.now),
            event,
        };
        match self.ledger.apply(&entry).outcome {
            Outcome::Done(done) => done,
            Outcome::Refused(refusal) => panic!("{refusal:?}"),
        }
    }

    pub(super) fn epoch(&mut self, policy: PolicyDigest) -> EpochId {
        match self.done(Event::OpenEpoch {
            policy,
            secret: Wrapped::new(vec![1; 60]),
        }) {
            Done::EpochOpened { epoch, .. } => epoch,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn root(&self, scene: &Scene) -> Workload {
        let config = scene.genesis.config.digest().unwrap();
        Workload {
            role: WorkloadRole::Root,
            measured: reference("root").id(),
            marks: Vec::new(),
            config: root_config(config, ProgramDigest::of(PROGRAM)),
            signing_key: vec![1; 32],
            kem_key: vec![1; 1218],
        }
    }

    pub(super) fn start(
        &mut self,
        scene: &Scene,
        n: u8,
        policy: PolicyDigest,
        epoch: EpochId,
    ) -> RunId {
        let steps = vec![budget(10, 2), budget(20, 4)];
        let claim = RunClaim {
            policy,
            program: ProgramDigest::of(PROGRAM),
            parameters: RunParameters::new(Digest::of(b"plan"), steps)
                .unwrap()
                .to_bytes()
                .unwrap(),
            epochs: vec![epoch],
            deadline: Timestamp(self.now + 500),
            input_root: InputRoot::of(b"inputs"),
            blob_count: 10,
            inputs: Digest::of(b"list of inputs"),
            root: self.root(scene),
        };
        let run = RunId::from_bytes([n; 16]);
        let fresh = Some(FreshRun {
            run,
            secret: Wrapped::new(vec![n; 60]),
        });
        self.done(Event::RegisterRun { claim, fresh });
        run
    }

    pub(super) fn commit(&mut self, run: RunId) {
        let view = self.ledger.run(run).unwrap();
        let step = view.step.next();
        let commit = StepCommit {
            run,
            fencing: view.fencing,
            step,
            previous: view.previous,
            next: ObjectDigest::of(format!("checkpoint {step}").as_bytes()),
            release: Some(ReleaseCommit {
                digest: ObjectDigest::of(format!("release {step}").as_bytes()),
                header: vec![9; 200],
            }),
            cost: view.allotment[step.0 as usize - 1],
        };
        self.done(Event::CommitStep {
            commit,
            by: vec![1; 32],
        });
    }
}
