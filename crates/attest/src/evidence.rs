//! The outer frame of evidence: version, kind, body; nothing before, between or after.

use siegel_ident::lp::Reader;

use crate::Refusal;

/// Most bytes of a piece of evidence (I14).
pub const EVIDENCE_MAX: usize = 16 * 1024;

/// The frame's version.
pub(crate) const VERSION: u8 = 1;
/// Kind of simulated evidence. Kinds below 0xF0 are kept for hardware.
pub(crate) const KIND_SIMULATED: u8 = 0xF0;

/// The body of a piece of evidence, by kind.
pub(crate) enum Evidence<'a> {
    Simulated(&'a [u8]),
}

impl<'a> Evidence<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Refusal> {
        if bytes.len() > EVIDENCE_MAX {
            return Err(Refusal::TooLong {
                len: bytes.len(),
                max: EVIDENCE_MAX,
            });
        }
        let mut reader = Reader::new(bytes);
        let version = reader.u8("version")?;
        if version != VERSION {
            return Err(Refusal::UnknownVersion { version });
        }
        let kind = reader.u8("kind")?;
        let body = reader.bytes("body", EVIDENCE_MAX)?;
        reader.finish()?;
        match kind {
            KIND_SIMULATED => Ok(Self::Simulated(body)),
            _ => Err(Refusal::UnknownKind { kind }),
        }
    }
}

/// The inverse of [`Evidence::parse`].
#[cfg(feature = "simulation")]
pub(crate) fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    siegel_ident::lp::Writer::new()
        .u8(VERSION)
        .u8(kind)
        .bytes(body)
        .finish()
}
