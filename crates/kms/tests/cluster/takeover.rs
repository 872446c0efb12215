//! I6, I8: a new incarnation of the root takes a run over where it stands, and the old one is out.

use siegel_attest::KeyBundle;
use siegel_ident::ObjectDigest;
use siegel_ident::json::to_canonical;
use siegel_wire::v1::{self, kms_request, kms_response};

use crate::whole_path::root_keys;
use crate::workload::Workload;
use crate::world::{COST, World};

fn commit(grant: &v1::RunGrant, step: u64, previous: &[u8]) -> kms_request::Body {
    kms_request::Body::CommitStep(v1::CommitStep {
        run_id: grant.run_id.clone(),
        fencing: grant.fencing,
        step,
        previous: previous.to_vec(),
        next: ObjectDigest::of(&step.to_be_bytes()).to_vec(),
        release_digest: Vec::new(),
        release_header: Vec::new(),
        cost: to_canonical(&COST).unwrap(),
    })
}

fn finish(run: &[u8], fencing: u64) -> kms_request::Body {
    kms_request::Body::FinishRun(v1::FinishRun {
        run_id: run.to_vec(),
        fencing,
    })
}

async fn ask(
    world: &mut World,
    root: &Workload,
    body: kms_request::Body,
) -> Result<kms_response::Body, String> {
    let id = world.request_id();
    root.ask(world, &id, body)
        .await
        .map_err(|refusal| refusal.code)
}

async fn take(world: &mut World, root: &Workload, run: &[u8]) -> Result<v1::RunGrant, String> {
    let body = kms_request::Body::TakeRun(v1::TakeRun {
        run_id: run.to_vec(),
    });
    match ask(world, root, body).await? {
        kms_response::Body::RunGrant(grant) => Ok(grant),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_root_goes_on_where_the_old_one_stopped() {
    let mut world = World::founded(None).await;
    let policy = world.register().await;
    let id = world.request_id();
    let reply = world.bundle(id, &policy).await.unwrap();
    let epoch = KeyBundle::parse(&reply.bundle).unwrap().epoch;
    let registered = world.run_request(&policy, epoch.0);
    let (old, new) = (world.root(), world.root());
    let id = world.request_id();
    let first = old.register(&world, &id, registered.clone()).await.unwrap();
    // Where the run stands, and what it was registered with, are the ledger's word.
    assert_eq!((first.fencing, first.step), (1, 0));
    assert!(first.before.is_empty());
    assert_eq!(first.registered.as_ref(), Some(&registered));
    let run = first.run_id.clone();
    ask(&mut world, &old, commit(&first, 1, &first.previous))
        .await
        .unwrap();

    let second = take(&mut world, &new, &run).await.unwrap();
    assert_eq!((second.fencing, second.step), (2, 1));
    assert_eq!(
        second.previous,
        ObjectDigest::of(&1u64.to_be_bytes()).to_vec()
    );
    assert_eq!(second.before, first.previous);
    assert_eq!(second.registered.as_ref(), Some(&registered));
    // The same keys: nothing is drawn again (I7).
    assert_eq!(root_keys(&new, &second), root_keys(&old, &first));
    assert_eq!(second.release_key, first.release_key);
    let worker = world.worker();
    let id = world.request_id();
    let granted = worker.authorize(&world, &id, &run).await.unwrap();
    assert_eq!(granted.root_signing_key, new.identity.signing_key());
    assert_eq!((granted.fencing, &granted.inputs), (2, &registered.inputs));

    // The old one wakes up.
    let late = commit(&first, 2, &second.previous);
    assert_eq!(
        ask(&mut world, &old, late).await.unwrap_err(),
        "stale-fencing"
    );
    let peers = kms_request::Body::RunPeers(v1::RunPeers {
        run_id: run.clone(),
    });
    assert_eq!(
        ask(&mut world, &old, peers).await.unwrap_err(),
        "not-the-root"
    );
    // Nobody ends a run that has steps left, or that he does not hold.
    for fencing in [0, 1, 2] {
        assert!(ask(&mut world, &new, finish(&run, fencing)).await.is_err());
    }

    let last = commit(&second, 2, &second.previous);
    ask(&mut world, &new, last).await.unwrap();
    ask(&mut world, &new, finish(&run, 2)).await.unwrap();
    // The end is told to whoever asks again, a third root too; but nobody gets the run's keys.
    let third = world.root();
    assert_eq!(
        take(&mut world, &third, &run).await.unwrap_err(),
        "run-over"
    );
    ask(&mut world, &third, finish(&run, 0)).await.unwrap();
}
