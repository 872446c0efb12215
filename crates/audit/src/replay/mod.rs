//! The judging half: what the entries of a log say together.

mod account;
mod chain;
mod cluster;
mod cover;
mod endorsements;
mod epochs;
mod facts;
mod genesis;
mod offers;
mod open;
mod policies;
mod runs;
mod signers;
mod steps;
mod strangers;
mod wrong;

use std::collections::BTreeMap;

use siegel_endorse::Voice;
use siegel_ident::{ClusterId, Digest, EpochId, PolicyDigest, ProgramDigest};
use siegel_translog::Tree;

use crate::anchors::AuditAnchors;
use crate::findings::Findings;
use crate::read::{CERTIFIED, Item, Kind};
use crate::report::{Counts, PipelineReport, PolicyReport, RunReport};
use chain::LoggedReceipt;
use genesis::LoggedGenesis;
use offers::{LoggedOffer, OfferedKey};
use policies::LoggedPolicy;
use signers::{Part, SignerId, Signers};
use strangers::Strangers;

pub(crate) use open::unknown_kind;

/// Statements of unknown kinds that are kept; all are counted.
const UNKNOWN_MAX: usize = 32;

/// All that was read, sorted by what it is; then judged.
#[derive(Default)]
pub(crate) struct Replay {
    pub(crate) world: World,
    receipts: BTreeMap<ClusterId, Vec<LoggedReceipt>>,
    runs: Vec<RunReport>,
    pub(crate) budgets: Vec<PipelineReport>,
}

/// What receipts may refer to.
#[derive(Default)]
pub(crate) struct World {
    /// Who signed entries.
    pub(crate) signers: Signers,
    pub(crate) clusters: BTreeMap<ClusterId, LoggedGenesis>,
    pub(crate) policies: BTreeMap<PolicyDigest, LoggedPolicy>,
    /// Program to its first place in the log.
    pub(crate) programs: BTreeMap<ProgramDigest, u64>,
    /// Endorsements, in the order of the log.
    pub(crate) voices: Vec<Voice>,
    /// Key offers that are not judged yet.
    pub(crate) offers: Vec<LoggedOffer>,
    /// The keys of those that are good, in the order of the log.
    pub(crate) keys: BTreeMap<(ClusterId, EpochId), Vec<OfferedKey>>,
    /// Statements of kinds that this version does not know, the first ones.
    pub(crate) unknown: Vec<(u64, String)>,
    /// How many more there are.
    pub(crate) more_unknown: u64,
    /// Entries of others in a shared log.
    pub(crate) strangers: Strangers,
}

impl World {
    fn unknown_kind(&mut self, index: u64, kind: String) {
        match self.unknown.len() < UNKNOWN_MAX {
            true => self.unknown.push((index, kind)),
            false => self.more_unknown += 1,
        }
    }
}

impl Replay {
    /// Sorts in one opened entry.
    pub(crate) fn take(&mut self, item: Item, counts: &mut Counts, findings: &mut Findings) {
        let Item {
            index,
            signer,
            artifact,
            kind,
            named,
        } = item;
        let entry = Entry {
            index,
            artifact,
            signer: self.world.signers.signed(signer, part(&kind), index),
        };
        let world = &mut self.world;
        let mut read = Reader { index, findings };
        named
            .into_iter()
            .for_each(|finding| read.findings.add(finding));
        match kind {
            Kind::Policy(parsed) => {
                counts.policies += 1;
                if let Some(policy) = read.parsed("policy", "I2", parsed) {
                    policies::take(world, entry, policy, read.findings);
                }
            }
            Kind::Genesis(parsed) => {
                counts.genesis += 1;
                let genesis = read.parsed("genesis", "I2", parsed);
                let logged = genesis.map(|genesis| LoggedGenesis::of(entry, genesis));
                if let Some(logged) = logged.and_then(|l| read.parsed("genesis", "I2", l)) {
                    world.clusters.entry(artifact.into()).or_insert(logged);
                }
            }
            Kind::Receipt(parsed) => {
                counts.receipts += 1;
                if let Some(receipt) = read.parsed("receipt", "I17", parsed) {
                    let logged = self.receipts.entry(receipt.cluster).or_default();
                    logged.push(LoggedReceipt::of(entry, receipt));
                }
            }
            Kind::Program => {
                counts.programs += 1;
                world.programs.entry(artifact.into()).or_insert(index);
            }
            Kind::Endorsement(parsed) => {
                counts.endorsements += 1;
                if let Some(endorsement) = read.parsed("endorsement", "I2", parsed) {
                    world.voices.push(Voice {
                        endorsement,
                        endorser: signer.digest(),
                        log_index: index,
                    });
                }
            }
            Kind::KeyOffer(parsed) => {
                counts.key_offers += 1;
                if let Some(offer) = read.parsed("key offer", "I2", parsed) {
                    world.offers.push(LoggedOffer { offer, index });
                }
            }
            Kind::Nonce(parsed) => {
                counts.other += 1;
                if read.parsed("nonce", "I2", parsed).is_some() {
                    let message =
                        format!("log entry {index}: a nonce, asked for the witnesses' time");
                    read.findings.info("nonce", message);
                }
            }
            Kind::Other(kind) => {
                counts.other += 1;
                world.unknown_kind(index, kind);
            }
        }
    }

    /// Takes note of an entry of a publisher under a certificate. Clients and key service take no such
    /// proof, so what it says has no effect (I1); that it can be read is checked.
    pub(crate) fn take_certified(&mut self, item: Item, findings: &mut Findings) {
        let Item {
            index,
            signer,
            kind,
            named,
            ..
        } = item;
        let world = &mut self.world;
        world.signers.signed(signer, part(&kind), index);
        let message = format!(
            "log entry {index} is signed under a certificate of a pinned publisher's key: it counts as \
             that publisher's, and is no proof for clients or key service"
        );
        findings.info(CERTIFIED, message);
        named.into_iter().for_each(|finding| findings.add(finding));
        let mut read = Reader { index, findings };
        let _ = match kind {
            Kind::Policy(parsed) => read.parsed("policy", "I2", parsed).map(drop),
            Kind::Genesis(parsed) => read.parsed("genesis", "I2", parsed).map(drop),
            Kind::Receipt(parsed) => read.parsed("receipt", "I17", parsed).map(drop),
            Kind::Endorsement(parsed) => read.parsed("endorsement", "I2", parsed).map(drop),
            Kind::KeyOffer(parsed) => read.parsed("key offer", "I2", parsed).map(drop),
            Kind::Nonce(parsed) => read.parsed("nonce", "I2", parsed).map(drop),
            Kind::Program => None,
            Kind::Other(kind) => {
                world.unknown_kind(index, kind);
                None
            }
        };
    }

    /// Judges all of it, once everything is there: the log orders entries by arrival, and a
    /// courier may bring receipts in any order. `tree` is absent if the log is not known as a whole.
    pub(crate) fn judge(
        &mut self,
        (anchors, shared): (&AuditAnchors, bool),
        tree: Option<&Tree>,
        findings: &mut Findings,
    ) {
        genesis::judge(&self.world, anchors, findings);
        self.left_open(anchors, findings);
        self.unknown_kinds(anchors, findings);
        signers::judge(&self.world, anchors, findings);
        if shared {
            strangers::judge(&self.world, anchors, findings);
        }
        policies::judge(&self.world, anchors, findings);
        policies::together(&self.world, findings);
        endorsements::judge(&self.world, anchors, findings);
        offers::judge(&mut self.world, anchors, tree, findings);
        let mut receipts = std::mem::take(&mut self.receipts);
        for expected in &anchors.clusters {
            receipts.entry(expected.id).or_default();
        }
        for (id, logged) in receipts {
            let expected = anchors.clusters.iter().find(|cluster| cluster.id == id);
            let chain = chain::order(&self.world, id, logged, expected, findings);
            let known = expected.and_then(|cluster| cluster.receipts);
            let all = known.is_some_and(|count| chain.len() as u64 >= count);
            if let Some(replayed) = cluster::replay(&mut self.world, id, chain, findings) {
                replayed.keys_are_vouched_for(&self.world, all, findings);
                let (runs, budgets) = replayed.into_reports();
                self.runs.extend(runs);
                self.budgets.extend(budgets);
            }
        }
        self.one_cluster_per_pipeline(findings);
    }

    /// Some receipt tells of a run.
    pub(crate) fn has_runs(&self) -> bool {
        !self.runs.is_empty()
    }

    pub(crate) fn into_reports(self) -> (Vec<PolicyReport>, Vec<RunReport>, Vec<PipelineReport>) {
        let mut policies: Vec<_> = self
            .world
            .policies
            .values()
            .map(|policy| policy.report(&self.world.voices))
            .collect();
        policies.sort_by_key(|policy| policy.log_index);
        (policies, self.runs, self.budgets)
    }
}

/// An entry of the log, without what it says.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// Place in the log.
    pub(crate) index: u64,
    /// SHA-256 of the artifact.
    pub(crate) artifact: Digest,
    pub(crate) signer: SignerId,
}

fn part(kind: &Kind) -> Part {
    match kind {
        Kind::Receipt(_) => Part::Cluster,
        Kind::Endorsement(_) => Part::Endorser,
        _ => Part::Publisher,
    }
}

/// Says what does not parse.
struct Reader<'a> {
    index: u64,
    findings: &'a mut Findings,
}

impl Reader<'_> {
    fn parsed<T>(
        &mut self,
        what: &str,
        invariant: &str,
        parsed: Result<Box<T>, String>,
    ) -> Option<T> {
        match parsed {
            Ok(value) => Some(*value),
            Err(e) => {
                let id = format!("{}-unreadable", what.replace(' ', "-"));
                let message = format!("log entry {}: the {what} does not parse: {e}", self.index);
                self.findings.error(&id, invariant, message);
                None
            }
        }
    }
}
