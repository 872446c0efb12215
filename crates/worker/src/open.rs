//! From an upload's bytes to its plaintext, or to nothing.

use siegel_ident::SecretBytes;
use siegel_keys::WorkerGrant;
use siegel_program::Record;
use siegel_seal::{UploadContext, UploadHeader, open_upload};

use crate::job::Job;
use crate::stop::Stop;

/// Opens uploads and finds the block of each one's unit. Whatever is wrong inside, an upload is
/// left out, counts zero and says nothing: there is no error and no log line for it, on purpose
/// (I12).
///
/// The bytes are the registered ones (their digest was checked), so whether they open is the same
/// for every worker and every retry (I7). The epoch is the upload's own word, which the digest
/// covers, not the depot's.
///
/// # Errors
/// As [`Job::check`], never for what an upload holds.
pub(crate) fn open_some(job: &Job, uploads: &[Vec<u8>]) -> Result<Vec<(u32, SecretBytes)>, Stop> {
    let mut opened = Vec::with_capacity(uploads.len());
    for upload in uploads {
        job.check()?;
        let plaintext = plaintext(&job.run.grant, upload);
        opened.extend(plaintext.and_then(|plaintext| {
            let record = Record::decode(plaintext.expose()).ok()?;
            let unit = job.run.index.unit(&record.privacy_id);
            Some((job.question.blocks.block_of(&unit), plaintext))
        }));
    }
    Ok(opened)
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
