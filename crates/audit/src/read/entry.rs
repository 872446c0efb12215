//! From a log entry to the statement in it, and to the bytes that the statement is about.

use siegel_ident::Digest;
use siegel_policy::{Finding, Severity};
use siegel_rekor::{LogReader, RekorError};
use siegel_translog::{HashedRekord, ProofError, SpkiKey, Statement, Verifier, dsse};

/// Id of the finding about an entry whose signer is named by a certificate.
pub(crate) const CERTIFIED: &str = "entry-with-certificate";

/// A statement whose signature was checked.
pub(crate) struct Signed {
    pub(crate) signer: SpkiKey,
    pub(crate) statement: Statement,
}

/// Why there is nothing to judge.
pub(crate) enum Unread {
    /// Something is wrong with the entry, or with bytes that it names.
    Entry(Finding),
    /// The source failed, which says nothing about the entry.
    Source(RekorError),
}

/// Reads entry `index`: record, signed bytes (PAE) by the digest in it, signature, statement (I1).
///
/// # Errors
/// [`Unread`].
pub(crate) async fn signed(log: &LogReader, index: u64, body: &[u8]) -> Result<Signed, Unread> {
    let wrong = |id: &str, e: ProofError| Unread::Entry(wrong(index, id, "I1", &e.to_string()));
    let record = HashedRekord::parse(body).map_err(|e| wrong("entry-unreadable", e))?;
    let signer = match &record.verifier {
        Verifier::Key(key) => *key,
        Verifier::Certificate(_) => return Err(Unread::Entry(certified(index))),
    };
    let pae = fetch(log, index, &record.digest, "signed statement", "I1").await?;
    let statement = statement(&signer, &record, &pae).map_err(|e| wrong("entry-not-signed", e))?;
    Ok(Signed { signer, statement })
}

/// An entry whose signer is named by a certificate. Clients and key service take no such proof, so
/// it can have no effect (I1); it is reported because nobody here can say who stands behind it.
fn certified(index: u64) -> Finding {
    Finding::new(
        Severity::Warning,
        CERTIFIED,
        "I1",
        format!(
            "log entry {index} is signed under a certificate: no client and no key service takes \
             it as a proof, and this audit does not read what it says (siegel verify-bundle does)"
        ),
    )
}

fn statement(signer: &SpkiKey, record: &HashedRekord, pae: &[u8]) -> Result<Statement, ProofError> {
    signer.verify(pae, &record.signature)?;
    Statement::parse(dsse::payload_of_pae(pae)?)
}

/// Bytes from the archive. That they are missing is a finding, that the archive cannot be reached
/// is not: it says nothing about the log.
///
/// # Errors
/// [`Unread`].
pub(crate) async fn fetch(
    log: &LogReader,
    index: u64,
    digest: &Digest,
    what: &str,
    invariant: &str,
) -> Result<Vec<u8>, Unread> {
    let (id, why) = match log.archive_get(digest).await {
        Ok(bytes) => return Ok(bytes),
        Err(e) if e.is_transient() => return Err(Unread::Source(e)),
        Err(RekorError::NotFound(_)) => {
            let why = format!("its {what} {digest} is not in the archive: nobody can check it");
            ("payload-withheld", why)
        }
        Err(
            e @ (RekorError::OtherBytes { .. }
            | RekorError::TooLong { .. }
            | RekorError::Refused { .. }
            | RekorError::Io { .. }
            | RekorError::Damaged(_)),
        ) => {
            let why = format!("its {what} {digest} cannot be read from the archive: {e}");
            ("payload-unreadable", why)
        }
        Err(e) => return Err(Unread::Source(e)),
    };
    Err(Unread::Entry(wrong(index, id, invariant, &why)))
}

pub(super) fn wrong(index: u64, id: &str, invariant: &str, why: &str) -> Finding {
    let message = format!("log entry {index}: {why}");
    Finding::new(Severity::Error, id, invariant, message)
}
