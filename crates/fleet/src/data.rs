//! What simulated clients have to say. It is plaintext: no `Debug` (I13), and it stays in the
//! command that simulates the clients.

mod crowd;
mod held_out;
mod jsonl;
mod shakespeare;
mod synthetic;
mod zipf;

pub use crowd::{Client, Clients};
pub use jsonl::{MAX_LINE, read_jsonl};
pub use shakespeare::{ArchiveError, FetchError, cache_dir, file_name, shakespeare};
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

    /// All its texts, with a line feed between two.
    pub fn text(&self) -> String {
        self.texts.join("\n")
    }
}

/// All clients, in the order in which they first appear.
pub struct Dataset {
    /// Those who upload; at least one.
    pub clients: Clients,
    /// Those who never upload: a trained model is tried on them by the simulator.
    pub held_out: Clients,
}

impl Dataset {
    /// Clients who all upload.
    pub fn of(clients: Vec<ClientData>) -> Self {
        Self::new(Clients::listed(clients))
    }

    fn new(clients: Clients) -> Self {
        let held_out = Clients::listed(Vec::new());
        Self { clients, held_out }
    }
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
    /// The package of plays cannot be had.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The package of plays is not what it should be.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Synthetic data over no words.
    #[error("the word list for synthetic data is empty: pass at least one word")]
    NoWords,
}
