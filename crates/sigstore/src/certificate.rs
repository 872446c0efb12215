//! What is needed of an X.509 certificate: its key and its validity. Chains, names and extensions are
//! left to the second opinion.

use siegel_ident::Timestamp;
use siegel_translog::SpkiKey;

use crate::der::{INTEGER, Reader, SEQUENCE};
use crate::error::BundleError;

/// A certificate, read, not verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificate<'a> {
    /// Issuer, DER.
    pub(crate) issuer: &'a [u8],
    /// Serial number, the content of the INTEGER.
    pub(crate) serial: &'a [u8],
    /// First second of its validity.
    pub(crate) not_before: Timestamp,
    /// Last second of its validity.
    pub(crate) not_after: Timestamp,
    /// SubjectPublicKeyInfo, DER.
    pub(crate) spki: &'a [u8],
}

impl<'a> Certificate<'a> {
    /// Reads DER.
    ///
    /// # Errors
    /// [`BundleError::Certificate`].
    pub(crate) fn parse(der: &'a [u8]) -> Result<Self, BundleError> {
        Self::read(der).ok_or(BundleError::Certificate("not an X.509 certificate in DER"))
    }

    fn read(der: &'a [u8]) -> Option<Self> {
        let mut certificate = Reader::new(der).last(SEQUENCE)?.reader();
        let mut body = certificate.expect(SEQUENCE)?.reader();
        // [0] EXPLICIT version; only version 3 has extensions, and all of these have some.
        body.expect(0xa0)?;
        let serial = body.expect(INTEGER)?.content;
        body.expect(SEQUENCE)?;
        let issuer = body.expect(SEQUENCE)?.whole;
        let mut validity = body.expect(SEQUENCE)?.reader();
        let (not_before, not_after) = (validity.time()?, validity.time()?);
        body.expect(SEQUENCE)?;
        let spki = body.expect(SEQUENCE)?.whole;
        Some(Self {
            issuer,
            serial,
            not_before,
            not_after,
            spki,
        })
    }

    /// Its key.
    ///
    /// # Errors
    /// [`BundleError::Signer`] unless it is a P-256 key.
    pub(crate) fn key(&self) -> Result<SpkiKey, BundleError> {
        SpkiKey::from_spki_der(self.spki)
            .map_err(|_| BundleError::Signer("the certificate's key is no P-256 key"))
    }

    /// Whether a time is inside its validity, both ends included.
    pub(crate) fn covers(&self, time: Timestamp) -> bool {
        (self.not_before..=self.not_after).contains(&time)
    }
}
