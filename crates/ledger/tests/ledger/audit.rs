//! An auditor that knows nothing but the receipts: it replays them and holds the ledger to them.

use std::collections::BTreeMap;

use siegel_ident::{
    Budget, Digest, EpochId, Fencing, PolicyDigest, RunId, Seconds, Step, Timestamp,
};
use siegel_ledger::{Done, Fact, Receipt};

#[derive(Default)]
pub(crate) struct Audit {
    pub(crate) clock: Timestamp,
    pipelines: BTreeMap<String, Account>,
    policies: BTreeMap<PolicyDigest, Option<Timestamp>>,
    demands: BTreeMap<PolicyDigest, Option<Timestamp>>,
    epochs: BTreeMap<EpochId, Timestamp>,
    expired: Vec<EpochId>,
    runs: BTreeMap<RunId, Run>,
    seen: u64,
    head: Option<Digest>,
}

struct Account {
    current: PolicyDigest,
    first_total: Budget,
    total: Budget,
    debits: Budget,
    refunds: Budget,
}

struct Run {
    policy: PolicyDigest,
    epochs: Vec<EpochId>,
    deadline: Timestamp,
    expires: Timestamp,
    cost: Budget,
    used: Budget,
    planned: u64,
    fencing: Fencing,
    step: Step,
    state: Digest,
    released: Vec<bool>,
    open: bool,
    erased: bool,
}

impl Account {
    fn spent(&self) -> Budget {
        self.debits
            .pay(self.refunds)
            .expect("never more returned than debited")
    }
}

impl Audit {
    pub(crate) fn new(genesis: Digest) -> Self {
        Self {
            head: Some(genesis),
            ..Self::default()
        }
    }

    /// The next body of the chain.
    pub(crate) fn read(&mut self, body: &[u8]) {
        let receipt = Receipt::parse(body).expect("canonical");
        assert_eq!(receipt.seq, self.seen + 1, "I17: no gap");
        assert_eq!(Some(receipt.previous), self.head, "I17: one chain");
        assert_eq!(
            receipt.at, self.clock,
            "the replicated clock, which never goes back"
        );
        self.seen = receipt.seq;
        self.head = Some(Digest::of(body));
        self.fact(receipt.fact, Digest::of(body));
    }

    fn fact(&mut self, fact: Fact, digest: Digest) {
        match fact {
            Fact::PolicyRegistered {
                policy,
                pipeline,
                predecessor,
                total,
                spent,
                endorsed_until,
                ..
            } => {
                if let Some(due) = self.demands.get(&policy) {
                    assert!(due.is_some(), "I3: nothing covers it");
                    assert_eq!(endorsed_until, *due, "I9: the end of its endorsements");
                } else {
                    assert_eq!(endorsed_until, None);
                }
                self.policies.insert(policy, endorsed_until);
                self.policy(policy, pipeline, predecessor, total, spent);
            }
            Fact::EpochOpened {
                epoch,
                policy,
                expires,
            } => {
                assert!(expires > self.clock);
                assert!(expires <= self.endorsed_until(policy), "I9: endorsed");
                assert_eq!(
                    self.epochs.insert(epoch, expires),
                    None,
                    "epoch ids are used once"
                );
                assert!(!self.expired.contains(&epoch));
            }
            Fact::RunRegistered {
                run,
                policy,
                pipeline,
                epochs,
                deadline,
                steps,
                cost,
                spent,
                ..
            } => {
                let account = self.pipelines.get_mut(&pipeline).expect("registered");
                assert_eq!(account.current, policy, "I3: the current policy");
                account.debits = account.debits.plus(cost).unwrap();
                assert_eq!(account.spent(), spent, "I6: running total");
                assert!(spent.within(account.total), "I6: never more than the total");
                let expires = epochs
                    .iter()
                    .map(|e| self.epochs[e])
                    .min()
                    .expect("an epoch");
                assert!(self.clock < deadline && deadline <= expires, "I9");
                assert!(deadline <= self.endorsed_until(policy), "I9: endorsed");
                let record = Run {
                    policy,
                    epochs,
                    deadline,
                    expires,
                    cost,
                    used: Budget::ZERO,
                    planned: steps,
                    fencing: Fencing(0),
                    step: Step(0),
                    state: digest,
                    released: Vec::new(),
                    open: true,
                    erased: false,
                };
                assert!(
                    self.runs.insert(run, record).is_none(),
                    "run ids are used once"
                );
            }
            Fact::RunTaken { run, fencing } => {
                let run = self.open_run(run);
                assert_eq!(fencing, run.fencing.next(), "I6: a larger number");
                run.fencing = fencing;
            }
            Fact::StepCommitted {
                run,
                policy,
                step,
                fencing,
                previous_state,
                checkpoint,
                release,
                cost,
                used,
            } => {
                let run = self.open_run(run);
                assert_eq!(
                    (policy, step),
                    (run.policy, run.step.next()),
                    "I6: one result"
                );
                assert_eq!(fencing, run.fencing, "I6: only the largest number commits");
                assert!(
                    fencing > Fencing(0),
                    "I3: nobody commits before a root took the run"
                );
                assert_eq!(previous_state, run.state, "I6: compare-and-set");
                run.used = run.used.plus(cost).unwrap();
                assert_eq!(run.used, used);
                assert!(
                    used.within(run.cost) && step.0 <= run.planned,
                    "I6: the allotment"
                );
                (run.step, run.state) = (step, checkpoint.digest());
                run.released.push(release.is_some());
            }
            Fact::RunCancelled {
                run,
                pipeline,
                refund,
                spent,
            } => {
                let run = self.open_run(run);
                assert_eq!(
                    run.fencing,
                    Fencing(0),
                    "I6: no refund after keys were given"
                );
                assert_eq!(refund, run.cost);
                (run.open, run.erased) = (false, true);
                let account = self.pipelines.get_mut(&pipeline).expect("registered");
                account.refunds = account.refunds.plus(refund).unwrap();
                assert_eq!(account.spent(), spent);
            }
            Fact::RunFinished { run, step } => {
                let run = self.open_run(run);
                assert_eq!((step, step.0), (run.step, run.planned));
                assert_eq!(run.used, run.cost);
                run.open = false;
            }
            Fact::RunAbandoned { run, step } => {
                let run = self.open_run(run);
                assert_eq!(step, run.step);
                run.open = false;
            }
            Fact::RunExpired { run, step } => {
                let clock = self.clock;
                let run = self.runs.get_mut(&run).expect("registered");
                assert!(run.open && run.deadline <= clock && run.step == step);
                run.open = false;
            }
            Fact::EpochExpired { epoch, runs } => {
                let expires = self.epochs.remove(&epoch).expect("live");
                assert!(expires <= self.clock);
                self.expired.push(epoch);
                let mut over = Vec::new();
                for (id, run) in &mut self.runs {
                    if run.epochs.contains(&epoch) && !run.erased {
                        assert!(!run.open, "I9: over before it is erased");
                        run.erased = true;
                        over.push(*id);
                    }
                }
                assert_eq!(runs, over, "I9: every run over the epoch");
            }
        }
    }

    fn policy(
        &mut self,
        policy: PolicyDigest,
        pipeline: String,
        predecessor: Option<PolicyDigest>,
        total: Budget,
        spent: Budget,
    ) {
        match self.pipelines.get_mut(&pipeline) {
            Some(account) => {
                assert_eq!(predecessor, Some(account.current));
                assert!(total.within(account.total), "I6: a total never grows");
                assert_eq!(spent, account.spent(), "I6: spent carries over");
                (account.current, account.total) = (policy, total);
            }
            None => {
                assert_eq!((predecessor, spent), (None, Budget::ZERO));
                let account = Account {
                    current: policy,
                    first_total: total,
                    total,
                    debits: Budget::ZERO,
                    refunds: Budget::ZERO,
                };
                self.pipelines.insert(pipeline, account);
            }
        }
    }

    /// Whoever asks for this policy to be registered comes with endorsements until then, or with none
    /// that suffice.
    pub(crate) fn demands(&mut self, policy: PolicyDigest, until: Option<Timestamp>) {
        self.demands.insert(policy, until);
    }

    /// No end for a policy that demands no endorsements.
    fn endorsed_until(&self, policy: PolicyDigest) -> Timestamp {
        self.policies[&policy].unwrap_or(Timestamp(u64::MAX))
    }

    fn open_run(&mut self, run: RunId) -> &mut Run {
        let clock = self.clock;
        let run = self.runs.get_mut(&run).expect("registered");
        assert!(
            run.open && clock < run.deadline,
            "I9: nothing happens in a run that is over"
        );
        run
    }

    /// What an answer lets the shell hand out is still allowed at this very second (I9).
    pub(crate) fn granted(&mut self, done: &Done) {
        let clock = self.clock;
        match done {
            Done::EpochOpened { epoch, expires } => {
                assert_eq!(self.epochs.get(epoch), Some(expires));
                assert!(clock < *expires);
            }
            Done::RunTaken { run, fencing } => {
                assert_eq!(self.open_run(*run).fencing, *fencing);
                let policy = self.runs[run].policy;
                assert!(clock < self.endorsed_until(policy), "I9: endorsed");
            }
            Done::WorkerAuthorized { run } => {
                assert!(self.open_run(*run).fencing > Fencing(0));
                let policy = self.runs[run].policy;
                assert!(clock < self.endorsed_until(policy), "I9: endorsed");
            }
            Done::ReleaseOpened { run, step } => {
                let run = &self.runs[run];
                assert!(
                    !run.erased && clock < run.expires,
                    "I9: no DEK after the TTL"
                );
                assert!(
                    run.released[step.0 as usize - 1],
                    "I17: a committed release"
                );
            }
            _ => {}
        }
    }

    /// A lease never reaches past the run.
    pub(crate) fn leased(&mut self, run: RunId, lease: Seconds) {
        let clock = self.clock;
        let run = self.open_run(run);
        assert!(clock.plus(lease) <= run.deadline, "I9");
    }

    /// The chain's present end.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Spent by the receipts, and never above the pipeline's first total.
    pub(crate) fn spent(&self, pipeline: &str) -> Option<Budget> {
        let account = self.pipelines.get(pipeline)?;
        assert!(account.spent().within(account.first_total), "I6");
        Some(account.spent())
    }

    /// Epochs and runs whose secrets must be gone.
    pub(crate) fn erased(&self) -> (Vec<EpochId>, Vec<RunId>) {
        let runs = self
            .runs
            .iter()
            .filter(|(_, run)| run.erased)
            .map(|(id, _)| *id);
        (self.expired.clone(), runs.collect())
    }
}
