//! A log read from its folder, without a server. Nothing is locked or changed.

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use siegel_ident::Digest;

use crate::error::RekorError;
use crate::log::same_bytes;
use crate::store::{archived_path, open_entries, read_checkpoint, read_object};

/// The folder of a log.
#[derive(Clone, Debug)]
pub struct FolderLog {
    dir: PathBuf,
    /// Entry index and file offset where the last reading ended: reading on costs no second pass.
    cursor: Arc<Mutex<(u64, u64)>>,
}

impl FolderLog {
    /// The log in this folder. A damaged checkpoint is no reason to refuse: that is for whoever
    /// reads it to judge.
    ///
    /// # Errors
    /// [`RekorError::NotFound`] unless it has a checkpoint; [`RekorError::Io`].
    pub fn open(dir: &Path) -> Result<Self, RekorError> {
        let log = Self {
            dir: dir.to_owned(),
            cursor: Arc::default(),
        };
        match log.checkpoint() {
            Ok(_) | Err(RekorError::Damaged(_)) => Ok(log),
            Err(e) => Err(e),
        }
    }

    /// The signed note, unverified.
    ///
    /// # Errors
    /// [`RekorError::NotFound`], [`RekorError::Damaged`], [`RekorError::Io`].
    pub fn checkpoint(&self) -> Result<String, RekorError> {
        read_checkpoint(&self.dir)?
            .ok_or_else(|| RekorError::NotFound(format!("a log in {}", self.dir.display())))
    }

    /// The bodies of entries `from..to`, unverified: not even the stored leaf hashes are looked
    /// at, the Merkle root will tell.
    ///
    /// # Errors
    /// [`RekorError::Damaged`] if there are not so many.
    pub fn entries(&self, from: u64, to: u64) -> Result<Vec<Vec<u8>>, RekorError> {
        let torn = |index: u64| {
            RekorError::Damaged(format!("{} ends before entry {index}", self.dir.display()))
        };
        let mut cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = BufReader::new(open_entries(&self.dir)?);
        let mut start = 0;
        if (1..=from).contains(&cursor.0) {
            start = cursor.0;
            file.seek(SeekFrom::Start(cursor.1))
                .map_err(|_| torn(start))?;
        }
        let mut bodies = Vec::new();
        for index in start..to {
            let body = read_record(&mut file).map_err(|_| torn(index))?;
            if index >= from {
                bodies.push(body);
            }
        }
        *cursor = (to.max(start), file.stream_position().map_err(|_| torn(to))?);
        Ok(bodies)
    }

    /// The bytes with this digest, checked.
    ///
    /// # Errors
    /// [`RekorError::NotFound`], [`RekorError::OtherBytes`], [`RekorError::Io`].
    pub fn archive_get(&self, digest: &Digest) -> Result<Vec<u8>, RekorError> {
        let bytes = read_object(&archived_path(&self.dir, digest))?
            .ok_or_else(|| RekorError::NotFound(format!("object {digest}")))?;
        same_bytes(digest, &bytes)?;
        Ok(bytes)
    }
}

fn read_record(file: &mut BufReader<File>) -> std::io::Result<Vec<u8>> {
    let mut len = [0; 4];
    file.read_exact(&mut len)?;
    let len = u32::from_be_bytes(len);
    if len > u32::from(u16::MAX) {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    file.read_exact(&mut [0; Digest::LEN])?;
    let mut body = vec![0; len as usize];
    file.read_exact(&mut body)?;
    Ok(body)
}
