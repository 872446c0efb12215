//! From an upload's bytes to its record, or to nothing.

use siegel_ident::SecretBytes;
use siegel_keys::WorkerGrant;
use siegel_program::{Record, SumBuilder};
use siegel_seal::{UploadContext, UploadHeader, open_upload};

/// Adds an upload to the sum. Whatever is wrong inside, it contributes zero and says nothing:
/// there is no error and no log line here, on purpose (I12).
///
/// The bytes are the registered ones (their digest was checked), so whether they open is the same
/// for every worker and every retry (I7). The epoch is the upload's own word, which the digest
/// covers, not the depot's.
pub(crate) fn add(grant: &WorkerGrant, upload: &[u8], sum: &mut SumBuilder<'_>) {
    if let Some(plaintext) = plaintext(grant, upload)
        && let Ok(record) = Record::decode(plaintext.expose())
    {
        sum.add(&record);
    }
}

fn plaintext(grant: &WorkerGrant, upload: &[u8]) -> Option<SecretBytes> {
    let (header, _) = UploadHeader::parse(upload).ok()?;
    let key = grant.epoch_key(header.epoch, header.suite)?;
    let context = UploadContext {
        cluster: grant.cluster,
        epoch: header.epoch,
        policy: grant.policy.digest(),
    };
    open_upload(key, &context, upload).ok()
}
