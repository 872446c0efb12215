//! Key files: one PEM block, readable by its owner only.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use siegel_ident::SecretBytes;

use crate::error::RekorError;

/// Longest key file, in bytes.
const MAX_FILE: u64 = 8 * 1024;

/// Reads the block with this label; `None` if there is no such file.
pub(crate) fn read(path: &Path, label: &str) -> Result<Option<SecretBytes>, RekorError> {
    let io_error = |e| RekorError::io("reading a key", path, e);
    let text = match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(io_error(e)),
        Ok(found) if found.len() > MAX_FILE => return Err(wrong(path, "too long for a key")),
        Ok(_) => SecretBytes::new(fs::read(path).map_err(io_error)?),
    };
    let text = std::str::from_utf8(text.expose()).map_err(|_| wrong(path, "not a PEM file"))?;
    let body = text
        .trim()
        .strip_prefix(&format!("-----BEGIN {label}-----"))
        .and_then(|rest| rest.strip_suffix(&format!("-----END {label}-----")))
        .ok_or_else(|| wrong(path, "another kind of PEM file than expected"))?;
    let joined = SecretBytes::new(body.bytes().filter(|b| !b.is_ascii_whitespace()).collect());
    let bytes = STANDARD
        .decode(joined.expose())
        .map_err(|_| wrong(path, "bad base64"))?;
    Ok(Some(SecretBytes::new(bytes)))
}

/// Writes a new file, mode 0600, durable. An existing file is never overwritten.
pub(crate) fn create(path: &Path, label: &str, bytes: &[u8]) -> Result<(), RekorError> {
    let io_error = |e| RekorError::io("writing a key", path, e);
    let body = SecretBytes::new(STANDARD.encode(bytes).into_bytes());
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(io_error)?;
    writeln!(file, "-----BEGIN {label}-----").map_err(io_error)?;
    for line in body.expose().chunks(64) {
        file.write_all(line)
            .and_then(|()| file.write_all(b"\n"))
            .map_err(io_error)?;
    }
    writeln!(file, "-----END {label}-----").map_err(io_error)?;
    file.sync_all().map_err(io_error)
}

pub(crate) fn wrong(path: &Path, why: &'static str) -> RekorError {
    RekorError::Key {
        path: path.display().to_string(),
        why,
    }
}
