//! The plan of a run before anything starts: a policy that does not read, or a driver that refuses
//! its parameters, costs nobody a cluster.

use std::collections::BTreeMap;

use siegel_attest::{ReferenceValue, simulated};
use siegel_driver::{Driver, DriverError, Public};
use siegel_ident::{ClusterId, ConfigDigest, Digest, KeyDigest, Timestamp};
use siegel_policy::Policy;
use siegel_policy::author::{self, AuthorError, Facts};
use siegel_program::{ClippedSumSpec, Intrinsic, Plan};

use super::shipped::Chosen;
use crate::failure::Failure;

/// Runs the driver without clients under the chosen policy. The plan is that of the real run over
/// as many uploads: it depends on budget, rounds and uploads alone.
pub(super) fn plan(chosen: &Chosen, rounds: u64, uploads: u64) -> Result<Plan, Failure> {
    let policy = stand_in(chosen).map_err(bad_policy)?;
    let name = chosen.bundle.name();
    let refused = |why: DriverError| {
        let help = "see the program's text, and --rounds";
        Failure::usage("driver-refused", name, &why, help)
    };
    let public = Public {
        params: BTreeMap::from([("rounds".to_owned(), rounds as i64)]),
        blob_count: uploads,
        budget: policy.privacy.total,
    };
    let driver = Driver::load(&chosen.bundle).map_err(refused)?;
    let plan = driver.dry_run(&public).map_err(refused)?.plan;
    plan.check_policy(&policy).map_err(|why| {
        let help = "program and policy do not fit each other; change one";
        Failure::usage("program-not-allowed", name, why, help).under("I3")
    })?;
    Ok(plan)
}

pub(super) fn bad_policy(why: impl ToString) -> Failure {
    let help = "see policies/ for an example";
    Failure::usage("bad-policy", "--policy", why, help)
}

/// The first training step's specification: such a program's models can be tried on text.
pub(super) fn training(plan: &Plan) -> Option<&ClippedSumSpec> {
    let all = plan.steps.iter().flat_map(|step| &step.intrinsics);
    all.into_iter().find_map(|intrinsic| match intrinsic {
        Intrinsic::ClippedSum(spec) => Some(spec),
        Intrinsic::Histogram(_) => None,
    })
}

/// The policy with stand-ins for what only a cluster has. It is judged here and used nowhere.
fn stand_in(chosen: &Chosen) -> Result<Policy, AuthorError> {
    let names = author::names(&chosen.policy)?;
    let measured = |name: String| {
        let measurement = simulated::measurement(Digest::of(name.as_bytes()), &[], &[]);
        (name, vec![ReferenceValue::simulated(measurement)])
    };
    let bundle = &chosen.bundle;
    let facts = Facts {
        now: Timestamp(0),
        cluster_id: ClusterId::from_bytes([0; 32]),
        kms_config: ConfigDigest::from_bytes([0; 32]),
        log_origin: "log.rehearsal.invalid".into(),
        witnesses: 0,
        binaries: [names.root, names.worker, names.kms].map(measured).into(),
        programs: [(bundle.name().to_owned(), bundle.digest())].into(),
        endorsers: vec![KeyDigest::from_bytes([0; 32])],
    };
    author::build(&chosen.policy, &facts)
}

#[cfg(test)]
mod tests {
    use super::super::shipped::choose;
    use super::*;

    // Catches a refusal that comes only after clients have uploaded.
    #[test]
    fn more_rounds_than_a_program_has_are_refused_at_once() {
        let histogram = choose("word-histogram", None).unwrap();
        assert_eq!(plan(&histogram, histogram.rounds, 10).unwrap().rounds, 1);
        let refused = plan(&histogram, 2, 10).unwrap_err();
        assert_eq!((&*refused.code, refused.exit), ("driver-refused", 2));
        assert!(
            refused.message.contains("rounds must be 1"),
            "{}",
            refused.message
        );
    }

    // I6: catches a training that costs more than its policy has, or leaves most of it unused.
    #[test]
    fn i6_all_rounds_of_the_training_cost_the_whole_budget_and_no_more() {
        let chosen = choose("next-char", None).unwrap();
        let plan = plan(&chosen, chosen.rounds, 1_400).unwrap();
        let spec = training(&plan).unwrap();
        assert_eq!((plan.rounds, spec.dimension()), (20, 3_639));
        let (rho, total) = (
            plan.total.rho_nano,
            stand_in(&chosen).unwrap().privacy.total.rho_nano,
        );
        assert!(rho <= total && rho.0 + 20 > total.0, "{rho} of {total}");
        assert_eq!(total.to_string().get(..5), Some("1.477"));
        assert!(plan.steps.iter().all(|step| step.release.is_some()));
    }

    #[test]
    fn i3_a_policy_for_something_else_is_refused_at_once() {
        let mut chosen = choose("next-char", None).unwrap();
        chosen.policy = chosen
            .policy
            .replace("max_items_per_user = 512", "max_items_per_user = 511");
        let refused = plan(&chosen, 20, 10).unwrap_err();
        assert_eq!(refused.invariant.as_deref(), Some("I3"));
        chosen.policy = "name = 3".into();
        assert_eq!(&*plan(&chosen, 20, 10).unwrap_err().code, "bad-policy");
    }
}
