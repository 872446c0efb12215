//! I1, I2: a client encrypts only under a policy that its own log has, in exactly these bytes, and
//! that is inside its own limits.

use std::sync::Arc;

use siegel_client::{ClientConfig, verify};
use siegel_fleet::clients::{self, OfferBytes};
use siegel_ident::NanoRho;
use siegel_rekor::{LogClient, LogKey, PolicySigner, Storage};
use siegel_tests::{World, crowd};
use siegel_translog::{Statement, predicate};

fn refusal(world: &World, config: &ClientConfig, offer: &OfferBytes) -> Option<String> {
    let now = world.deployment.cluster.clock().now();
    verify(config, &offer.as_offer(), now)
        .err()
        .map(|why| why.to_string())
}

/// A log that anybody can set up: the same software and origin, another key.
async fn bundle_of_another_log(world: &World) -> Vec<u8> {
    let origin = &world.deployment.cluster.config().log_origin;
    let log = siegel_rekor::Log::open(&Storage::Memory, LogKey::generate(origin).unwrap()).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(siegel_rekor::serve(listener, log, std::future::pending()));
    let signer = PolicySigner::generate().unwrap();
    let policy = world.policy.bytes();
    let envelope = signer
        .sign(&Statement::about("p", policy, predicate::POLICY))
        .unwrap();
    let client = LogClient::new(&url).unwrap();
    let bundle = client
        .publish(&envelope, &signer.key(), policy)
        .await
        .unwrap();
    server.abort();
    bundle
}

/// Each catches a client that skips the check in its name.
#[tokio::test(flavor = "multi_thread")]
async fn the_client_refuses() {
    let world = World::new().await;
    let (offer, _) = world.offer().await;
    let config = world.clients().config;
    assert_eq!(refusal(&world, &config, &offer), None, "the honest offer");

    // Not logged: the proof of another document stands where the policy's should be.
    let not_logged = OfferBytes {
        policy_bundle: offer.genesis_bundle.clone(),
        ..offer.clone()
    };
    assert!(
        refusal(&world, &config, &not_logged).is_some(),
        "not logged"
    );

    // Other bytes: the same policy with one more year, under the old proof.
    let longer = siegel_tests::changed(&world.policy, |policy| policy.not_after.0 += 1);
    let other_bytes = OfferBytes {
        policy: longer.bytes().to_vec(),
        ..offer.clone()
    };
    assert!(
        refusal(&world, &config, &other_bytes).is_some(),
        "logged with other bytes"
    );

    // The same value, spelled otherwise.
    let mut spelled = offer.policy.clone();
    spelled.push(b'\n');
    let spelled = OfferBytes {
        policy: spelled,
        ..offer.clone()
    };
    assert!(
        refusal(&world, &config, &spelled).is_some(),
        "other spelling"
    );

    let foreign = OfferBytes {
        policy_bundle: bundle_of_another_log(&world).await,
        ..offer.clone()
    };
    assert!(
        refusal(&world, &config, &foreign).is_some(),
        "another log's key"
    );

    // Beyond the device's own limits, whatever the policy says.
    let mut strict = config.clone();
    strict.limits.max_rho_nano = NanoRho(world.policy.privacy.total.rho_nano.0 - 1);
    let why = refusal(&world, &strict, &offer).expect("beyond the limits");
    assert!(why.contains("rho") || why.contains('ρ'), "{why}");

    // And the whole crowd sends nothing: no upload reaches the depot.
    let mut options = world.clients();
    options.config = strict;
    let depot = world.deployment.operator.depot();
    let clock = world.deployment.cluster.clock();
    let offer = Arc::new(offer);
    let report =
        clients::upload_all(&crowd(3, "hi"), &offer, &options, depot, clock, &mut |_| ()).await;
    let report = report.unwrap();
    assert_eq!((report.accepted, report.refused, report.bytes), (0, 3, 0));
}
