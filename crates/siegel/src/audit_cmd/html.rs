//! `--html`: the report as a page, written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use siegel_audit::AuditReport;

use crate::failure::Failure;

/// As much of a file as says whether it is a page.
const BEGINNING: u64 = 1024;

/// Where the page goes.
pub(super) struct HtmlFile {
    path: PathBuf,
}

impl HtmlFile {
    /// Looks before the audit whether the page may be written there: a new file, or one that is such a
    /// page already.
    pub(super) fn at(path: &Path) -> Result<Self, Failure> {
        let file = Self {
            path: path.canonicalize().unwrap_or_else(|_| path.to_owned()),
        };
        file.may_replace()?;
        let folder = file.folder();
        match folder.is_dir() {
            true => Ok(file),
            false => {
                let message = format!("there is no folder {}", folder.display());
                Err(file.refused("cannot-write", message))
            }
        }
    }

    /// Writes the page about a log that was read at `source`, in place of the one before.
    pub(super) fn write(&self, report: &AuditReport, source: &str) -> Result<(), Failure> {
        let at = self.path.display().to_string();
        let page = siegel_page::render(report, source)
            .map_err(|why| Failure::failed("page", &at, why, ""))?;
        self.may_replace()?;
        let new = self.beside();
        let written = put(&new, page.as_bytes()).and_then(|()| fs::rename(&new, &self.path));
        written.map_err(|why| {
            // What is left of it is of no use; that it cannot be removed changes nothing.
            let _ = fs::remove_file(&new);
            Failure::failed("cannot-write", &at, why, "is the disk full?")
        })
    }

    fn may_replace(&self) -> Result<(), Failure> {
        let found = match fs::metadata(&self.path) {
            Ok(found) => found,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(why) => return Err(self.refused("cannot-write", why.to_string())),
        };
        if !found.is_file() {
            return Err(self.refused("not-a-page", "it is not a file".to_owned()));
        }
        let mut beginning = Vec::new();
        let read = File::open(&self.path)
            .and_then(|file| file.take(BEGINNING).read_to_end(&mut beginning));
        read.map_err(|why| self.refused("cannot-read", why.to_string()))?;
        match siegel_page::is_page(&beginning) {
            true => Ok(()),
            false => {
                let message = "the file exists and is not the page of an audit; it was not touched";
                Err(self.refused("not-a-page", message.to_owned()))
            }
        }
    }

    fn refused(&self, code: &str, message: String) -> Failure {
        let at = self.path.display().to_string();
        Failure::usage(code, &at, message, "choose another --html FILE")
    }

    fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    /// In the same folder, so that it can take the page's place in one step.
    fn beside(&self) -> PathBuf {
        let mut name = std::ffi::OsString::from(".");
        name.push(self.path.file_name().unwrap_or_default());
        name.push(format!(".{}.tmp", std::process::id()));
        self.folder().join(name)
    }
}

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
