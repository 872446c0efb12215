//! Simulated clients: a real `siegel_client` device each.
//!
//! Every one verifies the offer by itself (I1), seals, and uploads. Nothing is shared between them
//! but the bytes of the offer, as on real devices.

mod upload;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use siegel_client::{ClientConfig, Device, EndorsementProof, Odometer, Offer, Words};
use siegel_ident::{Budget, Secret, Transcript};
use siegel_platform::rng;

pub use upload::{ClientsError, upload_all};

/// What a client fetches, owned. See `siegel_client::Offer`.
#[derive(Clone)]
pub struct OfferBytes {
    /// The policy, canonical JSON.
    pub policy: Vec<u8>,
    /// Its log proof.
    pub policy_bundle: Vec<u8>,
    /// Who vouches for its binaries and programs.
    pub endorsements: Vec<EndorsementProof>,
    /// The genesis, canonical JSON.
    pub genesis: Vec<u8>,
    /// Its log proof.
    pub genesis_bundle: Vec<u8>,
    /// The key bundle, canonical JSON.
    pub key_bundle: Vec<u8>,
    /// The cluster key's signature over it.
    pub key_bundle_signature: Vec<u8>,
    /// Evidence of the KMS node that made it.
    pub evidence: Vec<u8>,
    /// The log checkpoint that the evidence binds.
    pub checkpoint: String,
    /// Notes of mirrors that keep the policy's bytes.
    pub archived: Vec<String>,
}

/// How the clients behave.
#[derive(Clone)]
pub struct ClientsOptions {
    /// Anchors and limits of every device.
    pub config: ClientConfig,
    /// Fixes device secrets, blob ids and keys; fresh randomness without it.
    pub seed: Option<[u8; 32]>,
    /// Clients at work at a time.
    pub concurrency: usize,
    /// Hears the words of every client once, in any order: for figures that only a simulator has.
    pub heard: Option<Heard>,
}

/// See [`ClientsOptions::heard`].
pub type Heard = Arc<dyn Fn(&Words) + Send + Sync>;

/// What became of all uploads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UploadReport {
    /// New in the depot.
    pub accepted: u64,
    /// The same bytes were there already.
    pub duplicates: u64,
    /// Not sent: the client refused what it was offered, or its own account is used up.
    pub refused: u64,
    /// Bytes of all accepted and duplicate uploads.
    pub bytes: u64,
    /// Why clients refused, and how many for that reason.
    #[serde(skip)]
    pub refusals: BTreeMap<String, u64>,
}

impl OfferBytes {
    /// Borrowed, as the client takes it.
    pub fn as_offer(&self) -> Offer<'_> {
        Offer {
            policy: &self.policy,
            policy_bundle: &self.policy_bundle,
            endorsements: &self.endorsements,
            genesis: &self.genesis,
            genesis_bundle: &self.genesis_bundle,
            key_bundle: &self.key_bundle,
            key_bundle_signature: &self.key_bundle_signature,
            evidence: &self.evidence,
            checkpoint: &self.checkpoint,
            archived: &self.archived,
        }
    }
}

/// The device of the client with this name: with a seed always the same one, else a new one.
pub fn device(seed: Option<&[u8; 32]>, name: &str, cap: Budget) -> Device {
    match seed {
        Some(seed) => Device::new(derived(seed, "device secret", name), Odometer::new(), cap),
        None => Device::generate(&mut rng::os_rng(), cap),
    }
}

/// Simulated secrets of a seeded run are public anyway (I11).
fn derived(seed: &[u8; 32], purpose: &str, name: &str) -> Secret<32> {
    let label = Transcript::new("siegel/simulated-client/v1");
    let bytes = label
        .field(seed)
        .field(purpose.as_bytes())
        .field(name.as_bytes())
        .digest();
    Secret::new(*bytes.as_bytes())
}
