//! Publishing: genesis, programs and policies go into the log, their bytes into the archive.

use bytes::Bytes;
use siegel_attest::Genesis;
use siegel_ident::{PolicyDigest, ProgramDigest};
use siegel_keys::StapledBundle;
use siegel_policy::Policy;
use siegel_translog::{Bundle, Statement, predicate};
use siegel_wire::v1::ObjectKind;

use crate::{Operator, OperatorError};

/// A document that stands in the log.
#[derive(Debug, Clone)]
pub struct Published {
    /// Its exact bytes.
    pub bytes: Vec<u8>,
    /// The Sigstore bundle that proves it.
    pub bundle: Vec<u8>,
    /// Zero-based index in the log.
    pub log_index: u64,
}

impl Operator {
    /// Waits for nothing: fetches the genesis that the key service has, and publishes it.
    ///
    /// # Errors
    /// Any [`OperatorError`] of key service or log.
    pub async fn publish_genesis(&self) -> Result<(Genesis, Published), OperatorError> {
        let errand = "fetching the genesis";
        let bytes = self
            .courier
            .genesis()
            .await
            .map_err(|source| OperatorError::Kms { errand, source })?;
        let genesis =
            Genesis::parse(&bytes).map_err(|why| OperatorError::document("genesis", why))?;
        let published = self.publish("genesis", predicate::GENESIS, bytes).await?;
        Ok((genesis, published))
    }

    /// Publishes a policy, and registers it with the key service on the proof of that.
    ///
    /// # Errors
    /// Any [`OperatorError`]; the key service names the rule that a policy breaks.
    pub async fn publish_policy(&self, policy: &Policy) -> Result<Published, OperatorError> {
        let name = policy.name.clone();
        self.publish(&name, predicate::POLICY, policy.bytes().to_vec())
            .await
    }

    /// Registers a published policy with the key service.
    ///
    /// # Errors
    /// [`OperatorError::Kms`] with the rule that it breaks.
    pub async fn register_policy(&self, policy: &Published) -> Result<(), OperatorError> {
        let errand = "registering the policy";
        self.courier
            .register_policy(self.request(), &policy.bytes, &policy.bundle)
            .await
            .map_err(|source| OperatorError::Kms { errand, source })
    }

    /// Publishes a program bundle, and stores it in the depot for root and workers.
    ///
    /// # Errors
    /// Any [`OperatorError`] of log or depot.
    pub async fn publish_program(&self, bundle: Vec<u8>) -> Result<Published, OperatorError> {
        let digest = ProgramDigest::of(&bundle);
        let errand = "storing the program";
        self.depot
            .put(ObjectKind::Program, Bytes::from(bundle.clone()))
            .await
            .map_err(|source| OperatorError::Depot { errand, source })?;
        self.publish(&format!("program-{digest}"), predicate::PROGRAM, bundle)
            .await
    }

    /// The key of a policy's present epoch, with evidence over the log's present checkpoint.
    ///
    /// # Errors
    /// [`OperatorError`] of key service or log.
    pub async fn key_bundle(
        &self,
        policy: PolicyDigest,
    ) -> Result<(StapledBundle, String), OperatorError> {
        let errand = "fetching the checkpoint";
        let checkpoint = self
            .log
            .checkpoint()
            .await
            .map_err(|source| OperatorError::Log { errand, source })?;
        let errand = "fetching the key bundle";
        let stapled = self
            .courier
            .key_bundle(self.request(), policy, checkpoint.as_bytes())
            .await
            .map_err(|source| OperatorError::Kms { errand, source })?;
        Ok((stapled, checkpoint))
    }

    async fn publish(
        &self,
        name: &str,
        predicate_type: &str,
        bytes: Vec<u8>,
    ) -> Result<Published, OperatorError> {
        let errand = "publishing to the log";
        let failed = |source| OperatorError::Log { errand, source };
        let statement = Statement::about(name, &bytes, predicate_type);
        let envelope = self.signer.sign(&statement).map_err(failed)?;
        let bundle = self
            .log
            .publish(&envelope, &self.signer.key(), &bytes)
            .await
            .map_err(failed)?;
        let log_index = index_of(&bundle)?;
        Ok(Published {
            bytes,
            bundle,
            log_index,
        })
    }
}

/// Where a bundle's entry stands.
pub(crate) fn index_of(bundle: &[u8]) -> Result<u64, OperatorError> {
    let parsed = Bundle::parse(bundle).map_err(|why| OperatorError::document("bundle", why))?;
    Ok(parsed.entry.log_index)
}
