//! One suite and size: the same key, context and plaintext for ours and for raw.

use std::hint::black_box;

use hpke::Kem;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use siegel_ident::{BlobId, ClusterId, EpochId, PolicyDigest, Secret, SecretBytes, Transcript};
use siegel_seal::upload::padded_len;
use siegel_seal::{
    KemPrivate, KemPublic, OpenError, SealError, Suite, UploadContext, derive_kem, open_upload,
    seal_upload,
};

use super::raw::{Raw, RawError};

/// Why a measurement cannot stand.
#[derive(Debug, thiserror::Error)]
pub enum SealTrouble {
    /// Ours could not seal.
    #[error("seal_upload: {0}")]
    Seal(#[from] SealError),
    /// Ours could not open.
    #[error("open_upload: {0}")]
    Open(#[from] OpenError),
    /// The baseline failed.
    #[error(transparent)]
    Raw(#[from] RawError),
    /// One side did not give the plaintext back.
    #[error("{0} opened to other bytes than were sealed")]
    OtherBytes(&'static str),
}

/// What both sides work on.
pub struct Setting<K: Kem> {
    private: KemPrivate,
    public: KemPublic,
    context: UploadContext,
    plaintext: SecretBytes,
    raw: Raw<K>,
}

/// The random source of one side: a fast one, and the same for both, so that it does not decide.
pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

impl<K: Kem> Setting<K> {
    /// Keys of `suite` and a plaintext of `size` bytes. `K` is the KEM of that suite.
    pub fn new(suite: Suite, size: usize) -> Result<Self, SealTrouble> {
        let (private, public) = derive_kem(suite, &Secret::new([7; 32]));
        let context = UploadContext {
            cluster: ClusterId::from_bytes([1; 32]),
            epoch: EpochId(3),
            policy: PolicyDigest::from_bytes([2; 32]),
        };
        let raw = Raw::new(
            private.expose_bytes(),
            public.key(),
            info(&context, suite),
            prefix(&context, suite, size),
        )?;
        let plaintext = (0..size).map(|i| (i % 251) as u8).collect::<Vec<u8>>();
        Ok(Self {
            private,
            public,
            context,
            plaintext: SecretBytes::new(plaintext),
            raw,
        })
    }

    /// Ours seals.
    pub fn seal(&self, rng: &mut ChaCha20Rng) -> Result<Vec<u8>, SealTrouble> {
        let plaintext = black_box(&self.plaintext);
        let sealed = seal_upload(rng, &self.public, &self.context, BLOB, plaintext)?;
        Ok(black_box(sealed))
    }

    /// Ours opens.
    pub fn open(&self, sealed: &[u8]) -> Result<SecretBytes, SealTrouble> {
        let opened = open_upload(&self.private, &self.context, black_box(sealed))?;
        black_box(opened.expose());
        Ok(opened)
    }

    /// Raw seals.
    pub fn raw_seal(&self, rng: &mut ChaCha20Rng) -> Result<Vec<u8>, SealTrouble> {
        let sealed = self.raw.seal(rng, black_box(self.plaintext.expose()))?;
        Ok(black_box(sealed))
    }

    /// Raw opens.
    pub fn raw_open(&self, sealed: &[u8]) -> Result<Vec<u8>, SealTrouble> {
        Ok(black_box(self.raw.open(black_box(sealed))?))
    }

    /// Both sides give the plaintext back; else the figures would be of something else.
    pub fn check(&self, ours: &[u8], raw: &[u8]) -> Result<(), SealTrouble> {
        if self.open(ours)?.expose() != self.plaintext.expose() {
            return Err(SealTrouble::OtherBytes("ours"));
        }
        if self.raw_open(raw)? != self.plaintext.expose() {
            return Err(SealTrouble::OtherBytes("raw"));
        }
        Ok(())
    }
}

const BLOB: BlobId = BlobId::from_bytes([4; 16]);

/// The HPKE `info` of an upload, as `seal` has it (a test below opens one side's with the other).
fn info(context: &UploadContext, suite: Suite) -> Vec<u8> {
    Transcript::new("siegel/upload/v1")
        .field(context.cluster.as_bytes())
        .u64(context.epoch.0)
        .field(context.policy.as_bytes())
        .field(b"upload")
        .u64(suite.number().into())
        .as_bytes()
        .to_vec()
}

/// The header of an upload before the encapsulated key.
fn prefix(context: &UploadContext, suite: Suite, size: usize) -> Vec<u8> {
    let mut out = vec![siegel_seal::upload::VERSION];
    out.extend_from_slice(BLOB.as_bytes());
    out.extend_from_slice(context.policy.as_bytes());
    out.extend_from_slice(&context.epoch.0.to_be_bytes());
    out.extend_from_slice(&suite.number().to_be_bytes());
    out.extend_from_slice(&padded_len(size as u64).to_be_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpke::kem::{X25519HkdfSha256, XWing};

    // The baseline is honest only if it does all the cryptography that ours does. It does, if each
    // side opens what the other sealed: catches another chunking, another nonce, associated data or
    // `info` left out, a wrap left out.
    fn each_side_opens_the_other<K: Kem>(suite: Suite) {
        // Short, one chunk exactly filled by padding, and several chunks.
        for size in [1, 1000, 65_536 - 8, 65_536, 200_000] {
            let setting = Setting::<K>::new(suite, size).unwrap();
            let mut frame = (size as u64).to_be_bytes().to_vec();
            frame.extend_from_slice(setting.plaintext.expose());
            frame.resize(padded_len(size as u64) as usize, 0);

            let ours = setting.seal(&mut rng(1)).unwrap();
            assert!(setting.raw_open(&ours).unwrap() == frame, "{suite} {size}");
            let raw = setting.raw.seal(&mut rng(2), &frame).unwrap();
            assert_eq!(raw.len(), ours.len());
            let opened = setting.open(&raw).unwrap();
            assert!(
                opened.expose() == setting.plaintext.expose(),
                "{suite} {size}"
            );
        }
    }

    #[test]
    fn the_baseline_does_the_cryptography_of_an_upload() {
        each_side_opens_the_other::<X25519HkdfSha256>(Suite::X25519);
        each_side_opens_the_other::<XWing>(Suite::XWing);
    }

    #[test]
    fn a_side_that_loses_bytes_is_found() {
        let setting = Setting::<X25519HkdfSha256>::new(Suite::X25519, 3000).unwrap();
        let (ours, raw) = (
            setting.seal(&mut rng(1)).unwrap(),
            setting.raw_seal(&mut rng(1)).unwrap(),
        );
        assert!(setting.check(&ours, &raw).is_ok());
        // Raw opens ours to the padded frame, which is not the plaintext.
        let trouble = setting.check(&ours, &ours);
        assert!(matches!(trouble, Err(SealTrouble::OtherBytes("raw"))));
        let mut bad = ours.clone();
        bad[2000] ^= 1;
        assert!(matches!(
            setting.check(&bad, &raw),
            Err(SealTrouble::Open(_))
        ));
        let mut bad = raw.clone();
        bad[2000] ^= 1;
        assert!(matches!(
            setting.check(&ours, &bad),
            Err(SealTrouble::Raw(_))
        ));
    }
}
