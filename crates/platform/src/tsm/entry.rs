//! One entry of the report folder: made, asked once, removed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::folder::ReportFolder;
use super::{MAX_BLOB, PlatformQuote, Provider, TsmError};

/// Longest text attribute, bytes: a driver's name, a number.
const MAX_TEXT: usize = 64;

/// An entry that this process made. Dropping it removes it.
pub(super) struct Entry<'a> {
    folder: &'a dyn ReportFolder,
    path: PathBuf,
}

impl<'a> Entry<'a> {
    /// Makes a new entry. One that exists belongs to somebody else and is left alone.
    pub(super) fn make(
        folder: &'a dyn ReportFolder,
        root: &Path,
        name: &str,
    ) -> Result<Self, TsmError> {
        let path = root.join(name);
        match folder.make(&path) {
            Ok(()) => Ok(Self { folder, path }),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(TsmError::Exists { path }),
            Err(e) if e.kind() == ErrorKind::NotFound => Err(TsmError::Absent {
                root: root.to_owned(),
            }),
            Err(e) if Errno::from_io_error(&e) == Some(Errno::NXIO) => Err(TsmError::NoDriver {
                root: root.to_owned(),
            }),
            Err(source) => Err(TsmError::Io {
                doing: "make the entry",
                path,
                source,
            }),
        }
    }

    /// Asks once. `None` if the entry was not written exactly once in the meantime.
    pub(super) fn quote(&self, report_data: &[u8; 64]) -> Result<Option<PlatformQuote>, TsmError> {
        let provider = self.provider()?;
        let before = self.generation()?;
        self.write(report_data)?;
        let report = self.read("outblob", MAX_BLOB)?;
        let auxiliary = self.auxiliary()?;
        if self.generation()? != before.wrapping_add(1) {
            return Ok(None);
        }
        if report.is_empty() {
            return Err(TsmError::Empty {
                path: self.path.join("outblob"),
            });
        }
        Ok(Some(PlatformQuote {
            provider,
            report,
            auxiliary,
        }))
    }

    fn provider(&self) -> Result<Provider, TsmError> {
        let name = self.text("provider")?;
        Provider::from_driver(&name).ok_or(TsmError::Provider { name })
    }

    fn generation(&self) -> Result<u64, TsmError> {
        let value = self.text("generation")?;
        value.parse().map_err(|_| TsmError::Malformed {
            path: self.path.join("generation"),
            value,
        })
    }

    fn write(&self, report_data: &[u8; 64]) -> Result<(), TsmError> {
        let path = self.path.join("inblob");
        match self.folder.write(&path, report_data) {
            Ok(64) => Ok(()),
            Ok(written) => Err(TsmError::ShortWrite { path, written }),
            Err(source) => Err(TsmError::Io {
                doing: "write",
                path,
                source,
            }),
        }
    }

    /// A driver that adds nothing has no such attribute.
    fn auxiliary(&self) -> Result<Vec<u8>, TsmError> {
        match self.read("auxblob", MAX_BLOB) {
            Err(TsmError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Ok(Vec::new())
            }
            other => other,
        }
    }

    fn text(&self, attribute: &'static str) -> Result<String, TsmError> {
        let bytes = self.read(attribute, MAX_TEXT)?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    /// I14: never more than `limit` bytes.
    fn read(&self, attribute: &'static str, limit: usize) -> Result<Vec<u8>, TsmError> {
        let path = self.path.join(attribute);
        match self.folder.read(&path, limit) {
            Ok(bytes) if bytes.len() > limit => Err(TsmError::TooLarge { path, limit }),
            Ok(bytes) => Ok(bytes),
            Err(source) => Err(TsmError::Io {
                doing: "read",
                path,
                source,
            }),
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        // The quote, or the error, matters more than what is left behind.
        if let Err(error) = self.folder.remove(&self.path) {
            tracing::warn!(entry = %self.path.display(), %error, "a report entry is left behind");
        }
    }
}
