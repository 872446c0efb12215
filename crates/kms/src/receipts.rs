//! Receipts, signed after commit (I17). Chain and comparison are over the unsigned bodies; ECDSA is
//! randomised, so two nodes sign one body differently. One node keeps what it signed, so that a
//! courier that asks twice does not log twice.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use siegel_ledger::Ledger;
use siegel_translog::{Envelope, Statement, dsse, predicate};
use siegel_wire::v1::SignedReceipt;

use crate::cluster::Cluster;
use crate::member::Member;
use crate::refusal::Refused;

/// Receipts per answer; the courier asks again from the next number on.
const PAGE: u64 = 256;
/// Signed envelopes that are kept, of about 700 bytes each.
const KEPT: usize = 16_384;

/// Envelopes by receipt number.
#[derive(Default)]
pub(crate) struct Receipts(Mutex<BTreeMap<u64, Vec<u8>>>);

impl Member {
    /// The receipts from number `from` on, at most 256, each with a DSSE envelope whose subject is
    /// the SHA-256 of the receipt's exact body.
    pub(crate) async fn receipts(&self, from: u64) -> Result<Vec<SignedReceipt>, Refused> {
        let bodies = self.replica.read(move |ledger| page(ledger, from)).await?;
        let signed = bodies.into_iter().map(|(seq, body)| {
            let envelope = self.signed(seq, &body)?;
            Ok(SignedReceipt { body, envelope })
        });
        signed.collect()
    }

    fn signed(&self, seq: u64, body: &[u8]) -> Result<Vec<u8>, Refused> {
        let mut kept = self
            .receipts
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(envelope) = kept.get(&seq) {
            return Ok(envelope.clone());
        }
        let envelope = sign(&self.cluster, seq, body)?;
        kept.insert(seq, envelope.clone());
        if kept.len() > KEPT {
            kept.pop_first();
        }
        Ok(envelope)
    }
}

fn page(ledger: &Ledger, from: u64) -> Result<Vec<(u64, Vec<u8>)>, Refused> {
    let first = from.max(1);
    let last = ledger.receipts().min(first.saturating_add(PAGE - 1));
    (first..=last)
        .map(|seq| match ledger.receipt(seq) {
            Some(body) => Ok((seq, body.to_vec())),
            None => {
                let gone = siegel_ledger::Refusal::ReceiptForgotten { seq };
                Err(gone.into())
            }
        })
        .collect()
}

fn sign(cluster: &Cluster, seq: u64, body: &[u8]) -> Result<Vec<u8>, Refused> {
    let failed = |cause: &dyn std::fmt::Display| Refused::internal("receipt", cause);
    let statement = Statement::about(&format!("receipt-{seq}"), body, predicate::RECEIPT);
    let payload = statement.to_bytes().map_err(|error| failed(&error))?;
    let signature = cluster
        .sign(&dsse::pae(&payload))
        .map_err(|error| failed(&error))?;
    Envelope { payload, signature }
        .to_json()
        .map_err(|error| failed(&error))
}
