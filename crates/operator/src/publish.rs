//! Publishing: genesis, programs and policies go into the log, their bytes into the archive.

use bytes::Bytes;
use siegel_attest::{Genesis, KeyOffer};
use siegel_ident::{PolicyDigest, ProgramDigest};
use siegel_keys::StapledBundle;
use siegel_policy::Policy;
use siegel_rekor::PolicySigner;
use siegel_translog::{Bundle, GeneralBundle, HashedRekord, ProofError, Statement, predicate};
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

    /// Publishes a policy.
    ///
    /// # Errors
    /// Any [`OperatorError`] of the log.
    pub async fn publish_policy(&self, policy: &Policy) -> Result<Published, OperatorError> {
        let name = policy.name.clone();
        self.publish(&name, predicate::POLICY, policy.bytes().to_vec())
            .await
    }

    /// The bundle of a published document for other Sigstore clients: with a token of the time
    /// stamp authority at the log's URL, if there is one.
    ///
    /// # Errors
    /// Any [`OperatorError`] of the log.
    pub async fn general_bundle(&self, published: &Published) -> Result<Vec<u8>, OperatorError> {
        let errand = "fetching a time stamp";
        let failed = |source| OperatorError::Log { errand, source };
        let wrong = |why: ProofError| OperatorError::document("bundle", why);
        let strict = Bundle::parse(&published.bundle).map_err(wrong)?;
        let record = HashedRekord::parse(&strict.entry.canonicalized_body).map_err(wrong)?;
        let mut bundle = GeneralBundle {
            envelope: strict.envelope,
            verifier: record.verifier,
            entry: strict.entry,
            timestamps: Vec::new(),
        };
        self.log.stamp(&mut bundle).await.map_err(failed)?;
        bundle.to_json().map_err(wrong)
    }

    /// Registers a published policy with the key service, with the endorsements that it demands;
    /// none for a policy that demands none. Old proofs are
    /// made fresh first.
    ///
    /// # Errors
    /// [`OperatorError::Kms`] with the rule that it breaks.
    pub async fn register_policy(
        &self,
        policy: &Published,
        endorsements: &[Published],
    ) -> Result<(), OperatorError> {
        let errand = "registering the policy";
        let policy = self.refreshed(policy).await?;
        let mut proofs = Vec::new();
        for endorsement in endorsements {
            proofs.push(self.refreshed(endorsement).await?.proof());
        }
        self.courier
            .register_policy(self.request(), &policy.bytes, &policy.bundle, &proofs)
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

    /// The key of a policy's present epoch, with evidence over the log's present checkpoint. The log
    /// gets the whole offer, so that an auditor sees the evidence that clients see (I1).
    ///
    /// # Errors
    /// [`OperatorError`] of key service or log.
    pub async fn key_bundle(
        &self,
        policy: PolicyDigest,
    ) -> Result<(StapledBundle, String), OperatorError> {
        let checkpoint = self.checkpoint().await?;
        let errand = "fetching the key bundle";
        let stapled = self
            .courier
            .key_bundle(self.request(), policy, checkpoint.as_bytes())
            .await
            .map_err(|source| OperatorError::Kms { errand, source })?;
        let wrong = |why: &dyn std::fmt::Display| OperatorError::document("key offer", why);
        let offer = KeyOffer {
            schema: KeyOffer::SCHEMA.into(),
            bundle: String::from_utf8(stapled.bundle.clone()).map_err(|why| wrong(&why))?,
            signature: stapled.signature.clone(),
            evidence: stapled.evidence.clone(),
            checkpoint: checkpoint.clone(),
        };
        let bytes = offer.to_bytes().map_err(|why| wrong(&why))?;
        let name = format!("key-offer-{policy}");
        self.publish(&name, predicate::KEY_OFFER, bytes).await?;
        Ok((stapled, checkpoint))
    }

    pub(crate) async fn publish(
        &self,
        name: &str,
        predicate_type: &str,
        bytes: Vec<u8>,
    ) -> Result<Published, OperatorError> {
        self.publish_by(&self.signer, name, predicate_type, bytes)
            .await
    }

    /// The same under another key than the operator's.
    pub(crate) async fn publish_by(
        &self,
        signer: &PolicySigner,
        name: &str,
        predicate_type: &str,
        bytes: Vec<u8>,
    ) -> Result<Published, OperatorError> {
        let errand = "publishing to the log";
        let failed = |source| OperatorError::Log { errand, source };
        let statement = Statement::about(name, &bytes, predicate_type);
        let envelope = signer.sign(&statement).map_err(failed)?;
        let bundle = self
            .log
            .publish(&envelope, &signer.key(), &bytes)
            .await
            .map_err(failed)?;
        let bundle = self.fresh(errand, bundle).await?;
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
