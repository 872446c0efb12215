//! Receipts go from the key service to the log: only then does a release open (I17).

use siegel_attest::Genesis;
use siegel_ident::{RunId, Step};
use siegel_ledger::{Fact, Receipt};
use siegel_translog::{Envelope, SpkiKey};

use crate::publish::index_of;
use crate::{Operator, OperatorError};

/// How far the courier has got with one cluster's receipts.
#[derive(Debug)]
pub struct ReceiptTrail {
    signer: SpkiKey,
    next: u64,
    carried: Vec<CarriedReceipt>,
}

/// A receipt that is in the log.
#[derive(Debug, Clone)]
pub struct CarriedReceipt {
    /// The receipt.
    pub receipt: Receipt,
    /// The bundle that proves it.
    pub bundle: Vec<u8>,
    /// Zero-based index in the log.
    pub log_index: u64,
}

impl ReceiptTrail {
    /// Starts before the first receipt of a cluster.
    ///
    /// # Errors
    /// [`OperatorError::Document`] if the genesis names no P-256 key.
    pub fn of(genesis: &Genesis) -> Result<Self, OperatorError> {
        let signer = SpkiKey::from_point(&genesis.cluster_key)
            .map_err(|why| OperatorError::document("cluster key", why))?;
        Ok(Self {
            signer,
            next: 1,
            carried: Vec::new(),
        })
    }

    /// All that were carried, in order.
    pub fn carried(&self) -> &[CarriedReceipt] {
        &self.carried
    }

    /// The receipt of a committed step.
    pub fn of_step(&self, run: RunId, step: Step) -> Option<&CarriedReceipt> {
        self.carried.iter().find(|carried| {
            matches!(&carried.receipt.fact,
                Fact::StepCommitted { run: r, step: s, .. } if *r == run && *s == step)
        })
    }
}

impl Operator {
    /// Carries every receipt that is not in the log yet. Doing it again carries only new ones.
    ///
    /// # Errors
    /// Any [`OperatorError`] of key service or log. What was carried before it stays carried.
    pub async fn carry_receipts(&self, trail: &mut ReceiptTrail) -> Result<usize, OperatorError> {
        let before = trail.carried.len();
        loop {
            let errand = "fetching receipts";
            let page = self
                .courier
                .receipts(trail.next)
                .await
                .map_err(|source| OperatorError::Kms { errand, source })?;
            if page.is_empty() {
                return Ok(trail.carried.len() - before);
            }
            for signed in page {
                self.carry(trail, &signed.envelope, &signed.body).await?;
            }
        }
    }

    async fn carry(
        &self,
        trail: &mut ReceiptTrail,
        envelope: &[u8],
        body: &[u8],
    ) -> Result<(), OperatorError> {
        let wrong = |why: &dyn std::fmt::Display| OperatorError::document("receipt", why);
        let receipt = Receipt::parse(body).map_err(|why| wrong(&why))?;
        if receipt.seq != trail.next {
            return Err(wrong(&format!(
                "number {} where {} is due",
                receipt.seq, trail.next
            )));
        }
        let envelope = Envelope::parse(envelope).map_err(|why| wrong(&why))?;
        let errand = "publishing a receipt";
        let bundle = self
            .log
            .publish(&envelope, &trail.signer, body)
            .await
            .map_err(|source| OperatorError::Log { errand, source })?;
        let bundle = self.fresh(errand, bundle).await?;
        let log_index = index_of(&bundle)?;
        trail.next += 1;
        trail.carried.push(CarriedReceipt {
            receipt,
            bundle,
            log_index,
        });
        Ok(())
    }
}
