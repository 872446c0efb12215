//! Random sequences over two pipelines and a few runs. What counts as a failure: a receipt that the
//! auditor of `audit.rs` does not take; a budget that differs from the sum of the receipts or goes
//! over the first total; anything that starts, or a key that is given, when the endorsements of its
//! policy have ended, and a policy that registers without them; an answer that gives keys after their time; a refusal or a retry that
//! changes something; a secret that is still in the state after its expiry; a replica that applies
//! the same entries, with or without a snapshot between, and has other bytes.

use proptest::prelude::*;
use siegel_endorse::testing::of_policy;
use siegel_ident::{EpochId, ObjectDigest, PolicyDigest, RunId, Step, Timestamp};
use siegel_ledger::{Applied, Done, EndorsementProof, Event, FreshRun, Outcome, Wrapped};
use siegel_policy::AccessPolicy;

use crate::audit::Audit;
use crate::ops::{Endorsed, Op, PIPELINES, op};
use crate::receipts::assert_replay;
use crate::world::{World, cost, parameters, prove, run_id};

struct Model {
    world: World,
    audit: Audit,
    policies: [Vec<PolicyDigest>; 2],
    epochs: [Option<EpochId>; 2],
    secrets: u64,
}

/// Every secret is another one, so that it can be looked for in the state.
fn secret(n: u64) -> Wrapped {
    Wrapped::new([b"secret--".as_slice(), &n.to_be_bytes()].concat())
}

impl Model {
    fn new() -> Self {
        let world = World::new();
        let audit = Audit::new(world.ledger.cluster_id().digest());
        let mut model = Self {
            world,
            audit,
            policies: Default::default(),
            epochs: [None; 2],
            secrets: 0,
        };
        for pipeline in 0..PIPELINES.len() {
            model.step(&Op::Version {
                pipeline,
                rho: 100,
                delta: 50,
                follow: true,
                endorsed: Endorsed::NotDemanded,
            });
            model.step(&Op::Epoch { pipeline });
        }
        model
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Wait { seconds } => self.world.now += seconds,
            Op::Lag { seconds } => {
                let now = self.world.now;
                self.world.now -= seconds;
                self.ask(Event::Tick {});
                self.world.now = now;
            }
            Op::Retry {
                entry,
                other_values,
            } => self.retry(entry, *other_values),
            other => {
                if let Some(event) = self.event(other) {
                    self.ask(event);
                }
            }
        }
    }

    fn event(&mut self, op: &Op) -> Option<Event> {
        Some(match *op {
            Op::Version {
                pipeline,
                rho,
                delta,
                follow,
                endorsed,
            } => {
                let mut policy = match endorsed {
                    Endorsed::NotDemanded => self.world.policy(),
                    _ => self.world.demanding(),
                };
                policy.pipeline = PIPELINES[pipeline].to_owned();
                policy.privacy.total = cost(rho, delta);
                policy.predecessor = self.policies[pipeline].last().copied().filter(|_| follow);
                let endorsements = self.endorse(&policy, endorsed);
                self.world.endorsed_registration(&policy, endorsements)
            }
            Op::Epoch { pipeline } => {
                let policy = *self.policies[pipeline].last()?;
                Event::OpenEpoch {
                    policy,
                    secret: self.secret(),
                }
            }
            Op::Register {
                pipeline,
                run,
                rho,
                delta,
                steps,
                lasts,
            } => {
                let policy = *self.policies[pipeline].last()?;
                let mut claim = self.world.claim(policy, vec![self.epochs[pipeline]?]);
                claim.parameters = parameters(&vec![cost(rho, delta); steps]);
                claim.deadline = Timestamp(self.world.now + lasts);
                let fresh = FreshRun {
                    run: run_id(run),
                    secret: self.secret(),
                };
                Event::RegisterRun {
                    claim,
                    fresh: Some(fresh),
                }
            }
            Op::Take { run, root } => Event::TakeRun {
                run: run_id(run),
                root: self.world.root(root),
            },
            Op::Authorize { run, worker } => Event::Authorize {
                run: run_id(run),
                worker: self.world.worker(worker),
            },
            Op::Lease { run, worker } => Event::RenewLease {
                run: run_id(run),
                by: vec![worker; 32],
            },
            Op::Commit { run, spoil } => self.commit(run_id(run), spoil)?,
            Op::Open { run, step } => self.open(run_id(run), Step(step))?,
            Op::Cancel { run } => Event::CancelRun { run: run_id(run) },
            Op::Abandon { run, spoil } => {
                let run = run_id(run);
                self.world.ledger.run(run)?;
                let by = if spoil {
                    vec![99; 32]
                } else {
                    self.world.holder(run)
                };
                Event::AbandonRun {
                    run,
                    fencing: self.world.fencing(run),
                    by,
                }
            }
            Op::Finish { run } => {
                let run = run_id(run);
                self.world.ledger.run(run)?;
                let by = self.world.holder(run);
                Event::FinishRun {
                    run,
                    fencing: self.world.fencing(run),
                    by,
                }
            }
            Op::Wait { .. } | Op::Lag { .. } | Op::Retry { .. } => return None,
        })
    }

    fn endorse(&mut self, policy: &AccessPolicy, how: Endorsed) -> Vec<EndorsementProof> {
        let now = self.world.now;
        let (from, lasts) = match how {
            Endorsed::NotDemanded => return Vec::new(),
            Endorsed::For { early, lasts } => (now.saturating_add_signed(-early), lasts),
            Endorsed::Lacking(_) | Endorsed::ByAnother => (now, 500),
        };
        let mut all = match how {
            Endorsed::ByAnother => {
                let window = (Timestamp(from), Timestamp(from + lasts));
                let all = of_policy(policy, window.0, window.1);
                let author = &self.world.author;
                let log = &mut self.world.log;
                all.iter().map(|one| prove(log, author, one)).collect()
            }
            _ => self.world.endorse(policy, from, from + lasts),
        };
        if let Endorsed::Lacking(at) = how {
            all.remove(at);
        }
        let digest = policy.compile().unwrap().digest();
        let until = match how {
            Endorsed::For { .. } if from <= now && now < from + lasts => Some(from + lasts),
            _ => None,
        };
        // A policy that is registered already keeps what it had.
        if self.world.ledger.policy(digest).is_none() {
            self.audit.demands(digest, until.map(Timestamp));
        }
        all
    }

    fn commit(&self, run: RunId, spoil: u8) -> Option<Event> {
        self.world.ledger.run(run)?;
        let mut commit = self.world.next_commit(run);
        let mut by = self.world.holder(run);
        match spoil {
            0 => commit.fencing.0 = commit.fencing.0.saturating_sub(1),
            1 => commit.step = commit.step.next(),
            2 => commit.step.0 -= 1,
            3 => commit.previous = siegel_ident::Digest::of(b"x"),
            4 => commit.cost = cost(1, 1),
            5 => by = vec![99; 32],
            6 => commit.release = None,
            7 => commit.next = ObjectDigest::of(b"another result"),
            _ => {}
        }
        Some(Event::CommitStep { commit, by })
    }

    fn open(&mut self, run: RunId, step: Step) -> Option<Event> {
        let seq = match self.world.ledger.release(run, step) {
            Some(release) => release.receipt,
            None => self.world.ledger.receipts(),
        };
        let bundle = self.world.log_receipt(seq);
        Some(Event::OpenRelease { run, step, bundle })
    }

    fn secret(&mut self) -> Wrapped {
        self.secrets += 1;
        secret(self.secrets)
    }

    fn ask(&mut self, event: Event) {
        self.world.ask(Event::Tick {});
        self.follow();
        let before = self.world.ledger.receipts();
        let applied = self.world.ask(event.clone());
        self.follow();
        if matches!(applied.outcome, Outcome::Refused(_)) {
            assert_eq!(applied.effects, []);
            assert_eq!(
                self.world.ledger.receipts(),
                before,
                "a refusal changes nothing"
            );
        }
        self.check(&event, &applied);
    }

    fn retry(&mut self, entry: &prop::sample::Index, other_values: bool) {
        self.world.ask(Event::Tick {});
        self.follow();
        let earlier = self.world.entries[entry.index(self.world.entries.len())].clone();
        let mut event = earlier.event;
        let fresh = self.secret();
        match &mut event {
            Event::OpenEpoch { secret, .. } if other_values => *secret = fresh,
            Event::RegisterRun {
                fresh: Some(values),
                ..
            } if other_values => {
                values.secret = fresh;
                values.run = run_id(200);
            }
            _ => {}
        }
        let before = self.world.ledger.receipts();
        let mut request = [0; 8];
        request.copy_from_slice(&earlier.request_id.as_bytes()[..8]);
        let applied = self
            .world
            .ask_as(u64::from_be_bytes(request), event.clone());
        self.follow();
        assert_eq!(
            self.world.ledger.receipts(),
            before,
            "I6: a retry has no second effect"
        );
        assert!(self.world.ledger.run(run_id(200)).is_none());
        self.check(&event, &applied);
    }

    /// Lets the auditor read what is new.
    fn follow(&mut self) {
        self.audit.clock = self.audit.clock.max(Timestamp(self.world.now));
        for seq in self.audit.seen() + 1..=self.world.ledger.receipts() {
            self.audit.read(self.world.ledger.receipt(seq).unwrap());
        }
        assert_eq!(self.world.ledger.clock(), self.audit.clock);
    }

    fn check(&mut self, event: &Event, applied: &Applied) {
        if let Outcome::Done(done) = &applied.outcome {
            self.audit.granted(done);
            match (event, done) {
                (Event::RegisterPolicy { .. }, Done::PolicyRegistered { policy }) => {
                    let view = self.world.ledger.policy(*policy).unwrap();
                    let at = usize::from(view.policy.pipeline == PIPELINES[1]);
                    if !self.policies[at].contains(policy) {
                        self.policies[at].push(*policy);
                    }
                }
                (Event::OpenEpoch { policy, .. }, Done::EpochOpened { epoch, .. }) => {
                    let at = usize::from(self.policies[1].contains(policy));
                    self.epochs[at] = Some(*epoch);
                }
                (Event::RenewLease { run, .. }, Done::LeaseRenewed { lease }) => {
                    self.audit.leased(*run, *lease);
                }
                _ => {}
            }
        }
        for name in PIPELINES {
            let spent = self
                .world
                .ledger
                .pipeline(name)
                .map(|pipeline| pipeline.spent);
            assert_eq!(
                spent,
                self.audit.spent(name),
                "I6: what the receipts add up to"
            );
        }
    }

    /// I9: of what is erased, no secret is left in the state.
    fn check_erased(&self) {
        let state = String::from_utf8(self.world.ledger.snapshot().unwrap()).unwrap();
        let (epochs, runs) = self.audit.erased();
        let hex = |secret: &Wrapped| serde_json::to_string(secret).unwrap();
        for entry in &self.world.entries {
            let gone = match &entry.event {
                Event::RegisterRun {
                    fresh: Some(fresh), ..
                } if runs.contains(&fresh.run) => hex(&fresh.secret),
                Event::OpenEpoch { secret, .. } if epochs.len() as u64 == self.opened() => {
                    hex(secret)
                }
                _ => continue,
            };
            assert!(!state.contains(&gone));
        }
    }

    fn opened(&self) -> u64 {
        let opened =
            |r: &&siegel_ledger::Receipt| matches!(r.fact, siegel_ledger::Fact::EpochOpened { .. });
        self.world.receipts().iter().filter(opened).count() as u64
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn i6_i9_i17_random_sequences(ops in prop::collection::vec(op(), 20..120)) {
        let mut model = Model::new();
        for op in &ops {
            model.step(op);
        }
        model.check_erased();
        // In the end everything expires, and nothing is left.
        model.step(&Op::Wait { seconds: 100_000 });
        model.ask(Event::Tick {});
        model.check_erased();
        assert_replay(&model.world);
    }
}
