//! Rekor v1's signed entry timestamp: its promise to include an entry, with the time.

use siegel_ident::Digest;

use crate::encoding::b64;
use crate::error::BundleError;
use crate::trusted_root::Log;

/// Verifies a promise: body, time, index and log are what the log signed.
///
/// # Errors
/// [`BundleError::Promise`].
pub(crate) fn verify_promise(
    promise: &[u8],
    body: &[u8],
    time: u64,
    log_index: u64,
    log: &Log,
) -> Result<(), BundleError> {
    let signed = payload(body, time, log_index, &log.id);
    if !log.key.verifies(signed.as_bytes(), promise) {
        return Err(BundleError::Promise {
            log: log.name.clone(),
        });
    }
    Ok(())
}

/// What is signed: RFC 8785. The values are base64, hex and numbers, so none needs an escape.
fn payload(body: &[u8], time: u64, log_index: u64, log_id: &Digest) -> String {
    format!(
        "{{\"body\":\"{}\",\"integratedTime\":{time},\"logID\":\"{log_id}\",\"logIndex\":{log_index}}}",
        b64(body)
    )
}
