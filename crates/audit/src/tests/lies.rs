//! One lie per row: a receipt of a real history is bent, the chain made whole again, signed by the
//! real cluster key and logged. Only the replay can tell.

use siegel_ident::{Digest, EpochId, Fencing, PolicyDigest, ProgramDigest, Step, Timestamp};
use siegel_ledger::{Fact, Receipt};

use super::errors;
use crate::testing::{START, Scene, budget, lived};

/// Bends the receipt with this number (as listed at [`lived`]).
fn bend(receipts: &mut [Receipt], seq: usize, change: impl FnOnce(&mut Fact)) {
    change(&mut receipts[seq - 1].fact);
}

/// Sets one field of a fact, whatever kinds have it.
macro_rules! set {
    ($receipts:expr, $seq:expr, $kind:ident, $field:ident = $value:expr) => {
        bend($receipts, $seq, |fact| match fact {
            Fact::$kind { $field, .. } => *$field = $value,
            other => panic!("receipt {} is {other:?}", $seq),
        })
    };
}

type Lie = fn(&mut Vec<Receipt>);

#[tokio::test]
async fn every_lie_in_a_receipt_is_found() {
    let lies: &[(&str, &str, Lie)] = &[
        // I6: budgets.
        ("budget-total", "spent less than debited", |r| {
            set!(r, 3, RunRegistered, spent = budget(1, 1));
        }),
        ("budget-overspent", "a run beyond the total", |r| {
            set!(r, 3, RunRegistered, cost = budget(101, 6));
            set!(r, 3, RunRegistered, spent = budget(101, 6));
        }),
        ("budget-overspent", "a run beyond delta0", |r| {
            set!(r, 3, RunRegistered, cost = budget(30, 51));
            set!(r, 3, RunRegistered, spent = budget(30, 51));
        }),
        (
            "policy-misquoted",
            "a total that the policy does not have",
            |r| {
                set!(r, 1, PolicyRegistered, total = budget(1000, 50));
            },
        ),
        ("budget-raised", "a successor with a larger total", |r| {
            set!(r, 10, PolicyRegistered, total = budget(101, 50));
        }),
        (
            "budget-total",
            "a successor that forgets what was spent",
            |r| {
                set!(r, 10, PolicyRegistered, spent = budget(0, 0));
            },
        ),
        ("policy-order", "a successor of nothing", |r| {
            set!(r, 10, PolicyRegistered, predecessor = None);
        }),
        ("budget-total", "a refund of nothing, total lowered", |r| {
            set!(r, 9, RunCancelled, spent = budget(0, 0));
        }),
        ("refund", "a refund of more than the cost", |r| {
            set!(r, 9, RunCancelled, refund = budget(31, 6));
        }),
        ("refund-after-keys", "a refund after keys were given", |r| {
            let Fact::RunCancelled {
                run,
                pipeline,
                refund,
                spent,
            } = r[8].fact.clone()
            else {
                panic!("receipt 9");
            };
            r.remove(8);
            let fencing = Fencing(1);
            r.insert(
                8,
                Receipt {
                    fact: Fact::RunTaken { run, fencing },
                    ..r[7].clone()
                },
            );
            let cancelled = Fact::RunCancelled {
                run,
                pipeline,
                refund,
                spent,
            };
            r.insert(
                9,
                Receipt {
                    fact: cancelled,
                    ..r[7].clone()
                },
            );
        }),
        ("run-after-end", "a second refund", |r| {
            r.insert(9, r[8].clone())
        }),
        ("run-twice", "a run registered twice", |r| {
            r.insert(3, r[2].clone())
        }),
        (
            "policy-order",
            "a first policy that replaces something",
            |r| {
                set!(
                    r,
                    1,
                    PolicyRegistered,
                    predecessor = Some(PolicyDigest::of(b"other"))
                );
            },
        ),
        (
            "budget-total",
            "a new pipeline that has spent something",
            |r| {
                set!(r, 1, PolicyRegistered, spent = budget(1, 1));
            },
        ),
        (
            "refund-beyond-debit",
            "a refund of more than was ever debited",
            |r| {
                set!(r, 9, RunCancelled, refund = budget(1000, 6));
            },
        ),
        ("run-policy", "a run of a pipeline without a policy", |r| {
            r.remove(0);
        }),
        // I6: steps.
        ("step-order", "a step skipped", |r| {
            set!(r, 5, StepCommitted, step = Step(2))
        }),
        ("step-order", "a step committed twice", |r| {
            r.insert(5, r[4].clone())
        }),
        ("step-state", "a step from another state", |r| {
            set!(r, 6, StepCommitted, previous_state = Digest::of(b"other"));
        }),
        (
            "step-state",
            "a first step not from the registration",
            |r| {
                set!(r, 5, StepCommitted, previous_state = Digest::of(b"other"));
            },
        ),
        ("step-cost", "a step that costs more than stated", |r| {
            set!(r, 5, StepCommitted, cost = budget(11, 2));
        }),
        ("step-cost", "steps beyond the debit", |r| {
            set!(r, 6, StepCommitted, cost = budget(21, 4));
            set!(r, 6, StepCommitted, used = budget(31, 6));
        }),
        ("fencing", "a step by a root that lost the run", |r| {
            set!(r, 5, StepCommitted, fencing = Fencing(2));
        }),
        ("fencing", "a step of a run that nobody took", |r| {
            r.remove(3);
        }),
        ("fencing", "a number that does not grow", |r| {
            r.insert(4, r[3].clone());
        }),
        ("run-unfinished", "finished before the last step", |r| {
            r.remove(5);
            set!(r, 6, RunFinished, step = Step(1));
        }),
        ("run-end", "an end that names another step", |r| {
            set!(r, 14, RunAbandoned, step = Step(1));
        }),
        ("run-after-end", "a step after the end", |r| {
            let step = r.remove(5);
            r.insert(6, step);
        }),
        (
            "run-unknown",
            "steps of a run that was never debited",
            |r| {
                r.remove(2);
            },
        ),
        ("step-policy", "a step under another policy", |r| {
            set!(r, 5, StepCommitted, policy = PolicyDigest::of(b"other"));
        }),
        // I1, I3: what was registered.
        (
            "policy-not-logged",
            "a policy that is not in the log",
            |r| {
                set!(r, 1, PolicyRegistered, policy = PolicyDigest::of(b"other"));
            },
        ),
        (
            "policy-log-index",
            "a policy proved at another index",
            |r| {
                set!(r, 1, PolicyRegistered, log_index = 0);
            },
        ),
        (
            "policy-misquoted",
            "another pipeline than the policy's",
            |r| {
                set!(
                    r,
                    1,
                    PolicyRegistered,
                    pipeline = "org.example.other".to_owned()
                );
            },
        ),
        (
            "run-other-pipeline",
            "a run that another pipeline pays for",
            |r| {
                set!(
                    r,
                    3,
                    RunRegistered,
                    pipeline = "org.example.other".to_owned()
                );
            },
        ),
        (
            "release-twice",
            "a step with an earlier step's release",
            |r| {
                let Fact::StepCommitted { release: first, .. } = r[4].fact.clone() else {
                    panic!("receipt 5");
                };
                set!(r, 6, StepCommitted, release = first);
            },
        ),
        (
            "endorsement-misquoted",
            "an end that no endorsement has",
            |r| {
                let end = Some(Timestamp(START + 99_999));
                set!(r, 1, PolicyRegistered, endorsed_until = end);
            },
        ),
        ("run-policy", "a run under a superseded policy", |r| {
            let run = r.remove(7);
            r.insert(9, run);
        }),
        (
            "program-not-allowed",
            "a program that the policy does not name",
            |r| {
                set!(r, 3, RunRegistered, program = ProgramDigest::of(b"other"));
            },
        ),
        (
            "program-not-logged",
            "a program that nobody can read",
            |r| {
                set!(r, 3, RunRegistered, program = ProgramDigest::of(b"other"));
            },
        ),
        ("too-few-blobs", "a run over one upload", |r| {
            set!(r, 3, RunRegistered, blob_count = 1);
        }),
        // I9: time.
        ("policy-window", "an epoch after the policy's end", |r| {
            r[1].at = Timestamp(START + 100_000);
            r.truncate(2);
        }),
        ("policy-window", "a run after the policy's end", |r| {
            r[2].at = Timestamp(START + 100_000);
            r.truncate(3);
        }),
        ("run-deadline", "a run whose deadline was over", |r| {
            set!(r, 3, RunRegistered, deadline = Timestamp(START));
        }),
        ("epoch-ttl", "an epoch beyond the key TTL", |r| {
            set!(r, 2, EpochOpened, expires = Timestamp(START + 1001));
        }),
        ("epoch-policy", "an epoch of no current policy", |r| {
            set!(r, 2, EpochOpened, policy = PolicyDigest::of(b"other"));
        }),
        ("epoch-order", "an epoch's number used twice", |r| {
            set!(r, 11, EpochOpened, epoch = EpochId(1));
        }),
        ("run-deadline", "a run that outlives its epoch", |r| {
            set!(r, 3, RunRegistered, deadline = Timestamp(START + 1001));
        }),
        ("run-epochs", "a run over another policy's epoch", |r| {
            set!(r, 12, RunRegistered, epochs = vec![EpochId(1)]);
        }),
        ("run-epochs", "a run over nothing", |r| {
            set!(r, 3, RunRegistered, epochs = vec![]);
        }),
        ("step-late", "a step after the deadline", |r| {
            set!(r, 3, RunRegistered, deadline = Timestamp(START + 1));
            r[5].at = Timestamp(START + 1);
            r[6].at = Timestamp(START + 1);
            r.drain(7..);
        }),
        ("receipt-time", "a clock that goes back", |r| {
            r[4].at = Timestamp(START - 1)
        }),
        ("run-early", "a run expired before its deadline", |r| {
            r[15].at = Timestamp(START + 150);
        }),
        ("epoch-early", "an epoch expired before its time", |r| {
            r[15].at = Timestamp(START + 601);
            r[16].at = Timestamp(START + 700);
        }),
        ("epoch-runs", "a run that kept its keys", |r| {
            set!(r, 17, EpochExpired, runs = vec![]);
        }),
        ("epoch-unknown", "an epoch that expired twice", |r| {
            r.insert(17, r[16].clone())
        }),
        ("run-not-ended", "a run that outlived its epoch", |r| {
            r.remove(15);
        }),
    ];
    for (id, what, lie) in lies {
        let scene = Scene::new();
        let mut receipts = lived(&scene).await;
        lie(&mut receipts);
        scene.log_receipts(&receipts).await;
        let report = scene.audit().await;
        assert!(
            errors(&report).contains(id),
            "{what}: expected {id}, got {:?}",
            errors(&report)
        );
        assert!(!report.ok, "{what}");
    }
}
