//! What stops a run, and that nothing is registered, released or committed then.

use siegel_link::status_to_refusal;
use siegel_wire::v1;

use super::setting::{DRIVER, Setting};

/// Makes one thing of a request wrong.
type Spoil = fn(&mut v1::RunRequest);

// I2, I3, I9, I14: refused before anything is registered.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_requests_are_refused_before_registration() {
    let setting = Setting::new(DRIVER, 12, 1, 9).await;
    let cases: [(&str, Spoil); 12] = [
        ("other-policy", |r| r.policy_digest[0] ^= 1),
        ("bad-policy", |r| r.policy.push(b' ')),
        ("bad-request", |r| r.policy_digest.truncate(31)),
        ("other-program", |r| r.program_digest[0] ^= 1),
        ("bad-request", |r| r.program_digest.clear()),
        ("bad-epochs", |r| r.epochs.clear()),
        ("bad-epochs", |r| r.epochs = vec![1, 1]),
        ("deadline-passed", |r| r.deadline = 1),
        ("bad-request", |r| r.params = b"{\"rounds\": 2}".to_vec()),
        ("bad-request", |r| r.params = b"[]".to_vec()),
        ("driver-form", |r| r.params = b"{\"rounds\":0}".to_vec()),
        // I6: three halves of the budget.
        ("budget-exceeded", |r| r.params = b"{\"rounds\":3}".to_vec()),
    ];
    for (code, spoil) in cases {
        let mut request = setting.request();
        spoil(&mut request);
        assert_eq!(setting.fails(request).await, code);
    }
    // No upload in that epoch: below the policy's least number.
    let mut request = setting.request();
    request.epochs = vec![4];
    assert_eq!(setting.fails(request).await, "too-few-blobs");
    assert!(setting.kms.seen.lock().unwrap().registered.is_empty());
}

// I5: a driver that shows client values never gets to a registration.
#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_misuses_kinds_is_refused_before_registration() {
    let print = DRIVER.replace("    return dp", "    print(clients)\n    return dp");
    let setting = Setting::new(&print, 12, 1, 9).await;
    assert_eq!(setting.fails(setting.request()).await, "kind");
    assert!(setting.kms.seen.lock().unwrap().registered.is_empty());
}

// I5, I6: control flow on a noisy result cannot change the mechanisms of a registered run.
#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_deviates_is_stopped_before_it_commits() {
    let deviates = DRIVER.replace("    return dp", "    if n == 2 and state[0] > -99999 and state[0] < 0 or n == 2 and state[0] > 0:\n        return state\n    return dp");
    let setting = Setting::new(&deviates, 60, 1, 9).await;
    assert_eq!(setting.fails(setting.request()).await, "plan-deviation");
    assert_eq!(setting.kms.seen.lock().unwrap().commits.len(), 1);
}

// I6: the key service's word is final; its code reaches the operator unchanged.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_of_the_key_service_stop_the_run() {
    for (what, code, commits) in [
        ("register", "budget-exhausted", 0),
        ("authorize", "run-over", 0),
        ("peers", "run-over", 0),
        ("commit", "stale-fencing", 0),
    ] {
        let setting = Setting::new(DRIVER, 12, 2, 9).await;
        *setting.kms.refuse.lock().unwrap() = Some((what, code));
        assert_eq!(setting.fails(setting.request()).await, code, "{what}");
        let seen = setting.kms.seen.lock().unwrap();
        assert!(seen.commits.len() == commits && !seen.finished, "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_run_at_a_time_and_it_outlives_its_stream() {
    let setting = Setting::new(DRIVER, 300, 1, 9).await;
    let mut client = setting.client();
    let first = client.run(setting.request()).await.unwrap();
    let busy = client.run(setting.request()).await.unwrap_err();
    assert_eq!(status_to_refusal(&busy).unwrap().code, "busy");
    drop(first);
    for _ in 0..600 {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        if setting.kms.seen.lock().unwrap().finished {
            return;
        }
    }
    panic!("a run that is paid for must go on");
}
