//! The bytes: one event in the old format that names the hash algorithms, then events with several digests.

use super::{EVENT_MAX, EVENTS_MAX};
use crate::hardware::{Check, Hex, Rejection};

/// Event types that carry no extension.
const EV_NO_ACTION: u32 = 3;
/// TPM_ALG_SHA384.
const SHA384: u16 = 0x000c;
const ALGORITHMS_MAX: usize = 8;
const SIGNATURE: &[u8] = b"Spec ID Event03\0";

/// One extension of a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// RTMR 0 to 3.
    pub register: u8,
    /// As the firmware profile numbers them.
    pub kind: u32,
    /// What was extended.
    pub digest: Hex<48>,
    /// What the log says about it. Believed only where [`Event::is_measured`].
    pub data: Vec<u8>,
}

impl Event {
    /// Whether the digest is the SHA-384 of the data: then the register vouches for the data too. Otherwise the data is
    /// a remark that anybody may have changed.
    pub fn is_measured(&self) -> bool {
        ring::digest::digest(&ring::digest::SHA384, &self.data).as_ref() == self.digest.0
    }
}

pub(super) fn events(bytes: &[u8]) -> Result<Vec<Event>, Rejection> {
    let mut reader = Reader(bytes);
    let sizes = header(&mut reader)?;
    let mut events = Vec::new();
    for _ in 0..EVENTS_MAX {
        if reader.is_padding() {
            return Ok(events);
        }
        events.extend(event(&mut reader, &sizes)?);
    }
    match reader.is_padding() {
        true => Ok(events),
        false => Err(bad(format!("more than {EVENTS_MAX} events"))),
    }
}

/// Digest sizes by algorithm, as the first event states them.
fn header(reader: &mut Reader<'_>) -> Result<Vec<(u16, usize)>, Rejection> {
    let register = reader.u32()?;
    let kind = reader.u32()?;
    let digest = reader.take(20)?;
    let len = reader.len(EVENT_MAX)?;
    let mut body = Reader(reader.take(len)?);
    let zero = register <= 1 && kind == EV_NO_ACTION && digest.iter().all(|byte| *byte == 0);
    if !zero || body.take(SIGNATURE.len())? != SIGNATURE {
        return Err(bad("does not start with a Spec ID event".to_owned()));
    }
    // Platform class, version, errata, size of integers.
    body.take(4 + 4)?;
    let count = body.len(ALGORITHMS_MAX)?;
    let mut sizes = Vec::with_capacity(count);
    for _ in 0..count {
        let (algorithm, size) = (body.u16()?, usize::from(body.u16()?));
        if sizes.iter().any(|(one, _)| *one == algorithm) {
            return Err(bad("names a hash algorithm twice".to_owned()));
        }
        sizes.push((algorithm, size));
    }
    let vendor = usize::from(body.take(1)?[0]);
    body.take(vendor)?;
    if !body.0.is_empty() {
        return Err(bad("bytes follow the Spec ID event".to_owned()));
    }
    match sizes.contains(&(SHA384, 48)) {
        true => Ok(sizes),
        false => Err(bad("log has no SHA-384 digests".to_owned())),
    }
}

fn event(reader: &mut Reader<'_>, sizes: &[(u16, usize)]) -> Result<Option<Event>, Rejection> {
    let register = reader.u32()?;
    let kind = reader.u32()?;
    let count = reader.len(ALGORITHMS_MAX)?;
    let mut digest = None;
    for _ in 0..count {
        let algorithm = reader.u16()?;
        let size = sizes.iter().find(|(one, _)| *one == algorithm);
        let (_, size) = size.ok_or_else(|| {
            bad(format!(
                "digest of algorithm {algorithm:#x}, which the log does not name"
            ))
        })?;
        let found = reader.take(*size)?;
        if algorithm == SHA384 && digest.replace(found).is_some() {
            return Err(bad("an event has two SHA-384 digests".to_owned()));
        }
    }
    let len = reader.len(EVENT_MAX)?;
    let data = reader.take(len)?.to_vec();
    if kind == EV_NO_ACTION {
        return Ok(None);
    }
    let digest = digest.and_then(|digest| <[u8; 48]>::try_from(digest).ok());
    let digest = digest.ok_or_else(|| bad("an event has no SHA-384 digest".to_owned()))?;
    // Register 0 of the log is MRTD, which nobody can extend.
    let register = register.checked_sub(1).filter(|register| *register < 4);
    let register =
        register.ok_or_else(|| bad("an event is for a register that is no RTMR".to_owned()))?;
    Ok(Some(Event {
        register: register as u8,
        kind,
        digest: Hex(digest),
        data,
    }))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Rejection> {
        let split = self.0.split_at_checked(len);
        let (taken, rest) = split.ok_or_else(|| bad("cut short".to_owned()))?;
        self.0 = rest;
        Ok(taken)
    }

    fn u16(&mut self) -> Result<u16, Rejection> {
        let bytes = self.take(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&mut self) -> Result<u32, Rejection> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn len(&mut self, max: usize) -> Result<usize, Rejection> {
        let found = self.u32()? as usize;
        match found <= max {
            true => Ok(found),
            false => Err(bad(format!("a length of {found}, at most {max}"))),
        }
    }

    /// The rest is all ones or all zeros: how firmware leaves the unused part of the table.
    fn is_padding(&self) -> bool {
        [0x00, 0xff]
            .iter()
            .any(|fill| self.0.iter().all(|byte| byte == fill))
    }
}

fn bad(detail: String) -> Rejection {
    Rejection::new(Check::EventLog, format!("event log: {detail}"))
}
