//! A key service of one node over the real ledger: fencing, compare-and-set and budgets are its. No
//! quorum and no appraisal: those are tested where they are made.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use prost::Message as _;
use siegel_attest::{Role, root_config, worker_config};
use siegel_ident::{
    Budget, ConfigDigest, Digest, EpochId, Fencing, InputRoot, NodeId, ObjectDigest, PolicyDigest,
    ProgramDigest, RequestId, RunId, Secret, Step, Timestamp, json,
};
use siegel_keys::fake::{FakeGrant, NodeScript, World, measured};
use siegel_ledger::{
    Done, Entry, Event, FreshRun, Ledger, Outcome, ReleaseCommit, RunClaim, RunView, StepCommit,
    Workload, WorkloadRole, Wrapped,
};
use siegel_link::{Refusal, refusal};
use siegel_platform::{Clock as _, SystemClock};
use siegel_policy::{Policy, RunParameters};
use siegel_seal::grant::{GrantRole, grant_info};
use siegel_seal::{KemPrivate, KemPublic, Suite, derive_kem, sealed_box};
use siegel_session::{Peer, PeerKeys};
use siegel_translog::predicate;
use siegel_translog::testing::{TestLog, TestSigner};
use siegel_wire::v1::{self, kms_request::Body as Ask, kms_response::Body};

/// The first registered run.
pub(crate) const RUN: RunId = RunId::from_bytes([1; 16]);
/// The only epoch.
pub(crate) const EPOCH: EpochId = EpochId(1);
/// Of its uploads.
pub(crate) const EPOCH_KEY: Secret<32> = Secret::new([11; 32]);
const RELEASE_KEY: Secret<32> = Secret::new([12; 32]);

/// What happens to a request on its way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// It is answered.
    Clear,
    /// It never arrives.
    RequestLost,
    /// It is carried out, and the answer never arrives.
    AnswerLost,
}

type Gate = Box<dyn Fn(&Ask, &mut Ledger) -> Way + Send>;
pub(crate) type Spoil = Box<dyn Fn(&mut v1::RunGrant) + Send>;

/// What was accepted, and the ledger.
pub(crate) struct Seen {
    pub(crate) ledger: Ledger,
    pub(crate) registered: Vec<v1::RegisterRun>,
    pub(crate) commits: Vec<v1::CommitStep>,
    pub(crate) finished: bool,
}

pub(crate) struct Kms {
    pub(crate) seen: Mutex<Seen>,
    policy: Policy,
    config: ConfigDigest,
    /// Refuses this request with this code.
    pub(crate) refuse: Mutex<Option<(&'static str, &'static str)>>,
    gate: Mutex<Gate>,
    lost: AtomicUsize,
    /// Makes something of a root's grant wrong.
    pub(crate) spoil: Mutex<Spoil>,
    noise: u8,
}

/// The log that the cluster's ledger trusts.
pub(crate) struct Trusted {
    pub(crate) log: TestLog,
    pub(crate) world: World,
}

impl Trusted {
    pub(crate) fn new() -> Self {
        let log = TestLog::new("log.example.org", [7; 32]);
        let signer = TestSigner::generate().unwrap();
        let world = World::with_log(1, log.origin(), log.key(), *signer.key().point());
        Self { log, world }
    }
}

impl Kms {
    /// A ledger in which the policy is registered and the epoch is open.
    pub(crate) fn new(trusted: &mut Trusted, policy: &Policy, noise: u8) -> Self {
        let Trusted { log, world } = trusted;
        let author = TestSigner::generate().unwrap();
        let published = log.publish(&author, "policy", policy.bytes(), predicate::POLICY);
        let mut ledger = Ledger::new(&world.genesis()).unwrap();
        let policy_event = Event::RegisterPolicy {
            policy: policy.bytes().to_vec(),
            bundle: published.unwrap(),
            endorsements: Vec::new(),
        };
        let epoch_event = Event::OpenEpoch {
            policy: policy.digest(),
            secret: Wrapped::new(vec![1; 60]),
        };
        for (n, event) in [(1, policy_event), (2, epoch_event)] {
            apply(&mut ledger, RequestId::from_bytes([n; 16]), event).unwrap();
        }
        assert!(ledger.epoch(EPOCH).is_some());
        let seen = Seen {
            ledger,
            registered: Vec::new(),
            commits: Vec::new(),
            finished: false,
        };
        Self {
            seen: Mutex::new(seen),
            policy: policy.clone(),
            config: world.config_digest(),
            refuse: Mutex::default(),
            gate: Mutex::new(Box::new(|_, _| Way::Clear)),
            lost: AtomicUsize::new(0),
            spoil: Mutex::new(Box::new(|_| {})),
            noise,
        }
    }

    /// From now on requests meet this.
    pub(crate) fn gate(&self, gate: impl Fn(&Ask, &mut Ledger) -> Way + Send + 'static) {
        *self.gate.lock().unwrap() = Box::new(gate);
        self.lost.store(0, Ordering::SeqCst);
    }

    /// Loses messages of a step's commit: how a root looks that dies there.
    pub(crate) fn lose_commit(&self, step: u64, way: Way) {
        self.gate(move |ask, _| match ask {
            Ask::CommitStep(commit) if commit.step == step => way,
            _ => Way::Clear,
        });
    }

    /// Returns once a message was lost.
    pub(crate) async fn lost(&self) {
        super::setting::until(|| self.lost.load(Ordering::SeqCst) > 0).await;
    }

    /// One committed result for each of `steps` steps (I6).
    pub(crate) fn assert_one_result_each(&self, steps: u64) -> v1::CommitStep {
        let seen = self.seen.lock().unwrap();
        let committed: Vec<u64> = seen.commits.iter().map(|commit| commit.step).collect();
        assert_eq!(committed, (1..=steps).collect::<Vec<_>>());
        assert!(seen.finished);
        seen.commits.last().unwrap().clone()
    }

    fn workload(&self, peer: &Peer) -> Workload {
        let (role, config) = match peer.role() {
            Role::Root => {
                let config = root_config(self.config, self.policy.programs[0]);
                (WorkloadRole::Root, config)
            }
            _ => (WorkloadRole::Worker, worker_config(self.config)),
        };
        Workload {
            role,
            measured: measured(peer.role()).id(),
            marks: Vec::new(),
            config,
            signing_key: peer.signing_key().to_vec(),
            kem_key: peer.kem_key().to_vec(),
        }
    }

    fn answer(
        &self,
        seen: &mut Seen,
        peer: &Peer,
        id: RequestId,
        ask: Ask,
    ) -> Result<Body, Refusal> {
        let by = peer.signing_key().to_vec();
        let ledger = &mut seen.ledger;
        Ok(match ask {
            Ask::RegisterRun(wire) => {
                let root = self.workload(peer);
                let count = seen.registered.len() as u8;
                let event = register_event(&wire, root, count + 1);
                let Done::RunRegistered { run, .. } = apply(ledger, id, event)? else {
                    panic!()
                };
                if !seen.registered.contains(&wire) {
                    seen.registered.push(wire);
                }
                self.take(&mut seen.ledger, peer, second(id), run)?
            }
            Ask::TakeRun(ask) => self.take(ledger, peer, id, run_id(&ask.run_id))?,
            Ask::Authorize(ask) => {
                let run = run_id(&ask.run_id);
                let worker = self.workload(peer);
                apply(ledger, id, Event::Authorize { run, worker })?;
                Body::WorkerGrant(self.worker_grant(ledger, run, peer))
            }
            Ask::RunPeers(ask) => {
                let run = run_id(&ask.run_id);
                let root = ledger.run(run).unwrap().root.unwrap();
                if root.signing_key != by {
                    return Err(refusal("not-the-root", "I3", "run_id", "another root"));
                }
                let workers = ledger.workers(run).map(|worker| v1::PeerKey {
                    signing_key: worker.signing_key.clone(),
                    kem_key: worker.kem_key.clone(),
                });
                Body::PeerKeys(v1::PeerKeys {
                    workers: workers.collect(),
                })
            }
            Ask::RenewLease(ask) => {
                let run = run_id(&ask.run_id);
                let Done::LeaseRenewed { lease } =
                    apply(ledger, id, Event::RenewLease { run, by })?
                else {
                    panic!()
                };
                Body::Lease(v1::Lease {
                    lease_seconds: lease.0,
                })
            }
            Ask::CommitStep(wire) => {
                let commit = commit_of(&wire);
                apply(ledger, id, Event::CommitStep { commit, by })?;
                if !seen.commits.contains(&wire) {
                    seen.commits.push(wire);
                }
                Body::StepDone(v1::StepDone {
                    receipt: b"{}".to_vec(),
                })
            }
            Ask::FinishRun(ask) => {
                let (run, fencing) = (run_id(&ask.run_id), Fencing(ask.fencing));
                apply(ledger, id, Event::FinishRun { run, fencing, by })?;
                seen.finished = true;
                Body::Finished(v1::Finished {})
            }
        })
    }

    fn take(
        &self,
        ledger: &mut Ledger,
        peer: &Peer,
        id: RequestId,
        run: RunId,
    ) -> Result<Body, Refusal> {
        let root = self.workload(peer);
        apply(ledger, id, Event::TakeRun { run, root })?;
        let mut grant = self.root_grant(&ledger.run(run).unwrap(), peer);
        (self.spoil.lock().unwrap())(&mut grant);
        Ok(Body::RunGrant(grant))
    }

    fn root_grant(&self, view: &RunView<'_>, root: &Peer) -> v1::RunGrant {
        let keys = v1::RootKeys {
            noise: vec![self.noise; 32],
            checkpoint: vec![22; 32],
        };
        let info = grant_info(view.run, GrantRole::Root, root.signing_key());
        let to = KemPublic::parse(root.kem_key()).unwrap();
        let mut rng = siegel_platform::rng::os_rng();
        let sealed = sealed_box::seal_box(&mut rng, &to, &info, &keys.encode_to_vec());
        v1::RunGrant {
            run_id: view.run.to_vec(),
            fencing: view.fencing.0,
            sealed_keys: sealed.unwrap(),
            release_key: release_pair().1.to_bytes(),
            step: view.step.0,
            previous: view.previous.to_vec(),
            before: view
                .before
                .map(|before| before.to_vec())
                .unwrap_or_default(),
            registered: Some(v1::RegisterRun {
                policy_digest: view.policy.to_vec(),
                program_digest: view.program.to_vec(),
                parameters: view.parameters.to_vec(),
                epochs: view.epochs.iter().map(|epoch| epoch.0).collect(),
                deadline: view.deadline.0,
                input_root: view.input_root.to_vec(),
                blob_count: view.blob_count,
                inputs: view.inputs.to_vec(),
            }),
        }
    }

    fn worker_grant(&self, ledger: &Ledger, run: RunId, worker: &Peer) -> v1::WorkerGrant {
        let view = ledger.run(run).unwrap();
        let root = view.root.unwrap();
        let grant = FakeGrant {
            run,
            index: [23; 32],
            epochs: vec![(EPOCH, derive_kem(Suite::X25519, &EPOCH_KEY).0)],
            root: PeerKeys {
                signing_key: root.signing_key.clone().try_into().unwrap(),
                kem_key: root.kem_key.clone(),
            },
            fencing: view.fencing,
            policy: self.policy.clone(),
            program: view.program,
            plan: RunParameters::parse(view.parameters).unwrap().plan,
            steps: view.allotment.to_vec(),
            input_root: view.input_root,
            blob_count: view.blob_count,
            inputs: view.inputs,
            lease: 30,
        };
        grant.to(worker, GrantRole::Worker, run)
    }
}

impl NodeScript for Kms {
    fn session(
        &self,
        _: NodeId,
        peer: &Peer,
        request: v1::KmsRequest,
    ) -> Option<Result<Body, Refusal>> {
        let id = RequestId::try_from_slice(&request.request_id)?;
        let ask = request.body?;
        let name = match &ask {
            Ask::RegisterRun(_) => "register",
            Ask::CommitStep(_) => "commit",
            Ask::Authorize(_) => "authorize",
            Ask::RunPeers(_) => "peers",
            _ => "",
        };
        if let Some((what, code)) = *self.refuse.lock().unwrap()
            && what == name
        {
            return Some(Err(refusal(code, "I6", "test", "as told")));
        }
        let mut seen = self.seen.lock().unwrap();
        let way = (self.gate.lock().unwrap())(&ask, &mut seen.ledger);
        let answer = match way {
            Way::RequestLost => None,
            _ => Some(self.answer(&mut seen, peer, id, ask)),
        };
        if way != Way::Clear {
            self.lost.fetch_add(1, Ordering::SeqCst);
            return None;
        }
        answer
    }
}

pub(crate) fn release_pair() -> (KemPrivate, KemPublic) {
    derive_kem(Suite::XWing, &RELEASE_KEY)
}

/// One entry, at the host's time.
pub(crate) fn apply(ledger: &mut Ledger, id: RequestId, event: Event) -> Result<Done, Refusal> {
    let entry = Entry {
        request_id: id,
        now: SystemClock.now(),
        event,
    };
    match ledger.apply(&entry).outcome {
        Outcome::Done(done) => Ok(done),
        Outcome::Refused(no) => {
            let (code, invariant, place) = (no.code(), no.invariant(), no.place());
            Err(refusal(code, invariant, place, no.to_string()))
        }
    }
}

fn register_event(wire: &v1::RegisterRun, root: Workload, n: u8) -> Event {
    Event::RegisterRun {
        claim: RunClaim {
            policy: PolicyDigest::try_from_slice(&wire.policy_digest).unwrap(),
            program: ProgramDigest::try_from_slice(&wire.program_digest).unwrap(),
            parameters: wire.parameters.clone(),
            epochs: wire.epochs.iter().copied().map(EpochId).collect(),
            deadline: Timestamp(wire.deadline),
            input_root: InputRoot::try_from_slice(&wire.input_root).unwrap(),
            blob_count: wire.blob_count,
            inputs: Digest::try_from_slice(&wire.inputs).unwrap(),
            root,
        },
        fresh: Some(FreshRun {
            run: RunId::from_bytes([n; 16]),
            secret: Wrapped::new(vec![1; 60]),
        }),
    }
}

fn commit_of(wire: &v1::CommitStep) -> StepCommit {
    let release = (!wire.release_digest.is_empty()).then(|| ReleaseCommit {
        digest: ObjectDigest::try_from_slice(&wire.release_digest).unwrap(),
        header: wire.release_header.clone(),
    });
    let cost: Budget = json::from_canonical(&wire.cost, 1000).unwrap();
    StepCommit {
        run: run_id(&wire.run_id),
        fencing: Fencing(wire.fencing),
        step: Step(wire.step),
        previous: Digest::try_from_slice(&wire.previous).unwrap(),
        next: ObjectDigest::try_from_slice(&wire.next).unwrap(),
        release,
        cost,
    }
}

fn run_id(bytes: &[u8]) -> RunId {
    RunId::try_from_slice(bytes).unwrap()
}

/// The id of the taking that follows a registration.
fn second(id: RequestId) -> RequestId {
    let mut bytes = *id.as_bytes();
    bytes[0] ^= 0xff;
    RequestId::from_bytes(bytes)
}
