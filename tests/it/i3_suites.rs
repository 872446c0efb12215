//! I3: uploads are sealed in the suite that their policy names, and opened in no other.

use siegel_client::VerifiedPolicy;
use siegel_ident::EpochId;
use siegel_link::depot::ObjectKind;
use siegel_seal::{KemPublic, Suite, upload::UploadHeader};
use siegel_tests::World;
use siegel_tests::raw::{Column, seal_raw, seal_to, send};
use siegel_tests::training::writers;

const ROUNDS: u64 = 2;
const WRITERS: usize = 5;

async fn world(suite: u16) -> World {
    let seeded = |options: &mut siegel_fleet::cluster::Options| options.seed = Some([1; 32]);
    World::training_under(ROUNDS, seeded, |policy| policy.suites = vec![suite]).await
}

/// The suites of all uploads in the depot.
async fn suites(world: &World, epoch: EpochId) -> Vec<Suite> {
    let operator = &world.deployment.operator;
    let mut suites = Vec::new();
    for blob in operator.uploads(&world.policy, epoch).await.unwrap() {
        let digest = siegel_ident::Digest::from_bytes(*blob.as_bytes());
        let upload = operator.depot().get(ObjectKind::Upload, digest, 1 << 20);
        suites.push(UploadHeader::parse(&upload.await.unwrap()).unwrap().0.suite);
    }
    suites
}

/// The models when one more client sends this.
async fn models(last: impl Fn(&World, &VerifiedPolicy) -> Vec<u8>) -> Vec<Vec<u8>> {
    let mut world = world(2).await;
    let (_, epoch) = world.upload(&writers(WRITERS)).await;
    let verified = world.verified().await;
    send(&world, last(&world, &verified)).await;
    world.train(epoch).await.models
}

/// Catches a client, a key service or a worker that takes suite 1 whatever the policy says.
#[tokio::test(flavor = "multi_thread")]
async fn the_policy_chooses_the_suite() {
    for (number, suite) in [(1, Suite::X25519), (2, Suite::XWing)] {
        let mut world = world(number).await;
        let (report, epoch) = world.upload(&writers(WRITERS)).await;
        assert_eq!(report.accepted, WRITERS as u64);
        assert_eq!(suites(&world, epoch).await, [suite; WRITERS]);
        let trained = world.train(epoch).await;
        assert_eq!(trained.models.len() as u64, ROUNDS);
        assert_ne!(trained.models[0], trained.models[1]);
    }
}

/// Suite 1 to the classical half of the very key of suite 2: what a device would send that can be
/// talked out of the other half. Catches a worker that opens it, and one that stops at it.
#[tokio::test(flavor = "multi_thread")]
async fn an_upload_in_another_suite_counts_zero() {
    let text = |text: &'static str| Column::text("text", text);
    let silent = models(|world, verified| seal_raw(world, verified, "last", text(""))).await;
    let spoken = models(|world, verified| seal_raw(world, verified, "last", text("abcabc"))).await;
    assert!(silent != spoken, "it would count");
    let weaker = models(|world, verified| {
        let key = verified.key();
        assert_eq!(key.suite(), Suite::XWing);
        let half = key.key().last_chunk::<32>().unwrap();
        let half = KemPublic::from_parts(Suite::X25519, half).unwrap();
        seal_to(&half, world, verified, "last", text("abcabc"))
    })
    .await;
    assert!(silent == weaker);
}
