//! Receipts into chains: one per cluster, numbered without gaps, each naming the one before (I17).

use siegel_ident::{ClusterId, Digest, Timestamp};
use siegel_ledger::{Fact, Receipt};

use super::signers::SignerId;
use super::{Entry, World};
use crate::anchors::ExpectedCluster;
use crate::audit::short;
use crate::findings::Findings;

/// A receipt in the log. Its cluster and schema are known, so they are not kept: there may be a
/// million of these.
pub(crate) struct LoggedReceipt {
    pub(crate) seq: u64,
    previous: Digest,
    pub(crate) at: Timestamp,
    pub(crate) fact: Fact,
    /// SHA-256 of its exact body.
    pub(crate) digest: Digest,
    /// Place in the log.
    pub(crate) index: u64,
    signer: SignerId,
}

impl LoggedReceipt {
    pub(super) fn of(entry: Entry, receipt: Receipt) -> Self {
        Self {
            seq: receipt.seq,
            previous: receipt.previous,
            at: receipt.at,
            fact: receipt.fact,
            digest: entry.artifact,
            index: entry.index,
            signer: entry.signer,
        }
    }
}

/// The longest whole beginning of a cluster's chain. Behind a gap, a fork or a broken link nothing
/// can be judged, so the rest is left out, with an error.
pub(super) fn order(
    world: &World,
    id: ClusterId,
    logged: Vec<LoggedReceipt>,
    expected: Option<&ExpectedCluster>,
    findings: &mut Findings,
) -> Vec<LoggedReceipt> {
    let name = short(&id.digest());
    let Some(cluster) = world.clusters.get(&id) else {
        if !logged.is_empty() {
            let message = format!("there are receipts of cluster {id}, but no genesis");
            findings.error("receipts-without-genesis", "I1", message);
        }
        return Vec::new();
    };
    let key = world.signers.find(&cluster.key);
    let mut chain = by_number(&name, key, logged, findings);
    let last = chain.last().map_or(0, |receipt| receipt.seq);
    if let Some(broken) = first_break(&name, id, &chain, findings) {
        chain.truncate(broken);
        return chain;
    }
    let least = expected.and_then(|cluster| cluster.receipts).unwrap_or(0);
    if last < least {
        let message =
            format!("cluster {name} has written {least} receipts, the log has only {last}");
        findings.error("receipt-missing", "I17", message);
    }
    chain
}

/// How many receipts from the first one on are numbered and chained as they should be, if not all.
fn first_break(
    name: &str,
    id: ClusterId,
    chain: &[LoggedReceipt],
    findings: &mut Findings,
) -> Option<usize> {
    let mut previous = id.digest();
    for (at, (next, receipt)) in (1..).zip(chain).enumerate() {
        let seq = receipt.seq;
        if seq != next {
            let message = format!(
                "cluster {name}: receipts {next} to {} are missing; what follows cannot be judged",
                seq - 1
            );
            findings.error("receipt-missing", "I17", message);
            return Some(at);
        }
        if receipt.previous != previous {
            let what = if seq == 1 {
                "the genesis"
            } else {
                "the receipt before"
            };
            let message = format!(
                "cluster {name}: receipt {seq} is not chained to {what}; what follows cannot be judged"
            );
            findings.error("receipt-not-chained", "I17", message);
            return Some(at);
        }
        previous = receipt.digest;
    }
    None
}

/// One receipt per number, in order.
fn by_number(
    name: &str,
    key: Option<SignerId>,
    mut logged: Vec<LoggedReceipt>,
    findings: &mut Findings,
) -> Vec<LoggedReceipt> {
    logged.retain(|receipt| {
        if Some(receipt.signer) != key {
            // Anyone may log such a thing; the cluster's own receipt is then missing or not.
            let message = format!(
                "log entry {}: a receipt of cluster {name} that the cluster did not sign; ignored",
                receipt.index
            );
            findings.warning("receipt-foreign", "I17", message);
            return false;
        }
        if receipt.seq == 0 {
            let message = format!("cluster {name} signed a receipt numbered 0; they count from 1");
            findings.error("receipt-number", "I17", message);
        }
        receipt.seq != 0
    });
    logged.sort_unstable_by_key(|receipt| (receipt.seq, receipt.index));
    logged.dedup_by(|receipt, known| {
        // Signed twice (ECDSA is randomised): the body is what counts.
        let same = receipt.seq == known.seq;
        if same && known.digest != receipt.digest {
            let message = format!(
                "cluster {name} signed two different receipts {} (log entries {} and {}): there \
                 are two histories",
                known.seq, known.index, receipt.index
            );
            findings.error("receipt-fork", "I17", message);
        }
        same
    });
    logged
}
