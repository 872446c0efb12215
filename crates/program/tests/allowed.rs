//! I3: a plan goes no further than its policy; what the policy does not name is refused.

// Helpers of tests may panic as tests do.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;

use siegel_ident::{Digest, NanoRho};
use siegel_policy::{AccessPolicy, testing};
use siegel_program::{Bundle, HistogramSpec, Intrinsic, Plan, ProgramError, Release, Shape};

fn plan(column: &str, most: u32, rhos: &[u64]) -> Plan {
    let assets = [("words.txt".to_owned(), "ant\nbee\n".to_owned())].into();
    let bundle = Bundle::new("test", "", assets).unwrap();
    let release = Release {
        name: "words".into(),
        shape: Shape::Table { rows: 3 },
        bytes: 100,
    };
    let one = |rho: &u64| {
        let spec = HistogramSpec::new(&bundle, column, "words.txt", most, NanoRho(*rho));
        (
            vec![Intrinsic::Histogram(spec.unwrap())],
            Some(release.clone()),
        )
    };
    Plan::new(BTreeMap::new(), rhos.iter().map(one).collect(), 64).unwrap()
}

fn refused(plan: &Plan, policy: &AccessPolicy) -> bool {
    matches!(plan.check_policy(policy), Err(ProgramError::NotAllowed(_)))
}

#[test]
fn column_bound_mechanism_and_cost_are_the_policys() {
    let policy = testing::sample();
    let total = policy.privacy.total.rho_nano.0;
    assert!(plan("words", 32, &[total]).check_policy(&policy).is_ok());
    assert!(
        plan("words", 1, &[total / 2, total / 2])
            .check_policy(&policy)
            .is_ok()
    );
    assert!(refused(&plan("other-words", 32, &[total]), &policy));
    assert!(refused(&plan("words", 33, &[total]), &policy));
    assert!(refused(&plan("words", 32, &[total + 1]), &policy));
    // Each alone would do; together they are more than the pipeline has (I6).
    assert!(refused(&plan("words", 32, &[total, 1]), &policy));
    let mut none = testing::sample();
    none.privacy.mechanisms.clear();
    assert!(refused(&plan("words", 32, &[total]), &none));
}

// What the key service registers says what the plan says.
#[test]
fn run_parameters_name_the_exact_plan_and_its_costs() {
    let plan = plan("words", 2, &[5, 7]);
    let parameters = plan.run_parameters().unwrap();
    assert_eq!(parameters.plan, Digest::of(&plan.to_bytes().unwrap()));
    assert_eq!(
        parameters
            .steps
            .iter()
            .map(|s| s.rho_nano.0)
            .collect::<Vec<_>>(),
        [5, 7]
    );
    assert_eq!(parameters.total, plan.total);
}
