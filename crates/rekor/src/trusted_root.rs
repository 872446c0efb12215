//! The trusted root of a log and its time stamp authority, for other Sigstore clients.
//!
//! Siegel itself pins keys in its own configuration; nothing here reads this file.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use siegel_ident::Timestamp;
use siegel_translog::LogAnchors;

use crate::error::RekorError;
use crate::tsa::TimestampAuthority;

const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.trustedroot+json;version=0.1";
/// DER of an Ed25519 SubjectPublicKeyInfo up to the key.
const ED25519_PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// The JSON of a trusted root (media type v0.1) with one log and at most one authority.
///
/// # Errors
/// [`RekorError::Authority`] if the chain's dates are beyond the year 9999.
pub fn trusted_root(
    log: &LogAnchors,
    authority: Option<&TimestampAuthority>,
) -> Result<Vec<u8>, RekorError> {
    // Without an authority there is no time that the log's key could be held against.
    let start = date(authority.map_or(Timestamp(0), TimestampAuthority::valid_from))?;
    let root = json!({
        "mediaType": MEDIA_TYPE,
        "tlogs": [{
            "baseUrl": format!("https://{}", log.origin),
            "hashAlgorithm": "SHA2_256",
            "publicKey": {
                "rawBytes": STANDARD.encode([&ED25519_PREFIX[..], &log.key].concat()),
                "keyDetails": "PKIX_ED25519",
                "validFor": { "start": start },
            },
            "logId": { "keyId": STANDARD.encode(log.log_id().as_bytes()) },
        }],
        "certificateAuthorities": [],
        "ctlogs": [],
        "timestampAuthorities": authority.map(|tsa| entry(tsa, &log.origin, &start)).as_slice(),
    });
    let mut text = serde_json::to_vec_pretty(&root)
        .map_err(|e| RekorError::Authority(format!("trusted root: {e}")))?;
    text.push(b'\n');
    Ok(text)
}

/// Writes [`trusted_root`] to a file, which it replaces whole or not at all.
///
/// # Errors
/// As [`trusted_root`]; [`RekorError::Io`].
pub fn write_trusted_root(
    path: &Path,
    log: &LogAnchors,
    authority: Option<&TimestampAuthority>,
) -> Result<(), RekorError> {
    let text = trusted_root(log, authority)?;
    let new = path.with_extension("json.new");
    std::fs::write(&new, text)
        .and_then(|()| std::fs::rename(&new, path))
        .map_err(|e| RekorError::io("writing the trusted root", path, e))
}

fn entry(authority: &TimestampAuthority, origin: &str, start: &str) -> Value {
    let raw = |der: &[u8]| json!({ "rawBytes": STANDARD.encode(der) });
    json!({
        "subject": { "organization": origin, "commonName": "time stamp authority" },
        "uri": format!("https://{origin}"),
        "certChain": { "certificates": authority.chain().map(raw) },
        "validFor": { "start": start },
    })
}

fn date(at: Timestamp) -> Result<String, RekorError> {
    let date = der::DateTime::from_unix_duration(Duration::from_secs(at.0));
    let date = date.map_err(|e| RekorError::Authority(format!("trusted root: {e}")))?;
    Ok(date.to_string())
}
