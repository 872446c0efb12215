//! Certificates with any content.

use ::der::asn1::ObjectIdentifier;
use siegel_ident::Timestamp;

use super::{Authority, MockError, der};
use crate::hardware::x509::algorithm::{PSS_SHA384, RSA_PSS};

/// What a certificate says; [`Certificate::sign`] makes it one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Common name.
    pub subject: String,
    /// Issuer's common name.
    pub issuer: String,
    /// Content of the INTEGER.
    pub serial: Vec<u8>,
    /// From and until.
    pub window: (Timestamp, Timestamp),
    /// SubjectPublicKeyInfo.
    pub spki: Vec<u8>,
    /// In this order.
    pub extensions: Vec<Extension>,
    /// RSASSA-PSS-params, whatever the signature really is.
    pub parameters: Vec<u8>,
    /// The same outside of what is signed, if they differ.
    pub outer: Option<Vec<u8>>,
}

/// One extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Which.
    pub oid: ObjectIdentifier,
    /// A reader that does not know it must refuse. DER leaves a `false` out.
    pub critical: Option<bool>,
    /// Content of the OCTET STRING.
    pub value: Vec<u8>,
}

impl Extension {
    /// Not critical.
    pub fn new(oid: ObjectIdentifier, value: Vec<u8>) -> Self {
        Self {
            oid,
            critical: None,
            value,
        }
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let critical = match self.critical {
            Some(true) => der::tlv(0x01, &[0xff]),
            Some(false) => der::tlv(0x01, &[0]),
            None => Vec::new(),
        };
        der::sequence(&[
            &der::object(self.oid),
            &critical,
            &der::tlv(0x04, &self.value),
        ])
    }
}

impl Certificate {
    pub(crate) fn new(
        subject: &str,
        issuer: &str,
        spki: Vec<u8>,
        extensions: Vec<Extension>,
    ) -> Self {
        Self {
            subject: subject.to_owned(),
            issuer: issuer.to_owned(),
            serial: vec![7],
            window: super::window(),
            spki,
            extensions,
            parameters: PSS_SHA384.to_vec(),
            outer: None,
        }
    }

    /// Replaces the value of an extension, or adds it.
    pub fn set(&mut self, oid: ObjectIdentifier, value: Vec<u8>) {
        self.remove(oid);
        self.extensions.push(Extension::new(oid, value));
    }

    /// Leaves an extension out.
    pub fn remove(&mut self, oid: ObjectIdentifier) {
        self.extensions.retain(|one| one.oid != oid);
    }

    /// DER.
    ///
    /// # Errors
    /// [`MockError`] if signing fails.
    pub fn sign(&self, by: &Authority) -> Result<Vec<u8>, MockError> {
        let algorithm = algorithm(&self.parameters);
        let extensions: Vec<u8> = self.extensions.iter().flat_map(Extension::write).collect();
        let tbs = der::sequence(&[
            &der::tlv(0xa0, &der::small(2)),
            &der::tlv(0x02, &self.serial),
            &algorithm,
            &der::name(&self.issuer),
            &der::sequence(&[&der::time(self.window.0)?, &der::time(self.window.1)?]),
            &der::name(&self.subject),
            &self.spki,
            &der::tlv(0xa3, &der::tlv(0x30, &extensions)),
        ]);
        let outer = self.outer.as_deref().unwrap_or(&self.parameters);
        let signature = der::bits(&by.sign(&tbs)?);
        Ok(der::sequence(&[&tbs, &self::algorithm(outer), &signature]))
    }
}

/// RSASSA-PSS with `parameters`.
pub(crate) fn algorithm(parameters: &[u8]) -> Vec<u8> {
    der::sequence(&[&der::object(RSA_PSS), parameters])
}

/// Basic constraints and key usage of an authority; a root may also sign lists.
pub(crate) fn authority(root: bool) -> Vec<Extension> {
    let usage: &[u8] = if root { &[1, 0x06] } else { &[2, 0x04] };
    let ca = der::sequence(&[&der::tlv(0x01, &[0xff])]);
    [("2.5.29.15", der::tlv(0x03, usage)), ("2.5.29.19", ca)]
        .map(|(oid, value)| Extension {
            oid: ObjectIdentifier::new_unwrap(oid),
            critical: Some(true),
            value,
        })
        .to_vec()
}
