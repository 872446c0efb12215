//! What a real ledger writes: policies, epochs, runs that finish, are cancelled, abandoned, expire.

use siegel_attest::root_config;
use siegel_ident::{
    Digest, EpochId, Fencing, InputRoot, ObjectDigest, PolicyDigest, ProgramDigest, RequestId,
    RunId, Step, Timestamp,
};
use siegel_ledger::{
    Done, Entry, Event, FreshRun, Ledger, Outcome, Receipt, ReleaseCommit, RunClaim, StepCommit,
    Workload, WorkloadRole, Wrapped,
};
use siegel_policy::RunParameters;
use siegel_translog::predicate;

use super::scene::{PROGRAM, START, Scene, budget, reference};
use super::{errors, ids};
use crate::{AuditAnchors, ExpectedCluster, RunState, Verdict, audit};

/// A ledger that is asked.
struct Asked {
    ledger: Ledger,
    now: u64,
    requests: u8,
}

impl Asked {
    fn done(&mut self, event: Event) -> Done {
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

    fn epoch(&mut self, policy: PolicyDigest) -> EpochId {
        match self.done(Event::OpenEpoch {
            policy,
            secret: Wrapped::new(vec![1; 60]),
        }) {
            Done::EpochOpened { epoch, .. } => epoch,
            other => panic!("{other:?}"),
        }
    }

    fn root(&self, scene: &Scene) -> Workload {
        let config = scene.genesis.config.digest().unwrap();
        Workload {
            role: WorkloadRole::Root,
            measured: reference("root"),
            config: root_config(config, ProgramDigest::of(PROGRAM)),
            signing_key: vec![1; 32],
            kem_key: vec![1; 1218],
        }
    }

    fn start(&mut self, scene: &Scene, n: u8, policy: PolicyDigest, epoch: EpochId) -> RunId {
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

    fn commit(&mut self, run: RunId) {
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

/// Logs genesis, program and two policies, lets a ledger live, and returns its receipts:
/// 1 policy, 2 epoch, 3 run A, 4 taken, 5 step, 6 step, 7 finished, 8 run B, 9 cancelled,
/// 10 second policy, 11 epoch, 12 run C, 13 taken, 14 abandoned, 15 run D, 16 expired,
/// 17 and 18 epochs expired.
pub(super) async fn lived(scene: &Scene) -> Vec<Receipt> {
    scene.birth().await;
    let ledger = Ledger::new(&scene.genesis.to_bytes().unwrap()).unwrap();
    let mut asked = Asked {
        ledger,
        now: START,
        requests: 0,
    };

    let policy = scene.policy().to_bytes().unwrap();
    let (_, bundle) = scene
        .publish(&scene.author, predicate::POLICY, &policy)
        .await;
    let first = PolicyDigest::of(&policy);
    asked.done(Event::RegisterPolicy { policy, bundle });
    let epoch = asked.epoch(first);

    let run = asked.start(scene, 1, first, epoch);
    asked.done(Event::TakeRun {
        run,
        root: asked.root(scene),
    });
    asked.commit(run);
    asked.commit(run);
    asked.done(Event::FinishRun {
        run,
        fencing: Fencing(1),
        by: vec![1; 32],
    });
    let run = asked.start(scene, 2, first, epoch);
    asked.done(Event::CancelRun { run });

    asked.now += 100;
    let mut second = scene.policy();
    (second.predecessor, second.privacy.total) = (Some(first), budget(95, 50));
    let policy = second.to_bytes().unwrap();
    let (_, bundle) = scene
        .publish(&scene.author, predicate::POLICY, &policy)
        .await;
    let second = PolicyDigest::of(&policy);
    asked.done(Event::RegisterPolicy { policy, bundle });
    let epoch = asked.epoch(second);
    let run = asked.start(scene, 3, second, epoch);
    asked.done(Event::TakeRun {
        run,
        root: asked.root(scene),
    });
    asked.done(Event::AbandonRun {
        run,
        fencing: Fencing(1),
        by: vec![1; 32],
    });
    asked.start(scene, 4, second, epoch);
    asked.now += 10_000;
    asked.done(Event::Tick {});

    (1..)
        .map_while(|seq| {
            asked
                .ledger
                .receipt(seq)
                .map(|b| Receipt::parse(b).unwrap())
        })
        .collect()
}

/// Catches: an auditor that cries wolf; what the ledger really writes is good.
#[tokio::test]
async fn the_history_of_a_real_ledger_is_good() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    assert_eq!(receipts.len(), 18);
    scene.log_receipts(&receipts).await;
    let report = scene.audit().await;
    assert_eq!(
        errors(&report),
        Vec::<&str>::new(),
        "{:#?}",
        report.findings
    );
    assert_eq!((report.ok, report.verdict), (true, Verdict::Good));
    for said in [
        "simulated-evidence",
        "log-unwitnessed",
        "insecure-simulation",
        "unwitnessed",
    ] {
        assert!(ids(&report).contains(&said), "{said} must be said");
    }
    assert_eq!(
        (
            report.entries.receipts,
            report.entries.policies,
            report.entries.total
        ),
        (18, 2, 22)
    );
    let states: Vec<RunState> = report.runs.iter().map(|run| run.state).collect();
    use RunState::{Abandoned, Cancelled, Expired, Finished};
    assert_eq!(states, [Finished, Cancelled, Abandoned, Expired]);
    assert_eq!(
        (report.runs[0].committed, report.runs[0].releases.len()),
        (2, 2)
    );
    let [pipeline] = &report.budgets[..] else {
        panic!("one pipeline")
    };
    // Three runs of (30, 6) each; the cancelled one was returned.
    assert_eq!(
        (pipeline.total, pipeline.spent),
        (budget(95, 50), budget(90, 18))
    );
    assert!(report.policies.iter().all(|policy| policy.registered));

    // The report is plain JSON that reads back.
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.contains("\"verdict\":\"good\""));
    assert_eq!(
        serde_json::from_str::<crate::AuditReport>(&json).unwrap(),
        report
    );
}

/// A courier that retries, or brings receipts out of order, harms nothing.
#[tokio::test]
async fn receipts_may_come_twice_and_in_any_order() {
    let scene = Scene::new();
    let bodies = super::scene::chained(scene.id(), &lived(&scene).await);
    for body in bodies.iter().rev().chain(&bodies[3..5]) {
        scene
            .publish(&scene.cluster, predicate::RECEIPT, body)
            .await;
    }
    let report = scene.audit().await;
    assert!(report.ok, "{:#?}", report.findings);
    assert_eq!(report.entries.receipts, 20);
}

/// I17. Catches: receipts held back at the end of the chain, when the nodes' count is known.
#[tokio::test]
async fn i17_the_expected_number_of_receipts_is_held_against_the_log() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts[..15]).await;
    let expect = |receipts| AuditAnchors {
        clusters: vec![ExpectedCluster {
            id: scene.id(),
            receipts,
        }],
        ..scene.anchors()
    };
    let log = siegel_rekor::LogReader::Open(scene.log.clone());
    assert!(audit(&log, &expect(None)).await.unwrap().ok);
    assert!(audit(&log, &expect(Some(15))).await.unwrap().ok);
    let short = audit(&log, &expect(Some(18))).await.unwrap();
    assert_eq!(errors(&short), ["receipt-missing"]);
    assert_eq!(short.verdict, Verdict::NotTrustworthy);
    // A run is still open there, which is said and no error.
    assert!(ids(&short).contains(&"runs-open"));
    assert_eq!(short.runs[3].state, RunState::Registered);
    assert_eq!(Step(short.runs[3].committed), Step(0));
}
