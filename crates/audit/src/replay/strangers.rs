//! A log that others write in, too: their entries are counted, as far as they are theirs.

use std::collections::BTreeMap;

use siegel_policy::{Finding, Severity};
use siegel_translog::SpkiKey;

use super::World;
use super::signers::is_endorser;
use crate::anchors::AuditAnchors;
use crate::findings::Findings;

/// Entries that are named.
const NAMED: usize = 10;

/// Entries under keys that the anchors do not name.
#[derive(Default)]
pub(crate) struct Strangers {
    count: u64,
    first: Vec<u64>,
    /// What is wrong with the entries of a key, each once: the key may be a cluster's or an endorser's.
    kept: BTreeMap<(SpkiKey, String), Wrong>,
}

struct Wrong {
    finding: Finding,
    count: u64,
}

impl Strangers {
    /// Counts entry `index`, with what would be found in a log of our own.
    pub(crate) fn take(&mut self, index: u64, key: Option<SpkiKey>, finding: Finding) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(index);
        }
        if let Some(key) = key {
            let kept = self.kept.entry((key, finding.id.clone()));
            kept.or_insert(Wrong { finding, count: 0 }).count += 1;
        }
    }
}

/// Says how many there are. An entry of a key that signs for a cluster or an endorser here is none of
/// them, wherever in the log it turned out (I1, I17).
pub(super) fn judge(world: &World, anchors: &AuditAnchors, findings: &mut Findings) {
    let Strangers { count, first, kept } = &world.strangers;
    let mut strangers = *count;
    for ((key, _), Wrong { finding, count }) in kept {
        let cluster = world.clusters.values().any(|cluster| cluster.key == *key);
        if !cluster && !is_endorser(world, anchors, &key.digest()) {
            continue;
        }
        strangers -= count;
        let mut finding = finding.clone();
        finding.severity = Severity::Error;
        let invariant = finding.invariant.clone().unwrap_or_default();
        let id = finding.id.clone();
        findings.add(finding);
        findings.more(Severity::Error, &id, &invariant, count - 1);
    }
    let first: Vec<_> = first.iter().map(u64::to_string).collect();
    let places = match first.is_empty() {
        true => String::new(),
        false => format!(", the first at {}", first.join(", ")),
    };
    let message = format!(
        "SHARED LOG: {strangers} entries are under keys that the anchors do not name, and say nothing in \
         our words{places}: they were counted, not judged"
    );
    findings.info("shared-log", message);
}
