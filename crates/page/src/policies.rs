//! What each policy allows and promises, and who vouches for whom it lets in.

use siegel_attest::ReferenceValue;
use siegel_audit::{AuditReport, PolicyReport};
use siegel_ident::Digest;
use siegel_policy::{AccessPolicy, ColumnKind, Recipient, Utc, promises};

use crate::text::{clean, counted, length, short};

/// More policies than this are only counted.
const MAX: usize = 500;

pub(crate) struct PolicyView {
    /// Name of its place on the page.
    pub(crate) anchor: String,
    pub(crate) name: String,
    pub(crate) pipeline: String,
    pub(crate) sha256: String,
    pub(crate) short: String,
    pub(crate) log_index: u64,
    pub(crate) epsilon: String,
    pub(crate) delta: String,
    pub(crate) state: &'static str,
    pub(crate) simulation: bool,
    /// Term and what it is.
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) promises: Vec<String>,
    pub(crate) lets_in: Vec<LetIn>,
}

/// A binary or program, and who vouches for it.
pub(crate) struct LetIn {
    pub(crate) role: &'static str,
    pub(crate) what: &'static str,
    pub(crate) digest: String,
    pub(crate) endorser: String,
    pub(crate) until: String,
    pub(crate) commit: String,
    pub(crate) recipe: String,
}

pub(crate) fn views(report: &AuditReport) -> Vec<PolicyView> {
    report.policies.iter().take(MAX).map(view).collect()
}

/// The place of a policy on the page.
pub(crate) fn anchor(digest: &Digest) -> String {
    format!("policy-{}", short(digest))
}

fn view(policy: &PolicyReport) -> PolicyView {
    let rules = &policy.rules;
    PolicyView {
        anchor: anchor(&policy.sha256.digest()),
        name: clean(&policy.name),
        pipeline: clean(&policy.pipeline),
        sha256: policy.sha256.to_string(),
        short: short(&policy.sha256.digest()),
        log_index: policy.log_index,
        epsilon: clean(&policy.epsilon),
        delta: clean(&policy.delta),
        state: match policy.registered {
            true => "in use: a cluster has taken it up",
            false => "not in use: no cluster has taken it up",
        },
        simulation: rules.is_simulation(),
        facts: facts(rules),
        promises: promises(rules).iter().map(|text| clean(text)).collect(),
        lets_in: lets_in(policy),
    }
}

fn facts(rules: &AccessPolicy) -> Vec<(&'static str, String)> {
    let columns: Vec<_> = rules.input.columns.iter().map(column).collect();
    let suites = rules.suites.iter().map(|suite| match suite {
        1 => "X25519".to_owned(),
        2 => "X-Wing".to_owned(),
        other => format!("suite {other}"),
    });
    let readers: Vec<_> = rules
        .recipients
        .iter()
        .map(|recipient| match recipient {
            Recipient::Public => "anyone, once the receipt is in the log",
        })
        .collect();
    let mut facts = vec![
        (
            "Window",
            format!("{} to {}", Utc(rules.not_before), Utc(rules.not_after)),
        ),
        ("Keys live", format!("at most {}", length(rules.key_ttl))),
        ("Total budget", total(rules)),
        ("A user gives", clean(&columns.join("; "))),
        ("Sealed with", suites.collect::<Vec<_>>().join(" or ")),
        ("Results go to", readers.join(", ")),
        ("Least uploads of a run", rules.min_blobs.to_string()),
        ("Key cluster", rules.kms.cluster_id.to_string()),
        (
            "Log",
            format!(
                "{}, seen by {}",
                clean(&rules.log.origin),
                counted(rules.log.witnesses.into(), "witness", "witnesses")
            ),
        ),
    ];
    if let Some(before) = rules.predecessor {
        facts.push(("Replaces", before.to_string()));
    }
    if !rules.public_counters.is_empty() {
        let counters = clean(&rules.public_counters.join(", "));
        facts.push(("Shown without noise", counters));
    }
    facts
}

fn total(rules: &AccessPolicy) -> String {
    let total = rules.privacy.total;
    let delta = match total.delta0.0 {
        0 => String::new(),
        n => format!(", δ₀ = {n}·2⁻⁶⁴"),
    };
    format!("ρ = {} (zCDP){delta}", total.rho_nano)
}

fn column(column: &siegel_policy::Column) -> String {
    let kind = match column.kind {
        ColumnKind::Words => "a list of words",
        ColumnKind::Text => "a text",
        ColumnKind::Floats => "rows of numbers",
    };
    format!("{}: {kind}", column.name)
}

/// Everything that the policy lets in, whether anyone vouches for it or not.
fn lets_in(policy: &PolicyReport) -> Vec<LetIn> {
    let rules = &policy.rules;
    let binary = |role: &'static str, key: &'static str| {
        move |value: &ReferenceValue| (role, key, value.tee().as_str(), value.digest())
    };
    let kms = rules
        .kms
        .reference_values
        .iter()
        .map(binary("key service", "kms"));
    let root = rules
        .roles
        .root
        .reference_values
        .iter()
        .map(binary("root", "root"));
    let worker = rules
        .roles
        .worker
        .reference_values
        .iter()
        .map(binary("worker", "worker"));
    let programs = rules.programs.iter();
    let programs = programs.map(|program| ("program", "program", "program", program.digest()));
    kms.chain(root)
        .chain(worker)
        .chain(programs)
        .map(|(role, key, what, digest)| let_in(policy, role, key, what, digest))
        .collect()
}

fn let_in(
    policy: &PolicyReport,
    role: &'static str,
    key: &'static str,
    what: &'static str,
    digest: Digest,
) -> LetIn {
    let vouched = policy
        .endorsed
        .iter()
        .find(|endorsed| endorsed.role == key && endorsed.digest == digest);
    let nobody = match policy.rules.endorsers.is_empty() {
        true => "not asked for",
        false => "nobody",
    };
    LetIn {
        role,
        what,
        digest: digest.to_string(),
        endorser: vouched.map_or(nobody.to_owned(), |by| by.endorser.to_string()),
        until: vouched.map_or(String::new(), |by| Utc(by.until).to_string()),
        commit: vouched
            .and_then(|by| by.commit.as_deref())
            .map_or(String::new(), clean),
        recipe: vouched
            .and_then(|by| by.recipe)
            .map_or(String::new(), |recipe| recipe.to_string()),
    }
}

impl PolicyView {
    /// How many things it lets in.
    pub(crate) fn count(&self) -> String {
        counted(self.lets_in.len() as u64, "entry", "entries")
    }
}
