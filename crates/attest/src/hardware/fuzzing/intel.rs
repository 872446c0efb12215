//! Frames of quotes, and collateral.

use dcap_qvl::quote::{Quote, Report};
use serde_json::json;

use super::neighbours;
use crate::hardware::quote::{self, Collateral, Frame, unpad};
use crate::hardware::{Kind, open};

/// Stands at the end of chains that are not Intel's. No parser reads it: a root is compared.
pub const ROOT: &[u8] = b"a root of nobody";

const TEE_TYPES: [(u32, Kind); 2] = [(0, Kind::Sgx), (0x81, Kind::Tdx)];

/// A quote of either TEE, whose chain ends in Intel's root or in [`ROOT`]. The frame covers each byte; what it calls the
/// report is what `dcap-qvl` reads as the report.
pub fn quote(bytes: &[u8]) -> bool {
    let (bare, zeros) = unpad(bytes);
    let (before, after) = bytes.split_at(bare.len());
    assert!(bare == before && zeros == after.len());
    assert!(after.iter().all(|byte| *byte == 0));

    let mut read = 0;
    for root in [quote::ROOT, ROOT] {
        for (tee_type, kind) in TEE_TYPES {
            if let Ok(frame) = Frame::parse(bytes, tee_type, root) {
                check(&frame, bytes, root, tee_type);
                let opened = open(bytes).map(|opened| (opened.kind, opened.around));
                assert_eq!(opened, Some((kind, 0)));
                read += 1;
            }
        }
    }
    assert!(read <= 1, "one quote, {read} readings");
    read == 1
}

fn check(frame: &Frame<'_>, bytes: &[u8], root: &[u8], tee_type: u32) {
    assert_eq!(frame.quote, bytes);
    let start = 48 + if bytes.first() == Some(&5) { 6 } else { 0 };
    assert_eq!(
        bytes.get(start..start + frame.report.len()),
        Some(frame.report)
    );
    assert!([384, 584, 648].contains(&frame.report.len()));
    let [leaf, intermediate, last] = &frame.pck_chain;
    assert_eq!(last, root);
    assert!(leaf.len() + intermediate.len() + last.len() < bytes.len());
    for other in neighbours(bytes) {
        assert!(Frame::parse(&other, tee_type, root).is_err());
    }
    let mut padded = bytes.to_vec();
    padded.extend_from_slice(&[0; 9]);
    assert_eq!(unpad(&padded), (bytes, 9));

    // It may refuse more: what runs first here must not let it read something else.
    let Ok(theirs) = Quote::parse(bytes) else {
        return;
    };
    assert_eq!(theirs.header.tee_type, tee_type);
    let report_data = match &theirs.report {
        Report::SgxEnclave(report) => Some(&report.report_data),
        Report::TD10(report) => Some(&report.report_data),
        Report::TD15(report) => Some(&report.base.report_data),
        Report::TD15Ex(_) => None,
    };
    let at = if tee_type == 0 { 320 } else { 520 };
    let ours = frame.report.get(at..at + 64);
    assert_eq!(ours, report_data.map(|data| &data[..]));
}

/// Collateral whose chains end in Intel's root or in [`ROOT`]: its parts are no longer than the input, and say the same
/// when they are written again.
pub fn collateral(bytes: &[u8]) -> bool {
    let mut read = false;
    for root in [quote::ROOT, ROOT] {
        let Ok(found) = Collateral::parse(bytes, root) else {
            continue;
        };
        read = true;
        let _ = (found.dates().is_ok(), found.pce_id().is_ok());
        let inner = found.into_inner();
        let texts = [
            &inner.pck_crl_issuer_chain,
            &inner.tcb_info_issuer_chain,
            &inner.qe_identity_issuer_chain,
            &inner.tcb_info,
            &inner.qe_identity,
        ];
        let binaries = [
            &inner.root_ca_crl,
            &inner.pck_crl,
            &inner.tcb_info_signature,
            &inner.qe_identity_signature,
        ];
        let held = texts.map(String::len).iter().sum::<usize>()
            + 2 * binaries.map(Vec::len).iter().sum::<usize>();
        assert!(held <= bytes.len(), "{held} of {}", bytes.len());
        let written = json!({
            "pck_crl_issuer_chain": inner.pck_crl_issuer_chain,
            "root_ca_crl": hex::encode(&inner.root_ca_crl),
            "pck_crl": hex::encode(&inner.pck_crl),
            "tcb_info_issuer_chain": inner.tcb_info_issuer_chain,
            "tcb_info": inner.tcb_info,
            "tcb_info_signature": hex::encode(&inner.tcb_info_signature),
            "qe_identity_issuer_chain": inner.qe_identity_issuer_chain,
            "qe_identity": inner.qe_identity,
            "qe_identity_signature": hex::encode(&inner.qe_identity_signature),
        });
        let again = Collateral::parse(written.to_string().as_bytes(), root);
        assert!(again.is_ok_and(|again| again.into_inner() == inner));
    }
    read
}
