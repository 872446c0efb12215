//! From a log entry to what it says, parsed.

use siegel_attest::{Genesis, KeyOffer};
use siegel_endorse::Endorsement;
use siegel_ident::Digest;
use siegel_ledger::Receipt;
use siegel_policy::{AccessPolicy, Finding, Policy};
use siegel_rekor::{LogReader, RekorError};
use siegel_translog::nonce::NonceDocument;
use siegel_translog::{SpkiKey, predicate};

use super::entry::{Signed, Unread, fetch, signed};
use super::source;

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

/// What the artifact is, or why it does not parse. The bytes are not kept: their digest names them.
pub(crate) enum Kind {
    Policy(Parsed<Policy>),
    Genesis(Parsed<Genesis>),
    Receipt(Parsed<Receipt>),
    Program,
    Endorsement(Parsed<Endorsement>),
    KeyOffer(Parsed<KeyOffer>),
    Nonce(Parsed<NonceDocument>),
    /// A predicate type that this version does not know.
    Other(String),
}

type Parsed<T> = Result<Box<T>, String>;

/// Opens entry `index` and parses its artifact.
///
/// # Errors
/// The outer one if the source fails; the inner one is what is wrong with the entry.
pub(crate) async fn open(
    log: LogReader,
    index: u64,
    body: Vec<u8>,
) -> Result<Result<Item, Finding>, RekorError> {
    match item(&log, index, &body).await {
        Ok(item) => Ok(Ok(item)),
        Err(Unread::Entry(finding)) => Ok(Err(finding)),
        Err(Unread::Source(e)) => Err(e),
    }
}

async fn item(log: &LogReader, index: u64, body: &[u8]) -> Result<Item, Unread> {
    let Signed { signer, statement } = signed(log, index, body).await?;
    let predicate = statement.predicate_type.as_str();
    let (what, invariant) = name(predicate);
    let bytes = fetch(log, index, &statement.digest, what, invariant).await?;
    let kind = kind(predicate, &bytes);
    let named = match &kind {
        Kind::Endorsement(Ok(endorsement)) => source::check(log, index, endorsement).await?,
        _ => Vec::new(),
    };
    Ok(Item {
        index,
        signer,
        artifact: statement.digest,
        kind,
        named,
    })
}

/// What the artifact is called in a finding, and the invariant that its absence breaks.
fn name(predicate: &str) -> (&'static str, &'static str) {
    match predicate {
        predicate::RECEIPT => ("receipt", "I17"),
        predicate::POLICY => ("policy", "I1"),
        predicate::GENESIS => ("genesis", "I1"),
        predicate::PROGRAM => ("program", "I1"),
        predicate::ENDORSEMENT => ("endorsement", "I1"),
        predicate::KEY_OFFER => ("key offer", "I1"),
        predicate::NONCE => ("nonce", "I9"),
        _ => ("artifact", "I1"),
    }
}

fn kind(predicate: &str, bytes: &[u8]) -> Kind {
    match predicate {
        predicate::RECEIPT => Kind::Receipt(parsed(Receipt::parse(bytes))),
        predicate::POLICY => Kind::Policy(parsed(AccessPolicy::parse(bytes))),
        predicate::GENESIS => Kind::Genesis(parsed(Genesis::parse(bytes))),
        predicate::PROGRAM => Kind::Program,
        predicate::ENDORSEMENT => Kind::Endorsement(parsed(Endorsement::parse(bytes))),
        predicate::KEY_OFFER => Kind::KeyOffer(parsed(KeyOffer::parse(bytes))),
        predicate::NONCE => Kind::Nonce(parsed(NonceDocument::parse(bytes))),
        other => Kind::Other(other.to_owned()),
    }
}

fn parsed<T, E: std::fmt::Display>(result: Result<T, E>) -> Parsed<T> {
    result.map(Box::new).map_err(|e| e.to_string())
}
