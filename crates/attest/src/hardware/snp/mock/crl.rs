//! Revocation lists with any content.

use siegel_ident::{Seconds, Timestamp};

use super::certificate::algorithm;
use super::{Authority, Extension, MockError, NOW, der};
use crate::hardware::x509::algorithm::PSS_SHA384;

/// What a revocation list says; [`List::sign`] makes it one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// Issuer's common name.
    pub issuer: String,
    /// When it was made.
    pub made: Timestamp,
    /// When the next one is due.
    pub next: Option<Timestamp>,
    /// Who is on it.
    pub revoked: Vec<Revoked>,
    /// Of the list.
    pub extensions: Vec<Extension>,
    /// RSASSA-PSS-params outside of what is signed, if they differ.
    pub outer: Option<Vec<u8>>,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoked {
    /// Content of the INTEGER.
    pub serial: Vec<u8>,
    /// Of the entry.
    pub extensions: Vec<Extension>,
}

impl List {
    /// An hour old, empty, good for thirty days, number 1.
    pub(crate) fn new(issuer: &str) -> Self {
        let number = ::der::asn1::ObjectIdentifier::new_unwrap("2.5.29.20");
        Self {
            issuer: issuer.to_owned(),
            made: NOW.minus(Seconds(3600)),
            next: Some(NOW.plus(Seconds(30 * 86_400))),
            revoked: Vec::new(),
            extensions: vec![Extension::new(number, der::small(1))],
            outer: None,
        }
    }

    /// DER.
    ///
    /// # Errors
    /// [`MockError`] if signing fails.
    pub fn sign(&self, by: &Authority) -> Result<Vec<u8>, MockError> {
        let algorithm = algorithm(PSS_SHA384);
        let made = der::time(self.made)?;
        let next = self.next.map(der::time).transpose()?.unwrap_or_default();
        let revoked = match self.revoked.is_empty() {
            true => Vec::new(),
            false => {
                let entries = self.revoked.iter().flat_map(|one| one.write(&made));
                der::tlv(0x30, &entries.collect::<Vec<_>>())
            }
        };
        let tbs = der::sequence(&[
            &der::small(1),
            &algorithm,
            &der::name(&self.issuer),
            &made,
            &next,
            &revoked,
            &wrapped(&self.extensions, 0xa0),
        ]);
        let outer = self.outer.as_deref().unwrap_or(PSS_SHA384);
        let signature = der::bits(&by.sign(&tbs)?);
        Ok(der::sequence(&[&tbs, &self::algorithm(outer), &signature]))
    }
}

impl Revoked {
    fn write(&self, at: &[u8]) -> Vec<u8> {
        let extensions: Vec<u8> = self.extensions.iter().flat_map(Extension::write).collect();
        let extensions = match extensions.is_empty() {
            true => extensions,
            false => der::tlv(0x30, &extensions),
        };
        der::sequence(&[&der::tlv(0x02, &self.serial), at, &extensions])
    }
}

/// Extensions in their explicit tag, nothing if there are none.
fn wrapped(extensions: &[Extension], tag: u8) -> Vec<u8> {
    let all: Vec<u8> = extensions.iter().flat_map(Extension::write).collect();
    match all.is_empty() {
        true => all,
        false => der::tlv(tag, &der::tlv(0x30, &all)),
    }
}
