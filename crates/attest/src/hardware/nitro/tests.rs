//! A real document: when it is good, what may be done to it, and made by hand for what it does not show.

use siegel_ident::Seconds;

use super::*;
use crate::hardware::tests::vectors::{
    Negative, accepted, failed, flips, folder, nitro, references,
};
use crate::hardware::{Freshness, Outcome, Rule};

mod document;

/// 2025-12-25T13:15:37Z, and when the leaf ends, three hours later.
const MADE: u64 = 1_766_668_537;
const UNTIL: u64 = 1_766_679_337;

fn held(bend: impl FnOnce(&mut Authentic, &mut Reference, &mut Expected)) -> Vec<Outcome> {
    let case = nitro();
    let crate::hardware::Authentic::AwsNitro(mut found) = case.verify().unwrap() else {
        panic!("{} is no Nitro document", case.name);
    };
    let mut reference = references("nitro").aws_nitro.remove(0);
    let mut expected = case.expected.clone();
    bend(&mut found, &mut reference, &mut expected);
    let mut outcomes = Outcomes::default();
    found.hold_against(&reference, &expected, case.now, &mut outcomes);
    outcomes.into_vec()
}

pub(crate) fn negatives() -> Vec<Negative> {
    use Check::{
        NitroBinding, NitroChain, NitroDebug, NitroFormat, NitroMeasurement, NitroModule,
        NitroSignature, NitroTime,
    };
    vec![
        Negative(NitroFormat, "a byte follows", || {
            nitro().bent(&references("nitro"), |case| case.evidence.body.push(0))
        }),
        Negative(NitroSignature, "another signature", || {
            nitro().bent(&references("nitro"), |case| {
                *case.evidence.body.last_mut().unwrap() ^= 1
            })
        }),
        Negative(NitroChain, "the leaf has ended", || {
            nitro().bent(&references("nitro"), |case| case.now = Timestamp(UNTIL + 1))
        }),
        Negative(NitroTime, "older than accepted", || {
            held(|_, reference, _| reference.age = Freshness::MaxAgeS(Seconds(60)))
        }),
        Negative(NitroDebug, "a debug enclave", || {
            held(|found, reference, _| {
                for (index, rule) in [
                    &mut reference.pcr0,
                    &mut reference.pcr1,
                    &mut reference.pcr2,
                ]
                .into_iter()
                .enumerate()
                {
                    found.document.pcrs.insert(index as u8, Hex([0; 48]));
                    *rule = Rule::Ignore("a test".to_owned());
                }
            })
        }),
        Negative(NitroDebug, "one register without a measurement", || {
            held(|found, reference, _| {
                found.document.pcrs.insert(2, Hex([0; 48]));
                reference.pcr2 = Rule::Exact(Hex([0; 48]));
            })
        }),
        Negative(NitroMeasurement, "PCR0", || {
            held(|_, reference, _| reference.pcr0 = Rule::Exact(Hex([9; 48])))
        }),
        Negative(NitroMeasurement, "PCR1", || {
            held(|_, reference, _| reference.pcr1 = Rule::Exact(Hex([9; 48])))
        }),
        Negative(NitroMeasurement, "PCR2", || {
            held(|_, reference, _| reference.pcr2 = Rule::Exact(Hex([9; 48])))
        }),
        Negative(NitroMeasurement, "PCR3", || {
            held(|_, reference, _| reference.pcr3 = Rule::Exact(Hex([9; 48])))
        }),
        Negative(NitroMeasurement, "PCR4", || {
            held(|_, reference, _| reference.pcr4 = Rule::Exact(Hex([9; 48])))
        }),
        Negative(NitroMeasurement, "PCR8", || {
            held(|_, reference, _| reference.pcr8 = Rule::Exact(Hex([9; 48])))
        }),
        Negative(NitroMeasurement, "an absent register with a rule", || {
            held(|found, _, _| {
                found.document.pcrs.remove(&8);
            })
        }),
        Negative(NitroMeasurement, "a register without a rule", || {
            held(|found, _, _| {
                found.document.pcrs.insert(16, Hex([1; 48]));
            })
        }),
        Negative(NitroModule, "another instance", || {
            held(|_, reference, _| reference.module_id = Rule::Exact("i-0".to_owned()))
        }),
        Negative(NitroBinding, "nonce absent, and demanded", || {
            held(|_, reference, _| reference.nonce = Rule::Exact("00".to_owned()))
        }),
        Negative(NitroBinding, "another public key", || {
            held(|found, reference, _| {
                found.document.public_key = Some(vec![1]);
                reference.public_key = Rule::Exact("02".to_owned());
            })
        }),
        Negative(NitroBinding, "other user data", || {
            held(|_, reference, _| reference.user_data = Rule::Exact("00".to_owned()))
        }),
        Negative(Check::ReportData, "another binding", || {
            held(|_, _, expected| expected.report_data = Rule::Exact(Hex([1; 64])))
        }),
        Negative(
            Check::ReportData,
            "user data that is no report data",
            || held(|found, _, _| found.document.user_data = Some(vec![0; 65])),
        ),
    ]
}

/// With a policy that also names the instance and the user data.
pub(crate) fn good() -> Vec<Outcome> {
    held(|found, reference, _| {
        reference.module_id = Rule::Exact(found.document.module_id.clone());
        reference.user_data = Rule::Exact("00".repeat(64));
    })
}

#[test]
fn the_real_enclave_is_accepted() {
    if folder().is_none() {
        return;
    }
    assert_eq!(failed(&good()), []);
    let appraisal = nitro().appraise(&references("nitro")).unwrap();
    let crate::hardware::Authentic::AwsNitro(found) = appraisal.authentic() else {
        panic!();
    };
    // An hour after it was made, by the policy; the certificate would live longer.
    let made = found.document().made_at();
    assert_eq!(appraisal.valid_until(), made.plus(Seconds(3600)));
    assert_eq!(appraisal.authentic().valid_until(), Timestamp(UNTIL));
    // A clock that is a little slow refuses nothing; the document's own path tells when.
    let mut early = nitro();
    early.now = made.minus(Seconds(1));
    assert!(early.appraise(&references("nitro")).is_ok());
    let framed = early.evidence.staple(&early.endorsements).unwrap();
    assert_eq!(crate::claimed_time(&framed), Some(made));
    assert_eq!(crate::claimed_time(&framed[1..]), None);
}

/// The leaf lives three hours.
#[test]
fn only_inside_its_window() {
    if folder().is_none() {
        return;
    }
    let case = nitro();
    let year = 365 * 86_400;
    for inside in [MADE, MADE + 1, MADE + 3600, UNTIL - 1, UNTIL] {
        assert!(case.verify_at(inside).is_ok(), "{inside}");
    }
    for outside in [
        0,
        MADE - year,
        MADE - 86_400,
        MADE - 61,
        UNTIL + 1,
        UNTIL + year,
        u64::MAX,
    ] {
        let check = case.verify_at(outside).unwrap_err().check;
        assert_eq!(check, Check::NitroChain, "{outside}");
    }
}

/// One bit of every byte, every value of a sample: accepted nowhere.
#[test]
fn no_flip_of_a_document_is_accepted() {
    if folder().is_none() {
        return;
    }
    let case = nitro();
    let (body, roots) = (&case.evidence.body, TrustRoots::vendors());
    let found = accepted(body, &flips(body.len(), 64), |bent| {
        verify(bent, &roots, case.now).is_ok()
    });
    assert_eq!(found, []);
}

/// I1: the root that the verifier pins, not the one that the document brings.
#[test]
fn only_under_the_pinned_root() {
    if folder().is_none() {
        return;
    }
    let case = nitro();
    let roots = TrustRoots {
        aws_nitro: Some([1; 32]),
        ..TrustRoots::vendors()
    };
    let found = verify(&case.evidence.body, &roots, case.now);
    assert_eq!(found.unwrap_err().check, Check::NitroChain);
}

/// A document from before its certificate, and one from the future: AWS signed neither, so both are made by hand.
#[test]
fn a_document_is_made_while_its_certificate_is_valid() {
    if folder().is_none() {
        return;
    }
    let case = nitro();
    let mut document = held_document();
    let leaf = Certificate::parse(&document.certificate).unwrap();
    let mut at = |made: u64, now: u64| {
        document.timestamp_ms = made * 1000;
        check_time(&document, &leaf, Timestamp(now)).map_err(|e| e.check)
    };
    assert_eq!(at(MADE, case.now.0), Ok(()));
    assert_eq!(at(MADE + 60, MADE), Ok(()));
    assert_eq!(at(MADE + 61, MADE), Err(Check::NitroTime));
    assert_eq!(at(MADE - 3600, MADE), Err(Check::NitroTime));
    assert_eq!(at(UNTIL + 1, UNTIL + 2), Err(Check::NitroTime));
}

fn held_document() -> Document {
    let crate::hardware::Authentic::AwsNitro(found) = nitro().verify().unwrap() else {
        panic!("no Nitro document");
    };
    found.document
}

/// Every link of the real chain is asked: none can be left out, doubled or moved.
#[test]
fn no_other_chain_is_accepted() {
    if folder().is_none() {
        return;
    }
    let (now, roots, document) = (nitro().now, TrustRoots::vendors(), held_document());
    let leaf = Certificate::parse(&document.certificate).unwrap();
    let verify = |leaf: &Certificate, bundle: &[Vec<u8>]| verify_chain(leaf, bundle, &roots, now);
    let good = &document.cabundle;
    assert_eq!(verify(&leaf, good), Ok(Timestamp(UNTIL)));
    for at in 0..good.len() {
        let (mut without, mut doubled, mut moved) = (good.clone(), good.clone(), good.clone());
        without.remove(at);
        doubled.insert(at, good[at].clone());
        moved.swap(at, (at + 1) % good.len());
        for bad in [without, doubled, moved] {
            // The root twice in front is one more authority than it needs, and path lengths are counted below it.
            let root_twice = at == 0 && bad.len() > good.len();
            assert_eq!(verify(&leaf, &bad).is_ok(), root_twice, "{at}");
        }
    }
    assert!(verify(&leaf, &[]).is_err());
    let long: Vec<Vec<u8>> = std::iter::repeat_n(good[0].clone(), 7).collect();
    assert!(verify(&leaf, &long).unwrap_err().detail.contains("at most"));
    // The instance's certificate allows no authority below it, the root any number.
    let instance = Certificate::parse(&good[3]).unwrap();
    assert!(instance.check_path_len(0).is_ok() && instance.check_path_len(1).is_err());
    assert!(
        Certificate::parse(&good[0])
            .unwrap()
            .check_path_len(9)
            .is_ok()
    );
    // An authority of the chain signs no documents; a leaf issues no certificates.
    let issuer = Certificate::parse(&good[3]).unwrap();
    assert!(
        verify(&issuer, &good[..3])
            .unwrap_err()
            .detail
            .contains("may not sign evidence")
    );
    // This one's key usage has both: it may sign, but it is an authority.
    let region = Certificate::parse(&good[1]).unwrap();
    let refused = verify(&region, &good[..1]).unwrap_err();
    assert!(refused.detail.contains("may not sign evidence"));
    let mut longer = good.clone();
    longer.push(document.certificate.clone());
    assert!(verify(&leaf, &longer).is_err());
}
