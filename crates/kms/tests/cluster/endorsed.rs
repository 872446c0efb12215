//! I3, I9: what a policy lets in is endorsed by its endorsers, in the log, or it gets no keys; and the
//! end of the endorsements is the end of its keys, whichever node leads and however it came in.

use std::time::Duration;

use siegel_attest::KeyBundle;
use siegel_endorse::Endorsement;
use siegel_endorse::testing::of_policy;
use siegel_ident::{Seconds, Timestamp};
use siegel_policy::Policy;
use siegel_translog::predicate;
use siegel_translog::testing::{TestLog, TestSigner};
use siegel_wire::v1::{self, kms_request};

use crate::world::{START, TTL, World};

/// When the endorsements end: before the keys' TTL would.
const UNTIL: Timestamp = START.plus(Seconds(600));

/// A cluster, a policy for it that demands endorsements, and whose key must make them.
async fn demanding() -> (World, Policy, TestSigner) {
    let world = World::founded(None).await;
    let endorser = TestSigner::generate().unwrap();
    let mut policy = world.policy(&world.genesis().await);
    policy.endorsers = vec![endorser.key().digest()];
    (world, policy.compile().unwrap(), endorser)
}

fn prove(log: &mut TestLog, by: &TestSigner, all: &[Endorsement]) -> Vec<v1::EndorsementProof> {
    let proof = |one: &Endorsement| {
        let document = one.to_bytes().unwrap();
        let bundle = log.publish(by, "endorsement", &document, predicate::ENDORSEMENT);
        v1::EndorsementProof {
            bundle: bundle.unwrap(),
            document,
        }
    };
    all.iter().map(proof).collect()
}

fn all_of(policy: &Policy) -> Vec<Endorsement> {
    of_policy(policy, START, UNTIL)
}

async fn code(world: &mut World, policy: &Policy, with: Vec<v1::EndorsementProof>) -> String {
    let ask = world.registration(policy, with);
    let refusal = world.register_policy(&ask).await.unwrap_err();
    assert!(!refusal.invariant.is_empty() && !refusal.message.is_empty());
    let id = world.request_id();
    let unknown = world.bundle(id, policy).await.unwrap_err();
    assert_eq!(
        unknown.code, "unknown-policy",
        "refused, and yet registered"
    );
    refusal.code
}

/// Absent, somebody else's, of another log, over, not demanded, too many: each is refused with its
/// reason, and the right ones are taken.
#[tokio::test(flavor = "multi_thread")]
async fn a_policy_needs_its_endorsements() {
    let (mut world, policy, endorser) = demanding().await;
    let all = all_of(&policy);
    let right = prove(&mut world.log, &endorser, &all);

    assert_eq!(
        code(&mut world, &policy, Vec::new()).await,
        "binary-not-endorsed"
    );
    assert_eq!(
        code(&mut world, &policy, right[..1].to_vec()).await,
        "program-not-endorsed"
    );
    let stranger = TestSigner::generate().unwrap();
    let strange = prove(&mut world.log, &stranger, &all);
    assert_eq!(
        code(&mut world, &policy, strange).await,
        "binary-not-endorsed"
    );
    let mut elsewhere = TestLog::new("log.example", [8; 32]);
    let elsewhere = prove(&mut elsewhere, &endorser, &all);
    assert_eq!(
        code(&mut world, &policy, elsewhere).await,
        "bad-endorsement"
    );
    let over = of_policy(&policy, Timestamp(START.0 - 100), START);
    let over = prove(&mut world.log, &endorser, &over);
    assert_eq!(code(&mut world, &policy, over).await, "endorsement-expired");
    let many = vec![right[0].clone(); 17];
    assert_eq!(code(&mut world, &policy, many).await, "out-of-bounds");
    let plain = world.policy(&world.genesis().await).compile().unwrap();
    assert_eq!(
        code(&mut world, &plain, right.clone()).await,
        "endorsements-not-demanded"
    );

    let ask = world.registration(&policy, right);
    world.register_policy(&ask).await.unwrap();
    let id = world.request_id();
    let reply = world.bundle(id, &policy).await.unwrap();
    // A client is told the end, too.
    assert_eq!(KeyBundle::parse(&reply.bundle).unwrap().expires, UNTIL);
}

/// I9: endorsements end while a run has keys, and before any TTL or deadline of it would. Another
/// leader gives the same answers before and after.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_endorsements_ends_keys_and_runs() {
    let (mut world, policy, endorser) = demanding().await;
    const { assert!(UNTIL.0 < START.0 + TTL.0) };
    let without = world.registration(&policy, Vec::new());
    let refused = world.register_policy(&without).await.unwrap_err();
    let right = prove(&mut world.log, &endorser, &all_of(&policy));
    let with = world.registration(&policy, right);
    world.register_policy(&with).await.unwrap();
    let id = world.request_id();
    let reply = world.bundle(id, &policy).await.unwrap();
    let epoch = KeyBundle::parse(&reply.bundle).unwrap().epoch;
    let root = world.root();
    let mut ask = world.run_request(&policy, epoch.0);
    let id = world.request_id();
    let late = root.register(&world, &id, ask.clone()).await.unwrap_err();
    assert_eq!(late.code, "bad-deadline");
    ask.deadline = UNTIL.0;
    let run_request = world.request_id();
    let grant = root
        .register(&world, &run_request, ask.clone())
        .await
        .unwrap();

    let leader = world.leader().await;
    world.kill(leader);
    let again = world.register_policy(&without).await.unwrap_err();
    assert_eq!(
        (again.code, again.message),
        (refused.code, refused.message),
        "another leader, another answer"
    );
    world.register_policy(&with).await.unwrap();
    let again = root
        .register(&world, &run_request, ask.clone())
        .await
        .unwrap();
    assert_eq!(again.run_id, grant.run_id);

    world.clock.advance(Seconds(600));
    let id = world.request_id();
    let refusal = world.bundle(id, &policy).await.unwrap_err();
    assert_eq!(
        (refusal.code.as_str(), refusal.invariant.as_str()),
        ("endorsement-expired", "I9")
    );
    let id = world.request_id();
    let refusal = root.register(&world, &id, ask.clone()).await.unwrap_err();
    assert_eq!(refusal.code, "endorsement-expired");
    // The run that was registered in time is over: no root and no worker gets its keys any more.
    let refusal = root.register(&world, &run_request, ask).await.unwrap_err();
    assert_eq!(refusal.invariant, "I9", "{refusal:?}");
    let take = kms_request::Body::TakeRun(v1::TakeRun {
        run_id: grant.run_id.clone(),
    });
    let id = world.request_id();
    let refusal = world.root().ask(&world, &id, take).await.unwrap_err();
    assert_eq!(refusal.code, "run-erased");
    let id = world.request_id();
    let worker = world.worker();
    let refusal = worker
        .authorize(&world, &id, &grant.run_id)
        .await
        .unwrap_err();
    assert_eq!(refusal.code, "run-erased");
}

/// I8, I9: newcomers have the state by a snapshot, and know the end from it.
#[tokio::test(flavor = "multi_thread")]
async fn newcomers_know_the_end() {
    let (mut world, policy, endorser) = demanding().await;
    let right = prove(&mut world.log, &endorser, &all_of(&policy));
    let ask = world.registration(&policy, right);
    world.register_policy(&ask).await.unwrap();
    for place in 1..=3 {
        world.kill(place);
        world.join(place);
        world.whole().await;
    }
    let mut members = Vec::new();
    for place in 1..=3 {
        members.push(world.status(place).await.member_id);
    }
    assert_eq!(members, [4, 5, 6], "no founder is left");
    let id = world.request_id();
    let reply = world.bundle(id, &policy).await.unwrap();
    assert_eq!(KeyBundle::parse(&reply.bundle).unwrap().expires, UNTIL);
    world.clock.advance(Seconds(600));
    // The epoch's end is a receipt on every node, without anybody asking.
    let erased = |status: &v1::StatusReply| status.receipts == 3;
    world.wait(Duration::from_secs(10), "erasure", erased).await;
    let id = world.request_id();
    let refusal = world.bundle(id, &policy).await.unwrap_err();
    assert_eq!(refusal.code, "endorsement-expired");
}
