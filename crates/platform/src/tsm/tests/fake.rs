//! A plain folder that acts like configfs: what the kernel does beside the file system call is done
//! around the production code, which itself runs unchanged.

use std::fs;
use std::io::{Error, Result};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use super::super::folder::{Configfs, ReportFolder};
use super::super::{ConfigfsTsm, MAX_BLOB};

/// What this kernel and its driver do. The default is a healthy SNP guest.
pub(super) struct Kernel {
    pub(super) provider: &'static [u8],
    /// Put in front of the report data to make the report.
    pub(super) report: Vec<u8>,
    pub(super) report_file: ReportFile,
    /// `None`: a driver without this attribute.
    pub(super) auxiliary: Option<Vec<u8>>,
    pub(super) generation: &'static str,
    /// So many quotes are disturbed by another writer, just before this attribute is read.
    pub(super) disturbed: (u32, &'static str),
    /// So many writes are dropped when the file is closed, which nobody hears of.
    pub(super) lost_writes: u32,
    /// Bytes of the report data that are taken.
    pub(super) takes: usize,
    /// The error number of `mkdir`.
    pub(super) no_entry: Option<i32>,
    /// Somebody is in the entry first.
    pub(super) squatter: bool,
    pub(super) stuck: bool,
    pub(super) made: AtomicU32,
}

pub(super) enum ReportFile {
    /// Report ‖ report data.
    Answer,
    /// No report data, so a driver that gives an empty report.
    Bare,
    /// Cannot be read.
    Unreadable,
}

impl Default for Kernel {
    fn default() -> Self {
        Self {
            provider: b"sev_guest\n",
            report: b"report over ".to_vec(),
            report_file: ReportFile::Answer,
            auxiliary: Some(b"certificates".to_vec()),
            generation: "0\n",
            disturbed: (0, "outblob"),
            lost_writes: 0,
            takes: usize::MAX,
            no_entry: None,
            squatter: false,
            stuck: false,
            made: AtomicU32::new(0),
        }
    }
}

impl Kernel {
    /// The interface over this kernel, in a folder of its own.
    pub(super) fn boot(self) -> (ConfigfsTsm, Arc<Self>, TempDir) {
        let root = tempfile::tempdir().unwrap();
        let kernel = Arc::new(self);
        let tsm = ConfigfsTsm {
            root: root.path().to_owned(),
            folder: Arc::clone(&kernel) as Arc<dyn ReportFolder>,
        };
        (tsm, kernel, root)
    }

    pub(super) fn entries_made(&self) -> u32 {
        self.made.load(Ordering::SeqCst)
    }

    fn bump(entry: &Path) {
        let path = entry.join("generation");
        let old: u64 = fs::read_to_string(&path).unwrap().trim().parse().unwrap();
        fs::write(path, format!("{}\n", old.wrapping_add(1))).unwrap();
    }
}

impl ReportFolder for Kernel {
    fn make(&self, entry: &Path) -> Result<()> {
        if let Some(number) = self.no_entry {
            return Err(Error::from_raw_os_error(number));
        }
        if self.squatter {
            fs::create_dir(entry)?;
            fs::write(entry.join("inblob"), "theirs")?;
        }
        Configfs.make(entry)?;
        self.made.fetch_add(1, Ordering::SeqCst);
        fs::write(entry.join("provider"), self.provider)?;
        fs::write(entry.join("generation"), self.generation)?;
        fs::write(entry.join("inblob"), "")?;
        if let Some(bytes) = &self.auxiliary {
            fs::write(entry.join("auxblob"), bytes)?;
        }
        Ok(())
    }

    fn write(&self, attribute: &Path, bytes: &[u8]) -> Result<usize> {
        assert!(attribute.ends_with("inblob"), "only report data is written");
        let entry = attribute.parent().unwrap();
        let taken = Configfs.write(attribute, &bytes[..bytes.len().min(self.takes)])?;
        if self.entries_made() > self.lost_writes {
            Self::bump(entry);
        }
        let outblob = entry.join("outblob");
        match self.report_file {
            ReportFile::Answer => {
                let report = [&self.report[..], &fs::read(attribute)?].concat();
                fs::write(outblob, report)?;
            }
            ReportFile::Bare => fs::write(outblob, &self.report)?,
            ReportFile::Unreadable => fs::create_dir(outblob)?,
        }
        Ok(taken)
    }

    fn read(&self, attribute: &Path, limit: usize) -> Result<Vec<u8>> {
        let (quotes, before) = self.disturbed;
        if attribute.ends_with(before) && self.entries_made() <= quotes {
            Self::bump(attribute.parent().unwrap());
        }
        let bytes = Configfs.read(attribute, limit)?;
        assert!(bytes.len() <= MAX_BLOB + 1, "I14: read {}", bytes.len());
        Ok(bytes)
    }

    fn remove(&self, entry: &Path) -> Result<()> {
        if self.stuck {
            return Err(Error::other("stuck"));
        }
        // The kernel's attributes go with the folder; here they are files.
        for child in fs::read_dir(entry)? {
            let child = child?.path();
            if child.is_dir() {
                fs::remove_dir(child)?;
            } else {
                fs::remove_file(child)?;
            }
        }
        Configfs.remove(entry)
    }
}
