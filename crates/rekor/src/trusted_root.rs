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
    pretty(&root).map_err(|e| RekorError::Authority(format!("trusted root: {e}")))
}

/// What became of the file of a trusted root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootFile {
    /// It is this log's.
    Current,
    /// It was this log's with an authority that is gone; it has the one of now.
    Renewed,
    /// It is somebody's: another log's, or not as this program wrote it. It was left as it is.
    Foreign(&'static str),
}

/// Writes [`trusted_root`] to a file, whole or not at all. One that is there is replaced only if it is what this
/// program wrote for the same log.
///
/// # Errors
/// As [`trusted_root`]; [`RekorError::Io`].
pub fn write_trusted_root(
    path: &Path,
    log: &LogAnchors,
    authority: Option<&TimestampAuthority>,
) -> Result<RootFile, RekorError> {
    let text = trusted_root(log, authority)?;
    let failed = |e| RekorError::io("writing the trusted root", path, e);
    let became = match std::fs::read(path) {
        Ok(found) if found == text => return Ok(RootFile::Current),
        Ok(found) => match foreign(&found, &text) {
            Some(why) => return Ok(RootFile::Foreign(why)),
            None => RootFile::Renewed,
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => RootFile::Current,
        Err(e) => return Err(failed(e)),
    };
    let new = path.with_extension("json.new");
    std::fs::write(&new, text)
        .and_then(|()| std::fs::rename(&new, path))
        .map_err(failed)?;
    Ok(became)
}

/// Why `found` is not what this program wrote for the log of `new`, with whatever authority.
fn foreign(found: &[u8], new: &[u8]) -> Option<&'static str> {
    let (Ok(root), Ok(ours)) = (
        serde_json::from_slice::<Value>(found),
        serde_json::from_slice::<Value>(new),
    ) else {
        return Some("it is no JSON");
    };
    let key = |root: &Value| root.pointer("/tlogs/0/publicKey/rawBytes").cloned();
    let id = |root: &Value| root.pointer("/tlogs/0/logId/keyId").cloned();
    if (key(&root), id(&root)) != (key(&ours), id(&ours)) {
        return Some("it is of another log");
    }
    let written = pretty(&root).is_ok_and(|text| text == found);
    match written && apart_from_the_chain(root) == apart_from_the_chain(ours) {
        true => None,
        false => Some("somebody has changed it"),
    }
}

/// Without what follows from the authority's chain.
fn apart_from_the_chain(mut root: Value) -> Value {
    for (of, what) in [
        ("/tlogs/0/publicKey/validFor", "start"),
        ("/timestampAuthorities/0", "certChain"),
        ("/timestampAuthorities/0/validFor", "start"),
    ] {
        if let Some(Value::Object(part)) = root.pointer_mut(of) {
            part.remove(what);
        }
    }
    root
}

fn pretty(root: &Value) -> Result<Vec<u8>, serde_json::Error> {
    let mut text = serde_json::to_vec_pretty(root)?;
    text.push(b'\n');
    Ok(text)
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
