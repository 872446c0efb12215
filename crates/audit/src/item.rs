//! From a log entry to the bytes it is about.

use siegel_ident::Digest;
use siegel_policy::{Finding, Severity};
use siegel_rekor::{LogReader, RekorError};
use siegel_translog::{HashedRekord, ProofError, SpkiKey, Statement, Verifier, dsse, predicate};

use crate::source;

/// An entry whose signature, statement and artifact were all found and checked.
pub(crate) struct Item {
    /// Place in the log.
    pub(crate) index: u64,
    /// Who signed the statement.
    pub(crate) signer: SpkiKey,
    /// SHA-256 of the artifact.
    pub(crate) artifact: Digest,
    pub(crate) kind: Kind,
    /// What is wrong with the bytes that the artifact names.
    pub(crate) named: Vec<Finding>,
}

/// What the artifact is, with its exact bytes where they are needed.
pub(crate) enum Kind {
    Policy(Vec<u8>),
    Genesis(Vec<u8>),
    Receipt(Vec<u8>),
    Program,
    Endorsement(Vec<u8>),
    KeyOffer(Vec<u8>),
    /// A predicate type that this version does not know.
    Other(String),
}

/// Opens entry `index`: record, signed bytes (PAE) by the digest in it, signature, statement,
/// artifact by the digest in that.
///
/// # Errors
/// The outer one if the source fails; the inner one is what is wrong with the entry.
pub(crate) async fn open(
    log: &LogReader,
    index: u64,
    body: &[u8],
) -> Result<Result<Item, Finding>, RekorError> {
    let record = match HashedRekord::parse(body) {
        Ok(record) => record,
        Err(e) => return Ok(Err(wrong(index, "entry-unreadable", "I1", &e.to_string()))),
    };
    let signer = match &record.verifier {
        Verifier::Key(key) => *key,
        Verifier::Certificate(_) => return Ok(Err(certified(index))),
    };
    let pae = match fetch(log, index, &record.digest, "signed statement", "I1").await? {
        Ok(bytes) => bytes,
        Err(finding) => return Ok(Err(finding)),
    };
    let statement = match statement(&signer, &record, &pae) {
        Ok(statement) => statement,
        Err(e) => return Ok(Err(wrong(index, "entry-not-signed", "I1", &e.to_string()))),
    };
    let (what, invariant) = match statement.predicate_type.as_str() {
        predicate::RECEIPT => ("receipt", "I17"),
        predicate::POLICY => ("policy", "I1"),
        predicate::GENESIS => ("genesis", "I1"),
        predicate::PROGRAM => ("program", "I1"),
        predicate::ENDORSEMENT => ("endorsement", "I1"),
        predicate::KEY_OFFER => ("key offer", "I1"),
        _ => ("artifact", "I1"),
    };
    let bytes = match fetch(log, index, &statement.digest, what, invariant).await? {
        Ok(bytes) => bytes,
        Err(finding) => return Ok(Err(finding)),
    };
    let mut named = Vec::new();
    if statement.predicate_type == predicate::ENDORSEMENT {
        named = source::check(log, index, &bytes).await?;
    }
    let kind = match statement.predicate_type.as_str() {
        predicate::RECEIPT => Kind::Receipt(bytes),
        predicate::POLICY => Kind::Policy(bytes),
        predicate::GENESIS => Kind::Genesis(bytes),
        predicate::PROGRAM => Kind::Program,
        predicate::ENDORSEMENT => Kind::Endorsement(bytes),
        predicate::KEY_OFFER => Kind::KeyOffer(bytes),
        other => Kind::Other(other.chars().take(200).collect()),
    };
    Ok(Ok(Item {
        index,
        signer,
        artifact: statement.digest,
        kind,
        named,
    }))
}

fn statement(signer: &SpkiKey, record: &HashedRekord, pae: &[u8]) -> Result<Statement, ProofError> {
    signer.verify(pae, &record.signature)?;
    Statement::parse(dsse::payload_of_pae(pae)?)
}

/// An entry whose signer is named by a certificate. Clients and key service take no such proof, so
/// it can have no effect (I1); it is reported because nobody here can say who stands behind it.
fn certified(index: u64) -> Finding {
    Finding::new(
        Severity::Warning,
        "entry-with-certificate",
        "I1",
        format!(
            "log entry {index} is signed under a certificate: no client and no key service takes \
             it as a proof, and this audit does not read what it says (siegel verify-bundle does)"
        ),
    )
}

/// Bytes from the archive. That they are missing is a finding, that the archive cannot be reached
/// is not: it says nothing about the log.
pub(crate) async fn fetch(
    log: &LogReader,
    index: u64,
    digest: &Digest,
    what: &str,
    invariant: &str,
) -> Result<Result<Vec<u8>, Finding>, RekorError> {
    match log.archive_get(digest).await {
        Ok(bytes) => Ok(Ok(bytes)),
        Err(RekorError::NotFound(_)) => {
            let why = format!("its {what} {digest} is not in the archive: nobody can check it");
            Ok(Err(wrong(index, "payload-withheld", invariant, &why)))
        }
        Err(
            e @ (RekorError::OtherBytes { .. }
            | RekorError::TooLong { .. }
            | RekorError::Refused { .. }
            | RekorError::Io { .. }
            | RekorError::Damaged(_)),
        ) => {
            let why = format!("its {what} {digest} cannot be read from the archive: {e}");
            Ok(Err(wrong(index, "payload-unreadable", invariant, &why)))
        }
        Err(e) => Err(e),
    }
}

pub(crate) fn wrong(index: u64, id: &str, invariant: &str, why: &str) -> Finding {
    Finding::new(
        Severity::Error,
        id,
        invariant,
        format!("log entry {index}: {why}"),
    )
}
