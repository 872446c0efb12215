//! Why there is no quote.

use std::path::PathBuf;

use super::CertificateTableError;

/// Why configfs-tsm gave no quote.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TsmError {
    /// The folder is not there.
    #[error(
        "this machine has no configfs-tsm: {} does not exist. It needs a confidential VM, Linux \
         6.7 or later, configfs mounted at /sys/kernel/config, and the module sev-guest or \
         tdx-guest",
        root.display()
    )]
    Absent {
        /// Where it was looked for.
        root: PathBuf,
    },
    /// The folder is there, but no driver stands behind it.
    #[error(
        "no TEE answers in {}: load the module sev-guest or tdx-guest. If it does not load, this \
         machine is no confidential VM",
        root.display()
    )]
    NoDriver {
        /// The report folder.
        root: PathBuf,
    },
    /// A driver whose reports have no verifier here.
    #[error(
        "the report driver is {name:?}: only sev_guest (AMD SEV-SNP) and tdx_guest (Intel TDX) \
         are supported"
    )]
    Provider {
        /// What the kernel calls it.
        name: String,
    },
    /// Somebody has an entry of the name that was just drawn at random.
    #[error(
        "the report entry {} exists already, though its name was just drawn at random: another \
         process interferes, or the randomness is broken",
        path.display()
    )]
    Exists {
        /// The entry, left as it was.
        path: PathBuf,
    },
    /// The host's certificates cannot be read.
    #[error(transparent)]
    Table(#[from] CertificateTableError),
    /// A file that is to be stapled cannot be read.
    #[error("cannot staple {}: {source}", path.display())]
    Endorsement {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// More than a verifier reads.
    #[error("the stapled quote: {0}")]
    Stapling(String),
    /// Each attempt was disturbed by another writer, or its write did not arrive.
    #[error(
        "{attempts} entries in {} were not written exactly once while they were in use: another \
         process writes to them. Find it and stop it",
        root.display()
    )]
    Conflict {
        /// The report folder.
        root: PathBuf,
        /// How often it was tried.
        attempts: u32,
    },
    /// The kernel took a part of the report data only.
    #[error("{} took {written} of 64 bytes of report data", path.display())]
    ShortWrite {
        /// The attribute.
        path: PathBuf,
        /// Bytes taken.
        written: usize,
    },
    /// A report without a byte.
    #[error("{} is empty: the driver gave no report, see the kernel's log", path.display())]
    Empty {
        /// The attribute.
        path: PathBuf,
    },
    /// More than any report has (I14).
    #[error("{} has more than {limit} bytes", path.display())]
    TooLarge {
        /// The attribute.
        path: PathBuf,
        /// Most bytes that are read.
        limit: usize,
    },
    /// An attribute says something else than the kernel's documentation promises.
    #[error("{} is {value:?}, not a number", path.display())]
    Malformed {
        /// The attribute.
        path: PathBuf,
        /// What it says.
        value: String,
    },
    /// The file system or the driver refused.
    #[error(
        "cannot {doing} {}: {source}. Entries belong to the administrator; a driver that refuses \
         says why in the kernel's log",
        path.display()
    )]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// No random name for the entry.
    #[error("the operating system gives no random bytes: {0}")]
    NoRandomness(String),
    /// The thread that asked for the quote was stopped.
    #[error("the process is stopping: the quote was given up")]
    Stopped,
}
