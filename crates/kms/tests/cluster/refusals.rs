//! I3: who asks for what it is not, gets nothing.

use siegel_attest::{KeyBundle, Role, root_config, worker_config};
use siegel_ident::ProgramDigest;
use siegel_translog::testing::TestLog;
use siegel_wire::v1::{self, kms_request};

use crate::world::{World, program};

/// Executable, program, role or policy that differs in one thing: no key, with the reason.
#[tokio::test(flavor = "multi_thread")]
async fn who_differs_in_one_thing_gets_no_key() {
    let mut world = World::founded(None).await;
    let policy = world.register().await;
    let id = world.request_id();
    let reply = world.bundle(id, &policy).await.unwrap();
    let epoch = KeyBundle::parse(&reply.bundle).unwrap().epoch;
    let kms = world.config.digest().unwrap();
    let ask = world.run_request(&policy, epoch.0);
    let grant = {
        let id = world.request_id();
        world
            .root()
            .register(&world, &id, ask.clone())
            .await
            .unwrap()
    };

    let other_program = ProgramDigest::of(b"another program");
    let cases = [
        ("wrong-role", world.worker(), ask.clone()),
        (
            "evidence-measurement",
            world.workload(Role::Root, "worker", root_config(kms, program())),
            ask.clone(),
        ),
        (
            "evidence-config",
            world.workload(Role::Root, "root", root_config(kms, other_program)),
            ask.clone(),
        ),
        // The root is what it says, but the policy names no such program.
        (
            "program-not-allowed",
            world.workload(Role::Root, "root", root_config(kms, other_program)),
            v1::RegisterRun {
                program_digest: other_program.to_vec(),
                ..ask.clone()
            },
        ),
        (
            "unknown-policy",
            world.root(),
            v1::RegisterRun {
                policy_digest: vec![1; 32],
                ..ask.clone()
            },
        ),
        (
            "malformed-request",
            world.root(),
            v1::RegisterRun {
                input_root: vec![1; 31],
                ..ask.clone()
            },
        ),
        (
            "malformed-request",
            world.root(),
            v1::RegisterRun {
                inputs: Vec::new(),
                ..ask.clone()
            },
        ),
    ];
    for (code, root, ask) in cases {
        let id = world.request_id();
        let refusal = root.register(&world, &id, ask).await.unwrap_err();
        assert_eq!(refusal.code, code, "{refusal:?}");
    }

    let workers = [
        ("wrong-role", world.root()),
        (
            "evidence-measurement",
            world.workload(Role::Worker, "root", worker_config(kms)),
        ),
        (
            "evidence-config",
            world.workload(Role::Worker, "worker", root_config(kms, program())),
        ),
    ];
    for (code, worker) in workers {
        let id = world.request_id();
        let refusal = worker
            .authorize(&world, &id, &grant.run_id)
            .await
            .unwrap_err();
        assert_eq!(refusal.code, code, "{refusal:?}");
    }

    // A second root, appraised but not the run's, may neither commit nor see the workers.
    let stranger = world.root();
    let peers = kms_request::Body::RunPeers(v1::RunPeers {
        run_id: grant.run_id.clone(),
    });
    let finish = kms_request::Body::FinishRun(v1::FinishRun {
        run_id: grant.run_id.clone(),
        fencing: grant.fencing,
    });
    for body in [peers, finish] {
        let id = world.request_id();
        let refusal = stranger.ask(&world, &id, body).await.unwrap_err();
        assert_eq!(refusal.invariant, "I3", "{refusal:?}");
    }
}

/// I1: a checkpoint of another log, and a policy proved by another log, count for nothing.
#[tokio::test(flavor = "multi_thread")]
async fn another_log_proves_nothing() {
    let mut world = World::founded(None).await;
    let policy = world.policy(&world.genesis().await).compile().unwrap();
    let honest = std::mem::replace(&mut world.log, TestLog::new("log.example", [8; 32]));
    let ask = world.registration(&policy, Vec::new());
    let refusal = world.register_policy(&ask).await.unwrap_err();
    assert_eq!(refusal.code, "bad-proof");

    world.log = honest;
    let policy = world.register().await;
    world.log = TestLog::new("log.example", [8; 32]);
    let id = world.request_id();
    assert_eq!(
        world.bundle(id, &policy).await.unwrap_err().code,
        "bad-checkpoint"
    );
}

/// Followers name the leader and do nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_follower_redirects() {
    let world = World::founded(None).await;
    let leader = world.leader().await;
    let follower = (1..=3).find(|node| *node != leader).unwrap();
    let ask = v1::ReceiptsRequest { from: 1 };
    let status = world.client(follower).receipts(ask).await.unwrap_err();
    let refusal = siegel_link::status_to_refusal(&status).unwrap();
    assert_eq!(
        (refusal.code.as_str(), refusal.leader_id),
        ("not-leader", leader)
    );
}
