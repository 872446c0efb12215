//! A receipt with what proves it: its cluster's genesis and its place in the log (I1, I17).

use serde::{Deserialize, Serialize};
use siegel_attest::{Genesis, Profile};
use siegel_ident::{ClusterId, Seconds, Timestamp};
use siegel_ledger::Receipt;
use siegel_translog::{LogAnchors, LoggedEntry, SpkiKey, predicate, verify_logged};

use crate::ParticipationError as Error;

/// A year: as old as cosignatures may be at most.
const YEAR: u64 = 366 * 86_400;

/// Three texts, each the exact bytes that somebody signed or hashed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoggedReceipt {
    /// The cluster's genesis, canonical JSON: names the key that signs receipts.
    pub genesis: String,
    /// The receipt's body, canonical JSON.
    pub receipt: String,
    /// The log bundle of the receipt.
    pub bundle: String,
}

/// What a receipt says, once signature and log proof hold.
#[derive(Clone, Debug)]
pub struct VerifiedReceipt {
    /// The receipt.
    pub receipt: Receipt,
    /// Its place in the log.
    pub entry: LoggedEntry,
    /// The cluster protects nobody (I11).
    pub simulation: bool,
}

impl LoggedReceipt {
    /// Joins the three; all are text.
    ///
    /// # Errors
    /// [`Error::NotText`].
    pub fn new(genesis: &[u8], receipt: &[u8], bundle: &[u8]) -> Result<Self, Error> {
        let text = |bytes: &[u8], what| {
            let text = std::str::from_utf8(bytes).map_err(|_| Error::NotText(what))?;
            Ok::<_, Error>(text.to_owned())
        };
        Ok(Self {
            genesis: text(genesis, "genesis")?,
            receipt: text(receipt, "receipt")?,
            bundle: text(bundle, "receipt's proof")?,
        })
    }

    /// Verifies it offline: the genesis makes the cluster that the receipt names, that cluster is one
    /// of `clusters` (if there are any: with none, any cluster's receipt is taken) and writes to this
    /// log, its key signed the receipt, and the log has it.
    ///
    /// A receipt tells of the past. Its witnesses need not have signed just now, only no longer ago
    /// than the receipt is old, and than a year: after that the proof is refreshed by submitting the
    /// entry again.
    ///
    /// # Errors
    /// The first thing that does not hold.
    pub fn verify(
        &self,
        anchors: &LogAnchors,
        clusters: &[ClusterId],
        now: Timestamp,
    ) -> Result<VerifiedReceipt, Error> {
        let genesis = Genesis::parse(self.genesis.as_bytes())?;
        let id = ClusterId::of(self.genesis.as_bytes());
        let receipt = Receipt::parse(self.receipt.as_bytes())?;
        if receipt.cluster != id {
            return Err(Error::OtherCluster {
                receipt: receipt.cluster,
                genesis: id,
            });
        }
        if !clusters.is_empty() && !clusters.contains(&id) {
            return Err(Error::UnknownCluster(id));
        }
        let config = &genesis.config;
        if config.log_origin != anchors.origin || config.log_key != anchors.key {
            let found = config.log_origin.clone();
            return Err(Error::OtherLog { found });
        }
        let key = SpkiKey::from_point(&genesis.cluster_key)?;
        let entry = verify_logged(
            self.bundle.as_bytes(),
            self.receipt.as_bytes(),
            predicate::RECEIPT,
            Some(&key),
            &patient(anchors, receipt.at, now),
            now,
        )?;
        Ok(VerifiedReceipt {
            receipt,
            entry,
            simulation: config.profile == Profile::Simulation,
        })
    }
}

/// The anchors, with patience for the age of what was written `at`.
fn patient(anchors: &LogAnchors, at: Timestamp, now: Timestamp) -> LogAnchors {
    let most = YEAR.saturating_sub(anchors.witnesses.max_age.0);
    anchors.aged(Seconds(now.0.saturating_sub(at.0).min(most)))
}
