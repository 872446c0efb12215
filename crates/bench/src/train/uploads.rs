//! Records sealed by clients, and opened once by a worker.

use siegel_ident::{
    BlobDigest, BlobId, ClusterId, EpochId, PolicyDigest, PrivacyId, Secret, SecretBytes,
};
use siegel_program::Record;
use siegel_program::record::Column;
use siegel_seal::upload::upload_digest;
use siegel_seal::{KemPrivate, Suite, UploadContext, derive_kem, open_upload, seal_upload};

use super::data::Data;
use super::workload::{COLUMN, TrainTrouble};
use crate::timing::cpu_seconds;

/// What the depot holds, and the worker's key to it.
pub struct Uploads {
    key: KemPrivate,
    context: UploadContext,
    stored: Vec<(BlobDigest, Vec<u8>)>,
}

impl Uploads {
    /// Every client seals its rows once.
    pub fn seal(data: &Data, suite: Suite) -> Result<Self, TrainTrouble> {
        let (key, public) = derive_kem(suite, &Secret::new([7; 32]));
        let context = UploadContext {
            cluster: ClusterId::from_bytes([1; 32]),
            epoch: EpochId(1),
            policy: PolicyDigest::from_bytes([2; 32]),
        };
        let mut rng = crate::seal::rng(5);
        let mut stored = Vec::with_capacity(data.clients.len());
        for (number, rows) in data.clients.iter().enumerate() {
            let record = Record {
                privacy_id: PrivacyId::from_bytes(spread(number)),
                columns: vec![Column::floats(COLUMN, rows.clone())],
            };
            let blob = BlobId::from_bytes(spread(number));
            let bytes = seal_upload(&mut rng, &public, &context, blob, &record.encode()?)?;
            stored.push((upload_digest(&bytes), bytes));
        }
        Ok(Self {
            key,
            context,
            stored,
        })
    }

    /// The plaintexts, in order, and the processor seconds that digests and opening took.
    pub fn open(&self) -> Result<(Vec<SecretBytes>, f64), TrainTrouble> {
        let start = cpu_seconds();
        let mut opened = Vec::with_capacity(self.stored.len());
        for (digest, bytes) in &self.stored {
            if upload_digest(bytes) != *digest {
                return Err(TrainTrouble::Changed);
            }
            opened.push(open_upload(&self.key, &self.context, bytes)?);
        }
        Ok((opened, cpu_seconds() - start))
    }
}

/// A number as an id.
fn spread<const N: usize>(number: usize) -> [u8; N] {
    let mut id = [0; N];
    id.iter_mut()
        .zip((number as u64).to_le_bytes())
        .for_each(|(to, from)| *to = from);
    id
}
