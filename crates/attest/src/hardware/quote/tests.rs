//! Real quotes.

use siegel_ident::Timestamp;

use super::super::vectors::{folder, read};
use super::super::{Authentic, Endorsements, Evidence, Kind, TrustRoots};
use super::*;

const JULY_2025: u64 = 1_751_328_000;
const MARCH_2026: u64 = 1_773_705_600;

fn verified(kind: Kind, name: &str, now: u64) -> Result<Authentic, Rejection> {
    let padded = read(&format!("{name}.quote"));
    let evidence = Evidence {
        kind,
        body: unpad(&padded).0.to_vec(),
    };
    let endorsements = Endorsements {
        collateral: Some(read(&format!("{name}.collateral.json"))),
        ..Endorsements::default()
    };
    super::super::verify(
        &evidence,
        &endorsements,
        &TrustRoots::vendors(),
        Timestamp(now),
    )
}

#[test]
fn real_quotes_verify() {
    if folder().is_none() {
        return;
    }
    for (kind, name, now, status) in [
        (Kind::Tdx, "tdx/v4_uptodate", JULY_2025, "UpToDate"),
        (Kind::Tdx, "tdx/v4_debug", MARCH_2026, "OutOfDate"),
        (
            Kind::Sgx,
            "sgx/v3",
            JULY_2025,
            "ConfigurationAndSWHardeningNeeded",
        ),
    ] {
        let found = verified(kind, name, now).unwrap_or_else(|e| panic!("{name}: {e}"));
        let status_found = match &found {
            Authentic::Tdx(quote) => quote.tcb_status(),
            Authentic::Sgx(quote) => quote.tcb_status(),
            _ => unreachable!(),
        };
        assert_eq!(status_found, status, "{name}");
    }
}

/// One bit of every byte of a quote: accepted nowhere.
#[test]
fn no_flipped_bit_is_accepted() {
    if folder().is_none() {
        return;
    }
    for (kind, name, now) in [
        (Kind::Tdx, "tdx/v4_uptodate", JULY_2025),
        (Kind::Sgx, "sgx/v3", JULY_2025),
    ] {
        let padded = read(&format!("{name}.quote"));
        let quote = unpad(&padded).0.to_vec();
        let endorsements = Endorsements {
            collateral: Some(read(&format!("{name}.collateral.json"))),
            ..Endorsements::default()
        };
        let roots = TrustRoots::vendors();
        let mut accepted = Vec::new();
        for at in 0..quote.len() {
            let mut body = quote.clone();
            body[at] ^= 1 << (at % 8);
            let evidence = Evidence { kind, body };
            if super::super::verify(&evidence, &endorsements, &roots, Timestamp(now)).is_ok() {
                accepted.push(at);
            }
        }
        assert!(accepted.is_empty(), "{name}: {accepted:?}");
    }
}
