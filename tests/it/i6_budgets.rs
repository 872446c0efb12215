//! I6, I17: one debit, one result, no refund, no refresh; public before readable.

use siegel_ident::NanoRho;
use siegel_ledger::Fact;
use siegel_tests::{World, code, crowd};

/// Catches a ledger that lets a second run start on a spent budget, and a new version of the policy
/// that refreshes it.
#[tokio::test(flavor = "multi_thread")]
async fn a_spent_budget_stays_spent() {
    let mut world = World::new().await;
    let (_, epoch) = world.upload(&crowd(6, "a cat")).await;
    let first = world.run_and_open(epoch).await;
    assert_eq!(first.run.steps.len(), 1);
    let again = world.run(epoch).await.expect_err("the budget is spent");
    assert_eq!(code(&again), "budget-exhausted");

    world
        .succeed(|policy| policy.name = "second-version".into())
        .await
        .unwrap();
    let (_, epoch) = world.upload(&crowd(6, "a dog")).await;
    let fresh = world
        .run(epoch)
        .await
        .expect_err("a new version has no new budget");
    assert_eq!(code(&fresh), "budget-exhausted");

    let raised = world
        .succeed(|policy| {
            policy.privacy.total.rho_nano = NanoRho(policy.privacy.total.rho_nano.0 * 2);
            policy.privacy.epsilon = "8".parse().unwrap();
        })
        .await;
    assert_eq!(code(&raised.expect_err("a raised total")), "budget-raised");
}

/// Catches a release that opens twice with two results, or not at all the second time.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_release_opens_to_the_same_bytes() {
    let mut world = World::new().await;
    let (_, epoch) = world.upload(&crowd(6, "a cat")).await;
    let result = world.run_and_open(epoch).await;
    let again = world.open(&result.run).await.unwrap();
    assert_eq!(result.csv, again.expose());
    let registered = world
        .deployment
        .trail
        .carried()
        .iter()
        .filter(|carried| matches!(carried.receipt.fact, Fact::RunRegistered { .. }));
    assert_eq!(registered.count(), 1, "one debit");
}

/// I17. Catches a key service that opens a release whose receipt is not in the log.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_without_its_logged_receipt_stays_shut() {
    let mut world = World::new().await;
    let (_, epoch) = world.upload(&crowd(6, "a cat")).await;
    let run = world.run(epoch).await.unwrap();
    let step = run.steps[0].step;
    let operator = &world.deployment.operator;
    let no_proof = world.published.bundle.clone();
    let refused = operator
        .release_key(run.run, step, &no_proof)
        .await
        .map(drop)
        .expect_err("I17");
    assert_eq!(code(&refused), "receipt-not-logged");

    // The receipt of another event of the same run is no proof either.
    let deployment = &mut world.deployment;
    deployment
        .operator
        .carry_receipts(&mut deployment.trail)
        .await
        .unwrap();
    let other = deployment.trail.carried()[0].bundle.clone();
    let refused = deployment
        .operator
        .release_key(run.run, step, &other)
        .await
        .map(drop);
    assert_eq!(
        code(&refused.expect_err("another receipt")),
        "receipt-not-logged"
    );
    world.open(&run).await.unwrap();
}

/// Two orders at once. Catches a registration that reads the budget before it writes. An order that
/// comes late finds a run that was registered for the very same order, and may follow that one.
#[tokio::test(flavor = "multi_thread")]
async fn two_runs_at_once_are_one_debit() {
    let mut world = World::new().await;
    let (_, epoch) = world.upload(&crowd(6, "a cat")).await;
    let (a, b) = tokio::join!(world.run(epoch), world.run(epoch));
    let runs: Vec<_> = [&a, &b].into_iter().flatten().map(|run| run.run).collect();
    assert!(!runs.is_empty(), "{:?} {:?}", a.err(), b.err());
    assert!(runs.iter().all(|run| *run == runs[0]), "{runs:?}");
    for refused in [a, b].into_iter().filter_map(Result::err) {
        assert_eq!(code(&refused), "budget-exhausted");
    }
    world.carry().await;
    assert_eq!(world.registered(), 1);
    assert_eq!(world.committed(runs[0]).len(), 1);
}

/// Whoever has looked at a result cannot give it back. Catches a refund after keys were granted.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_given_up_after_a_look_is_not_refunded() {
    let mut world = World::new().await;
    let (_, epoch) = world.upload(&crowd(6, "a cat")).await;
    let result = world.run_and_open(epoch).await;
    let request = siegel_keys::request_id(&mut siegel_platform::rng::os_rng());
    let courier = world.deployment.operator.courier();
    let refused = courier.cancel_run(request, result.run.run).await;
    assert!(refused.is_err(), "a run that had keys was cancelled");
    let again = world.run(epoch).await.expect_err("no refund");
    assert_eq!(code(&again), "budget-exhausted");
}
