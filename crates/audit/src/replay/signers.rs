//! Keys that signed entries: each kept once, and held against those that the auditor knows.

use std::collections::BTreeMap;

use siegel_ident::KeyDigest;
use siegel_policy::Severity;
use siegel_translog::SpkiKey;

use super::World;
use crate::anchors::AuditAnchors;
use crate::findings::Findings;

/// Unknown keys that are named; the others are counted.
const NAMED: usize = 10;

/// A key by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SignerId(u32);

/// What a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// Policies, programs, genesis documents, key offers, and what this version does not know.
    Publisher,
    /// Endorsements.
    Endorser,
    /// Receipts.
    Cluster,
}

impl Part {
    const fn signs(self) -> &'static str {
        match self {
            Self::Publisher => "what publishers sign (policies, programs, genesis, key offers)",
            Self::Endorser => "endorsements",
            Self::Cluster => "receipts",
        }
    }
}

/// All keys that signed something.
#[derive(Default)]
pub(crate) struct Signers {
    ids: BTreeMap<SpkiKey, SignerId>,
    uses: BTreeMap<(SignerId, Part), Use>,
}

/// First place in the log, and how often.
#[derive(Clone, Copy)]
struct Use {
    first: u64,
    count: u64,
}

impl Signers {
    /// Counts an entry; returns the number of its key. A log has fewer than 2^32 entries that an
    /// auditor could read, so no number is given twice.
    pub(crate) fn signed(&mut self, key: SpkiKey, part: Part, index: u64) -> SignerId {
        let next = SignerId(self.ids.len() as u32);
        let id = *self.ids.entry(key).or_insert(next);
        let first = Use {
            first: index,
            count: 0,
        };
        self.uses.entry((id, part)).or_insert(first).count += 1;
        id
    }

    /// The number of a key that has signed something.
    pub(crate) fn find(&self, key: &SpkiKey) -> Option<SignerId> {
        self.ids.get(key).copied()
    }
}

/// Every entry was signed by somebody whom the auditor knows for such things (I1). Without pinned
/// publishers nobody can say who they are, so the keys are only listed.
pub(super) fn judge(world: &World, anchors: &AuditAnchors, findings: &mut Findings) {
    let pinned = !anchors.publishers.is_empty();
    let mut unknown: Vec<(KeyDigest, Part, Use)> = Vec::new();
    for (key, id) in &world.signers.ids {
        let uses = world
            .signers
            .uses
            .range((*id, Part::Publisher)..=(*id, Part::Cluster));
        for ((_, part), used) in uses {
            let digest = key.digest();
            let known = match part {
                Part::Publisher => anchors.publishers.contains(&digest),
                Part::Endorser => is_endorser(world, anchors, &digest),
                Part::Cluster => world.clusters.values().any(|cluster| cluster.key == *key),
            };
            if !known {
                unknown.push((digest, *part, *used));
            }
        }
    }
    unknown.sort_by_key(|(_, part, used)| (used.first, *part));
    let rest = unknown.len().saturating_sub(NAMED);
    let named = unknown.iter().take(NAMED);
    let mut lines = named.map(|(key, part, Use { first, count })| {
        let signs = part.signs();
        format!("key {key} signed {signs}: {count} entries, the first is {first}")
    });
    if pinned {
        for line in lines {
            let message = format!("the anchors do not know a signer: {line}");
            findings.error("unknown-signer", "I1", message);
        }
        if rest > 0 {
            findings.more(Severity::Error, "unknown-signer", "I1", rest as u64);
        }
    } else if let Some(first) = lines.next() {
        let all = lines.fold(first, |all, line| format!("{all}; {line}"));
        let more = match rest {
            0 => String::new(),
            rest => format!("; and {rest} further keys"),
        };
        let message = format!("the anchors pin no publisher, so nobody vouches for {all}{more}");
        findings.warning("unknown-signer", "I1", message);
    }
}

/// Whom the auditor pins; else whom a policy in the log believes.
pub(super) fn is_endorser(world: &World, anchors: &AuditAnchors, key: &KeyDigest) -> bool {
    match anchors.endorsers.is_empty() {
        false => anchors.endorsers.contains(key),
        true => {
            let mut policies = world.policies.values();
            policies.any(|logged| logged.policy.endorsers.contains(key))
        }
    }
}
