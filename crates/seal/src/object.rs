//! Sealed releases and checkpoints: header ‖ body, named by SHA-256 of all their bytes.
//!
//! Every object has a fresh data key. A release's is wrapped to the run's release key (suite 2),
//! whose private half only the KMS holds; a checkpoint's under the run's checkpoint key. Their
//! sizes follow from the size that the caller fixes by public parameters, never from the
//! plaintext (I12).

mod header;
#[cfg(test)]
mod tests;

pub use header::{MAX_SIZE, ObjectHeader};

use rand_core::CryptoRng;
use siegel_ident::{Digest, ObjectDigest, RunId, Secret, SecretBytes, Step, Transcript};
use zeroize::Zeroizing;

use crate::frame::{Frame, PREFIX, unframe};
use crate::{KemPrivate, KemPublic, OpenError, SealError, Suite, kem, stream, wrap};

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Opened by the KMS for anyone, once its receipt is in the log (I17).
    Release,
    /// Opened by the next incarnation of the root.
    Checkpoint,
}

impl Purpose {
    const fn number(self) -> u8 {
        match self {
            Self::Release => 1,
            Self::Checkpoint => 2,
        }
    }
    const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Release),
            2 => Some(Self::Checkpoint),
            _ => None,
        }
    }
}

/// Where an object belongs. It opens nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectContext {
    /// Of which run.
    pub run: RunId,
    /// Of which step.
    pub step: Step,
    /// What the step before left: its checkpoint, or the digest of the registration.
    pub previous: ObjectDigest,
}

/// A sealed object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The header alone: it is committed with the step, so that the KMS can unwrap the data key.
    pub header: Vec<u8>,
    /// Header ‖ body: what is stored.
    pub bytes: Vec<u8>,
    /// SHA-256 of `bytes`: what is committed, and checked before opening.
    pub digest: ObjectDigest,
}

/// Length in bytes of the whole object for a fixed plaintext size.
pub const fn sealed_len(purpose: Purpose, size: u64) -> u64 {
    let (enc, dek) = match purpose {
        Purpose::Release => (Suite::XWing.enc_len(), 32 + stream::TAG),
        Purpose::Checkpoint => (0, wrap::wrapped_len(32)),
    };
    let header = 1 + 1 + 16 + 8 + 32 + 8 + 4 + enc + 4 + dek;
    header as u64 + stream::sealed_len(size.saturating_add(PREFIX as u64))
}

/// Seals a release to the run's release key (suite 2). `size` is the fixed plaintext size in
/// bytes; a longer plaintext is refused, a shorter one padded.
pub fn seal_release(
    rng: &mut impl CryptoRng,
    release_key: &KemPublic,
    ctx: &ObjectContext,
    size: u64,
    plaintext: &SecretBytes,
) -> Result<Sealed, SealError> {
    if release_key.suite() != Suite::XWing {
        let got = release_key.suite();
        return Err(SealError::WrongSuite {
            expected: Suite::XWing,
            got,
        });
    }
    let dek = fresh_key(rng);
    let mut header = empty_header(Purpose::Release, ctx, size);
    let bind = |enc: &[u8]| {
        header.enc = enc.to_vec();
        header.unwrapped_part().finish()
    };
    let wrapped = kem::seal(
        rng,
        release_key,
        info(Purpose::Release).as_bytes(),
        bind,
        dek.expose(),
    )?;
    header.wrapped_dek = wrapped.ciphertext;
    seal_body(&header, &dek, plaintext)
}

/// The data key of a release, from its header alone: the KMS does this and never sees the body.
pub fn unwrap_release_dek(
    key: &KemPrivate,
    header: &[u8],
    ctx: &ObjectContext,
) -> Result<Secret<32>, OpenError> {
    let header = ObjectHeader::parse(header)?;
    header.expect(Purpose::Release, ctx)?;
    if key.suite() != Suite::XWing {
        return Err(OpenError::WrongSuite {
            expected: key.suite(),
            got: Suite::XWing,
        });
    }
    let aad = header.unwrapped_part().finish();
    let dek = kem::open(
        key,
        &header.enc,
        info(Purpose::Release).as_bytes(),
        &aad,
        &header.wrapped_dek,
    )?;
    Secret::try_from_slice(dek.expose()).ok_or(OpenError::NotAuthentic)
}

/// Opens a release with its data key. The caller has checked that SHA-256 of `bytes` is the
/// committed digest.
pub fn open_release(
    dek: &Secret<32>,
    ctx: &ObjectContext,
    bytes: &[u8],
) -> Result<SecretBytes, OpenError> {
    let (header, body_at) = parse_whole(bytes)?;
    header.expect(Purpose::Release, ctx)?;
    open_body(&header, body_at, dek, bytes)
}

/// Seals a checkpoint under the run's checkpoint key. `size` as in [`seal_release`].
pub fn seal_checkpoint(
    rng: &mut impl CryptoRng,
    key: &Secret<32>,
    ctx: &ObjectContext,
    size: u64,
    plaintext: &SecretBytes,
) -> Result<Sealed, SealError> {
    let dek = fresh_key(rng);
    let mut header = empty_header(Purpose::Checkpoint, ctx, size);
    header.wrapped_dek = wrap::wrap(key, rng, &checkpoint_aad(&header), dek.expose())?;
    seal_body(&header, &dek, plaintext)
}

/// Opens a checkpoint. The caller has checked that SHA-256 of `bytes` is the committed digest.
pub fn open_checkpoint(
    key: &Secret<32>,
    ctx: &ObjectContext,
    bytes: &[u8],
) -> Result<SecretBytes, OpenError> {
    let (header, body_at) = parse_whole(bytes)?;
    header.expect(Purpose::Checkpoint, ctx)?;
    let dek = wrap::unwrap_key(key, &checkpoint_aad(&header), &header.wrapped_dek)?;
    open_body(&header, body_at, &dek, bytes)
}

fn empty_header(purpose: Purpose, ctx: &ObjectContext, size: u64) -> ObjectHeader {
    ObjectHeader {
        purpose,
        context: *ctx,
        size,
        enc: Vec::new(),
        wrapped_dek: Vec::new(),
    }
}

fn fresh_key(rng: &mut impl CryptoRng) -> Secret<32> {
    let mut key = Zeroizing::new([0u8; 32]);
    rng.fill_bytes(&mut *key);
    Secret::new(*key)
}

fn info(purpose: Purpose) -> Transcript {
    Transcript::new("siegel/object/v1").u64(purpose.number().into())
}

fn checkpoint_aad(header: &ObjectHeader) -> Transcript {
    info(Purpose::Checkpoint).field(&header.unwrapped_part().finish())
}

fn seal_body(
    header: &ObjectHeader,
    dek: &Secret<32>,
    plaintext: &SecretBytes,
) -> Result<Sealed, SealError> {
    let (len, size) = (plaintext.len() as u64, header.size);
    let max = size.min(MAX_SIZE);
    if len > max || size > MAX_SIZE {
        return Err(SealError::TooLong {
            len: len.max(size),
            max,
        });
    }
    let header = header.to_bytes();
    let padded = size + PREFIX as u64;
    let mut bytes = header.clone();
    let frame = Frame::new(plaintext.expose(), padded as usize);
    stream::seal(dek, &Digest::of(&header), &frame, &mut bytes)?;
    let digest = ObjectDigest::of(&bytes);
    Ok(Sealed {
        header,
        bytes,
        digest,
    })
}

fn parse_whole(bytes: &[u8]) -> Result<(ObjectHeader, usize), OpenError> {
    let (header, body_at) = ObjectHeader::parse_prefix(bytes)?;
    let (expected, got) = (sealed_len(header.purpose, header.size), bytes.len() as u64);
    match expected == got {
        true => Ok((header, body_at)),
        false => Err(OpenError::Length { expected, got }),
    }
}

fn open_body(
    header: &ObjectHeader,
    body_at: usize,
    dek: &Secret<32>,
    bytes: &[u8],
) -> Result<SecretBytes, OpenError> {
    let (head, body) = bytes
        .split_at_checked(body_at)
        .ok_or(OpenError::NotAuthentic)?;
    let framed = stream::open(dek, &Digest::of(head), body)?;
    unframe(framed, |len| len <= header.size)
}
