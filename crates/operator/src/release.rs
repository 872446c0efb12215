//! Opening what a run released.

use siegel_ident::{BlobDigest, EpochId, ObjectDigest, RunId, Secret, SecretBytes, Step};
use siegel_policy::Policy;
use siegel_seal::object::{self, ObjectHeader, Purpose};
use siegel_wire::v1::ObjectKind;

use crate::{Operator, OperatorError, ReceiptTrail};

/// Most bytes of one sealed release.
const RELEASE_MAX: usize = 64 * 1024 * 1024;

impl Operator {
    /// Opens a release: carries its receipt to the log, asks the key service for the data key on
    /// the proof of that (I17), fetches the sealed object and opens it. The result is public.
    ///
    /// # Errors
    /// [`OperatorError::NoReceipt`], or any error of key service, log or depot.
    pub async fn open_release(
        &self,
        trail: &mut ReceiptTrail,
        run: RunId,
        step: Step,
        digest: ObjectDigest,
    ) -> Result<(SecretBytes, u64), OperatorError> {
        self.carry_receipts(trail).await?;
        let receipt = trail
            .of_step(run, step)
            .ok_or(OperatorError::NoReceipt { run, step })?;
        let dek = self.release_key(run, step, &receipt.bundle).await?;
        let errand = "fetching the release";
        let sealed = self
            .depot
            .get(ObjectKind::Sealed, digest.digest(), RELEASE_MAX)
            .await
            .map_err(|source| OperatorError::Depot { errand, source })?;
        let (header, _) = ObjectHeader::parse_prefix(&sealed)?;
        if header.purpose != Purpose::Release
            || header.context.run != run
            || header.context.step != step
        {
            return Err(OperatorError::document(
                "release",
                "sealed for another run or step",
            ));
        }
        let plaintext = object::open_release(&dek, &header.context, &sealed)?;
        Ok((plaintext, receipt.log_index))
    }

    /// The data key of a release, on a receipt's bundle. An old proof is made fresh first.
    ///
    /// # Errors
    /// [`OperatorError::Kms`] with the rule that refuses it.
    pub async fn release_key(
        &self,
        run: RunId,
        step: Step,
        bundle: &[u8],
    ) -> Result<Secret<32>, OperatorError> {
        let errand = "opening the release";
        let bundle = self.fresh(errand, bundle.to_vec()).await?;
        self.courier
            .open_release(self.request(), run, step, &bundle)
            .await
            .map_err(|source| OperatorError::Kms { errand, source })
    }

    /// The uploads that the depot has for a policy and epoch.
    ///
    /// # Errors
    /// [`OperatorError::Depot`].
    pub async fn uploads(
        &self,
        policy: &Policy,
        epoch: EpochId,
    ) -> Result<Vec<BlobDigest>, OperatorError> {
        let errand = "listing uploads";
        self.depot
            .list(policy.digest(), epoch)
            .await
            .map_err(|source| OperatorError::Depot { errand, source })
    }
}
