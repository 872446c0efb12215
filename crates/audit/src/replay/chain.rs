//! Receipts into chains: one per cluster, numbered without gaps, each naming the one before (I17).

use std::collections::BTreeMap;

use siegel_ident::{ClusterId, Digest};
use siegel_ledger::Receipt;
use siegel_translog::SpkiKey;

use super::World;
use crate::anchors::ExpectedCluster;
use crate::findings::Findings;
use crate::gather::short;
use crate::item::Item;

/// A receipt in the log.
pub(crate) struct LoggedReceipt {
    pub(crate) receipt: Receipt,
    /// SHA-256 of its exact body.
    pub(crate) digest: Digest,
    /// Place in the log.
    pub(crate) index: u64,
    signer: SpkiKey,
}

/// Reads a receipt's body.
pub(super) fn read(item: &Item, bytes: &[u8], findings: &mut Findings) -> Option<LoggedReceipt> {
    match Receipt::parse(bytes) {
        Ok(receipt) => Some(LoggedReceipt {
            receipt,
            digest: item.artifact,
            index: item.index,
            signer: item.signer,
        }),
        Err(e) => {
            let message = format!("log entry {}: {e}", item.index);
            findings.error("receipt-unreadable", "I17", message);
            None
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
    let mut chain = Vec::new();
    let mut previous = id.digest();
    let (by_number, last) = by_number(&name, cluster.key, logged, findings);
    for (next, (seq, receipt)) in (1..).zip(by_number) {
        if seq != next {
            let message = format!(
                "cluster {name}: receipts {next} to {} are missing; what follows cannot be judged",
                seq - 1
            );
            findings.error("receipt-missing", "I17", message);
            return chain;
        }
        if receipt.receipt.previous != previous {
            let what = if seq == 1 {
                "the genesis"
            } else {
                "the receipt before"
            };
            let message = format!(
                "cluster {name}: receipt {seq} is not chained to {what}; what follows cannot be judged"
            );
            findings.error("receipt-not-chained", "I17", message);
            return chain;
        }
        previous = receipt.digest;
        chain.push(receipt);
    }
    let least = expected.and_then(|cluster| cluster.receipts).unwrap_or(0);
    if last < least {
        let message =
            format!("cluster {name} has written {least} receipts, the log has only {last}");
        findings.error("receipt-missing", "I17", message);
    }
    chain
}

/// One receipt per number, and the largest number.
fn by_number(
    name: &str,
    key: SpkiKey,
    logged: Vec<LoggedReceipt>,
    findings: &mut Findings,
) -> (BTreeMap<u64, LoggedReceipt>, u64) {
    let mut chain: BTreeMap<u64, LoggedReceipt> = BTreeMap::new();
    for receipt in logged {
        let seq = receipt.receipt.seq;
        if receipt.signer != key {
            // Anyone may log such a thing; the cluster's own receipt is then missing or not.
            let message = format!(
                "log entry {}: a receipt of cluster {name} that the cluster did not sign; ignored",
                receipt.index
            );
            findings.warning("receipt-foreign", "I17", message);
            continue;
        }
        if seq == 0 {
            let message = format!("cluster {name} signed a receipt numbered 0; they count from 1");
            findings.error("receipt-number", "I17", message);
            continue;
        }
        match chain.get(&seq) {
            // Signed twice (ECDSA is randomised): the body is what counts.
            Some(known) if known.digest == receipt.digest => {}
            Some(known) => {
                let message = format!(
                    "cluster {name} signed two different receipts {seq} (log entries {} and {}): \
                     there are two histories",
                    known.index, receipt.index
                );
                findings.error("receipt-fork", "I17", message);
            }
            None => {
                chain.insert(seq, receipt);
            }
        }
    }
    let last = chain.last_key_value().map_or(0, |(seq, _)| *seq);
    (chain, last)
}
