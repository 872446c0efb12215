//! Uploads: header ‖ body, named by SHA-256 of all their bytes.

mod header;
#[cfg(test)]
mod tests;

pub use header::{MAX_PADDED, MIN_PADDED, UploadHeader, VERSION};

use rand_core::CryptoRng;
use siegel_ident::{BlobDigest, BlobId, ClusterId, Digest, EpochId, PolicyDigest, Secret};
use siegel_ident::{SecretBytes, Transcript, padme};
use zeroize::Zeroizing;

use crate::frame::{Frame, PREFIX, unframe};
use crate::{KemPrivate, KemPublic, OpenError, SealError, Suite, kem, stream};

/// Where an upload belongs. All of it is bound into the wrapping of the data key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UploadContext {
    /// Whose key it is.
    pub cluster: ClusterId,
    /// Which epoch's.
    pub epoch: EpochId,
    /// Under which policy.
    pub policy: PolicyDigest,
}

/// The identity of an upload: SHA-256 of all its bytes.
pub fn upload_digest(upload: &[u8]) -> BlobDigest {
    BlobDigest::of(upload)
}

/// The padded length in bytes for a plaintext of `len` bytes.
pub const fn padded_len(len: u64) -> u64 {
    let framed = padme(len.saturating_add(PREFIX as u64));
    if framed < MIN_PADDED {
        MIN_PADDED
    } else {
        framed
    }
}

/// The greatest length in bytes of a whole upload whose padded length is at most `padded`.
pub const fn sealed_len_at_most(padded: u64) -> u64 {
    let header = 1 + 16 + 32 + 8 + 2 + 8 + 4 + Suite::MAX_ENC_LEN + 4 + header::WRAPPED_DEK;
    header as u64 + stream::sealed_len(padded)
}

/// Seals one upload. A retry sends the same bytes again; it never seals twice (I4).
///
/// # Errors
/// A plaintext whose padded length is above [`MAX_PADDED`], or a degenerate key.
pub fn seal_upload(
    rng: &mut impl CryptoRng,
    key: &KemPublic,
    ctx: &UploadContext,
    blob: BlobId,
    plaintext: &SecretBytes,
) -> Result<Vec<u8>, SealError> {
    let len = plaintext.len() as u64;
    let padded = padded_len(len);
    if padded > MAX_PADDED {
        return Err(SealError::TooLong {
            len,
            max: MAX_PADDED - PREFIX as u64,
        });
    }
    let mut dek = Zeroizing::new([0u8; 32]);
    rng.fill_bytes(&mut *dek);
    let mut header = UploadHeader {
        version: VERSION,
        blob_id: blob,
        policy: ctx.policy,
        epoch: ctx.epoch,
        suite: key.suite(),
        padded_len: padded,
        enc: Vec::new(),
        wrapped_dek: Vec::new(),
    };
    let bind = |enc: &[u8]| {
        header.enc = enc.to_vec();
        header.unwrapped_part().finish()
    };
    let wrapped = kem::seal(
        rng,
        key,
        hpke_info(ctx, key.suite()).as_bytes(),
        bind,
        &*dek,
    )?;
    header.wrapped_dek = wrapped.ciphertext;

    let mut out = header.to_bytes();
    let aad = Digest::of(&out);
    let frame = Frame::new(plaintext.expose(), padded as usize);
    stream::seal(&Secret::new(*dek), &aad, &frame, &mut out)?;
    Ok(out)
}

/// Opens one upload.
///
/// # Errors
/// All but [`OpenError::NotAuthentic`] and [`OpenError::Framing`] follow from public bytes. What a
/// worker makes of any of them is decided there: the upload counts zero, silently (I12).
pub fn open_upload(
    key: &KemPrivate,
    ctx: &UploadContext,
    bytes: &[u8],
) -> Result<SecretBytes, OpenError> {
    let (header, body_at) = UploadHeader::parse(bytes)?;
    if header.policy != ctx.policy {
        return Err(OpenError::WrongContext { field: "policy" });
    }
    if header.epoch != ctx.epoch {
        return Err(OpenError::WrongContext { field: "epoch" });
    }
    if header.suite != key.suite() {
        return Err(OpenError::WrongSuite {
            expected: key.suite(),
            got: header.suite,
        });
    }
    let aad = header.unwrapped_part().finish();
    let info = hpke_info(ctx, header.suite);
    let dek = kem::open(key, &header.enc, info.as_bytes(), &aad, &header.wrapped_dek)?;
    let dek = Secret::try_from_slice(dek.expose()).ok_or(OpenError::NotAuthentic)?;
    let (head, body) = bytes
        .split_at_checked(body_at)
        .ok_or(OpenError::NotAuthentic)?;
    let framed = stream::open(&dek, &Digest::of(head), body)?;
    unframe(framed, |len| padded_len(len) == header.padded_len)
}

fn hpke_info(ctx: &UploadContext, suite: Suite) -> Transcript {
    Transcript::new("siegel/upload/v1")
        .field(ctx.cluster.as_bytes())
        .u64(ctx.epoch.0)
        .field(ctx.policy.as_bytes())
        .field(crate::kdf::EpochPurpose::Upload.as_str().as_bytes())
        .u64(suite.number().into())
}
