//! One document has one spelling, and every rule is met exactly and broken by one step.

use siegel_policy::testing::{measured, sample};

use super::*;
use crate::testing::{binary, of_policy};

fn good() -> Endorsement {
    of_policy(&sample(), Timestamp(10), Timestamp(20)).remove(0)
}

fn binaries(document: &mut Endorsement) -> &mut Binaries {
    match &mut document.subject {
        Subject::Binaries(binaries) => binaries,
        Subject::Program(_) => panic!("binaries"),
    }
}

#[test]
fn i2_one_spelling() {
    for document in of_policy(&sample(), Timestamp(10), Timestamp(20)) {
        let bytes = document.to_bytes().unwrap();
        assert_eq!(Endorsement::parse(&bytes).unwrap(), document);
        assert!(Endorsement::parse(&[&bytes[..], b" "].concat()).is_err());
        assert!(Endorsement::parse(&[b" ", &bytes[..]].concat()).is_err());
    }
}

// I3: whatever is absent is a refusal, null included.
#[test]
fn i3_no_field_can_be_left_out() {
    let text = String::from_utf8(good().to_bytes().unwrap()).unwrap();
    for (from, to) in [
        (r#""dirty":false,"#, ""),
        (r#""name":"binaries","#, ""),
        (r#""flavour":"simulation""#, r#""flavour":"test""#),
        (
            r#""schema":"siegel/endorsement/v1""#,
            r#""schema":"siegel/endorsement/v2""#,
        ),
        (r#""not_before":10"#, r#""not_before":10.5"#),
        (r#""name":"binaries""#, r#""more":1,"name":"binaries""#),
    ] {
        let bad = text.replacen(from, to, 1);
        assert_ne!(bad, text, "{from}");
        assert!(Endorsement::parse(bad.as_bytes()).is_err(), "{bad}");
    }
    let start = text.find(r#""commit":""#).unwrap();
    let end = start + text[start..].find(',').unwrap() + 1;
    let without = [&text[..start], &text[end..]].concat();
    assert!(Endorsement::parse(without.as_bytes()).is_err());
}

#[test]
fn i14_every_rule() {
    type Bend = fn(&mut Endorsement);
    let cases: &[(Bend, bool)] = &[
        (|_| {}, true),
        (|d| d.not_after = Timestamp(11), true),
        (|d| d.not_after = d.not_before, false),
        (|d| d.not_after = Timestamp(1 << 53), false),
        (|d| d.name = "x".repeat(128), true),
        (|d| d.name = "x".repeat(129), false),
        (|d| d.name = String::new(), false),
        (|d| d.name = "a\nb".into(), false),
        (|d| d.schema = "siegel/policy/v1".into(), false),
        (|d| binaries(d).files.clear(), false),
        (|d| binaries(d).files.reverse(), false),
        (|d| drop(binaries(d).files.pop()), true),
        (|d| binaries(d).files[0].name = "a/b".into(), false),
        (
            |d| binaries(d).files[0] = binary(Part::Kms, &[measured(3), measured(3)]),
            false,
        ),
        (|d| binaries(d).files[0].measurements.clear(), true),
        (|d| binaries(d).build = None, true),
        (|d| binaries(d).build.as_mut().unwrap().commit = None, true),
        (
            |d| binaries(d).build.as_mut().unwrap().commit = Some("HEAD".into()),
            false,
        ),
        (
            |d| binaries(d).build.as_mut().unwrap().rustc = "a\nb".into(),
            false,
        ),
        (
            |d| binaries(d).build.as_mut().unwrap().cc = String::new(),
            false,
        ),
    ];
    for (at, (bend, fine)) in cases.iter().enumerate() {
        let mut document = good();
        bend(&mut document);
        assert_eq!(document.to_bytes().is_ok(), *fine, "case {at}");
    }
}

#[test]
fn only_a_clean_commit_with_a_recipe_is_reproducible() {
    let build = crate::testing::build();
    assert!(build.is_reproducible());
    for bend in [
        |b: &mut Build| b.dirty = true,
        |b: &mut Build| b.commit = None,
        |b: &mut Build| b.recipe = None,
    ] {
        let mut other = build.clone();
        bend(&mut other);
        assert!(!other.is_reproducible());
    }
}
