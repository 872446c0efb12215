//! PEM in the place of DER. The specification wants DER, but some hosts load the files as they have
//! them.
//!
//! One block of RFC 7468 and nothing around it but white space: a second certificate, a header or a
//! remark would be bytes that nobody looks at (I14).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Label of a certificate.
pub(super) const CERTIFICATE: &str = "CERTIFICATE";
/// Label of a revocation list.
pub(super) const LIST: &str = "X509 CRL";

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";

/// Whether it is meant as PEM.
pub(super) fn is_meant(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(DASHES)
}

/// What stands in the one block. The error says what is wrong with it.
pub(super) fn decode(bytes: &[u8], label: &str) -> Result<Vec<u8>, &'static str> {
    let [begin, end] = [BEGIN, END].map(|word| [word, label.as_bytes(), DASHES].concat());
    let body = bytes
        .trim_ascii()
        .strip_prefix(&*begin)
        .ok_or("it does not begin with the line of its kind")?
        .strip_suffix(&*end)
        .ok_or("it does not end with the line of its kind")?;
    if !(body.starts_with(b"\n") || body.starts_with(b"\r\n")) || !body.ends_with(b"\n") {
        return Err("a boundary is not on a line of its own");
    }
    if body.contains(&b'-') {
        return Err("there is more than one block");
    }
    // Canonical: padded, no unused bits set, and a line holds no white space.
    let lines = body.split(|byte| *byte == b'\n');
    let base64 = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    STANDARD
        .decode(base64.collect::<Vec<_>>().concat())
        .map_err(|_| "it is not canonical base64")
}
