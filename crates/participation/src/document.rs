//! The document that a person keeps.

use serde::{Deserialize, Serialize};
use siegel_ident::json::{from_canonical, to_canonical};
use siegel_ident::{BlobDigest, ClusterId, Digest, InputRoot, PolicyDigest, RunId, Timestamp};
use siegel_ledger::Fact;
use siegel_translog::LogAnchors;

use crate::ParticipationError as Error;
use crate::membership::Membership;
use crate::receipt::{LoggedReceipt, VerifiedReceipt};

/// `schema` of the document.
pub const PARTICIPATION_SCHEMA: &str = "siegel/participation/v1";
/// Longest document in bytes: genesis, receipt and bundle have bounds of their own, two paths the rest.
const MAX: usize = 256 * 1024;

/// Whether one upload was an input of one run, and all that proves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Participation {
    /// [`PARTICIPATION_SCHEMA`].
    pub schema: String,
    /// The upload: SHA-256 of the sealed bytes, as the device knows it.
    pub blob: BlobDigest,
    /// The registration of the run: it binds root and number of the uploads.
    pub registration: LoggedReceipt,
    /// Is it among them?
    pub proof: Membership,
}

/// The proved answer.
#[derive(Clone, Debug)]
pub struct Participated {
    /// True if the run read the upload.
    pub participated: bool,
    /// The run.
    pub run: RunId,
    /// Its policy.
    pub policy: PolicyDigest,
    /// How many uploads it read.
    pub blob_count: u64,
    /// Merkle root over them.
    pub input_root: InputRoot,
    /// The receipt behind it.
    pub receipt: VerifiedReceipt,
}

impl Participation {
    /// Proves whether `blob` was an input of the run that `registration` registers, from the run's
    /// stored list (32 bytes for each upload). Whether the proof holds is for [`Self::verify`] to say.
    ///
    /// # Errors
    /// [`Error::ListLength`] and [`Error::Unsorted`] for what is no such list.
    pub fn new(blob: BlobDigest, registration: LoggedReceipt, list: &[u8]) -> Result<Self, Error> {
        let (digests, rest) = list.as_chunks::<{ Digest::LEN }>();
        if !rest.is_empty() {
            return Err(Error::ListLength { len: list.len() });
        }
        let sorted: Vec<_> = digests.iter().map(|d| BlobDigest::from_bytes(*d)).collect();
        Ok(Self {
            schema: PARTICIPATION_SCHEMA.to_owned(),
            blob,
            registration,
            proof: Membership::of(&sorted, blob)?,
        })
    }

    /// Reads exactly the canonical bytes (I2).
    ///
    /// # Errors
    /// [`Error::Json`] and [`Error::Schema`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let document: Self = from_canonical(bytes, MAX)?;
        if document.schema != PARTICIPATION_SCHEMA {
            return Err(Error::Schema {
                found: document.schema,
                expected: PARTICIPATION_SCHEMA,
            });
        }
        Ok(document)
    }

    /// The canonical bytes.
    ///
    /// # Errors
    /// [`Error::Json`] if it cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        Ok(to_canonical(self)?)
    }

    /// Verifies all of it offline: the receipt as [`LoggedReceipt::verify`] does, then the proof under
    /// the root and the number that the receipt states.
    ///
    /// # Errors
    /// The first thing that does not hold.
    pub fn verify(
        &self,
        anchors: &LogAnchors,
        clusters: &[ClusterId],
        now: Timestamp,
    ) -> Result<Participated, Error> {
        let receipt = self.registration.verify(anchors, clusters, now)?;
        let Fact::RunRegistered {
            run,
            policy,
            input_root,
            blob_count,
            ..
        } = receipt.receipt.fact
        else {
            return Err(Error::NotARegistration);
        };
        Ok(Participated {
            participated: self.proof.verify(self.blob, input_root, blob_count)?,
            run,
            policy,
            blob_count,
            input_root,
            receipt,
        })
    }
}
