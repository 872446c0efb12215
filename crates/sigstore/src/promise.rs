//! Rekor v1's signed entry timestamp: its promise to include an entry, with the time.

use siegel_ident::{Digest, Timestamp};

use crate::encoding::b64;
use crate::error::BundleError;
use crate::trusted_root::Log;

/// Verifies a promise and returns the time that it vouches for.
///
/// # Errors
/// [`BundleError::Promise`]; [`BundleError::Time`] if the log's key was not in use then.
pub(crate) fn verify_promise(
    promise: &[u8],
    body: &[u8],
    time: u64,
    log_index: u64,
    log: &Log,
) -> Result<Timestamp, BundleError> {
    let signed = payload(body, time, log_index, &log.id);
    if !log.key.verifies(signed.as_bytes(), promise) {
        return Err(BundleError::Promise {
            log: log.name.clone(),
        });
    }
    let time = Timestamp(time);
    if !log.valid.covers(time) {
        return Err(BundleError::Time {
            what: "the log's time of integration",
            time,
            validity: "the validity of the log's key",
        });
    }
    Ok(time)
}

/// What is signed: RFC 8785. The values are base64, hex and numbers, so none needs an escape.
fn payload(body: &[u8], time: u64, log_index: u64, log_id: &Digest) -> String {
    format!(
        "{{\"body\":\"{}\",\"integratedTime\":{time},\"logID\":\"{log_id}\",\"logIndex\":{log_index}}}",
        b64(body)
    )
}
