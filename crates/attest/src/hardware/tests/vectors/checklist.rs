//! Every check of Intel's and AWS's evidence can be passed and can be failed, each alone.

use super::{Case, failed, folder, nitro, references, sgx, tdx};
use crate::hardware::{Check, Outcome, Status, event_log, nitro, quote, sgx, tdx};

/// One way to fail one check while all others hold.
pub(crate) struct Negative(
    pub(crate) Check,
    pub(crate) &'static str,
    pub(crate) fn() -> Vec<Outcome>,
);

fn is_ours(check: Check) -> bool {
    let of = ["quote-", "tdx-", "sgx-", "nitro-", "event-log"];
    of.iter().any(|prefix| check.id().starts_with(prefix))
}

fn positives() -> Vec<Outcome> {
    let cases: [(Case, &str); 3] = [(tdx(), "tdx"), (sgx(), "sgx"), (nitro(), "nitro")];
    let mut all = event_log::tests::good();
    all.extend(nitro::tests::good());
    for (case, kind) in cases {
        let appraisal = case.appraise(&references(kind));
        let appraisal = appraisal.unwrap_or_else(|e| panic!("{}: {e} {:?}", case.name, e.outcomes));
        all.extend(appraisal.outcomes().iter().cloned());
    }
    all
}

/// Catches a check that nothing asks, and one that nothing can fail.
#[test]
fn every_check_passes_and_fails_alone() {
    if folder().is_none() {
        return;
    }
    let positives = positives();
    let negatives: Vec<Negative> = [
        quote::tests::negatives(),
        tdx::tests::negatives(),
        sgx::tests::negatives(),
        nitro::tests::negatives(),
        event_log::tests::negatives(),
    ]
    .into_iter()
    .flatten()
    .collect();
    for check in Check::ALL.iter().copied().filter(|check| is_ours(*check)) {
        let passed = |one: &Outcome| one.check == check && one.status == Status::Passed;
        assert!(positives.iter().any(passed), "{check}: no positive");
        assert!(
            negatives.iter().any(|one| one.0 == check),
            "{check}: no negative"
        );
    }
    for Negative(check, what, outcomes) in negatives {
        assert_eq!(failed(&outcomes()), [check], "{what}");
    }
}
