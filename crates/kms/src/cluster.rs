//! What only members hold: the wrapping key and the cluster key. In memory only (I10).

use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use siegel_attest::{Genesis, TrustAnchors};
use siegel_ident::{
    ClusterId, ConfigDigest, NodeId, PolicyDigest, RunId, Secret, SecretBytes, Transcript,
};
use siegel_ledger::{SecretSource, Wrapped};
use siegel_platform::OsRng;
use siegel_seal::{OpenError, SealError, kdf, wrap};

use crate::founding::FoundingError;

/// The cluster as its members know it.
pub(crate) struct Cluster {
    genesis: Genesis,
    genesis_bytes: Vec<u8>,
    id: ClusterId,
    config: ConfigDigest,
    /// `ring` does not zeroise it on drop (I13).
    key: EcdsaKeyPair,
    /// The same key, to be handed to who joins.
    pkcs8: SecretBytes,
    /// Wraps every secret that stands in the log.
    wrapping: Secret<32>,
}

impl Cluster {
    /// Puts the parts together; they must belong together.
    pub(crate) fn new(
        genesis_bytes: Vec<u8>,
        wrapping: Secret<32>,
        pkcs8: SecretBytes,
    ) -> Result<Self, FoundingError> {
        let genesis = Genesis::parse(&genesis_bytes)?;
        let key = read_key(pkcs8.expose())?;
        if key.public_key().as_ref() != genesis.cluster_key {
            return Err(FoundingError::ClusterKey(
                "it is not the key of the genesis",
            ));
        }
        let id = ClusterId::of(&genesis_bytes);
        let config = genesis.config.digest()?;
        Ok(Self {
            genesis,
            genesis_bytes,
            id,
            config,
            key,
            pkcs8,
            wrapping,
        })
    }

    pub(crate) fn id(&self) -> ClusterId {
        self.id
    }

    pub(crate) fn genesis(&self) -> &Genesis {
        &self.genesis
    }

    pub(crate) fn genesis_bytes(&self) -> &[u8] {
        &self.genesis_bytes
    }

    /// The configuration digest of each member.
    pub(crate) fn config(&self) -> ConfigDigest {
        self.config
    }

    pub(crate) fn anchors(&self) -> TrustAnchors {
        self.genesis.config.anchors()
    }

    /// Wrapping key and cluster key, for the one message that hands them to a new member.
    pub(crate) fn secrets(&self) -> (&Secret<32>, &SecretBytes) {
        (&self.wrapping, &self.pkcs8)
    }

    /// Says that the log admitted this process. Made only after that entry was applied.
    pub(crate) fn credential(
        &self,
        id: NodeId,
        place: NodeId,
        key: &[u8; 32],
    ) -> Result<Vec<u8>, ring::error::Unspecified> {
        self.sign(credential(self.id, id, place, key).as_bytes())
    }

    /// Whether a member of this cluster made that credential.
    pub(crate) fn admitted(
        &self,
        id: NodeId,
        place: NodeId,
        key: &[u8; 32],
        signature: &[u8],
    ) -> bool {
        let message = credential(self.id, id, place, key);
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, self.key.public_key().as_ref())
            .verify(message.as_bytes(), signature)
            .is_ok()
    }

    /// ECDSA P-256, ASN.1 DER; random, so two signatures of one message differ.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, ring::error::Unspecified> {
        Ok(self
            .key
            .sign(&SystemRandom::new(), message)?
            .as_ref()
            .to_vec())
    }

    /// A fresh epoch secret, wrapped for the log.
    pub(crate) fn new_epoch_secret(
        &self,
        rng: &mut OsRng,
        policy: PolicyDigest,
    ) -> Result<Wrapped, SealError> {
        self.wrap_fresh(rng, &self.epoch_aad(policy))
    }

    /// A fresh run secret, wrapped for the log.
    pub(crate) fn new_run_secret(
        &self,
        rng: &mut OsRng,
        run: RunId,
        policy: PolicyDigest,
    ) -> Result<Wrapped, SealError> {
        self.wrap_fresh(rng, &self.run_aad(run, policy))
    }

    /// An epoch's secret.
    pub(crate) fn epoch_secret(
        &self,
        policy: PolicyDigest,
        wrapped: &Wrapped,
    ) -> Result<Secret<32>, OpenError> {
        wrap::unwrap_key(&self.wrapping, &self.epoch_aad(policy), wrapped.as_bytes())
    }

    /// A run's secret: unwrapped, or derived from the seed of a simulated genesis. `None` once it
    /// is erased (I9).
    pub(crate) fn run_secret(&self, run: &RunSecret) -> Result<Option<Secret<32>>, OpenError> {
        match &run.source {
            Source::Wrapped(wrapped) => {
                let aad = self.run_aad(run.run, run.policy);
                wrap::unwrap_key(&self.wrapping, &aad, wrapped.as_bytes()).map(Some)
            }
            Source::Seeded { ordinal } => Ok(self.seeded_run_secret(*ordinal)),
            Source::Erased => Ok(None),
        }
    }

    /// HKDF(seed, run ordinal). It binds nothing random, so that a seed repeats its outputs (I7);
    /// the seed is public, so such a run promises no privacy and says so (I11).
    fn seeded_run_secret(&self, ordinal: u64) -> Option<Secret<32>> {
        let seed = Secret::new(self.genesis.config.seed?);
        let label = Transcript::new("siegel/kdf/seeded-run/v1").u64(ordinal);
        Some(kdf::derive(&seed, &label))
    }

    fn wrap_fresh(&self, rng: &mut OsRng, aad: &Transcript) -> Result<Wrapped, SealError> {
        let secret = fresh_secret(rng);
        wrap::wrap(&self.wrapping, rng, aad, secret.expose()).map(Wrapped::new)
    }

    /// The epoch's number is not known when its secret is made; the policy is (I3).
    fn epoch_aad(&self, policy: PolicyDigest) -> Transcript {
        Transcript::new("siegel/kms/epoch-secret/v1")
            .field(self.id.as_bytes())
            .field(policy.as_bytes())
    }

    fn run_aad(&self, run: RunId, policy: PolicyDigest) -> Transcript {
        Transcript::new("siegel/kms/run-secret/v1")
            .field(self.id.as_bytes())
            .field(run.as_bytes())
            .field(policy.as_bytes())
    }
}

fn credential(cluster: ClusterId, id: NodeId, place: NodeId, key: &[u8; 32]) -> Transcript {
    Transcript::new("siegel/kms/credential/v1")
        .field(cluster.as_bytes())
        .u64(id.0)
        .u64(place.0)
        .field(key)
}

/// Where a run's secret is, copied out of the ledger. Ciphertext only.
pub(crate) struct RunSecret {
    run: RunId,
    policy: PolicyDigest,
    source: Source,
}

enum Source {
    Wrapped(Wrapped),
    Seeded { ordinal: u64 },
    Erased,
}

impl RunSecret {
    pub(crate) fn of(view: &siegel_ledger::RunView<'_>) -> Self {
        let source = match view.secret {
            SecretSource::Wrapped(wrapped) => Source::Wrapped(wrapped.clone()),
            SecretSource::Seeded => Source::Seeded {
                ordinal: view.ordinal,
            },
            SecretSource::Erased => Source::Erased,
        };
        Self {
            run: view.run,
            policy: view.policy,
            source,
        }
    }
}

/// 32 random bytes.
pub(crate) fn fresh_secret(rng: &mut OsRng) -> Secret<32> {
    use rand_core::Rng as _;
    let mut bytes = zeroize::Zeroizing::new([0u8; 32]);
    rng.fill_bytes(&mut *bytes);
    Secret::new(*bytes)
}

/// Reads a P-256 key pair.
pub(crate) fn read_key(pkcs8: &[u8]) -> Result<EcdsaKeyPair, FoundingError> {
    let rng = SystemRandom::new();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8, &rng)
        .map_err(|_| FoundingError::ClusterKey("it is not a P-256 key pair"))
}
