//! The public header of a sealed release or checkpoint.

use siegel_ident::lp::{Reader, Writer};
use siegel_ident::{ObjectDigest, RunId, Step};

use super::{ObjectContext, Purpose};
use crate::{OpenError, Suite, stream, wrap};

const VERSION: u8 = 1;
/// The most plaintext bytes of one object.
pub const MAX_SIZE: u64 = 256 * 1024 * 1024;

/// What stands in the clear before the body. Its SHA-256 is the body's associated data.
///
/// Layout: version u8, purpose u8 (1 release, 2 checkpoint), run 16, step u64, previous 32,
/// plaintext size u64, LP(encapsulated key; empty in a checkpoint), LP(wrapped data key).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectHeader {
    /// Release or checkpoint.
    pub purpose: Purpose,
    /// Where it belongs.
    pub context: ObjectContext,
    /// The fixed size that the plaintext was padded to, in bytes.
    pub size: u64,
    pub(super) enc: Vec<u8>,
    pub(super) wrapped_dek: Vec<u8>,
}

impl ObjectHeader {
    /// Reads a header from the first bytes of an object and says where the body starts.
    pub fn parse_prefix(bytes: &[u8]) -> Result<(Self, usize), OpenError> {
        let mut r = Reader::new(bytes);
        let version = r.u8("version")?;
        if version != VERSION {
            return Err(OpenError::Version {
                got: version,
                known: VERSION,
            });
        }
        let purpose =
            Purpose::from_number(r.u8("purpose")?).ok_or(OpenError::Field { field: "purpose" })?;
        let context = ObjectContext {
            run: RunId::from_bytes(r.array("run")?),
            step: Step(r.u64("step")?),
            previous: ObjectDigest::from_bytes(r.array("previous")?),
        };
        let size = r.u64("size")?;
        if size > MAX_SIZE {
            return Err(OpenError::Field { field: "size" });
        }
        let (enc_len, dek_len) = purpose.field_lengths();
        let enc = r.bytes("encapsulated key", Suite::MAX_ENC_LEN)?;
        if enc.len() != enc_len {
            return Err(OpenError::Field {
                field: "encapsulated key",
            });
        }
        let wrapped_dek = r.bytes("wrapped data key", wrap::wrapped_len(32))?;
        if wrapped_dek.len() != dek_len {
            return Err(OpenError::Field {
                field: "wrapped data key",
            });
        }
        let (enc, wrapped_dek) = (enc.to_vec(), wrapped_dek.to_vec());
        Ok((
            Self {
                purpose,
                context,
                size,
                enc,
                wrapped_dek,
            },
            r.position(),
        ))
    }

    /// Reads a header that stands alone, as it is committed with a step.
    pub fn parse(bytes: &[u8]) -> Result<Self, OpenError> {
        let (header, end) = Self::parse_prefix(bytes)?;
        match bytes.len() == end {
            true => Ok(header),
            false => Err(OpenError::Length {
                expected: end as u64,
                got: bytes.len() as u64,
            }),
        }
    }

    /// The exact bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.unwrapped_part().bytes(&self.wrapped_dek).finish()
    }

    /// Refuses a header of another purpose or place.
    pub(super) fn expect(&self, purpose: Purpose, ctx: &ObjectContext) -> Result<(), OpenError> {
        let field = if self.purpose != purpose {
            "purpose"
        } else if self.context.run != ctx.run {
            "run"
        } else if self.context.step != ctx.step {
            "step"
        } else if self.context.previous != ctx.previous {
            "previous object"
        } else {
            return Ok(());
        };
        Err(OpenError::WrongContext { field })
    }

    /// What the wrapped data key is bound to: every field before it.
    pub(super) fn unwrapped_part(&self) -> Writer {
        Writer::new()
            .u8(VERSION)
            .u8(self.purpose.number())
            .fixed(self.context.run.as_bytes())
            .u64(self.context.step.0)
            .fixed(self.context.previous.as_bytes())
            .u64(self.size)
            .bytes(&self.enc)
    }
}

impl Purpose {
    /// Lengths of the encapsulated key and of the wrapped data key.
    const fn field_lengths(self) -> (usize, usize) {
        match self {
            Self::Release => (Suite::XWing.enc_len(), 32 + stream::TAG),
            Self::Checkpoint => (0, wrap::wrapped_len(32)),
        }
    }
}
