//! A key bundle with all that proves it, as one document for the log.

use serde::{Deserialize, Serialize};

use crate::EVIDENCE_MAX;
use crate::document::{self, Document, DocumentError, require};

const BUNDLE_MAX: usize = 16 * 1024;
const SIGNATURE_MAX: usize = 128;
const CHECKPOINT_MAX: usize = 8 * 1024;

/// What a client is offered, `siegel/key-offer/v1`: the bundle's exact bytes, the cluster key's
/// signature, the evidence of the node that made it, and the checkpoint that the evidence binds. It
/// is logged, so that an auditor sees the same evidence as the clients (I1, I3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyOffer {
    /// `siegel/key-offer/v1`.
    pub schema: String,
    /// Exact canonical JSON of the [`crate::KeyBundle`].
    pub bundle: String,
    /// By the cluster key over these bytes: ECDSA P-256, DER.
    #[serde(with = "siegel_ident::hex_serde::vec")]
    pub signature: Vec<u8>,
    /// Of a node that holds the cluster key.
    #[serde(with = "siegel_ident::hex_serde::vec")]
    pub evidence: Vec<u8>,
    /// The signed note whose SHA-256 the bundle names.
    pub checkpoint: String,
}

impl KeyOffer {
    /// The value of `schema`.
    pub const SCHEMA: &'static str = "siegel/key-offer/v1";

    /// Reads exactly the canonical bytes. Nothing in it is verified yet.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        document::parse(bytes)
    }

    /// The canonical bytes; refuses an offer that would not parse.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, DocumentError> {
        document::to_bytes(self)
    }
}

impl Document for KeyOffer {
    const SCHEMA: &'static str = Self::SCHEMA;
    /// The evidence is in hexadecimal.
    const MAX: usize = 2 * EVIDENCE_MAX + 64 * 1024;

    fn schema(&self) -> &str {
        &self.schema
    }

    fn check(&self) -> Result<(), DocumentError> {
        let bounded = |len: usize, max: usize| (1..=max).contains(&len);
        require::<Self>(
            bounded(self.bundle.len(), BUNDLE_MAX),
            "bundle",
            "must have 1 byte to 16 KiB",
        )?;
        require::<Self>(
            bounded(self.signature.len(), SIGNATURE_MAX),
            "signature",
            "must have 1 to 128 bytes",
        )?;
        require::<Self>(
            bounded(self.evidence.len(), EVIDENCE_MAX),
            "evidence",
            "must have 1 byte to 128 KiB",
        )?;
        require::<Self>(
            bounded(self.checkpoint.len(), CHECKPOINT_MAX),
            "checkpoint",
            "must have 1 byte to 8 KiB",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // I2, I14: one spelling, every part there and bounded.
    #[test]
    fn i14_one_spelling_and_bounds() {
        let good = KeyOffer {
            schema: KeyOffer::SCHEMA.into(),
            bundle: "{}".into(),
            signature: vec![1; 70],
            evidence: vec![2; EVIDENCE_MAX],
            checkpoint: "log\n1\nroot\n".into(),
        };
        let bytes = good.to_bytes().unwrap();
        assert_eq!(KeyOffer::parse(&bytes).unwrap(), good);
        assert!(KeyOffer::parse(&[&bytes[..], b"\n"].concat()).is_err());
        for bend in [
            |o: &mut KeyOffer| o.bundle.clear(),
            |o: &mut KeyOffer| o.signature.clear(),
            |o: &mut KeyOffer| o.signature = vec![0; SIGNATURE_MAX + 1],
            |o: &mut KeyOffer| o.evidence.push(0),
            |o: &mut KeyOffer| o.checkpoint = "x".repeat(CHECKPOINT_MAX + 1),
            |o: &mut KeyOffer| o.schema = "siegel/key-bundle/v1".into(),
        ] {
            let mut bad = good.clone();
            bend(&mut bad);
            assert!(bad.to_bytes().is_err());
        }
    }
}
