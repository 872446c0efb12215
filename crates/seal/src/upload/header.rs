//! The public header of an upload.

use siegel_ident::lp::{Reader, Writer};
use siegel_ident::{BlobId, EpochId, PolicyDigest, padme};

use crate::{OpenError, Suite, stream};

/// The only version.
pub const VERSION: u8 = 1;
/// The least padded length in bytes: short texts all look alike (I12).
pub const MIN_PADDED: u64 = 512;
/// The greatest padded length in bytes.
pub const MAX_PADDED: u64 = 16 * 1024 * 1024;
/// Length of a wrapped data key in bytes: 32 and a tag.
pub(crate) const WRAPPED_DEK: usize = 32 + stream::TAG;

/// What stands in the clear before the body. Its SHA-256 is the body's associated data.
///
/// Layout: version u8, blob id 16, policy 32, epoch u64, suite u16, padded length u64,
/// LP(encapsulated key), LP(wrapped data key); integers big-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadHeader {
    /// Format version.
    pub version: u8,
    /// Chosen by the client; public.
    pub blob_id: BlobId,
    /// The policy it was sealed under.
    pub policy: PolicyDigest,
    /// The epoch whose key it was sealed to.
    pub epoch: EpochId,
    /// Of the key.
    pub suite: Suite,
    /// Length of the padded plaintext in bytes.
    pub padded_len: u64,
    /// The encapsulated key.
    pub enc: Vec<u8>,
    /// The data key, wrapped by HPKE.
    pub wrapped_dek: Vec<u8>,
}

impl UploadHeader {
    /// Reads the header of a whole upload and says where the body starts. The number of bytes must
    /// be exactly the one that the header implies.
    pub fn parse(upload: &[u8]) -> Result<(Self, usize), OpenError> {
        let (header, body_at) = Self::parse_prefix(upload)?;
        let expected = header.total_len();
        let got = upload.len() as u64;
        if expected != got {
            return Err(OpenError::Length { expected, got });
        }
        Ok((header, body_at))
    }

    /// Reads the header from the first bytes of an upload whose rest may not have come yet.
    pub fn parse_prefix(bytes: &[u8]) -> Result<(Self, usize), OpenError> {
        let mut r = Reader::new(bytes);
        let version = r.u8("version")?;
        if version != VERSION {
            return Err(OpenError::Version {
                got: version,
                known: VERSION,
            });
        }
        let blob_id = BlobId::from_bytes(r.array("blob id")?);
        let policy = PolicyDigest::from_bytes(r.array("policy digest")?);
        let epoch = EpochId(r.u64("epoch")?);
        let number = r.u16("suite")?;
        let suite = Suite::from_number(number).ok_or(OpenError::UnknownSuite(number))?;
        let padded_len = r.u64("padded length")?;
        // Only lengths that the padding makes: a sender cannot mark its uploads by odd ones.
        if !(MIN_PADDED..=MAX_PADDED).contains(&padded_len) || padme(padded_len) != padded_len {
            return Err(OpenError::Field {
                field: "padded length",
            });
        }
        let enc = r.bytes("encapsulated key", Suite::MAX_ENC_LEN)?;
        if enc.len() != suite.enc_len() {
            return Err(OpenError::Field {
                field: "encapsulated key",
            });
        }
        let wrapped_dek = r.bytes("wrapped data key", WRAPPED_DEK)?;
        if wrapped_dek.len() != WRAPPED_DEK {
            return Err(OpenError::Field {
                field: "wrapped data key",
            });
        }
        let body_at = r.position();
        let (enc, wrapped_dek) = (enc.to_vec(), wrapped_dek.to_vec());
        let header = Self {
            version,
            blob_id,
            policy,
            epoch,
            suite,
            padded_len,
            enc,
            wrapped_dek,
        };
        Ok((header, body_at))
    }

    /// The exact bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.unwrapped_part().bytes(&self.wrapped_dek).finish()
    }

    /// Length of the whole upload in bytes.
    pub fn total_len(&self) -> u64 {
        let header = 1 + 16 + 32 + 8 + 2 + 8 + 4 + self.enc.len() + 4 + self.wrapped_dek.len();
        header as u64 + stream::sealed_len(self.padded_len)
    }

    /// What the wrapped data key is bound to: every field before it.
    pub(super) fn unwrapped_part(&self) -> Writer {
        Writer::new()
            .u8(self.version)
            .fixed(self.blob_id.as_bytes())
            .fixed(self.policy.as_bytes())
            .u64(self.epoch.0)
            .u16(self.suite.number())
            .u64(self.padded_len)
            .bytes(&self.enc)
    }
}
