//! Checkpoints of real logs: a signed note with the log's line and perhaps others.
//!
//! Rekor v2 writes `origin`, size and root; the origin is the log's name. Rekor v1 writes
//! `name - tree id` in the first line, and once wrote a line `Timestamp: nanoseconds` after the root.
//! Lines of unknown cosigners are skipped, as C2SP signed-note says. The log's own line stands there
//! exactly once: under its name *and* its key id.

use siegel_ident::Digest;
use siegel_translog::note::SignatureLine;

use crate::encoding::{from_b64, from_decimal};
use crate::error::{BundleError, bounded};
use crate::trusted_root::Log;

/// Longest note that is read, in bytes.
const MAX_NOTE: usize = 16 * 1024;
/// Most signature lines.
const MAX_LINES: usize = 64;

/// What the log signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) size: u64,
    pub(crate) root: Digest,
}

/// Reads a note and verifies it under the key and name of `log`.
///
/// # Errors
/// [`BundleError`]: form, another origin, not exactly one line of the log, a bad signature.
pub(crate) fn verify_note(note: &str, log: &Log, is_v2: bool) -> Result<Checkpoint, BundleError> {
    bounded("checkpoint", note.len(), MAX_NOTE)?;
    let (text, lines) = note.split_once("\n\n").ok_or(BundleError::CheckpointForm(
        "no empty line before the signatures",
    ))?;
    let checkpoint = parse_text(text, log, is_v2)?;
    let signature = own_signature(lines, log)?;
    match log.key.verifies(format!("{text}\n").as_bytes(), &signature) {
        true => Ok(checkpoint),
        false => Err(BundleError::CheckpointSignature {
            log: log.name.clone(),
            why: "the signature does not verify",
        }),
    }
}

fn parse_text(text: &str, log: &Log, is_v2: bool) -> Result<Checkpoint, BundleError> {
    let mut lines = text.split('\n');
    let mut line = |what| lines.next().ok_or(BundleError::CheckpointForm(what));
    let origin = line("no origin line")?;
    let size = from_decimal(line("no size line")?).ok_or(BundleError::CheckpointForm(
        "the size is not a plain decimal number",
    ))?;
    let root = from_b64(line("no root line")?)
        .and_then(|bytes| Digest::try_from_slice(&bytes))
        .ok_or(BundleError::CheckpointForm(
            "the root is not 32 bytes in base64",
        ))?;
    let (extension, more) = (lines.next(), lines.next());
    let timestamp = extension.and_then(|line| line.strip_prefix("Timestamp: "));
    let known = match extension {
        None => true,
        Some(_) => !is_v2 && timestamp.and_then(from_decimal).is_some() && more.is_none(),
    };
    if !known {
        return Err(BundleError::CheckpointForm("unknown lines after the root"));
    }
    check_origin(origin, log, is_v2)?;
    Ok(Checkpoint { size, root })
}

fn check_origin(origin: &str, log: &Log, is_v2: bool) -> Result<(), BundleError> {
    let tree_id = origin
        .strip_prefix(&log.name)
        .and_then(|rest| rest.strip_prefix(" - "));
    let right = match is_v2 {
        true => origin == log.name,
        false => tree_id.and_then(from_decimal).is_some(),
    };
    match right {
        true => Ok(()),
        false => Err(BundleError::field("checkpoint.origin", &log.name, origin)),
    }
}

/// The signature in the one line under the log's name and key id.
fn own_signature(lines: &str, log: &Log) -> Result<Vec<u8>, BundleError> {
    let lines = lines.strip_suffix('\n').ok_or(BundleError::CheckpointForm(
        "no line end after the last signature",
    ))?;
    bounded(
        "checkpoint signatures",
        lines.split('\n').count(),
        MAX_LINES,
    )?;
    let mut own = Vec::new();
    for line in lines.split('\n') {
        let line = SignatureLine::parse(line).map_err(|_| {
            BundleError::CheckpointForm(
                "a signature line is not '— name base64(key id, signature)'",
            )
        })?;
        if line.name == log.name && log.id.as_bytes().starts_with(&line.key_id) {
            own.push(line.signature);
        }
    }
    let found = own.len();
    match <[Vec<u8>; 1]>::try_from(own) {
        Ok([signature]) => Ok(signature),
        Err(_) => Err(BundleError::CheckpointSignature {
            log: log.name.clone(),
            why: match found {
                0 => "there is no line under its name and key id",
                _ => "there is more than one line under its name and key id",
            },
        }),
    }
}
