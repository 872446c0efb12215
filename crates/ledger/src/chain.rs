//! The chain of receipts as replicated state.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use siegel_ident::{ClusterId, Digest, ReceiptDigest, Timestamp};

use crate::limits::{MAX_RECEIPT, RECEIPTS_KEPT};
use crate::receipt::{Fact, RECEIPT_SCHEMA, Receipt};
use crate::refusal::{Refusal, detail};

/// Number and digest of the last receipt, and the bodies still kept for the courier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chain {
    last: u64,
    head: Digest,
    kept: VecDeque<String>,
}

impl Chain {
    /// An empty chain; the first receipt names the genesis as `previous`.
    pub(crate) fn new(cluster: ClusterId) -> Self {
        Self {
            last: 0,
            head: cluster.digest(),
            kept: VecDeque::new(),
        }
    }

    /// How many receipts there are.
    pub(crate) fn len(&self) -> u64 {
        self.last
    }

    /// Digest of the last body, or of the genesis.
    pub(crate) fn head(&self) -> Digest {
        self.head
    }

    /// The body with this number, if it is still kept.
    pub(crate) fn body(&self, seq: u64) -> Option<&[u8]> {
        let back = usize::try_from(self.last.checked_sub(seq)?).ok()?;
        let at = self.kept.len().checked_sub(back.checked_add(1)?)?;
        self.kept.get(at).map(String::as_bytes)
    }

    /// Writes the next receipt without adding it, so that an event whose receipt cannot be written
    /// is refused before anything is done.
    pub(crate) fn draft(
        &self,
        cluster: ClusterId,
        at: Timestamp,
        fact: Fact,
    ) -> Result<Draft, Refusal> {
        let seq = self.last.saturating_add(1);
        let receipt = Receipt {
            schema: RECEIPT_SCHEMA.to_owned(),
            cluster,
            seq,
            previous: self.head,
            at,
            fact,
        };
        let body = receipt
            .to_bytes()
            .map_err(|e| Refusal::NoReceipt { detail: detail(&e) })?;
        if body.len() > MAX_RECEIPT {
            return Err(Refusal::NoReceipt {
                detail: format!("{} bytes long", body.len()),
            });
        }
        let digest = Receipt::digest_of(&body);
        let body =
            String::from_utf8(body).map_err(|e| Refusal::NoReceipt { detail: detail(&e) })?;
        Ok(Draft { seq, digest, body })
    }

    /// Adds a receipt that was drafted from this very state.
    pub(crate) fn push(&mut self, draft: Draft) -> (u64, ReceiptDigest) {
        self.last = draft.seq;
        self.head = draft.digest.digest();
        self.kept.push_back(draft.body);
        if self.kept.len() > RECEIPTS_KEPT {
            self.kept.pop_front();
        }
        (draft.seq, draft.digest)
    }
}

/// A receipt not yet in the chain.
pub(crate) struct Draft {
    pub(crate) seq: u64,
    pub(crate) digest: ReceiptDigest,
    body: String,
}
