//! I6 and I14: a plan's sums are checked on reading, and hostile ones do not parse.

// Helpers of tests may panic as tests do.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use siegel_ident::{NanoRho, Step};
use siegel_program::{Bundle, HistogramSpec, Intrinsic, Plan, Query, Release, Shape};

fn bundle() -> Bundle {
    Bundle::new(
        "test",
        "",
        [("words.txt".to_owned(), "ant\nbee\n".to_owned())].into(),
    )
    .unwrap()
}

fn spec(rho: u64) -> Intrinsic {
    let spec = HistogramSpec::new(&bundle(), "words", "words.txt", 2, NanoRho(rho));
    Intrinsic::Histogram(spec.unwrap())
}

fn plan() -> Plan {
    let release = Release {
        name: "words".into(),
        shape: Shape::Table { rows: 3 },
        bytes: 100,
    };
    let params: BTreeMap<String, i64> = [("rounds".to_owned(), 2)].into();
    Plan::new(
        params,
        vec![
            (vec![spec(5), spec(6)], None),
            (vec![spec(7)], Some(release)),
        ],
        64,
    )
    .unwrap()
}

#[test]
fn the_total_is_the_sum_and_steps_count_from_one() {
    let plan = plan();
    assert_eq!(
        (plan.total.rho_nano, plan.steps[0].cost.rho_nano),
        (NanoRho(18), NanoRho(11))
    );
    assert_eq!(plan.intrinsic(Step(1), 1), Some(&spec(6)));
    assert_eq!(plan.intrinsic(Step(2), 0), Some(&spec(7)));
    assert!(plan.intrinsic(Step(0), 0).is_none() && plan.intrinsic(Step(3), 0).is_none());
    assert!(plan.intrinsic(Step(2), 1).is_none());
    assert_eq!(Plan::parse(&plan.to_bytes().unwrap()).unwrap(), plan);
}

// I6. Catches a plan that says less than it does: the ledger debits what stands in `total`.
#[test]
fn an_understated_plan_does_not_parse() {
    let text = String::from_utf8(plan().to_bytes().unwrap()).unwrap();
    let total = r#""total":{"delta0":"0","rho_nano":18}"#;
    assert!(text.contains(total));
    for (from, to) in [
        (total, r#""total":{"delta0":"0","rho_nano":17}"#),
        (
            r#""cost":{"delta0":"0","rho_nano":11}"#,
            r#""cost":{"delta0":"0","rho_nano":10}"#,
        ),
        (r#""rounds":2,"#, r#""rounds":3,"#),
        (r#""rho_nano":7,"#, r#""rho_nano":0,"#),
        ("siegel/plan/v1", "siegel/plan/v2"),
        (r#""max_per_user":2"#, r#""max_per_user":0"#),
        (r#""max_per_user":2"#, r#""max_per_user":4097"#),
        (r#""bins":3"#, r#""bins":1"#),
    ] {
        assert!(text.contains(from), "{from}");
        assert!(
            Plan::parse(text.replacen(from, to, 1).as_bytes()).is_err(),
            "{to}"
        );
    }
    // A step that pays less than its intrinsics cost, with a total that agrees with the steps.
    let (cost, cheap) = (
        r#""cost":{"delta0":"0","rho_nano":11}"#,
        r#""cost":{"delta0":"0","rho_nano":1}"#,
    );
    let understated = text.replacen(cost, cheap, 1);
    assert_ne!(understated, text);
    let understated = understated.replacen(total, r#""total":{"delta0":"0","rho_nano":8}"#, 1);
    assert!(Plan::parse(understated.as_bytes()).is_err());
}

#[test]
fn costs_that_json_cannot_hold_are_refused() {
    let release = || {
        Some(Release {
            name: "words".into(),
            shape: Shape::Table { rows: 3 },
            bytes: 100,
        })
    };
    // Above 2^53 JSON would round the number, and the ledger would debit another one.
    let huge = vec![(vec![spec((1 << 53) - 1), spec(1)], release())];
    assert!(Plan::new(BTreeMap::new(), huge, 64).is_err());
    assert!(Plan::new(BTreeMap::new(), vec![], 64).is_err());
    let silent = vec![(vec![], release()), (vec![spec(1)], None)];
    assert!(Plan::new(BTreeMap::new(), silent, 64).is_err());
    let free = vec![(vec![], release())];
    assert!(Plan::new(BTreeMap::new(), free, 64).is_ok());
    let params: BTreeMap<String, i64> = [("A".to_owned(), 2)].into();
    assert!(Plan::new(params, vec![(vec![], release())], 64).is_err());
    let free = |rho| HistogramSpec::new(&bundle(), "words", "words.txt", 2, NanoRho(rho)).is_err();
    assert!(free(0) && free(1 << 53) && !free((1 << 53) - 1));
}

// I2: a specification that claims other bins than its vocabulary has is not computed.
#[test]
fn bins_are_those_of_the_vocabulary() {
    let bundle = bundle();
    let text = String::from_utf8(spec(5).to_bytes().unwrap()).unwrap();
    let other = Intrinsic::parse(text.replace(r#""bins":3"#, r#""bins":4"#).as_bytes()).unwrap();
    assert!(Query::new(&other, &bundle, &[]).is_err());
    assert!(Query::new(&spec(5), &bundle, &[]).is_ok());
    assert!(HistogramSpec::new(&bundle, "words", "none.txt", 2, NanoRho(5)).is_err());
}

// The noise pays for what is claimed: rounding goes against the spender.
#[test]
fn the_noise_costs_at_most_what_the_specification_says() {
    for rho in [1_000, 123_457, 91_234_567, 2_000_000_000] {
        let spec = spec(rho);
        let cost = siegel_dp::cost_of(spec.sensitivity_sq(), spec.sigma2().unwrap());
        assert!(
            cost <= spec.cost().rho_nano && cost.0 * 1000 >= rho * 999,
            "{rho}: {cost}"
        );
    }
}

proptest! {
    #[test]
    fn hostile_bytes_never_panic(at in 0usize..600, byte: u8) {
        let mut bytes = plan().to_bytes().unwrap();
        let len = bytes.len();
        bytes[at % len] = byte;
        if let Ok(back) = Plan::parse(&bytes) {
            prop_assert_eq!(back.to_bytes().unwrap(), bytes.clone());
        }
        let _ = Intrinsic::parse(&bytes[at % len..]);
    }
}
