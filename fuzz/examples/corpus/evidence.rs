//! Evidence of the mock platforms.

use siegel_attest::hardware::fuzzing::seeds;
use siegel_attest::hardware::snp::{Product, SigningKey, mock};
use siegel_attest::hardware::{Endorsements, Evidence, Kind};
use siegel_fuzz::presented::Presented;
use siegel_fuzz::snp::certificate_table;

use super::{Outcome, write as seed};

pub fn write() -> Outcome {
    let (vcek, vlek) = (SigningKey::Vcek, SigningKey::Vlek);
    for product in Product::ALL {
        let report = seeds::snp_report(product, vcek)?;
        seed("snp_report", product.as_str(), &report)?;
    }
    let report = seeds::snp_report(Product::Milan, vlek)?;
    seed("snp_report", "provider", &report)?;
    let chain = seeds::chain(Product::Turin, vcek)?;
    seed("certificate", "chain", &chain)?;
    let chain = seeds::chain(Product::Genoa, vlek)?;
    seed("certificate", "chain-provider", &chain)?;
    seed("crl", "empty", &seeds::crl()?)?;
    for (name, version, td_15) in [
        ("sgx-3", 3, false),
        ("tdx-4", 4, false),
        ("tdx-5", 5, false),
        ("tdx-5-td15", 5, true),
    ] {
        seed("quote", name, &seeds::quote(version, td_15)?)?;
    }
    seed("collateral", "collateral", &seeds::collateral()?)?;
    let [signed, payload] = seeds::nitro()?;
    seed("nitro", "signed", &signed)?;
    seed("nitro", "payload", &payload)?;
    seed("event_log", "three-events", &seeds::event_log())?;
    presented()?;
    appraised()
}

fn presented() -> Outcome {
    let platform = mock::Platform::new(Product::Genoa, SigningKey::Vcek)?;
    let endorsements = platform.endorsements()?;
    let parts = endorsements.certificates.iter().chain(&endorsements.crls);
    let parts: Vec<&[u8]> = parts.map(Vec::as_slice).collect();
    if let [leaf, signer, root, list] = *parts {
        let table = [Some(leaf), None, Some(signer), Some(root), Some(list)];
        seed("certificate_table", "all", &certificate_table(&table))?;
    }
    seed("certificate_table", "none", &[0; 48])?;
    let framed = platform.evidence()?.staple(&endorsements)?;
    seed("frame", "snp", &framed)?;
    let bare = platform.evidence()?.staple(&Endorsements::default())?;
    seed("frame", "snp-bare", &bare)?;
    let mut input = Presented {
        evidence: platform.evidence()?,
        endorsements,
        mock_roots: true,
        now: mock::NOW,
    };
    let bytes = input.write();
    Presented::read(&bytes).verify()?;
    seed("evidence", "snp", &bytes)?;
    for (name, kind) in [("tdx", Kind::Tdx), ("nitro", Kind::AwsNitro)] {
        let body = seeds::evidence(kind)?;
        input.evidence = Evidence { kind, body };
        input.endorsements = Endorsements::default();
        seed("evidence", name, &input.write())?;
    }
    Ok(())
}

/// Scripts: a platform, with 18 more where certificates and lists may change; then what is done to it
/// (`targets/snp_appraise.rs`).
fn appraised() -> Outcome {
    for platform in 0..6 {
        let name = format!("good-{platform}");
        seed("snp_appraise", &name, &[platform])?;
    }
    // Field 2 is the guest policy, 11 the measurement, 20 the committed TCB, 23 the launch TCB.
    let debug = [2, 0, 2, 3, 0, 0, 0x0b];
    seed("snp_appraise", "debug", &debug)?;
    let other = [&[2, 0, 11, 48][..], &[0x3f; 48]].concat();
    seed("snp_appraise", "other-measurement", &other)?;
    let older = [2, 0, 20, 8, 8, 1, 0, 0, 0, 0, 25, 80, 0, 23, 2, 9, 1];
    seed("snp_appraise", "older", &older)?;
    seed("snp_appraise", "bit", &[0, 5, 0, 0x41])?;
    seed("snp_appraise", "level-of-leaf", &[20, 6, 1, 3, 2, 1, 9])?;
    seed(
        "snp_appraise",
        "chip-of-leaf",
        &[22, 6, 6, 8, 0xc4, 0xc4, 0xc4, 0xc4, 0xc4, 0xc4, 0xc4, 0xc4],
    )?;
    seed("snp_appraise", "twice", &[21, 7, 1, 1])?;
    seed("snp_appraise", "window", &[18, 8, 0x7f, 0xff, 0x80, 1])?;
    seed("snp_appraise", "revoked", &[18, 10, 1, 7])?;
    seed(
        "snp_appraise",
        "list-of-another",
        &[18, 10, 1, 9, 11, 1, 0x7f, 0xff],
    )?;
    seed("snp_appraise", "no-list", &[18, 11, 0])
}
