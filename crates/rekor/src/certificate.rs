//! Certificates as verifiers of entries: only the key inside is read.
//!
//! Who issued a certificate, to whom and until when is for verifiers of general bundles. A log says
//! only that the key signed; a policy proof never has one (I1).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use der::{Decode as _, Encode as _};
use siegel_translog::SpkiKey;
use siegel_translog::hashedrekord::MAX_CERTIFICATE;

use crate::error::RekorError;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// The P-256 key in an X.509 certificate.
///
/// # Errors
/// [`RekorError::Certificate`] unless it is one certificate in DER, with such a key, of at most
/// 8 KiB.
pub fn certificate_key(certificate: &[u8]) -> Result<SpkiKey, RekorError> {
    let bad = |why: String| RekorError::Certificate(why);
    if certificate.len() > MAX_CERTIFICATE {
        return Err(bad(format!("longer than {MAX_CERTIFICATE} bytes")));
    }
    let parsed = x509_cert::Certificate::from_der(certificate).map_err(|e| bad(e.to_string()))?;
    let spki = parsed.tbs_certificate.subject_public_key_info;
    let spki = spki.to_der().map_err(|e| bad(e.to_string()))?;
    SpkiKey::from_spki_der(&spki).map_err(|e| bad(e.to_string()))
}

/// The first certificate of a PEM file's text, in DER.
///
/// # Errors
/// [`RekorError::Certificate`] if there is none.
pub fn certificate_of_pem(text: &str) -> Result<Vec<u8>, RekorError> {
    let bad = |why: &str| RekorError::Certificate(why.to_owned());
    let body = text
        .split_once(BEGIN)
        .and_then(|(_, rest)| rest.split_once(END));
    let (body, _) = body.ok_or_else(|| bad("expected a PEM file with a CERTIFICATE block"))?;
    let joined: String = body.split_ascii_whitespace().collect();
    let der = STANDARD.decode(joined).map_err(|_| bad("bad base64"))?;
    certificate_key(&der)?;
    Ok(der)
}

/// The PEM block of a certificate.
pub(crate) fn to_pem(der: &[u8]) -> String {
    let mut text = format!("{BEGIN}\n");
    for line in STANDARD.encode(der).as_bytes().chunks(64) {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    text + END + "\n"
}
