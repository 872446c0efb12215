//! Quotes of a real confidential VM: Linux's report interface under configfs (`configfs-tsm`).
//!
//! One quote is one entry. `mkdir` makes it, 64 bytes go into `inblob`, the kernel's driver asks the
//! TEE when `outblob` is read, `rmdir` ends it:
//!
//! ```text
//! /sys/kernel/config/tsm/report/siegel-<random>/
//!     provider     which driver, so which format
//!     generation   grows by one with every write to the entry
//!     inblob       report data
//!     outblob      SNP attestation report, or TDX quote
//!     auxblob      SNP: the host's certificate table, see [`CertificateTable`]; absent on TDX
//! ```
//!
//! What can go wrong silently, and what is done:
//!
//! - The kernel takes `inblob` when the file is closed, and nobody hears whether it did. Somebody
//!   else may write to the entry in between. Both show in `generation`: it must have grown by
//!   exactly one between the first look and the last. Otherwise everything is thrown away and done
//!   again with a fresh entry, [`ATTEMPTS`] times at most.
//! - An entry that was left behind keeps kernel memory, so it is removed on every path.
//! - Each read has a bound (I14).
//!
//! Privilege level and service stay at the kernel's defaults: a report of VMPL 0, no SVSM.
//!
//! [`TsmQuotes`] is the [`QuoteSource`](crate::QuoteSource) over it: it staples what the vendor says about the machine.

mod certificate_table;
mod entry;
mod error;
mod folder;
mod source;

use std::path::PathBuf;
use std::sync::Arc;

use getrandom::SysRng;
use rand_core::TryRng as _;

pub use certificate_table::{CertificateTable, CertificateTableError};
use entry::Entry;
pub use error::TsmError;
use folder::{Configfs, ReportFolder};
pub use source::TsmQuotes;

/// Where Linux puts the interface, if configfs is mounted at its usual place.
pub const ROOT: &str = "/sys/kernel/config/tsm/report";

/// How often a quote is tried while somebody else writes to the entries.
pub const ATTEMPTS: u32 = 3;

/// Most bytes of a report or of its auxiliary data (I14). The kernel has the same bound.
pub const MAX_BLOB: usize = 32 * 1024;

/// The driver that made a report, so its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provider {
    /// `sev_guest`: an AMD SEV-SNP attestation report.
    SevSnp,
    /// `tdx_guest`: an Intel TDX quote.
    Tdx,
}

impl Provider {
    /// From the word that the kernel uses.
    fn from_driver(name: &str) -> Option<Self> {
        match name {
            "sev_guest" => Some(Self::SevSnp),
            "tdx_guest" => Some(Self::Tdx),
            _ => None,
        }
    }
}

/// What the TEE and the host handed over. Nothing here is checked: that is the verifier's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlatformQuote {
    /// The format of `report`.
    pub provider: Provider,
    /// The report or quote, 1…[`MAX_BLOB`] bytes.
    pub report: Vec<u8>,
    /// What the host added, at most [`MAX_BLOB`] bytes, or empty. On SNP a [`CertificateTable`].
    pub auxiliary: Vec<u8>,
}

/// The report interface of this machine. Cheap to clone.
#[derive(Clone)]
pub struct ConfigfsTsm {
    root: PathBuf,
    folder: Arc<dyn ReportFolder>,
}

impl ConfigfsTsm {
    /// The interface in the folder `root`; in production that is [`ROOT`].
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            folder: Arc::new(Configfs),
        }
    }

    /// A quote over these 64 bytes. The driver may take seconds, so it works on a thread for
    /// blocking calls; that thread finishes and cleans up even if nobody waits any more.
    ///
    /// # Errors
    ///
    /// [`TsmError`]: no such interface here, an unknown driver, a driver that refuses, blobs out
    /// of bounds, or another writer that does not stop.
    pub async fn quote(&self, report_data: [u8; 64]) -> Result<PlatformQuote, TsmError> {
        let this = self.clone();
        tokio::task::spawn_blocking(move || this.quote_blocking(report_data))
            .await
            .map_err(|_| TsmError::Stopped)?
    }

    fn quote_blocking(&self, report_data: [u8; 64]) -> Result<PlatformQuote, TsmError> {
        for _ in 0..ATTEMPTS {
            let entry = Entry::make(&*self.folder, &self.root, &fresh_name()?)?;
            if let Some(quote) = entry.quote(&report_data)? {
                return Ok(quote);
            }
        }
        Err(TsmError::Conflict {
            root: self.root.clone(),
            attempts: ATTEMPTS,
        })
    }
}

/// Unguessable, so that no one is waiting in an entry of this name.
fn fresh_name() -> Result<String, TsmError> {
    let mut sample = [0u8; 16];
    SysRng
        .try_fill_bytes(&mut sample)
        .map_err(|e| TsmError::NoRandomness(e.to_string()))?;
    let number = u128::from_be_bytes(sample);
    Ok(format!("siegel-{number:032x}"))
}

#[cfg(test)]
mod tests;
