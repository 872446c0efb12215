//! I1, I3: a device encrypts only for binaries and programs that those have endorsed whom it believes.

use std::sync::Arc;

use siegel_attest::KeyOffer;
use siegel_audit::{AuditAnchors, Verdict, audit};
use siegel_client::verify;
use siegel_endorse::testing::{build, of_policy};
use siegel_endorse::{Build, Endorsement, Subject};
use siegel_fleet::clients::{self, ClientsOptions, OfferBytes, UploadReport};
use siegel_ident::{Digest, KeyDigest, Seconds, Timestamp};
use siegel_platform::{Clock, SystemClock, TestClock};
use siegel_rekor::LogReader;
use siegel_tests::{World, crowd};

async fn upload(world: &World, offer: OfferBytes, options: &ClientsOptions) -> UploadReport {
    let depot = world.deployment.operator.depot();
    let clock = world.deployment.cluster.clock();
    let (crowd, offer) = (crowd(3, "hi"), Arc::new(offer));
    let mut done = |_| ();
    let report = clients::upload_all(&crowd, &offer, options, depot, clock, &mut done);
    report.await.unwrap()
}

/// Why all of them refused; none sent anything.
fn only_reason(report: &UploadReport) -> &str {
    assert_eq!((report.accepted, report.refused, report.bytes), (0, 3, 0));
    let reasons: Vec<&String> = report.refusals.keys().collect();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    reasons[0]
}

/// Catches a device that takes the policy's word for whom to believe.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_with_other_endorsers_sends_nothing() {
    let world = World::new().await;
    let (offer, _) = world.offer().await;
    let mut options = world.clients();
    assert_eq!(options.config.endorsers, world.policy.endorsers);
    options.config.endorsers = vec![KeyDigest::of(b"somebody else")];
    let report = upload(&world, offer.clone(), &options).await;
    assert!(only_reason(&report).contains("whom this device does not pin"));

    options.config.endorsers.push(world.deployment.endorser());
    let report = upload(&world, offer, &options).await;
    assert_eq!((report.accepted, report.refused), (3, 0));
}

/// Catches a device that takes a policy that demands no endorsement, though it believes an endorser.
#[tokio::test(flavor = "multi_thread")]
async fn a_policy_without_endorsers_gets_nothing_from_a_device_with_some() {
    let world = World::under(|policy| policy.endorsers.clear()).await;
    let (offer, _) = world.offer().await;
    assert_eq!(offer.endorsements, []);
    let mut options = world.clients();
    assert_eq!(options.config.endorsers, []);
    assert_eq!(upload(&world, offer.clone(), &options).await.accepted, 3);

    options.config.endorsers.push(world.deployment.endorser());
    let report = upload(&world, offer, &options).await;
    assert!(only_reason(&report).contains("demands no endorsement"));
}

/// I9. Catches a device that looks at an endorsement's window only when it is fetched, or not at all.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_when_the_endorsement_has_ended() {
    let clock = TestClock::at(Timestamp(SystemClock.now().0));
    let world = World::with(|options| options.clock = Arc::new(clock.clone())).await;
    let (mut offer, _) = world.offer().await;
    let ends = |proof: &_| {
        let siegel_client::EndorsementProof { document, .. } = proof;
        Endorsement::parse(document).unwrap().not_after
    };
    assert_eq!(offer.endorsements.len(), 2);
    let end = offer.endorsements.iter().map(ends).min().unwrap();

    // The policy would go on for a day; the device looks at its own clock.
    let longer = siegel_tests::changed(&world.policy, |policy| {
        policy.not_after = end.plus(Seconds(86_400));
    });
    let published = world.deployment.operator.publish_policy(&longer).await;
    offer.policy_bundle = published.unwrap().bundle;
    offer.policy = longer.bytes().to_vec();
    // A device that puts up with old cosignatures: it is the endorsements that end here.
    let mut clients = world.clients();
    clients.config.log = clients.config.log.aged(Seconds(300 * 86_400));
    let config = clients.config.clone();
    let refused = |now: Timestamp| {
        let refusal = verify(&config, &offer.as_offer(), now).err().unwrap();
        (refusal.code(), refusal.invariant())
    };
    // Another policy than the key's: the endorsements hold until their last second.
    assert_eq!(refused(Timestamp(end.0 - 1)), ("key-policy", "I3"));
    assert_eq!(refused(end), ("endorsement-expired", "I9"));
    clock.advance(Seconds(end.0 - clock.now().0));
    let report = upload(&world, offer, &clients).await;
    assert!(only_reason(&report).contains("is endorsed from"));
}

/// Catches a deployment that lets in what nobody has vouched for in the log.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_endorsements_nothing_is_sent() {
    let world = World::new().await;
    let (mut offer, _) = world.offer().await;
    let program = offer.endorsements.pop().unwrap();
    let report = upload(&world, offer.clone(), &world.clients()).await;
    let why = only_reason(&report);
    assert!(
        why.contains("program") && why.contains("by nobody"),
        "{why}"
    );
    offer.endorsements = vec![program];
    let report = upload(&world, offer, &world.clients()).await;
    assert!(only_reason(&report).contains("kms measuring"));
}

/// Catches an endorsement that names a manifest or recipe that nobody can fetch.
#[tokio::test(flavor = "multi_thread")]
async fn an_endorsement_comes_with_what_it_names() {
    let mut world = World::new().await;
    let policy = &world.policy;
    let mut said = of_policy(policy, policy.not_before, policy.not_after).remove(0);
    if let Subject::Binaries(binaries) = &mut said.subject {
        binaries.build = Some(Build {
            source: Digest::of(b"manifest"),
            recipe: Some(Digest::of(b"recipe")),
            ..build()
        });
    }
    let deployment = &mut world.deployment;
    for (files, lacks) in [
        (&[&b"recipe"[..]][..], "source manifest"),
        (&[&b"manifest"[..], b"another"][..], "recipe"),
    ] {
        let refused = deployment.endorse(&said, files).await;
        let why = refused.expect_err("nobody could rebuild").to_string();
        assert!(why.contains(lacks) && why.contains("not at hand"), "{why}");
    }
    assert_eq!(deployment.endorsements(&world.policy).len(), 2);
    let files: [&[u8]; 2] = [b"manifest", b"recipe"];
    deployment.endorse(&said, &files).await.unwrap();
    assert_eq!(deployment.endorsements(&world.policy).len(), 3);
    for file in files {
        let digest = Digest::of(file);
        let found = deployment.operator.log().archive_get(&digest).await;
        assert_eq!(found.unwrap(), file);
    }
}

/// Catches a deployment whose audit does not see what its clients saw.
#[tokio::test(flavor = "multi_thread")]
async fn the_audit_sees_endorsements_and_key_offers() {
    let mut world = World::new().await;
    let (offer, epoch) = world.offer().await;
    let options = world.clients();
    assert_eq!(upload(&world, offer.clone(), &options).await.accepted, 3);
    world.run_and_open(epoch).await;
    world.carry().await;

    let deployment = &world.deployment;
    let log = deployment.operator.log();
    let logged = KeyOffer {
        schema: KeyOffer::SCHEMA.into(),
        bundle: String::from_utf8(offer.key_bundle).unwrap(),
        signature: offer.key_bundle_signature,
        evidence: offer.evidence,
        checkpoint: offer.checkpoint,
    };
    let logged = logged.to_bytes().unwrap();
    assert!(log.archive_get(&Digest::of(&logged)).await.is_ok());
    let mut anchors = AuditAnchors::of(deployment.log_anchors());
    anchors.endorsers = vec![deployment.endorser()];
    anchors.simulation_root = options.config.trust.simulation_root.map(Digest::from_bytes);
    let report = audit(
        &LogReader::Http(log.clone()),
        &anchors,
        deployment.cluster.clock().now(),
    )
    .await
    .unwrap();
    assert_eq!(report.verdict, Verdict::Good, "{:?}", report.findings);
    assert_eq!(
        (report.entries.endorsements, report.entries.key_offers),
        (2, 1)
    );
    let endorsed = report.policies[0].endorsed.iter();
    assert!(
        endorsed
            .clone()
            .all(|by| by.endorser == deployment.endorser())
    );
    assert_eq!(endorsed.count(), 4);
    assert!(report.findings.iter().any(|f| f.id == "build-unknown"));
}
