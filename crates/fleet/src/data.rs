//! What simulated clients have to say. It is plaintext: no `Debug` (I13), and it stays in the
//! command that simulates the clients.

mod jsonl;
mod synthetic;
mod zipf;

pub use jsonl::{MAX_LINE, read_jsonl};
pub use synthetic::synthetic;

use siegel_client::Words;

/// One simulated person. Without words a client uploads an empty record, which counts as zero in
/// every bin: absence of words is not a public fact (I12).
pub struct ClientData {
    /// Tells clients apart; never uploaded.
    pub name: String,
    /// All that it wrote, in the order of the file.
    pub texts: Vec<String>,
}

impl ClientData {
    /// Its distinct words, cut as the device cuts them.
    pub fn words(&self) -> Words {
        Words::of_all(self.texts.iter().map(String::as_str))
    }
}

/// All clients, in the order in which they first appear.
pub struct Dataset {
    /// At least one.
    pub clients: Vec<ClientData>,
}

/// Why there is no data set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A line that is not `{"client": "...", "text": "..."}`.
    #[error(
        "{file}, line {line}: {why}; expected one JSON object per line, \
         {{\"client\": \"...\", \"text\": \"...\"}}"
    )]
    Line {
        /// The file's name.
        file: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// No client at all.
    #[error("{file}: no clients: the data is empty, so there is nothing to aggregate")]
    Empty {
        /// The file's name.
        file: String,
    },
    /// The file cannot be read.
    #[error("{file}: cannot be read: {source}")]
    Read {
        /// The file's name.
        file: String,
        /// The cause.
        source: std::io::Error,
    },
    /// Synthetic data over no words.
    #[error("the word list for synthetic data is empty: pass at least one word")]
    NoWords,
}
