//! Evidence as files and devices hand it out: padded, or in a wrapper of some other tool. Opened here, once, by whoever
//! reads a file; verifiers accept only the bare evidence and no byte more.

use super::{Kind, quote};

/// Bare evidence, and what was around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// The kind, by its first bytes.
    pub kind: Kind,
    /// The evidence alone.
    pub body: &'a [u8],
    /// Bytes around it that nobody vouches for and nobody looks at.
    pub around: usize,
}

/// Recognises evidence by its first bytes and takes it out of what surrounds it: zeros after a quote, or dstack's
/// wrapper (SCALE: version 0, kind 2, length) around a Nitro document. `None` if it is nothing known; a verifier has the
/// last word in any case.
pub fn open(bytes: &[u8]) -> Option<Opened<'_>> {
    let bare = |kind| {
        Some(Opened {
            kind,
            body: bytes,
            around: 0,
        })
    };
    if bytes.len() == super::snp::REPORT_LEN && matches!(bytes, [2..=5, 0, 0, 0, ..]) {
        return bare(Kind::SevSnp);
    }
    let quoted = |kind| {
        let (body, around) = quote::unpad(bytes);
        Some(Opened { kind, body, around })
    };
    match bytes {
        [0x84, ..] | [0xd2, 0x84, ..] => bare(Kind::AwsNitro),
        [3, 0, 2, 0, 0, 0, 0, 0, ..] => quoted(Kind::Sgx),
        [4 | 5, 0, 2, 0, 0x81, 0, 0, 0, ..] => quoted(Kind::Tdx),
        [0, 2, rest @ ..] => {
            let (len, inner) = compact(rest)?;
            let body = inner
                .get(..len)
                .filter(|body| matches!(body, [0x84, ..] | [0xd2, 0x84, ..]))?;
            Some(Opened {
                kind: Kind::AwsNitro,
                body,
                around: bytes.len() - len,
            })
        }
        _ => None,
    }
}

/// A SCALE compact integer of two or four bytes.
fn compact(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (raw, rest) = match bytes.first()? & 3 {
        1 => {
            let (head, rest) = bytes.split_at_checked(2)?;
            (u32::from(u16::from_le_bytes(head.try_into().ok()?)), rest)
        }
        2 => {
            let (head, rest) = bytes.split_at_checked(4)?;
            (u32::from_le_bytes(head.try_into().ok()?), rest)
        }
        _ => return None,
    };
    Some(((raw >> 2) as usize, rest))
}
