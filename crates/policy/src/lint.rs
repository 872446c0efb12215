//! What parses but should be looked at.

use std::collections::{BTreeMap, BTreeSet};

use siegel_attest::hardware::Rule;
use siegel_attest::hardware::snp::Product;
use siegel_attest::{Profile, ReferenceValue};
use siegel_ident::{PolicyDigest, Seconds};

use crate::finding::Severity::{self, Error, Info, Warning};
use crate::{AccessPolicy, Finding};

/// Above this, ε promises little (a common line for user-level guarantees).
const EPSILON_LARGE: f64 = 8.0;
/// Above this, ε promises nothing: one in e^50 is no doubt.
const EPSILON_HUGE: f64 = 50.0;
/// Above this, δ is too large for a population of a million.
const DELTA_LARGE: f64 = 1e-5;
const KEY_TTL_LONG: Seconds = Seconds(24 * 3600);
const WINDOW_LONG: Seconds = Seconds(366 * 86_400);

/// Everything worth saying about a policy, worst first. An error means that nobody should upload
/// under it.
pub fn lint(policy: &AccessPolicy) -> Vec<Finding> {
    let mut findings: Vec<Finding> = [
        trust(policy),
        privacy(policy),
        lifetimes(policy),
        binaries(policy),
        hardware(policy),
    ]
    .concat();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

/// What policies mean together: a budget belongs to one pipeline, so whoever uploads the same data to
/// several pays for each.
pub fn lint_together(policies: &[&AccessPolicy]) -> Vec<Finding> {
    let replaced: BTreeSet<_> = policies.iter().filter_map(|p| p.predecessor).collect();
    // A pipeline's newest policies; two of one pipeline are no second budget.
    let newest = policies.iter().filter(|policy| {
        let digest = policy.to_bytes().map(|bytes| PolicyDigest::of(&bytes));
        !digest.is_ok_and(|digest| replaced.contains(&digest))
    });
    let mut groups: Vec<(&AccessPolicy, BTreeMap<&str, f64>)> = Vec::new();
    for policy in newest {
        let same = |first: &AccessPolicy| {
            first.kms.cluster_id == policy.kms.cluster_id && first.input == policy.input
        };
        let at = groups.iter().position(|(first, _)| same(first));
        let at = at.unwrap_or_else(|| {
            groups.push((policy, BTreeMap::new()));
            groups.len() - 1
        });
        if let Some((_, pipelines)) = groups.get_mut(at) {
            let epsilon = pipelines.entry(&policy.pipeline).or_default();
            *epsilon = epsilon.max(policy.privacy.epsilon.nearest());
        }
    }
    let several = groups
        .into_iter()
        .filter(|(_, pipelines)| pipelines.len() > 1);
    several
        .map(|(_, pipelines)| {
            let names: Vec<&str> = pipelines.keys().copied().collect();
            let sum: f64 = pipelines.values().sum();
            let message = format!(
                "pipelines {} take the same input at one cluster: whoever uploads to all of them is \
                 protected by their sum only, epsilon = {sum}",
                names.join(", ")
            );
            Finding::new(Warning, "pipelines-overlap", "I6", message)
        })
        .collect()
}

fn trust(policy: &AccessPolicy) -> Vec<Finding> {
    found([
        when(
            policy.is_simulation(),
            Warning,
            "insecure-simulation",
            "I11",
            "INSECURE SIMULATION: whoever runs the simulation can read every upload",
        ),
        when(
            policy.is_unwitnessed(),
            Warning,
            "unwitnessed",
            "I1",
            "UNWITNESSED: nobody but the operator vouches that all see the same log",
        ),
        when(
            policy.has_simulated_witnesses(),
            Warning,
            "simulated-witnesses",
            "I1",
            "SIMULATED WITNESSES: whoever runs the simulation runs the witnesses of its log, if that is its own",
        ),
        when(
            policy.suites.contains(&1),
            Info,
            "suite-classical",
            "",
            "suite 1 (X25519): uploads recorded today could be opened with a quantum computer; \
             suite 2 (X-Wing) resists that",
        ),
    ])
}

fn privacy(policy: &AccessPolicy) -> Vec<Finding> {
    let stated = &policy.privacy;
    let least = stated.least_epsilon();
    found([
        when(
            stated.epsilon.upper() > EPSILON_LARGE,
            Warning,
            "epsilon-large",
            "I6",
            format!(
                "epsilon = {} is a weak promise; above 8 it says little",
                stated.epsilon
            ),
        ),
        when(
            stated.epsilon.nearest() > EPSILON_HUGE,
            Error,
            "epsilon-huge",
            "I6",
            format!(
                "epsilon = {} promises nothing: no noise that fits it hides anyone",
                stated.epsilon
            ),
        ),
        when(
            stated.delta.upper() > DELTA_LARGE,
            Warning,
            "delta-large",
            "I6",
            format!(
                "delta = {} is large: keep it well below one in the users",
                stated.delta
            ),
        ),
        when(
            stated.epsilon.nearest() > least * 1.01 + 0.01,
            Info,
            "epsilon-loose",
            "I6",
            format!(
                "the budget gives epsilon = {least:.6}; the stated {} is looser",
                stated.epsilon
            ),
        ),
    ])
}

fn lifetimes(policy: &AccessPolicy) -> Vec<Finding> {
    let window = policy.not_after.since(policy.not_before);
    found([
        when(
            policy.key_ttl > KEY_TTL_LONG,
            Warning,
            "key-ttl-long",
            "I9",
            format!(
                "keys live {}: a broken worker exposes all uploads of that time",
                policy.key_ttl
            ),
        ),
        when(
            policy.key_ttl > window,
            Warning,
            "key-ttl-beyond-window",
            "I9",
            format!("keys live {}, the policy only {window}", policy.key_ttl),
        ),
        when(
            window > WINDOW_LONG,
            Warning,
            "window-long",
            "I9",
            format!(
                "the policy is in use for {} days: renew it more often",
                window.0 / 86_400
            ),
        ),
    ])
}

fn binaries(policy: &AccessPolicy) -> Vec<Finding> {
    let (root, worker) = (
        &policy.roles.root.reference_values,
        &policy.roles.worker.reference_values,
    );
    let kms = &policy.kms.reference_values;
    let meet = |a: &[ReferenceValue], b: &[ReferenceValue]| a.iter().any(|value| b.contains(value));
    found([
        when(
            meet(root, worker) || meet(root, kms) || meet(worker, kms),
            Warning,
            "roles-share-measurement",
            "I3",
            "two roles accept the same measurement: one binary can play both",
        ),
        when(
            policy.endorsers.is_empty(),
            match policy.profile {
                Profile::Production => Error,
                Profile::Simulation => Warning,
            },
            "not-endorsed",
            "I3",
            "nobody has to have endorsed the binaries and programs: the policy's author alone \
             vouches for them",
        ),
        when(
            policy.rebuilders == 0,
            Info,
            "not-rebuilt",
            "",
            "nobody is required to have rebuilt the binaries from source",
        ),
    ])
}

/// What reference values of real TEEs leave to the owner of the machine.
fn hardware(policy: &AccessPolicy) -> Vec<Finding> {
    let milan = all_values(policy).any(|value| match value {
        ReferenceValue::SevSnp(reference) => reference.product.allows(&Product::Milan),
        _ => false,
    });
    let any_machine = all_values(policy).any(|value| match value {
        ReferenceValue::Simulated(_) => false,
        ReferenceValue::SevSnp(reference) => open(&reference.chip_id) && open(&reference.provider),
        ReferenceValue::Tdx(reference) => open(&reference.quote.ppid),
        ReferenceValue::Sgx(reference) => open(&reference.quote.ppid),
        ReferenceValue::AwsNitro(_) => false,
    });
    found([
        when(
            milan,
            Warning,
            "milan-accepted",
            "I3",
            "EPYC 7003 (Milan) is accepted, whose chip keys can be extracted by software (BadFuse): \
             leave it out of `product`",
        ),
        when(
            any_machine,
            Warning,
            "any-machine",
            "I3",
            "any machine of an accepted model is accepted: its owner can put an interposer on the memory bus, \
             which no evidence shows; list chips, platforms or a cloud provider",
        ),
    ])
}

fn open<T>(rule: &Rule<T>) -> bool {
    matches!(rule, Rule::Ignore(_))
}

fn all_values(policy: &AccessPolicy) -> impl Iterator<Item = &ReferenceValue> {
    let roles = &policy.roles;
    let lists = [
        &policy.kms.reference_values,
        &roles.root.reference_values,
        &roles.worker.reference_values,
    ];
    lists.into_iter().flatten()
}

fn when(
    condition: bool,
    severity: Severity,
    id: &str,
    invariant: &str,
    message: impl Into<String>,
) -> Option<Finding> {
    condition.then(|| Finding::new(severity, id, invariant, message))
}

fn found<const N: usize>(findings: [Option<Finding>; N]) -> Vec<Finding> {
    findings.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use siegel_ident::KeyDigest;

    use super::*;
    use crate::testing::{measured, production, sample};

    fn ids(policy: &AccessPolicy) -> Vec<String> {
        lint(policy).into_iter().map(|f| f.id).collect()
    }

    /// I11, I1. What a simulation must always say.
    #[test]
    fn i11_a_simulation_and_a_lone_log_are_said() {
        let findings = lint(&sample());
        assert_eq!(
            ids(&sample()),
            [
                "insecure-simulation",
                "unwitnessed",
                "not-endorsed",
                "suite-classical",
                "not-rebuilt"
            ]
        );
        assert!(findings[0].message.contains("INSECURE SIMULATION"));
        assert!(findings[1].message.contains("UNWITNESSED"));
        assert_eq!(findings[0].invariant.as_deref(), Some("I11"));
        assert!(!Finding::any_error(&findings));
        let mut witnessed = sample();
        witnessed.log.witnesses = 2;
        assert_eq!(ids(&witnessed)[1], "simulated-witnesses");
        assert!(lint(&witnessed)[1].message.contains("SIMULATED WITNESSES"));
    }

    /// I11. A production policy is not said to be a simulation.
    #[test]
    fn i11_production_is_no_simulation() {
        let said = ids(&production());
        for absent in ["insecure-simulation", "unwitnessed", "simulated-witnesses"] {
            assert!(!said.contains(&absent.to_owned()), "{absent}");
        }
    }

    /// I3. Catches hardware that is known to be broken, or that anybody may own, passing without a word.
    #[test]
    fn i3_hardware_that_says_too_little_is_said() {
        let with = |change: &dyn Fn(&mut siegel_attest::hardware::snp::Reference)| {
            let mut policy = production();
            let values = &mut policy.roles.worker.reference_values;
            let Some(ReferenceValue::SevSnp(reference)) = values.first_mut() else {
                panic!("{values:?}");
            };
            change(reference);
            ids(&policy)
        };
        let has = |ids: &[String], id: &str| ids.contains(&id.to_owned());
        let good = with(&|_| ());
        assert!(!has(&good, "milan-accepted") && !has(&good, "any-machine"));
        let any = || Rule::Ignore("a test".into());
        assert!(has(&with(&|r| r.product = any()), "milan-accepted"));
        let both = Rule::AnyOf(vec![Product::Milan, Product::Genoa]);
        assert!(has(&with(&|r| r.product = both.clone()), "milan-accepted"));
        assert!(has(
            &with(&|r| r.chip_id = Rule::Ignore("a test".into())),
            "any-machine"
        ));
    }

    /// I3. In production it is an error that nobody has to vouch for the binaries.
    #[test]
    fn i3_production_needs_endorsers() {
        let severity = |policy: &AccessPolicy| {
            let findings = lint(policy);
            let finding = findings.into_iter().find(|f| f.id == "not-endorsed");
            finding.map(|f| f.severity)
        };
        assert_eq!(severity(&sample()), Some(Warning));
        assert_eq!(severity(&production()), Some(Error));
    }

    #[test]
    fn each_warning_has_its_cause() {
        let with = |change: &dyn Fn(&mut AccessPolicy)| {
            let mut policy = sample();
            change(&mut policy);
            ids(&policy)
        };
        let has =
            |ids: Vec<String>, id: &str| assert!(ids.iter().any(|i| i == id), "{id}: {ids:?}");
        has(
            with(&|p| p.privacy.epsilon = "8.1".parse().unwrap()),
            "epsilon-large",
        );
        has(
            with(&|p| p.privacy.epsilon = "3".parse().unwrap()),
            "epsilon-loose",
        );
        has(
            with(&|p| p.privacy.delta = "0.0001".parse().unwrap()),
            "delta-large",
        );
        has(with(&|p| p.key_ttl = Seconds(86_401)), "key-ttl-long");
        has(
            with(&|p| p.not_after = p.not_before.plus(Seconds(100))),
            "key-ttl-beyond-window",
        );
        has(
            with(&|p| p.not_after = p.not_before.plus(Seconds(400 * 86_400))),
            "window-long",
        );
        has(
            with(&|p| p.roles.root.reference_values = vec![measured(3)]),
            "roles-share-measurement",
        );
        assert!(
            !with(&|p| p.endorsers = vec![KeyDigest::from_bytes([1; 32])])
                .contains(&"not-endorsed".to_owned())
        );
        assert!(!with(&|p| p.suites = vec![2]).contains(&"suite-classical".to_owned()));
    }

    /// I6. Catches: an epsilon that hides nobody and passes as a warning.
    #[test]
    fn i6_an_epsilon_that_promises_nothing_is_an_error() {
        let with = |epsilon: &str| {
            let mut policy = sample();
            policy.privacy.epsilon = epsilon.parse().unwrap();
            lint(&policy)
        };
        assert!(!Finding::any_error(&with("50")));
        let findings = with("50.1");
        assert_eq!(findings[0].id, "epsilon-huge");
        assert!(Finding::any_error(&findings));
    }

    /// I6. Catches: two budgets over the same data that nobody adds up; and a warning about policies
    /// that replace each other, or that have nothing in common.
    #[test]
    fn i6_pipelines_over_the_same_input_are_added_up() {
        let first = sample();
        let mut second = sample();
        second.pipeline = "org.example.second".to_owned();
        let said = lint_together(&[&first, &second]);
        assert_eq!(said.len(), 1);
        assert_eq!(said[0].id, "pipelines-overlap");
        assert!(
            said[0].message.contains("epsilon = 4"),
            "{}",
            said[0].message
        );
        assert!(lint_together(&[&first, &first]).is_empty());
        // The second was given up for one that reads something else.
        let mut third = second.clone();
        third.predecessor = Some(PolicyDigest::of(&second.to_bytes().unwrap()));
        third.input.columns[0].name = "other".to_owned();
        assert!(lint_together(&[&first, &second, &third]).is_empty());
        let mut elsewhere = second.clone();
        elsewhere.kms.cluster_id = siegel_ident::ClusterId::of(b"another");
        assert!(lint_together(&[&first, &elsewhere]).is_empty());
    }

    #[test]
    fn worst_first() {
        let severities: Vec<_> = lint(&production()).iter().map(|f| f.severity).collect();
        assert!(severities.is_sorted_by(|a, b| a >= b));
    }
}
