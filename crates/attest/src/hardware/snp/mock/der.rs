//! As much DER writing as certificates and lists need; writes wrong things as gladly as right ones.

use ::der::Encode as _;
use ::der::asn1::ObjectIdentifier;
use siegel_ident::Timestamp;

use super::MockError;

/// One element.
pub(crate) fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let [.., high, low] = content.len().to_be_bytes();
    let mut out = match content.len() {
        0..=0x7f => vec![tag, low],
        0x80..=0xff => vec![tag, 0x81, low],
        _ => vec![tag, 0x82, high, low],
    };
    out.extend_from_slice(content);
    out
}

pub(crate) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tlv(0x30, &parts.concat())
}

pub(crate) fn bits(bytes: &[u8]) -> Vec<u8> {
    tlv(0x03, &[&[0], bytes].concat())
}

pub(crate) fn oid(dotted: &str) -> Vec<u8> {
    object(ObjectIdentifier::new_unwrap(dotted))
}

pub(crate) fn object(oid: ObjectIdentifier) -> Vec<u8> {
    tlv(0x06, oid.as_bytes())
}

pub(crate) fn null() -> Vec<u8> {
    tlv(0x05, &[])
}

pub(crate) fn ia5(text: &str) -> Vec<u8> {
    tlv(0x16, text.as_bytes())
}

/// A number of one byte.
pub(crate) fn small(value: u8) -> Vec<u8> {
    match value {
        0..0x80 => tlv(0x02, &[value]),
        _ => tlv(0x02, &[0, value]),
    }
}

/// A name that is one common name.
pub(crate) fn name(common: &str) -> Vec<u8> {
    let pair = sequence(&[&oid("2.5.4.3"), &tlv(0x0c, common.as_bytes())]);
    sequence(&[&tlv(0x31, &pair)])
}

pub(crate) fn spki(algorithm: &[u8], key: &[u8]) -> Vec<u8> {
    sequence(&[&tlv(0x30, algorithm), &bits(key)])
}

pub(crate) fn time(at: Timestamp) -> Result<Vec<u8>, MockError> {
    let since = std::time::Duration::from_secs(at.0);
    let date =
        ::der::DateTime::from_unix_duration(since).map_err(|_| MockError("writing a date"))?;
    let time = x509_cert::time::Time::from(date);
    time.to_der().map_err(|_| MockError("writing a date"))
}
