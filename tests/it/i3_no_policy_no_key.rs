//! I3, I11: a key leaves the key service only for what the policy of that key names.

use siegel_attest::{Profile, ReferenceValue};
use siegel_ident::{Measurement, ProgramDigest};
use siegel_policy::AccessPolicy;
use siegel_policy::testing::real;
use siegel_tests::{DRIVER, World, bundle, changed, code, crowd};

/// Runs under a changed policy and returns the code that stops it.
async fn stopped_by(change: impl FnOnce(&mut AccessPolicy)) -> String {
    let world = World::under(change).await;
    let (_, epoch) = world.upload(&crowd(4, "a cat")).await;
    code(&world.run(epoch).await.expect_err("a run that must not be"))
}

/// Catches a key service that forgets to compare the measurement: another executable, argument or
/// environment is another measurement.
#[tokio::test(flavor = "multi_thread")]
async fn another_measurement_gets_no_key() {
    let other = Measurement::of(b"another executable, argv or environment");
    let root =
        stopped_by(|p| p.roles.root.reference_values[0] = ReferenceValue::simulated(other)).await;
    assert_eq!(root, "evidence-measurement", "root");
    let worker =
        stopped_by(|p| p.roles.worker.reference_values[0] = ReferenceValue::simulated(other)).await;
    assert_eq!(worker, "evidence-measurement", "worker");
}

/// Catches a key service that lets any program run under a policy.
#[tokio::test(flavor = "multi_thread")]
async fn another_program_gets_no_key() {
    let other = ProgramDigest::of(b"another program");
    let code = stopped_by(|p| p.programs = vec![other]).await;
    assert_eq!(code, "not-allowed");
}

/// Catches a root whose measured program is not the one that it registers.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_the_root_was_not_started_with_gets_no_key() {
    let other = bundle(&format!("{DRIVER}\n# another program\n"));
    let mut world = World::new().await;
    world
        .deployment
        .operator
        .publish_program(other.bytes().to_vec())
        .await
        .unwrap();
    world
        .succeed(|policy| {
            policy.programs.push(other.digest());
            policy.programs.sort()
        })
        .await
        .unwrap();
    let (_, epoch) = world.upload(&crowd(4, "a cat")).await;
    let mut order = world.order(epoch);
    order.program = other.digest();
    let refused = world
        .deployment
        .operator
        .run(&order, |_| ())
        .await
        .expect_err("no run");
    assert_eq!(code(&refused), "other-program");
}

/// Catches a key service that takes a policy without a proof that it is logged.
#[tokio::test(flavor = "multi_thread")]
async fn an_unlogged_policy_is_not_registered() {
    let world = World::new().await;
    let other = changed(&world.policy, |policy| {
        policy.pipeline = "org.example.other".into()
    });
    let mut unlogged = world.published.clone();
    unlogged.bytes = other.bytes().to_vec();
    let deployment = &world.deployment;
    let endorsements = deployment.endorsements(&world.policy);
    let refused = deployment.operator.register_policy(&unlogged, endorsements);
    let refused = refused.await;
    assert_eq!(code(&refused.expect_err("no proof")), "bad-proof");
}

/// I11. Catches a simulated cluster that serves a production policy.
#[tokio::test(flavor = "multi_thread")]
async fn a_production_policy_is_not_registered_by_a_simulated_cluster() {
    let mut world = World::new().await;
    let refused = world
        .succeed(|policy| {
            policy.profile = Profile::Production;
            policy.log.witnesses = 2;
            policy.kms.reference_values = vec![real(1)];
            policy.roles.root.reference_values = vec![real(2)];
            policy.roles.worker.reference_values = vec![real(3)];
        })
        .await;
    assert_eq!(code(&refused.expect_err("production")), "profile-mismatch");
}
