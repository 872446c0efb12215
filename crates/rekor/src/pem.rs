//! Key files: PEM blocks, readable by their owner only.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use siegel_ident::SecretBytes;
use siegel_ident::secret::Wiped;

use crate::error::RekorError;

/// Longest key file, in bytes.
const MAX_FILE: usize = 16 * 1024;

/// Reads the only block, which must have this label; `None` if there is no such file.
pub(crate) fn read(path: &Path, label: &str) -> Result<Option<SecretBytes>, RekorError> {
    let Some(text) = read_text(path)? else {
        return Ok(None);
    };
    let other = || wrong(path, "another kind of PEM file than expected");
    let [(found, bytes)] = <[_; 1]>::try_from(blocks(&text, path)?).map_err(|_| other())?;
    match found == label {
        true => Ok(Some(bytes)),
        false => Err(other()),
    }
}

/// The file as it is; `None` if there is none.
pub(crate) fn read_text(path: &Path) -> Result<Option<SecretBytes>, RekorError> {
    let io_error = |e| RekorError::io("reading a key", path, e);
    let file = match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(io_error)?,
    };
    // A device has no length to look at first (I14). A buffer that grew would leave parts of a key behind.
    let mut text = Wiped::new(Vec::with_capacity(MAX_FILE + 1));
    file.take(MAX_FILE as u64 + 1)
        .read_to_end(&mut text)
        .map_err(io_error)?;
    match text.len() {
        0 => Err(wrong(path, "the file is empty")),
        len if len > MAX_FILE => Err(wrong(path, "too long for a key")),
        _ => Ok(Some(SecretBytes::new(std::mem::take(&mut *text)))),
    }
}

/// The blocks of a PEM file with their labels; nothing may stand between them.
pub(crate) fn blocks(
    text: &SecretBytes,
    path: &Path,
) -> Result<Vec<(String, SecretBytes)>, RekorError> {
    let bad = || wrong(path, "not a PEM file");
    let text = std::str::from_utf8(text.expose()).map_err(|_| bad())?;
    let mut rest = text.trim();
    let mut blocks = Vec::new();
    while !rest.is_empty() {
        let after = rest.strip_prefix("-----BEGIN ").ok_or_else(bad)?;
        let (label, after) = after.split_once("-----").ok_or_else(bad)?;
        let end = format!("-----END {label}-----");
        let (body, after) = after.split_once(&end).ok_or_else(bad)?;
        let joined = body.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
        let bytes = STANDARD
            .decode(SecretBytes::new(joined).expose())
            .map_err(|_| wrong(path, "bad base64"))?;
        blocks.push((label.to_owned(), SecretBytes::new(bytes)));
        rest = after.trim_start();
    }
    Ok(blocks)
}

/// Writes a new file of one block, as [`create_text`] does.
pub(crate) fn create(path: &Path, label: &str, bytes: &[u8]) -> Result<(), RekorError> {
    create_text(path, &block(label, bytes))
}

/// Writes a new file, mode 0600, durable. An existing file is never overwritten.
pub(crate) fn create_text(path: &Path, text: &SecretBytes) -> Result<(), RekorError> {
    let io_error = |e| RekorError::io("writing a key", path, e);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(io_error)?;
    file.write_all(text.expose())
        .and_then(|()| file.sync_all())
        .map_err(io_error)
}

/// A block with its label.
pub(crate) fn block(label: &str, bytes: &[u8]) -> SecretBytes {
    let body = SecretBytes::new(STANDARD.encode(bytes).into_bytes());
    let mut text = format!("-----BEGIN {label}-----\n").into_bytes();
    for line in body.expose().chunks(64) {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text.extend_from_slice(format!("-----END {label}-----\n").as_bytes());
    SecretBytes::new(text)
}

pub(crate) fn wrong(path: &Path, why: &'static str) -> RekorError {
    RekorError::Key {
        path: path.display().to_string(),
        why,
    }
}
