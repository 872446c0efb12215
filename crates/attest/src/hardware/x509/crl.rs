//! Revocation lists.

use der::asn1::{IntRef, ObjectIdentifier};
use der::{Decode, Encode};
use siegel_ident::Timestamp;

use super::{Certificate, Window, extensions};

const CRL_NUMBER: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.20");
/// Longest CRL number (RFC 5280, 5.2.3), with its sign byte.
const NUMBER_MAX: usize = 21;

/// A revocation list whose bytes are exactly the DER encoding of what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RevocationList {
    read: x509_cert::crl::CertificateList,
    window: Window,
}

impl RevocationList {
    /// Reads DER. The error says what is wrong. A list without an end of validity is refused: it could be
    /// withheld for ever.
    pub(crate) fn parse(der: &[u8]) -> Result<Self, String> {
        let read = x509_cert::crl::CertificateList::from_der(der)
            .map_err(|e| format!("not a revocation list: {e}"))?;
        if !read.to_der().is_ok_and(|again| again == der) {
            return Err("revocation list is not in the one DER encoding".to_owned());
        }
        if read.signature_algorithm != read.tbs_cert_list.signature {
            return Err("revocation list names two signature algorithms".to_owned());
        }
        if read.signature.unused_bits() != 0 {
            return Err("revocation list's signature is not of whole bytes".to_owned());
        }
        let list = &read.tbs_cert_list;
        extensions::check(list.crl_extensions.as_deref(), extensions::OF_LIST)?;
        for entry in list.revoked_certificates.iter().flatten() {
            extensions::check(entry.crl_entry_extensions.as_deref(), extensions::OF_ENTRY)?;
        }
        check_number(list)?;
        let next = read
            .tbs_cert_list
            .next_update
            .ok_or("revocation list says no next update")?;
        let seconds = |time: x509_cert::time::Time| Timestamp(time.to_unix_duration().as_secs());
        let window = Window {
            from: seconds(read.tbs_cert_list.this_update),
            until: seconds(next),
        };
        Ok(Self { read, window })
    }

    /// Whether `issuer` signed it.
    pub(crate) fn verify_issued_by(&self, issuer: &Certificate) -> Result<(), String> {
        if self.read.tbs_cert_list.issuer != *issuer.subject() {
            return Err(format!("revocation list is not by {}", issuer.name()));
        }
        issuer.check_list_signer()?;
        let signed = self
            .read
            .tbs_cert_list
            .to_der()
            .map_err(|e| e.to_string())?;
        issuer.verify_signature(
            &self.read.signature_algorithm,
            &signed,
            self.read.signature.raw_bytes(),
        )
    }

    /// When it was made, and when the next one is due.
    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Whether a certificate of this issuer with this serial number is on it.
    pub(crate) fn revokes(&self, serial: &[u8]) -> bool {
        let all = self
            .read
            .tbs_cert_list
            .revoked_certificates
            .as_deref()
            .unwrap_or_default();
        all.iter()
            .any(|revoked| revoked.serial_number.as_bytes() == serial)
    }
}

/// The list's number, where it has one, is a number (RFC 5280, 5.2.3). It is not compared with anything: the demand on the
/// list's age keeps old lists out.
fn check_number(list: &x509_cert::crl::TbsCertList) -> Result<(), String> {
    let mut extensions = list.crl_extensions.iter().flatten();
    let Some(number) = extensions.find(|one| one.extn_id == CRL_NUMBER) else {
        return Ok(());
    };
    let number = IntRef::from_der(number.extn_value.as_bytes());
    let bytes = number.as_ref().map(|number| number.as_bytes());
    match bytes {
        Ok([first, ..]) if *first < 0x80 && bytes.is_ok_and(|all| all.len() <= NUMBER_MAX) => {
            Ok(())
        }
        _ => Err("revocation list: its number is not one number of at most 20 bytes".to_owned()),
    }
}
