//! Rules as they are written, and what they accept.

use super::*;
use crate::hardware::Freshness;
use crate::hardware::outcome::Outcomes;
use crate::hardware::{Check, Status};
use siegel_ident::{Seconds, Timestamp};

fn rule<T: Field + for<'a> Deserialize<'a>>(json: &str) -> Result<Rule<T>, String> {
    serde_json::from_str(json).map_err(|e| e.to_string())
}

#[test]
fn each_form_accepts_what_it_says() {
    for (json, accepted) in [
        (r#"{"exact":5}"#, [false, true, false]),
        (r#"{"any_of":[4,6]}"#, [true, false, true]),
        (r#"{"at_least":5}"#, [false, true, true]),
        (r#"{"ignore":"why"}"#, [true, true, true]),
    ] {
        let rule = rule::<u8>(json).unwrap();
        assert_eq!(
            [4, 5, 6].map(|found| rule.allows(&found)),
            accepted,
            "{json}"
        );
        assert_eq!(serde_json::to_string(&rule).unwrap(), json);
    }
}

/// At the border of files, and where a program makes the rule itself.
#[test]
fn i3_an_order_that_is_none_accepts_nothing() {
    let no_order = |found: String| assert!(found.contains("no order"), "{found}");
    no_order(rule::<bool>(r#"{"at_least":false}"#).unwrap_err());
    no_order(rule::<String>(r#"{"at_least":""}"#).unwrap_err());
    no_order(rule::<Hex<2>>(r#"{"at_least":"0000"}"#).unwrap_err());
    assert!(!Rule::AtLeast(false).allows(&true));
    assert!(!Rule::AtLeast(false).allows(&false));
    assert!(!Rule::AtLeast(String::new()).allows(&String::new()));
    assert!(!Rule::AtLeast(Hex([0; 2])).allows(&Hex([0; 2])));
    assert!(!Rule::<u8>::AnyOf(Vec::new()).allows(&0));
}

#[test]
fn i2_what_nobody_means_does_not_parse() {
    for json in [
        r#"{"any_of":[]}"#,
        r#"{"ignore":""}"#,
        r#"{"ignore":" \n"}"#,
        r#"{"exact":1,"ignore":"why"}"#,
        r#"{"exact":1,"exact":1}"#,
        r#"{"exact":256}"#,
        r#"{"exact":1.0}"#,
        r#"{"exact":"1"}"#,
        r#"{"at_most":1}"#,
        r#"{"Exact":1}"#,
        r#"{}"#,
        "1",
        "null",
        r#""exact""#,
    ] {
        assert!(rule::<u8>(json).is_err(), "{json}");
    }
    for json in [
        r#"{"exact":"00"}"#,
        r#"{"exact":"000000"}"#,
        r#"{"exact":"00AA"}"#,
        r#"{"exact":"0x00"}"#,
    ] {
        assert!(rule::<Hex<2>>(json).is_err(), "{json}");
    }
}

/// An absent field satisfies no rule but "ignore": not even "at least 0".
#[test]
fn i3_absent_is_not_zero() {
    let status = |rule: &Rule<u8>| {
        let mut outcomes = Outcomes::default();
        outcomes.rule_if(Check::SnpTcb, "FMC", rule, None);
        outcomes.into_vec().remove(0).status
    };
    for demanded in [Rule::Exact(0), Rule::AtLeast(0), Rule::AnyOf(vec![0])] {
        assert_eq!(status(&demanded), Status::Failed, "{demanded}");
    }
    assert_eq!(status(&Rule::Ignore("why".to_owned())), Status::Ignored);
}

// I14: an author's reason, or what a presenter claims, forges no line on a terminal.
#[test]
fn i14_outcomes_move_no_cursor() {
    let mut outcomes = Outcomes::default();
    let rule = Rule::Ignore("why\n  passed  snp-crl\u{1b}[2K".to_owned());
    outcomes.rule(Check::SnpCrl, "a\rb", &rule, &"found\0".to_owned());
    let [outcome] = &outcomes.into_vec()[..] else {
        panic!();
    };
    assert!(
        !outcome.detail.contains(char::is_control),
        "{:?}",
        outcome.detail
    );
    assert!(
        outcome.detail.contains("why?  passed"),
        "{}",
        outcome.detail
    );
}

#[test]
fn freshness_is_an_age_and_a_presence() {
    let (now, max) = (Timestamp(1000), Freshness::MaxAgeS(Seconds(100)));
    let status = |demand: &Freshness, issued: Option<u64>| {
        let mut outcomes = Outcomes::default();
        demand.hold(
            Check::SnpCrl,
            "list",
            issued.map(Timestamp),
            now,
            &mut outcomes,
        );
        outcomes.into_vec().remove(0).status
    };
    for (issued, wanted) in [
        (None, Status::Failed),
        (Some(899), Status::Failed),
        (Some(900), Status::Passed),
        (Some(1000), Status::Passed),
        (Some(1060), Status::Passed),
        (Some(1061), Status::Failed),
    ] {
        assert_eq!(status(&max, issued), wanted, "{issued:?}");
    }
    assert_eq!(
        status(&Freshness::Ignore("why".to_owned()), None),
        Status::Ignored
    );
}
