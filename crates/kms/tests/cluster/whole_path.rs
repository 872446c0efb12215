//! Policy, key bundle, run, grants, steps, release: what each party gets, and that it fits.

use prost::Message as _;
use siegel_attest::{Context, Genesis, KeyBundle, Profile, Role, appraise};
use siegel_ident::json::to_canonical;
use siegel_ident::{ObjectDigest, RunId, Secret, SecretBytes, Step};
use siegel_platform::Clock as _;
use siegel_seal::grant::{GrantRole, grant_info};
use siegel_seal::object::{ObjectContext, Sealed, open_release, seal_release};
use siegel_seal::sealed_box::open_box;
use siegel_seal::{KemPrivate, KemPublic, Suite};
use siegel_translog::{Envelope, SpkiKey, Statement, predicate};
use siegel_wire::v1::{self, kms_request, kms_response};

use crate::workload::Workload;
use crate::world::{COST, World, measured};

fn run_of(grant: &v1::RunGrant) -> RunId {
    RunId::try_from_slice(&grant.run_id).unwrap()
}

pub(crate) fn root_keys(root: &Workload, grant: &v1::RunGrant) -> v1::RootKeys {
    let info = grant_info(run_of(grant), GrantRole::Root, root.identity.signing_key());
    let opened = open_box(&root.kem, &info, &grant.sealed_keys).unwrap();
    v1::RootKeys::decode(opened.expose()).unwrap()
}

fn worker_keys(worker: &Workload, run: RunId, grant: &v1::WorkerGrant) -> v1::WorkerKeys {
    let info = grant_info(run, GrantRole::Worker, worker.identity.signing_key());
    let opened = open_box(&worker.kem, &info, &grant.sealed_keys).unwrap();
    v1::WorkerKeys::decode(opened.expose()).unwrap()
}

fn commit(grant: &v1::RunGrant, sealed: &Sealed) -> v1::CommitStep {
    v1::CommitStep {
        run_id: grant.run_id.clone(),
        fencing: grant.fencing,
        step: 1,
        previous: grant.previous.clone(),
        next: ObjectDigest::of(b"checkpoint 1").to_vec(),
        release_digest: sealed.digest.to_vec(),
        release_header: sealed.header.clone(),
        cost: to_canonical(&COST).unwrap(),
    }
}

/// I1, I3, I6, I17 on the way of one run, each with the refusal that guards it.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_from_policy_to_release() {
    let mut world = World::founded(None).await;
    let genesis_bytes = world.genesis().await;
    let genesis = Genesis::parse(&genesis_bytes).unwrap();
    for node in 1..=3 {
        let same = world
            .client(node)
            .genesis(v1::GenesisRequest {})
            .await
            .unwrap()
            .into_inner();
        assert_eq!(same.genesis, genesis_bytes, "one genesis on all nodes");
    }
    let policy = world.register().await;

    // The key bundle, as a client checks it (I1).
    let id = world.request_id();
    let reply = world.bundle(id.clone(), &policy).await.unwrap();
    let bundle = KeyBundle::verify(&reply.bundle, &reply.signature, &genesis).unwrap();
    let context = Context {
        now: world.clock.now(),
        profile: Profile::Simulation,
        genesis_profile: Profile::Simulation,
        anchors: &genesis.config.anchors(),
    };
    let binding = bundle.binding(&genesis).unwrap();
    let appraisal = appraise(&reply.evidence, &binding, &[measured("kms")], &context).unwrap();
    assert_eq!(appraisal.role(), Role::KmsBundle);
    assert!(bundle.in_use(world.clock.now()));
    // The same request id, and another one while the epoch is young: the same epoch and key.
    for id in [id, world.request_id()] {
        let again = world.bundle(id, &policy).await.unwrap();
        let again = KeyBundle::verify(&again.bundle, &again.signature, &genesis).unwrap();
        assert_eq!(
            (again.epoch, again.kem_key),
            (bundle.epoch, bundle.kem_key.clone())
        );
    }

    // The run: debited once however often it is asked (I6).
    let root = world.root();
    let id = world.request_id();
    let ask = world.run_request(&policy, bundle.epoch.0);
    let grant = root.register(&world, &id, ask.clone()).await.unwrap();
    let again = root.register(&world, &id, ask.clone()).await.unwrap();
    assert_eq!(
        (&again.run_id, again.fencing),
        (&grant.run_id, grant.fencing)
    );
    let other = v1::RegisterRun {
        blob_count: 4,
        ..ask
    };
    assert_eq!(
        root.register(&world, &id, other).await.unwrap_err().code,
        "request-id-reused"
    );
    let keys = root_keys(&root, &grant);
    assert_eq!((keys.noise.len(), keys.checkpoint.len()), (32, 32));
    assert_ne!(keys.noise, keys.checkpoint);

    // A worker gets the key that clients encrypt to, and knows the root by its keys.
    let worker = world.worker();
    let id = world.request_id();
    let run = run_of(&grant);
    let worker_grant = worker.authorize(&world, &id, &grant.run_id).await.unwrap();
    assert_eq!(worker_grant.root_signing_key, root.identity.signing_key());
    assert_eq!(worker_grant.policy, policy.bytes());
    let keys = worker_keys(&worker, run, &worker_grant);
    let key = keys
        .epochs
        .iter()
        .find(|key| key.suite == u32::from(bundle.suite))
        .unwrap();
    let suite = Suite::from_number(bundle.suite).unwrap();
    let secret = Secret::try_from_slice(&key.kem_private).unwrap();
    let public = KemPrivate::from_bytes(suite, secret).public().unwrap();
    assert_eq!(public.key(), bundle.kem_key);
    let body = kms_request::Body::RunPeers(v1::RunPeers {
        run_id: grant.run_id.clone(),
    });
    let id = world.request_id();
    let kms_response::Body::PeerKeys(peers) = root.ask(&world, &id, body).await.unwrap() else {
        panic!("no peers")
    };
    assert_eq!(peers.workers[0].signing_key, worker.identity.signing_key());

    // A step with a release, and the same step twice.
    let context = ObjectContext {
        run,
        step: Step(1),
        previous: ObjectDigest::try_from_slice(&grant.previous).unwrap(),
    };
    let release_key = KemPublic::parse(&grant.release_key).unwrap();
    let rng = &mut siegel_platform::rng::os_rng();
    let table = SecretBytes::new(b"a table".to_vec());
    let sealed = seal_release(rng, &release_key, &context, 64, &table).unwrap();
    let body = kms_request::Body::CommitStep(commit(&grant, &sealed));
    let id = world.request_id();
    let kms_response::Body::StepDone(done) = root.ask(&world, &id, body.clone()).await.unwrap()
    else {
        panic!("no step")
    };
    let again = root.ask(&world, &id, body).await.unwrap();
    assert_eq!(again, kms_response::Body::StepDone(done.clone()));
    let next = ObjectDigest::of(b"another result").to_vec();
    let other = kms_request::Body::CommitStep(v1::CommitStep {
        next,
        ..commit(&grant, &sealed)
    });
    let id = world.request_id();
    assert!(
        root.ask(&world, &id, other).await.is_err(),
        "one step has one result (I6)"
    );

    opens_only_when_public(
        &mut world,
        &genesis,
        &grant,
        &done.receipt,
        &sealed,
        &context,
    )
    .await;
}

/// I17: the courier gets the signed receipt, logs it, and only then the release opens.
async fn opens_only_when_public(
    world: &mut World,
    genesis: &Genesis,
    grant: &v1::RunGrant,
    receipt: &[u8],
    sealed: &Sealed,
    context: &ObjectContext,
) {
    let ask = |bundle: Vec<u8>, request_id: Vec<u8>| v1::OpenReleaseRequest {
        request_id,
        run_id: grant.run_id.clone(),
        step: 1,
        bundle,
    };
    // Signed by somebody else than the cluster.
    let forged = world.publish(receipt, predicate::RECEIPT);
    let unlogged = ask(forged, world.request_id());
    let refused = world
        .ask(|mut kms| {
            let ask = unlogged.clone();
            async move { kms.open_release(ask).await }
        })
        .await
        .unwrap_err();
    assert_eq!(refused.code, "receipt-not-logged");

    let receipts = |from| v1::ReceiptsRequest { from };
    let page = world
        .ask(|mut kms| async move { kms.receipts(receipts(1)).await })
        .await
        .unwrap()
        .receipts;
    // Policy, epoch, run, taken, step: numbered without gaps.
    assert_eq!(page.len(), 5);
    let key = SpkiKey::from_point(&genesis.cluster_key).unwrap();
    assert_eq!(page[4].body, receipt, "the body is what the root was told");
    let envelope = Envelope::parse(&page[4].envelope).unwrap();
    envelope.verify(&key).unwrap();
    let statement = Statement::parse(&envelope.payload).unwrap();
    assert_eq!(statement.digest, siegel_ident::Digest::of(receipt));
    let again = world
        .ask(|mut kms| async move { kms.receipts(receipts(5)).await })
        .await
        .unwrap()
        .receipts;
    assert_eq!(again[..], page[4..], "asked twice, signed once");

    let bundle = world.log.log(&envelope, &key).unwrap();
    let logged = ask(bundle, world.request_id());
    for _ in 0..2 {
        let reply = world
            .ask(|mut kms| {
                let ask = logged.clone();
                async move { kms.open_release(ask).await }
            })
            .await
            .unwrap();
        let dek = Secret::try_from_slice(&reply.dek).unwrap();
        let table = open_release(&dek, context, &sealed.bytes).unwrap();
        assert_eq!(table.expose(), b"a table");
    }
}

/// I7, I11: a seed in the genesis fixes run id and run keys; another seed gives others; without a
/// seed they never repeat.
#[tokio::test(flavor = "multi_thread")]
async fn a_seed_repeats_a_run() {
    let mut seen = Vec::new();
    for seed in [Some([1; 32]), Some([1; 32]), Some([2; 32]), None, None] {
        let mut world = World::founded(seed).await;
        let policy = world.register().await;
        let id = world.request_id();
        let reply = world.bundle(id, &policy).await.unwrap();
        let epoch = KeyBundle::parse(&reply.bundle).unwrap().epoch;
        let root = world.root();
        let id = world.request_id();
        let ask = world.run_request(&policy, epoch.0);
        let grant = root.register(&world, &id, ask).await.unwrap();
        let keys = root_keys(&root, &grant);
        seen.push((grant.run_id, keys.noise, keys.checkpoint, grant.release_key));
    }
    assert_eq!(seen[0], seen[1]);
    for (a, b) in [(0, 2), (0, 3), (3, 4)] {
        assert_ne!(seen[a].0, seen[b].0);
        assert_ne!(seen[a].1, seen[b].1);
        assert_ne!(seen[a].3, seen[b].3);
    }
}
