//! Who else vouches for a checkpoint before it is published.

use siegel_ident::Digest;
use siegel_translog::checkpoint::MAX_NOTE;

/// Collects cosignatures for a checkpoint that is about to be published.
///
/// It is called on the log's writer thread, outside of any runtime, and the entries wait for it: it
/// must bound its time. What it cannot get in that time is left out, for the verifier enforces a
/// quorum, the log never can.
pub trait Cosigner: Send + Sync {
    /// Lines to append to the note: `— name base64`, without the end of the line.
    fn cosign(&self, request: CosignRequest<'_>) -> Vec<String>;

    /// False if nobody is asked: then nobody outside sees a checkpoint before it is published.
    fn asks_anybody(&self) -> bool {
        true
    }
}

/// What is to be cosigned. Its tiles are durable, it is not published yet.
pub struct CosignRequest<'a> {
    /// The note with the log's own signature, and no other.
    pub note: &'a str,
    /// Number of entries that it covers.
    pub size: u64,
    pub(crate) proof: &'a dyn Fn(u64) -> Option<Vec<Digest>>,
}

impl CosignRequest<'_> {
    /// The proof that the first `from` entries are a prefix of those that the note covers; `None` if
    /// there are not so many.
    pub fn consistency_proof(&self, from: u64) -> Option<Vec<Digest>> {
        (self.proof)(from)
    }
}

/// Without witnesses.
pub(crate) struct Nobody;

impl Cosigner for Nobody {
    fn cosign(&self, _: CosignRequest<'_>) -> Vec<String> {
        Vec::new()
    }

    fn asks_anybody(&self) -> bool {
        false
    }
}

/// Appends lines that are signature lines, as long as the note can be read.
pub(crate) fn append(mut note: String, lines: Vec<String>) -> String {
    for line in lines {
        let fits = note.len() + line.len() < MAX_NOTE;
        if is_signature_line(&line) && fits {
            note.push_str(&line);
            note.push('\n');
        } else {
            tracing::warn!("left out a cosignature that is no signature line, or does not fit");
        }
    }
    note
}

/// `— name base64`.
pub(crate) fn is_signature_line(line: &str) -> bool {
    let base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let parts = line
        .strip_prefix("\u{2014} ")
        .and_then(|rest| rest.split_once(' '));
    parts.is_some_and(|(name, value)| {
        let name_ok = !name.is_empty() && !name.chars().any(|c| c.is_whitespace() || c == '+');
        name_ok && !value.is_empty() && value.chars().all(base64)
    })
}
