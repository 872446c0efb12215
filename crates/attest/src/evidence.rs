//! The outer frame of evidence: version, kind, body; nothing before, between or after.
//!
//! ```text
//! u8 1 ‖ u8 kind ‖ LP(body)                                     LP = u32 big-endian length, then the bytes
//!   0xf0  simulated   body = COSE_Sign1
//!   0x01  sev-snp     body = LP(evidence) ‖ list(certificates) ‖ list(revocation lists)
//!   0x02  tdx                ‖ LP(collateral) ‖ LP(event log)   list = u8 count, then LP of each; absent = empty
//!   0x03  sgx
//!   0x04  aws-nitro
//! ```

use siegel_ident::Timestamp;
use siegel_ident::lp::{Reader, Writer};

use crate::Refusal;
use crate::hardware::{self, Endorsements, Kind};

/// Most bytes of a piece of evidence with all that is stapled to it (I14).
pub const EVIDENCE_MAX: usize = 128 * 1024;

/// The frame's version.
pub(crate) const VERSION: u8 = 1;
/// Kind of simulated evidence. Kinds below 0xF0 are kept for hardware.
pub(crate) const KIND_SIMULATED: u8 = 0xF0;
const KINDS: [(u8, Kind); 4] = [
    (0x01, Kind::SevSnp),
    (0x02, Kind::Tdx),
    (0x03, Kind::Sgx),
    (0x04, Kind::AwsNitro),
];
/// Most certificates, and most revocation lists.
const LIST_MAX: u8 = 8;

/// The body of a piece of evidence, by kind.
pub(crate) enum Evidence<'a> {
    Simulated(&'a [u8]),
    Hardware(Box<(hardware::Evidence, Endorsements)>),
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
        if kind == KIND_SIMULATED {
            return Ok(Self::Simulated(body));
        }
        match KINDS.iter().find(|(byte, _)| *byte == kind) {
            Some((_, kind)) => Ok(Self::Hardware(Box::new(stapled(*kind, body)?))),
            None => Err(Refusal::UnknownKind { kind }),
        }
    }
}

fn stapled(kind: Kind, body: &[u8]) -> Result<(hardware::Evidence, Endorsements), Refusal> {
    let mut reader = Reader::new(body);
    let bare = reader.bytes("evidence", hardware::EVIDENCE_MAX)?.to_vec();
    let certificates = list(&mut reader, "certificates")?;
    let crls = list(&mut reader, "revocation lists")?;
    let collateral = reader.bytes("collateral", EVIDENCE_MAX)?;
    let event_log = reader.bytes("event log", EVIDENCE_MAX)?;
    reader.finish()?;
    let there = |bytes: &[u8]| (!bytes.is_empty()).then(|| bytes.to_vec());
    let endorsements = Endorsements {
        certificates,
        crls,
        collateral: there(collateral),
        event_log: there(event_log),
    };
    Ok((hardware::Evidence { kind, body: bare }, endorsements))
}

fn list(reader: &mut Reader<'_>, field: &'static str) -> Result<Vec<Vec<u8>>, Refusal> {
    let count = reader.u8(field)?;
    if count > LIST_MAX {
        return Err(Refusal::Malformed {
            what: "more certificates or revocation lists than any chain has",
        });
    }
    (0..count)
        .map(|_| Ok(reader.bytes(field, EVIDENCE_MAX)?.to_vec()))
        .collect()
}

impl hardware::Evidence {
    /// The frame in which sessions and key offers carry it, with what is stapled to it.
    ///
    /// # Errors
    /// [`Refusal::TooLong`], [`Refusal::Malformed`]: what no verifier would read.
    pub fn staple(&self, endorsements: &Endorsements) -> Result<Vec<u8>, Refusal> {
        let optional = |bytes: &Option<Vec<u8>>| bytes.clone().unwrap_or_default();
        let mut writer = Writer::new().bytes(&self.body);
        for items in [&endorsements.certificates, &endorsements.crls] {
            let count = u8::try_from(items.len()).unwrap_or(u8::MAX);
            writer = items
                .iter()
                .fold(writer.u8(count), |writer, item| writer.bytes(item));
        }
        let body = writer
            .bytes(&optional(&endorsements.collateral))
            .bytes(&optional(&endorsements.event_log))
            .finish();
        let kind = KINDS.iter().find(|(_, kind)| *kind == self.kind);
        let kind = kind.map_or(0, |(byte, _)| *byte);
        let framed = frame(kind, &body);
        // What is written can be read.
        Evidence::parse(&framed)?;
        Ok(framed)
    }
}

/// When evidence says that it was made, before anybody has asked whether it is authentic. Only Nitro documents and simulated
/// evidence do; of the latter an [`crate::Appraisal`] tells.
pub fn claimed_time(evidence: &[u8]) -> Option<Timestamp> {
    match Evidence::parse(evidence).ok()? {
        Evidence::Simulated(_) => None,
        Evidence::Hardware(stapled) if stapled.0.kind == Kind::AwsNitro => {
            hardware::nitro::claimed_time(&stapled.0.body)
        }
        Evidence::Hardware(_) => None,
    }
}

/// The inverse of [`Evidence::parse`].
pub(crate) fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    Writer::new().u8(VERSION).u8(kind).bytes(body).finish()
}

#[cfg(test)]
mod tests;
