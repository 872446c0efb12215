//! Runs whose root dies, and roots that do not know that they are dead: I6 (one result per step),
//! I7 (same bytes), I8 (any process may die at any time).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use siegel_ident::{Digest, RequestId};
use siegel_ledger::{Event, Ledger};
use siegel_link::depot::ObjectKind;
use siegel_policy::RunParameters;
use siegel_program::Plan;
use siegel_seal::object::{Purpose, sealed_len};
use siegel_session::SESSION_LIFETIME;
use siegel_wire::v1::kms_request::Body as Ask;
use siegel_wire::v1::run_event::Body;
use siegel_wire::v1::{self};

use super::kms::{self, RUN, Way, apply};
use super::liar;
use super::setting::{LONG, LONG_STEPS, Setting, TRAIN, TRAIN_STEPS, failure};

const USERS: u64 = 12;
const NOISE: u8 = 9;

/// The released table of a run that nobody disturbs.
async fn undisturbed() -> Vec<u8> {
    let setting = Setting::new(LONG, USERS, 1, NOISE).await;
    setting.run(setting.request_for(LONG_STEPS)).await;
    setting
        .release(&setting.kms.assert_one_result_each(LONG_STEPS))
        .await
}

/// Starts a run and kills its root where the gate loses a message.
async fn killed(setting: &mut Setting, address: &str, steps: u64) {
    let mut client = setting.client();
    let stream = client.run(setting.request_for(steps)).await.unwrap();
    setting.kms.lost().await;
    setting.replace_root(address).await;
    setting.kms.gate(|_, _| Way::Clear);
    drop(stream);
}

/// The steps that a stream reports, after which step it went on, and that it came to its end.
fn steps(events: &[Body]) -> (u64, Vec<u64>) {
    let (Some(Body::Registered(registered)), Some(Body::Finished(_))) =
        (events.first(), events.last())
    else {
        panic!("{events:?}");
    };
    let steps = events.iter().filter_map(|event| match event {
        Body::Step(step) => Some(step.step),
        _ => None,
    });
    (registered.resumed_after, steps.collect())
}

// I6, I7, I8. Catches a root that starts over, draws noise again, loses or repeats a step, or takes
// an upload that came after the registration for one of the run's.
#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_died_is_replaced_and_the_bytes_are_the_same() {
    let table = undisturbed().await;
    for (step, way, done) in [
        (1, Way::RequestLost, 0),
        (1, Way::AnswerLost, 1),
        (4, Way::RequestLost, 3),
        (4, Way::AnswerLost, 4),
        // Only the end is left.
        (LONG_STEPS, Way::AnswerLost, LONG_STEPS),
    ] {
        let mut setting = Setting::new(LONG, USERS, 2, NOISE).await;
        setting.kms.lose_commit(step, way);
        killed(&mut setting, "pipe:root-2", LONG_STEPS).await;
        let before = setting.kms.seen.lock().unwrap().commits.clone();
        assert_eq!(before.len() as u64, done);
        setting.upload(USERS).await;
        let events = setting.run(setting.resume(LONG_STEPS)).await;
        let rest: Vec<u64> = (done + 1..=LONG_STEPS).collect();
        assert_eq!(steps(&events), (done, rest), "{events:?}");
        let Body::Registered(registered) = &events[0] else {
            panic!()
        };
        assert_eq!(registered.blob_count, USERS);
        let last = setting.kms.assert_one_result_each(LONG_STEPS);
        let seen = setting.kms.seen.lock().unwrap().commits.clone();
        assert_eq!(seen[..before.len()], before, "committed is committed");
        assert!(
            seen[before.len()..]
                .iter()
                .all(|commit| commit.fencing == 2)
        );
        assert!(setting.release(&last).await == table, "after step {done}");
    }
}

// I3, I8: all sessions of a run end in its middle, with a commit on its way. Catches a root that goes
// on over an old session, that loses the answer or the run with it, or that commits twice.
#[tokio::test(flavor = "multi_thread")]
async fn i3_a_run_outlives_its_sessions() {
    let table = undisturbed().await;
    let setting = Setting::new(LONG, USERS, 1, NOISE).await;
    let dialled = Arc::new(AtomicUsize::new(0));
    let (ahead, count) = (setting.ahead.clone(), dialled.clone());
    setting.kms.gate(move |ask, _| {
        match ask {
            // Asked each time before the worker is dialled.
            Ask::RunPeers(_) => {
                count.fetch_add(1, Ordering::SeqCst);
            }
            Ask::CommitStep(commit) if commit.step == 3 => {
                ahead.store(SESSION_LIFETIME.0, Ordering::SeqCst);
            }
            _ => {}
        }
        Way::Clear
    });
    let events = setting.run(setting.request_for(LONG_STEPS)).await;
    assert_eq!(steps(&events), (0, (1..=LONG_STEPS).collect()));
    let last = setting.kms.assert_one_result_each(LONG_STEPS);
    assert!(setting.release(&last).await == table);
    assert_eq!(dialled.load(Ordering::SeqCst), 2);
}

// I8: a run may lose more than one root, and be asked for after its end.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_may_lose_every_root_and_its_last_word() {
    let table = undisturbed().await;
    let mut setting = Setting::new(LONG, USERS, 1, NOISE).await;
    setting.kms.lose_commit(2, Way::AnswerLost);
    killed(&mut setting, "pipe:root-2", LONG_STEPS).await;
    setting.kms.gate(|ask, _| match ask {
        Ask::FinishRun(_) => Way::AnswerLost,
        _ => Way::Clear,
    });
    let mut client = setting.client();
    let stream = client.run(setting.resume(LONG_STEPS)).await.unwrap();
    setting.kms.lost().await;
    setting.replace_root("pipe:root-3").await;
    drop(stream);
    // The run is finished; only the word for it was lost. It may be asked for again and again.
    setting.kms.gate(|_, _| Way::Clear);
    for _ in 0..2 {
        let events = setting.run(setting.resume(LONG_STEPS)).await;
        assert!(matches!(&events[..], [Body::Finished(_)]), "{events:?}");
    }
    let last = setting.kms.assert_one_result_each(LONG_STEPS);
    assert!(setting.release(&last).await == table);
}

// I7, I8: the same for a model: weights and momentum come out of the checkpoint bit by bit, and each
// step releases what it would have released.
#[tokio::test(flavor = "multi_thread")]
async fn training_goes_on_where_it_was() {
    let mut models = Vec::new();
    for (workers, kill) in [(1, false), (2, false), (2, true)] {
        let mut setting = Setting::new(TRAIN, 60, workers, NOISE).await;
        if kill {
            setting.kms.lose_commit(2, Way::AnswerLost);
            killed(&mut setting, "pipe:root-2", TRAIN_STEPS).await;
            let events = setting.run(setting.resume(TRAIN_STEPS)).await;
            assert_eq!(steps(&events), (2, vec![3]));
        } else {
            let events = setting.run(setting.request_for(TRAIN_STEPS)).await;
            assert_eq!(steps(&events), (0, vec![1, 2, 3]));
        }
        setting.kms.assert_one_result_each(TRAIN_STEPS);
        let commits = setting.kms.seen.lock().unwrap().commits.clone();
        let mut released = Vec::new();
        for commit in &commits {
            released.push(setting.release(commit).await);
        }
        sizes_are_planned(&setting, &commits).await;
        assert!(released[0] != released[1] && released[1] != released[2]);
        models.push(released);
    }
    assert!(models[0] == models[1] && models[1] == models[2]);
}

/// I12: what is stored has the size that the plan says, whatever is inside.
async fn sizes_are_planned(setting: &Setting, commits: &[v1::CommitStep]) {
    let registered = setting.kms.seen.lock().unwrap().registered[0].clone();
    let parameters = RunParameters::parse(&registered.parameters).unwrap();
    let stored = |kind, digest| setting.depot.get(kind, digest, 1 << 20);
    let plan = stored(ObjectKind::Plan, parameters.plan).await.unwrap();
    let plan = Plan::parse(&plan).unwrap();
    for (commit, step) in commits.iter().zip(&plan.steps) {
        let release = step.release.as_ref().unwrap().bytes;
        for (digest, expected) in [
            (
                &commit.next,
                sealed_len(Purpose::Checkpoint, plan.checkpoint_bytes),
            ),
            (
                &commit.release_digest,
                sealed_len(Purpose::Release, release),
            ),
        ] {
            let digest = Digest::try_from_slice(digest).unwrap();
            let bytes = stored(ObjectKind::Sealed, digest).await.unwrap();
            assert_eq!(bytes.len() as u64, expected);
        }
    }
}

/// Makes one thing of a request another one.
type Spoil = fn(&mut v1::RunRequest);

// I2, I6: catches a root that goes on with another plan, other rules or a run that is not there,
// and one that is spoilt by having been asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_run_is_the_registered_one() {
    let mut setting = Setting::new(LONG, USERS, 1, NOISE).await;
    setting.kms.lose_commit(2, Way::RequestLost);
    killed(&mut setting, "pipe:root-2", LONG_STEPS).await;
    let cases: [(&str, Spoil); 6] = [
        ("other-run", |r| r.params = b"{\"rounds\":5}".to_vec()),
        ("other-run", |r| {
            r.params = b"{\"more\":1,\"rounds\":6}".to_vec();
        }),
        ("other-run", |r| r.deadline += 1),
        ("other-run", |r| r.epochs = vec![1, 2]),
        ("unknown-run", |r| r.resume_run_id[0] ^= 1),
        ("bad-request", |r| r.resume_run_id.truncate(15)),
    ];
    for (code, spoil) in cases {
        let mut request = setting.resume(LONG_STEPS);
        spoil(&mut request);
        assert_eq!(setting.fails(request).await, code);
    }
    assert_eq!(setting.kms.seen.lock().unwrap().commits.len(), 1);
    let events = setting.run(setting.resume(LONG_STEPS)).await;
    assert_eq!(steps(&events), (1, vec![2, 3, 4, 5, 6]));
    setting.kms.assert_one_result_each(LONG_STEPS);
}

// I6, I8: the checkpoint of step 3 in the place of step 5. Whether the depot serves it, or the key
// service names it, nothing goes on from there.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_committed_checkpoint_opens() {
    let mut setting = Setting::new(LONG, USERS, 1, NOISE).await;
    setting.kms.lose_commit(5, Way::AnswerLost);
    killed(&mut setting, "pipe:root-2", LONG_STEPS).await;
    let commits = setting.kms.seen.lock().unwrap().commits.clone();
    assert_eq!(commits.len(), 5);
    let [third, fifth] = [2, 4].map(|at: usize| commits[at].clone());

    let digest = |bytes: &[u8]| Digest::try_from_slice(bytes).unwrap();
    let honest = setting.depot.clone();
    let (asked, served) = (digest(&fifth.next), digest(&third.next));
    liar::start(&setting.world, "pipe:liar", honest, asked, served).await;
    let root = setting.start_root("pipe:root-3", "pipe:liar").await;
    let refusal = failure(&setting.run_on(&root, setting.resume(LONG_STEPS)).await);
    assert_eq!(
        (&*refusal.code, &*refusal.invariant),
        ("wrong-checkpoint", "I2")
    );
    assert!(
        refusal.message.contains(&format!("{served}")),
        "{refusal:?}"
    );

    let spoilt: [(&str, kms::Spoil); 3] = [
        ("step", {
            let third = third.clone();
            Box::new(move |grant| {
                grant.previous = third.next.clone();
                grant.before = third.previous.clone();
            })
        }),
        (
            "previous",
            Box::new(move |grant| grant.before = third.next.clone()),
        ),
        ("step", Box::new(|grant| grant.step = 4)),
    ];
    for (field, spoil) in spoilt {
        *setting.kms.spoil.lock().unwrap() = spoil;
        let refusal = failure(&setting.run(setting.resume(LONG_STEPS)).await);
        assert_eq!(
            (&*refusal.code, &*refusal.invariant),
            ("wrong-checkpoint", "I6")
        );
        assert!(refusal.message.contains(field), "{refusal:?}");
    }
    *setting.kms.spoil.lock().unwrap() = Box::new(|_| {});
    assert_eq!(setting.kms.seen.lock().unwrap().commits.len(), 5);
    let events = setting.run(setting.resume(LONG_STEPS)).await;
    assert_eq!(steps(&events), (5, vec![6]));
}

/// When it happens.
type Moment = fn(&Ask) -> bool;

/// Another root, of which nothing else is heard, takes the run.
fn overtake(ledger: &mut Ledger) {
    let mut root = ledger.run(RUN).unwrap().root.unwrap().clone();
    root.signing_key = vec![77; 32];
    let id = RequestId::from_bytes([77; 16]);
    apply(ledger, id, Event::TakeRun { run: RUN, root }).unwrap();
}

// I6: an old root that wakes up, at its commit or at its next question to the workers.
#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_lost_its_run_stops_and_releases_nothing() {
    let overtaken: [(u64, Moment); 2] = [
        (
            2,
            |ask| matches!(ask, Ask::CommitStep(commit) if commit.step == 3),
        ),
        (0, |ask| matches!(ask, Ask::RunPeers(_))),
    ];
    for (committed, at) in overtaken {
        let setting = Setting::new(LONG, USERS, 1, NOISE).await;
        setting.kms.gate(move |ask, ledger| {
            if at(ask) && ledger.run(RUN).is_some_and(|run| run.fencing.0 == 1) {
                overtake(ledger);
            }
            Way::Clear
        });
        let events = setting.run(setting.request_for(LONG_STEPS)).await;
        assert_eq!(failure(&events).code, "stale-fencing");
        assert_eq!(failure(&events).invariant, "I6");
        let commits = setting.kms.seen.lock().unwrap().commits.clone();
        assert_eq!(commits.len() as u64, committed);
        assert!(
            commits
                .iter()
                .all(|commit| commit.release_digest.is_empty())
        );
        // The permit is free: the same process may take the run again.
        let events = setting.run(setting.resume(LONG_STEPS)).await;
        assert_eq!(steps(&events).0, committed);
        setting.kms.assert_one_result_each(LONG_STEPS);
    }
}

// I6, I8: two real roots at once. The older one waits with its commit until the younger one has
// the run.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_roots_one_commits() {
    let table = undisturbed().await;
    let setting = Setting::new(LONG, USERS, 2, NOISE).await;
    setting.kms.gate(|ask, ledger| match ask {
        Ask::CommitStep(commit) if (commit.fencing, commit.step) == (1, 3) => {
            match ledger.run(RUN).is_some_and(|run| run.fencing.0 > 1) {
                true => Way::Clear,
                false => Way::RequestLost,
            }
        }
        _ => Way::Clear,
    });
    let other = setting.start_root("pipe:root-2", "pipe:depot").await;
    let younger = async {
        setting.kms.lost().await;
        setting.run_on(&other, setting.resume(LONG_STEPS)).await
    };
    let (older, younger) = tokio::join!(setting.run(setting.request_for(LONG_STEPS)), younger);
    let stopped = failure(&older).code;
    // If the younger one was very fast, the run is over.
    assert!(
        ["stale-fencing", "run-over"].contains(&&*stopped),
        "{stopped}"
    );
    assert_eq!(steps(&younger), (2, vec![3, 4, 5, 6]));
    let last = setting.kms.assert_one_result_each(LONG_STEPS);
    assert!(setting.release(&last).await == table);
}

// I6, I8: two roots race for a run without a root. Who wins is open; that only one does is not.
#[tokio::test(flavor = "multi_thread")]
async fn a_race_has_one_winner() {
    let table = undisturbed().await;
    let mut setting = Setting::new(LONG, USERS, 2, NOISE).await;
    setting.kms.lose_commit(1, Way::AnswerLost);
    killed(&mut setting, "pipe:root-2", LONG_STEPS).await;
    let other = setting.start_root("pipe:root-3", "pipe:depot").await;
    let late = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        setting.run_on(&other, setting.resume(LONG_STEPS)).await
    };
    let (one, two) = tokio::join!(setting.run(setting.resume(LONG_STEPS)), late);
    let finished = [&one, &two].map(|events| matches!(events.last(), Some(Body::Finished(_))));
    assert!(finished.contains(&true), "{one:?} {two:?}");
    for (events, finished) in [&one, &two].into_iter().zip(finished) {
        let codes = ["stale-fencing", "run-over"];
        assert!(
            finished || codes.contains(&&*failure(events).code),
            "{events:?}"
        );
    }
    let last = setting.kms.assert_one_result_each(LONG_STEPS);
    assert!(setting.release(&last).await == table);
}
