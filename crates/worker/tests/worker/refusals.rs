use siegel_ident::{Fencing, NanoRho, PolicyDigest, RunId};
use siegel_link::{LinkError, refusal};
use siegel_program::HistogramSpec;
use siegel_session::Purpose;
use siegel_wire::v1::ComputeBlocks;

use super::setting::*;

async fn setting() -> Setting {
    let setting = Setting::new(|s| vec![s.seal(&record(1, &["the"])), s.seal(&record(2, &[]))]);
    setting.await
}

// I6: catches a worker that serves an old incarnation of the root, or one that the key service has
// not named yet.
#[tokio::test]
async fn another_fencing_number_is_refused() {
    let setting = setting().await;
    setting.prepare().await;
    let mut session = setting.session().await.unwrap();
    let with = |fencing: u64| ComputeBlocks {
        fencing,
        ..setting.ask(&[0])
    };
    assert_eq!(refused(&mut session, with(4)).await, "stale-fencing");
    assert_eq!(refused(&mut session, with(6)).await, "unknown-fencing");
    // A fresh grant moves on: the same session's old number is stale from then on, and the session
    // with it, whatever number is asked with.
    setting.kms.grant.lock().unwrap().fencing = Fencing(6);
    assert_eq!(setting.prepare().await, None);
    assert_eq!(refused(&mut session, with(5)).await, "stale-fencing");
    assert_eq!(refused(&mut session, with(6)).await, "stale-fencing");
    let mut fresh = setting.session().await.unwrap();
    assert!(compute(&mut fresh, with(6)).await.is_ok());
}

// I3, I6: the right keys are not enough. Catches a worker that opens a channel to a root of another
// incarnation, or for the same run under another policy.
#[tokio::test]
async fn i3_a_root_of_another_incarnation_or_policy_gets_no_channel() {
    let setting = setting().await;
    setting.prepare().await;
    let granted = setting.purpose();
    let code = |purpose| {
        let session = setting.session_for(setting.root(), purpose);
        async {
            match session.await {
                Err(LinkError::Refused(told)) => told.code,
                Err(other) => panic!("{other}"),
                Ok(_) => String::from("accepted"),
            }
        }
    };
    let fencing = |number| Purpose {
        fencing: Fencing(number),
        ..granted
    };
    assert_eq!(code(granted).await, "accepted");
    assert_eq!(code(fencing(4)).await, "stale-fencing");
    assert_eq!(code(fencing(6)).await, "unknown-fencing");
    assert_eq!(code(fencing(0)).await, "bad-purpose");
    let policy = PolicyDigest::of(b"another");
    assert_eq!(code(Purpose { policy, ..granted }).await, "other-policy");
    let run = RunId::from_bytes([9; 16]);
    assert_eq!(code(Purpose { run, ..granted }).await, "not-prepared");
    // The very same root, after it has taken its run over: its earlier incarnation is out.
    setting.kms.grant.lock().unwrap().fencing = Fencing(6);
    setting.prepare().await;
    assert_eq!(code(granted).await, "stale-fencing");
    assert_eq!(code(fencing(6)).await, "accepted");
}

// I3: catches a worker that lets in a root which the key service did not name, or keeps serving a
// root that was replaced.
#[tokio::test]
async fn only_the_granted_root_is_served() {
    let setting = setting().await;
    setting.prepare().await;
    let other = setting.another_root();
    assert!(setting.session_as(&other).await.is_err());
    let mut replaced = setting.session().await.unwrap();
    setting.kms.grant.lock().unwrap().root = other.identity().keys();
    setting.prepare().await;
    assert_eq!(
        refused(&mut replaced, setting.ask(&[0])).await,
        "not-the-root"
    );
    assert!(setting.session_as(&other).await.is_ok());
}

#[tokio::test]
async fn a_run_that_is_not_prepared_has_no_session() {
    let setting = setting().await;
    setting
        .kms
        .refuse
        .lock()
        .unwrap()
        .replace(refusal("run-over", "I9", "run_id", "over"));
    let told = setting.prepare().await.unwrap();
    assert_eq!(
        (told.code.as_str(), told.invariant.as_str()),
        ("run-over", "I9")
    );
    let error = setting.session().await.err().unwrap();
    let LinkError::Refused(told) = error else {
        panic!("{error}")
    };
    assert_eq!(told.code, "not-prepared");
}

// I3, I5: a question beyond policy or registration. Catches each check taken out.
#[tokio::test]
async fn questions_beyond_policy_or_registration_are_refused() {
    let setting = setting().await;
    setting.prepare().await;
    let mut session = setting.session().await.unwrap();
    let spec = |edit: fn(&mut HistogramSpec)| {
        let mut spec = setting.spec.clone();
        edit(&mut spec);
        ComputeBlocks {
            spec: bytes(&spec),
            ..setting.ask(&[0])
        }
    };
    let not_allowed = [
        spec(|s| s.max_per_user = 33),
        spec(|s| s.column = "other".into()),
        spec(|s| s.rho_nano = NanoRho(1001)),
        // Allowed by policy and allotment, and not the plan's (I2, I6).
        spec(|s| s.max_per_user = 1),
        spec(|s| s.rho_nano = NanoRho(999)),
        spec(|s| s.bins = 4),
        ComputeBlocks {
            intrinsic: 1,
            ..setting.ask(&[0])
        },
        ComputeBlocks {
            spec: b"{}".to_vec(),
            ..setting.ask(&[0])
        },
    ];
    for ask in not_allowed {
        assert_eq!(
            refused(&mut session, ask).await,
            "specification-not-allowed"
        );
    }
    for step in [0, 3, u64::MAX] {
        let ask = ComputeBlocks {
            step,
            ..setting.ask(&[0])
        };
        assert_eq!(refused(&mut session, ask).await, "wrong-step");
    }
    for (block_count, blocks) in [(15, vec![0]), (16, vec![16]), (16, vec![1, 1])] {
        let ask = ComputeBlocks {
            block_count,
            ..setting.ask(&blocks)
        };
        assert_eq!(refused(&mut session, ask).await, "bad-blocks");
    }
    // The session has survived all of it.
    assert!(compute(&mut session, setting.ask(&[0])).await.is_ok());
}

// I2: a registered upload that is gone or replaced stops the run: nobody can make it count zero.
#[tokio::test]
async fn a_missing_or_different_upload_stops_the_run() {
    for (lie, code) in [
        (None, "blob-missing"),
        (Some(b"other bytes".to_vec()), "blob-different"),
    ] {
        let setting = setting().await;
        let blob = setting.uploads[1].to_vec();
        setting.depot.lie(blob, lie);
        setting.prepare().await;
        let mut session = setting.session().await.unwrap();
        assert_eq!(refused(&mut session, setting.ask(&[0])).await, code);
    }
}

#[tokio::test]
async fn a_missing_or_different_program_stops_the_run() {
    for lie in [None, Some(b"{}".to_vec())] {
        let setting = setting().await;
        let program = setting.kms.grant.lock().unwrap().program.to_vec();
        setting.depot.lie(program, lie);
        setting.prepare().await;
        let mut session = setting.session().await.unwrap();
        assert_eq!(
            refused(&mut session, setting.ask(&[0])).await,
            "program-missing"
        );
    }
}

// The plan may ask for what the program has not.
#[tokio::test]
async fn a_program_without_what_the_plan_asks_for_stops_the_run() {
    for edit in [
        |s: &mut HistogramSpec| s.bins = 4,
        |s: &mut HistogramSpec| s.vocabulary = "none.txt".into(),
    ] {
        let setting = setting().await;
        let mut spec = setting.spec.clone();
        edit(&mut spec);
        setting.register(&plan(vec![vec![spec.clone()]]));
        setting.prepare().await;
        let mut session = setting.session().await.unwrap();
        let ask = ComputeBlocks {
            spec: bytes(&spec),
            ..setting.ask(&[0])
        };
        assert_eq!(refused(&mut session, ask).await, "program-unusable");
    }
}

// I2, I6: catches a worker that believes the root's word for what is planned, and a plan whose
// steps cost other than what the key service pays.
#[tokio::test]
async fn only_the_registered_plan_counts() {
    let code = |change: fn(&Setting)| async move {
        let setting = setting().await;
        change(&setting);
        setting.prepare().await;
        let mut session = setting.session().await.unwrap();
        refused(&mut session, setting.ask(&[0])).await
    };
    let gone = code(|s| s.depot.lie(s.kms.grant.lock().unwrap().plan.to_vec(), None));
    assert_eq!(gone.await, "plan-missing");
    let other = code(|s| {
        let bytes = plan(vec![vec![]]).to_bytes().unwrap();
        let registered = s.kms.grant.lock().unwrap().plan.to_vec();
        s.depot.lie(registered, Some(bytes));
    });
    assert_eq!(other.await, "plan-missing");
    let garbage = code(|s| s.kms.grant.lock().unwrap().plan = s.depot.put(b"{}"));
    assert_eq!(garbage.await, "plan-unusable");
    let cheap = code(|s| s.kms.grant.lock().unwrap().steps[1].rho_nano = NanoRho(501));
    assert_eq!(cheap.await, "plan-unusable");
    // The same question at the other step: planned there at another price.
    let swapped = code(|s| {
        s.register(&plan(vec![
            vec![priced(&s.spec, 1001)],
            vec![s.spec.clone()],
        ]));
    });
    assert_eq!(swapped.await, "specification-not-allowed");
}

// I14.
#[tokio::test]
async fn garbage_in_a_session_is_refused_and_harms_nothing() {
    let setting = setting().await;
    setting.prepare().await;
    let mut session = setting.session().await.unwrap();
    for garbage in [&b""[..], &[0xff; 40]] {
        let reply = session
            .call(garbage, std::time::Duration::from_secs(5))
            .await
            .unwrap();
        let reply: siegel_wire::v1::WorkerResponse = prost::Message::decode(&*reply).unwrap();
        let Some(siegel_wire::v1::worker_response::Body::Refusal(told)) = reply.body else {
            panic!("not refused")
        };
        assert_eq!(told.code, "bad-request");
    }
    assert!(compute(&mut session, setting.ask(&[0])).await.is_ok());
}
