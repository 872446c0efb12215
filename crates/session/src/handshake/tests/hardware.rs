//! Evidence of real TEEs on a session, as far as a mock SNP platform can play one.

use siegel_attest::ReferenceValue;
use siegel_attest::hardware::snp::mock::{self, Platform, at};
use siegel_attest::hardware::snp::{Product, SigningKey};
use siegel_attest::hardware::{Endorsements, Rule, TrustRoots};
use siegel_ident::Seconds;

use super::*;
use crate::SESSION_LIFETIME;

/// What the guest's platform gives for this report data; the log makes it larger than one frame.
fn quote(config: [u8; 32], report_data: [u8; 64]) -> Vec<u8> {
    quote_until(None, config, report_data)
}

/// The same, of a chip whose certificate ends then.
fn quote_until(until: Option<Timestamp>, config: [u8; 32], report_data: [u8; 64]) -> Vec<u8> {
    let mut platform = Platform::new(Product::Genoa, SigningKey::Vcek)
        .unwrap()
        .living_at(NOW);
    platform.leaf.window.1 = until.unwrap_or(platform.leaf.window.1);
    platform
        .report
        .put(at::HOST_DATA, &config)
        .put(at::REPORT_DATA, &report_data);
    let endorsements = Endorsements {
        event_log: Some(vec![0; 100_000]),
        ..platform.endorsements().unwrap()
    };
    platform.evidence().unwrap().staple(&endorsements).unwrap()
}

fn allowed() -> [ReferenceValue; 1] {
    let platform = Platform::new(Product::Genoa, SigningKey::Vcek).unwrap();
    let mut reference = mock::reference(&platform.report, Product::Genoa);
    reference.host_data = Rule::Ignore("held against the configuration digest".into());
    [ReferenceValue::SevSnp(Box::new(reference))]
}

// I3: a workload on real hardware, under a policy for production. Catches a proof that does not fit, and evidence that
// binds something else than this channel's keys and challenge.
#[test]
fn i3_a_workload_on_real_hardware_is_appraised_for_production() {
    let kms_node = node(Role::KmsPeer, 1);
    let mut workload = node(Role::Worker, 2);
    workload.quote = quote_of_worker;
    let (_, ours) = honest(
        &workload,
        workload.setup(kms()),
        &kms_node,
        kms_node.setup(kms_or_workload()),
    )
    .unwrap();
    let pending = ours.peer().pending().unwrap();
    let appraised = |config, vendors, profile| {
        let anchors = TrustAnchors {
            simulation_root: None,
            vendors,
        };
        let ctx = Context {
            now: NOW,
            profile,
            genesis_profile: profile,
            anchors: &anchors,
        };
        pending.appraise(config, &allowed(), &ctx)
    };
    let (roots, production) = (mock::roots().unwrap(), Profile::Production);
    let worker = config(Role::Worker);
    let appraisal = appraised(worker, roots.clone(), production).unwrap();
    assert_eq!(appraisal.role(), Role::Worker);
    assert_eq!(appraisal.kem_key(), workload.identity.kem_key());
    assert!(appraisal.valid_until().unwrap() > NOW);
    // Another configuration shows in both places: report data first.
    let refused = |config, vendors| appraised(config, vendors, production).unwrap_err().code();
    assert_eq!(refused(config(Role::Root), roots), "snp-host-data");
    assert_eq!(refused(worker, TrustRoots::vendors()), "snp-chain");

    // Good evidence of the same guest, made for another channel.
    let old = quote(
        *worker.as_bytes(),
        pending.binding(worker).report_data().unwrap(),
    );
    let liar = Node {
        stored: Some(old),
        ..workload.clone()
    };
    let (mut dials, first) = End::dial(&liar, liar.setup(kms()), 1);
    let mut accepts = End::accept(&kms_node, kms_node.setup(kms_or_workload()), 77);
    shake(&mut dials, first, &mut accepts, |_, frame| vec![frame]).unwrap();
    let again = accepts.session.unwrap();
    let roots = mock::roots().unwrap();
    let anchors = TrustAnchors {
        simulation_root: None,
        vendors: roots,
    };
    let ctx = Context {
        now: NOW,
        profile: production,
        genesis_profile: production,
        anchors: &anchors,
    };
    let pending = again.peer().pending().unwrap();
    let refused = pending.appraise(worker, &allowed(), &ctx).unwrap_err();
    assert_eq!(refused.code(), "report-data");
}

fn quote_of_worker(node: &Node, report_data: [u8; 64]) -> Vec<u8> {
    match &node.stored {
        Some(old) => old.clone(),
        None => quote(*node.identity.config().as_bytes(), report_data),
    }
}

// I9: catches a channel to a peer about whose machine the vendor says nothing any more.
#[test]
fn i9_a_session_ends_with_the_vendors_statements() {
    let kms_node = node(Role::KmsPeer, 1);
    let mut workload = node(Role::Worker, 2);
    let end = NOW.plus(Seconds(60));
    for (quote, ends) in [
        (
            quote_of_worker as fn(&Node, [u8; 64]) -> Vec<u8>,
            NOW.plus(SESSION_LIFETIME),
        ),
        (
            |node: &Node, data| {
                let end = NOW.plus(Seconds(60));
                quote_until(Some(end), *node.identity.config().as_bytes(), data)
            },
            end.plus(Seconds(1)),
        ),
    ] {
        workload.quote = quote;
        let setups = (workload.setup(kms()), kms_node.setup(kms_or_workload()));
        let (_, mut ours) = honest(&workload, setups.0, &kms_node, setups.1).unwrap();
        let anchors = TrustAnchors {
            simulation_root: None,
            vendors: mock::roots().unwrap(),
        };
        let ctx = Context {
            now: NOW,
            profile: Profile::Production,
            genesis_profile: Profile::Production,
            anchors: &anchors,
        };
        let pending = ours.peer().pending().unwrap();
        let appraisal = pending
            .appraise(config(Role::Worker), &allowed(), &ctx)
            .unwrap();
        ours.peer.authenticated = Authenticated::Appraised(appraisal);
        assert_eq!(ours.ends(), ends);
    }
}
