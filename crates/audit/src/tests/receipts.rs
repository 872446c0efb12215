//! The chain: gaps, broken links, forks, strangers; what must be in the log before it.

use siegel_ident::{ClusterId, EpochId, PolicyDigest, RunId, Timestamp};
use siegel_ledger::{Fact, Receipt};
use siegel_translog::predicate;

use super::errors;
use crate::testing::{PROGRAM, START, Scene, Signer, chained, lived, quorum, receipts};

/// I17. Catches: a receipt left out in the middle, at the start, and links that do not hold.
#[tokio::test]
async fn i17_gaps_and_broken_links() {
    for missing in [1, 5, 17] {
        let scene = Scene::new();
        let bodies = chained(scene.id(), &lived(&scene).await);
        for (_, body) in (1..).zip(&bodies).filter(|(seq, _)| *seq != missing) {
            scene
                .publish(&scene.cluster, predicate::RECEIPT, body)
                .await;
        }
        assert_eq!(
            errors(&scene.audit().await),
            ["receipt-missing"],
            "receipt {missing}"
        );
    }
    // Chained to another genesis: numbered right, signed right.
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    for body in chained(ClusterId::of(b"another birth"), &receipts) {
        let mut receipt = Receipt::parse(&body).unwrap();
        receipt.cluster = scene.id();
        let body = receipt.to_bytes().unwrap();
        scene
            .publish(&scene.cluster, predicate::RECEIPT, &body)
            .await;
    }
    assert_eq!(errors(&scene.audit().await), ["receipt-not-chained"]);
    // One receipt rewritten, those behind it not.
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    let mut bodies = chained(scene.id(), &receipts);
    let mut bent = Receipt::parse(&bodies[4]).unwrap();
    bent.at = Timestamp(bent.at.0 + 1);
    bodies[4] = bent.to_bytes().unwrap();
    for body in &bodies {
        scene
            .publish(&scene.cluster, predicate::RECEIPT, body)
            .await;
    }
    let report = scene.audit().await;
    assert!(
        errors(&report).contains(&"receipt-not-chained"),
        "{:?}",
        errors(&report)
    );
}

/// I17, I6. Catches: a double spend by two histories signed with the same key.
#[tokio::test]
async fn i17_two_histories_of_one_cluster_are_found() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let mut other = receipts[..3].to_vec();
    if let Fact::RunRegistered { run, .. } = &mut other[2].fact {
        *run = RunId::from_bytes([9; 16]);
    }
    let fork = chained(scene.id(), &other);
    scene
        .publish(&scene.cluster, predicate::RECEIPT, &fork[2])
        .await;
    assert_eq!(errors(&scene.audit().await), ["receipt-fork"]);
}

/// A stranger's receipt under the cluster's name is no evidence against the cluster.
#[tokio::test]
async fn a_receipt_that_the_cluster_did_not_sign_is_ignored_with_a_warning() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let mut forged = receipts[..4].to_vec();
    forged[3].at = Timestamp(forged[3].at.0 + 1);
    let stranger = Signer::generate();
    let body = chained(scene.id(), &forged).pop().unwrap();
    scene.publish(&stranger, predicate::RECEIPT, &body).await;
    let report = scene.audit().await;
    assert!(report.ok && super::ids(&report).contains(&"receipt-foreign"));
}

/// I6. Catches: a second cluster that gives the pipeline a second budget.
#[tokio::test]
async fn i6_a_pipeline_with_two_budgets_is_said() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts).await;
    let twin = Scene::over(scene.log.clone());
    let receipts = lived(&twin).await;
    twin.log_receipts(&receipts).await;
    let report = scene.audit().await;
    assert!(super::ids(&report).contains(&"pipeline-in-several-clusters"));
    assert_eq!(report.budgets.len(), 2);
}

/// The program must be readable before the run starts.
#[tokio::test]
async fn i1_a_program_logged_after_its_run_is_found() {
    let scene = Scene::new();
    let genesis = scene.genesis.to_bytes().unwrap();
    let receipts = receipts(&scene).await;
    scene
        .publish(&scene.author, predicate::GENESIS, &genesis)
        .await;
    scene.endorse().await;
    let policy = scene.policy().to_bytes().unwrap();
    let (index, _) = scene
        .publish(&scene.author, predicate::POLICY, &policy)
        .await;
    scene
        .offer(PolicyDigest::of(&policy), EpochId(1), START)
        .await;
    let mut receipts = receipts[..4].to_vec();
    if let Fact::PolicyRegistered { log_index, .. } = &mut receipts[0].fact {
        *log_index = index;
    }
    scene.log_receipts(&receipts).await;
    scene
        .publish(&scene.author, predicate::PROGRAM, PROGRAM)
        .await;
    assert_eq!(errors(&scene.audit().await), ["program-logged-late"]);
}

/// I1. Catches: a policy that is put into the log only after its registration.
#[tokio::test]
async fn i1_a_policy_logged_after_its_registration_is_found() {
    let scene = Scene::new();
    scene.birth().await;
    scene.endorse().await;
    let mut receipts = receipts(&scene).await;
    receipts.truncate(1);
    // Where the policy will stand when it is logged again, behind the receipt.
    let next = scene.log.size() + 1;
    if let Fact::PolicyRegistered { log_index, .. } = &mut receipts[0].fact {
        *log_index = next;
    }
    scene.log_receipts(&receipts).await;
    let policy = scene.policy().to_bytes().unwrap();
    let (index, _) = scene
        .publish(&scene.author, predicate::POLICY, &policy)
        .await;
    assert_eq!(index, next);
    assert_eq!(errors(&scene.audit().await), ["policy-logged-late"]);
}

/// I3. Catches: a cluster that takes up the policy of another one.
#[tokio::test]
async fn i3_a_policy_of_another_cluster_is_found() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    let twin = Scene::over(scene.log.clone());
    twin.birth().await;
    twin.log_receipts(&receipts[..1]).await;
    assert_eq!(errors(&scene.audit().await), ["policy-other-cluster"]);
}

#[tokio::test]
async fn i17_a_receipt_that_does_not_parse_is_found() {
    let scene = Scene::new();
    scene.birth().await;
    scene
        .publish(
            &scene.cluster,
            predicate::RECEIPT,
            b"{\"schema\":\"siegel/receipt/v1\"}",
        )
        .await;
    assert_eq!(errors(&scene.audit().await), ["receipt-unreadable"]);
}

/// I6. In production a second budget is an error; in a simulation it is only said.
#[tokio::test]
async fn i6_a_production_pipeline_with_two_budgets_is_an_error() {
    let scene = Scene::new();
    let receipts = lived(&scene).await;
    scene.log_receipts(&receipts[..1]).await;
    let mut twin = Scene::over(scene.log.clone());
    let config = &mut twin.genesis.config;
    (config.profile, config.simulation_root, config.witnesses) =
        (siegel_attest::Profile::Production, None, quorum(2));
    config.peers = vec![siegel_policy::testing::real(1)];
    twin.birth().await;
    twin.log_receipts(&receipts[..1]).await;
    let report = scene.audit().await;
    assert!(errors(&report).contains(&"pipeline-in-several-clusters"));
}

/// I14. Catches: arithmetic on a number that no honest cluster writes.
#[tokio::test]
async fn i14_a_receipt_numbered_zero_is_found() {
    for (seq, id) in [(0, "receipt-number"), (u64::MAX >> 11, "receipt-missing")] {
        let scene = Scene::new();
        let receipts = lived(&scene).await;
        scene.log_receipts(&receipts).await;
        let mut odd = receipts[0].clone();
        (odd.cluster, odd.seq) = (scene.id(), seq);
        let body = odd.to_bytes().unwrap();
        scene
            .publish(&scene.cluster, predicate::RECEIPT, &body)
            .await;
        assert_eq!(errors(&scene.audit().await), [id]);
    }
}
