//! Real quotes: what they say, when, with which collateral, and what may be done to them.

use super::*;
use crate::hardware::tests::vectors::{
    Case, Negative, accepted, flips, folder, read, references, sgx, tdx, tdx_debug,
};
use crate::hardware::{ENDORSEMENTS_MAX, Freshness, Kind, Rule, open};

mod collateral;
mod frame;

fn all() -> [Case; 3] {
    [tdx(), tdx_debug(), sgx()]
}

fn collateral_of(case: &Case) -> serde_json::Value {
    serde_json::from_slice(case.endorsements.collateral.as_deref().unwrap()).unwrap()
}

fn with_collateral(case: &Case, collateral: &serde_json::Value) -> Case {
    let mut case = case.clone();
    case.endorsements.collateral = Some(collateral.to_string().into_bytes());
    case
}

fn refused(case: &Case) -> Check {
    match case.verify() {
        Ok(_) => panic!("{}: accepted", case.name),
        Err(rejection) => rejection.check,
    }
}

pub(crate) fn negatives() -> Vec<Negative> {
    vec![
        Negative(Check::QuoteFormat, "a byte follows", || {
            tdx().bent(&references("tdx"), |case| case.evidence.body.push(0))
        }),
        Negative(Check::QuoteFormat, "another version than accepted", || {
            let mut references = references("tdx");
            references.tdx[0].quote.version = Rule::Exact(5);
            tdx().bent(&references, |_| ())
        }),
        Negative(Check::QuoteSignature, "another report", || {
            tdx().bent(&references("tdx"), |case| {
                case.evidence.body[48 + 584 - 1] ^= 1
            })
        }),
        Negative(Check::QuoteStatus, "a status that is not accepted", || {
            let mut references = references("sgx");
            references.sgx[0].quote.tcb_status = Rule::Exact("UpToDate".to_owned());
            sgx().bent(&references, |_| ())
        }),
        Negative(
            Check::QuoteStatus,
            "an advisory that is not accepted",
            || {
                let mut references = references("sgx");
                let only = vec!["INTEL-SA-00289".to_owned()];
                references.sgx[0].quote.advisories = AdvisoryRule::Only(only);
                sgx().bent(&references, |_| ())
            },
        ),
        Negative(Check::QuoteCollateral, "no collateral", || {
            tdx().bent(&references("tdx"), |case| {
                case.endorsements.collateral = None
            })
        }),
        Negative(
            Check::QuoteCollateral,
            "collateral older than accepted",
            || {
                let mut references = references("tdx");
                let day = siegel_ident::Seconds(86_400);
                references.tdx[0].quote.collateral = Freshness::MaxAgeS(day);
                tdx().bent(&references, |_| ())
            },
        ),
        Negative(
            Check::QuoteCollateral,
            "an older evaluation than seen",
            || {
                let mut references = references("tdx");
                references.tdx[0].quote.tcb_evaluation_number = Rule::AtLeast(18);
                tdx().bent(&references, |_| ())
            },
        ),
        Negative(Check::QuotePlatform, "another model", || {
            let mut references = references("tdx");
            references.tdx[0].quote.fmspc = Rule::Exact(crate::hardware::Hex([0; 6]));
            tdx().bent(&references, |_| ())
        }),
        Negative(Check::QuotePlatform, "another CA", || {
            let mut references = references("tdx");
            references.tdx[0].quote.pck_ca = Rule::Exact("processor".to_owned());
            tdx().bent(&references, |_| ())
        }),
        Negative(Check::QuotePlatform, "another platform", || {
            let mut references = references("tdx");
            references.tdx[0].quote.ppid = Rule::Exact("00".repeat(16));
            tdx().bent(&references, |_| ())
        }),
        Negative(Check::QuotePlatform, "SMT", || {
            let mut references = references("tdx");
            references.tdx[0].quote.smt = Rule::Exact(Flag::False);
            tdx().bent(&references, |_| ())
        }),
    ]
}

#[test]
fn real_quotes_verify() {
    if folder().is_none() {
        return;
    }
    let status = |case: &Case| match case.verify().unwrap() {
        crate::hardware::Authentic::Tdx(quote) => quote.tcb_status().to_owned(),
        crate::hardware::Authentic::Sgx(quote) => quote.tcb_status().to_owned(),
        other => panic!("{other:?}"),
    };
    let found = all().map(|case| status(&case));
    let wanted = ["UpToDate", "OutOfDate", "ConfigurationAndSWHardeningNeeded"];
    assert_eq!(found, wanted);
}

/// Inside all windows together, and nowhere else.
#[test]
fn only_inside_its_windows() {
    if folder().is_none() {
        return;
    }
    // The latest issue: QE identity of the first and TCB info of the third, PCK revocation list of the second.
    for (case, from) in all()
        .into_iter()
        .zip([1_750_329_147, 1_773_700_445, 1_750_330_571])
    {
        let until = case.verify().unwrap().valid_until().0;
        let (year, name) = (365 * 86_400, case.name);
        for inside in [from, from + 1, (from + until) / 2, until - 1] {
            let found = case.verify_at(inside);
            assert!(found.is_ok(), "{name} at {inside}: {:?}", found.err());
        }
        for outside in [
            0,
            from - 10 * year,
            from - year,
            from - 1,
            until + 1,
            until + year,
            until + 10 * year,
            u64::MAX / 2,
            u64::MAX,
        ] {
            assert!(case.verify_at(outside).is_err(), "{name} at {outside}");
        }
    }
    // As the vectors' table has it: 2025-06-19, 07-19, and later.
    for outside in [1_748_736_000, 1_750_291_199, 1_752_969_600, 1_795_996_800] {
        assert!(tdx().verify_at(outside).is_err(), "{outside}");
    }
}

/// Collateral of another platform, of another TEE, of another time.
#[test]
fn only_with_its_own_collateral() {
    if folder().is_none() {
        return;
    }
    for (i, quote) in all().iter().enumerate() {
        for (j, other) in all().iter().enumerate() {
            let mut pair = quote.clone();
            pair.endorsements = other.endorsements.clone();
            // At the quote's time and at the collateral's.
            let found = [quote.now, other.now].map(|now| pair.verify_at(now.0).is_ok());
            assert_eq!(
                found,
                [i == j; 2],
                "{} with that of {}",
                quote.name,
                other.name
            );
        }
    }
}

/// I1: a chain that ends in another root, and a verifier that pins another root.
#[test]
fn only_under_the_pinned_root() {
    if folder().is_none() {
        return;
    }
    let case = tdx();
    for intel in [
        Vec::new(),
        crate::hardware::tests::vectors::pem("snp/ark_milan.pem").remove(0),
    ] {
        let roots = TrustRoots {
            intel: Some(intel),
            ..TrustRoots::vendors()
        };
        let found = crate::hardware::verify(&case.evidence, &case.endorsements, &roots, case.now);
        assert_eq!(found.unwrap_err().check, Check::QuoteFormat);
    }
}

/// One bit of every byte, every value of a sample: accepted nowhere.
#[test]
fn no_flip_of_a_quote_is_accepted() {
    if folder().is_none() {
        return;
    }
    for (case, sample) in all().into_iter().zip([64, 0, 64]) {
        let body = case.evidence.body.clone();
        let found = accepted(&body, &flips(body.len(), sample), |bent| {
            let mut case = case.clone();
            case.evidence.body = bent.to_vec();
            case.verify().is_ok()
        });
        assert_eq!(found, [], "{}", case.name);
    }
}

#[test]
fn the_kind_is_the_quotes() {
    if folder().is_none() {
        return;
    }
    let (mut one, mut other) = (tdx(), sgx());
    (one.evidence.kind, other.evidence.kind) = (Kind::Sgx, Kind::Tdx);
    assert_eq!([&one, &other].map(refused), [Check::QuoteFormat; 2]);
}

/// I14: refused before anything is read.
#[test]
fn huge_input_is_refused() {
    if folder().is_none() {
        return;
    }
    let mut case = tdx();
    case.endorsements.collateral = Some(vec![b' '; ENDORSEMENTS_MAX + 1]);
    assert_eq!(refused(&case), Check::Size);
    let mut case = tdx();
    case.evidence
        .body
        .resize(crate::hardware::EVIDENCE_MAX + 1, 0);
    assert_eq!(refused(&case), Check::Size);
}

/// What others wrote is printed in our own words.
#[test]
fn plain_text_cannot_move_a_cursor() {
    assert_eq!(plain("a\u{1b}[2Jb\n"), "a?[2Jb?");
    assert_eq!(plain(&"x".repeat(10_000)).len(), 300);
}

/// An ECDSA signature has two forms, (r, s) and (r, -s), and both verify: another quote in bytes, not in what it says.
/// So no hash of a whole quote names anything.
#[test]
fn the_other_form_of_a_signature_says_the_same() {
    if folder().is_none() {
        return;
    }
    // The order of P-256, big-endian.
    const ORDER: [u8; 32] = [
        0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
        0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
    ];
    let case = tdx();
    let mut other = case.clone();
    let s = 48 + 584 + 4 + 32;
    let mut borrow = 0i16;
    for (byte, order) in other.evidence.body[s..s + 32].iter_mut().zip(ORDER).rev() {
        let difference = i16::from(order) - i16::from(*byte) - borrow;
        borrow = i16::from(difference < 0);
        *byte = difference.rem_euclid(256) as u8;
    }
    assert_ne!(other.evidence.body, case.evidence.body);
    assert_eq!(other.verify().unwrap(), case.verify().unwrap());
}
