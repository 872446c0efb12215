//! A key and the folder of what its holder has seen, which name each other.
//!
//! A witness or mirror that has forgotten what it saw must not speak under its old key: whoever pins
//! the key relies on its memory (I1). So the two are made together. The key file holds the seed and the
//! folder's random id; the file `state` in the folder begins with that id. A copy of an old folder put
//! in place of the present one cannot be told from it: do not restore such a folder, make a new key.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ring::rand::{SecureRandom as _, SystemRandom};
use siegel_ident::Secret;

use crate::error::RekorError;
use crate::pem;

/// Length of the folder's id.
const ID: usize = 16;
const STATE: &str = "state";
/// How the name of a file begins that was not finished.
const TEMPORARY: &str = "tmp-";

/// The folder, locked, and the seed of its key.
pub(crate) struct KeyedFolder {
    dir: PathBuf,
    id: [u8; ID],
    _lock: File,
}

impl KeyedFolder {
    /// Opens key and folder, or makes both where neither is there. `label` is the kind of key file.
    ///
    /// # Errors
    /// [`RekorError::StateLost`] and [`RekorError::KeyLost`] if one of them is gone or another's;
    /// [`RekorError::Locked`], [`RekorError::Key`], [`RekorError::Io`].
    pub(crate) fn open(
        label: &str,
        key_file: &Path,
        dir: &Path,
    ) -> Result<(Self, Secret<32>), RekorError> {
        let lock = take_lock(dir)?;
        let key = pem::read(key_file, label)?;
        let state = read(&dir.join(STATE))?;
        let (key_name, dir_name) = (
            || key_file.display().to_string(),
            || dir.display().to_string(),
        );
        let (seed, id) = match (key, state) {
            (Some(key), Some(state)) => {
                let (seed, id) = split(key_file, key.expose())?;
                if state.strip_prefix(header(&id).as_bytes()).is_none() {
                    let (key, state) = (key_name(), dir_name());
                    return Err(RekorError::StateLost { key, state });
                }
                (seed, id)
            }
            (Some(_), None) => {
                let (key, state) = (key_name(), dir_name());
                return Err(RekorError::StateLost { key, state });
            }
            // A kill between the two left a folder that nobody has used.
            (None, Some(state)) if state.len() > header(&[0; ID]).len() => {
                let (key, state) = (key_name(), dir_name());
                return Err(RekorError::KeyLost { key, state });
            }
            (None, _) => born(label, key_file, dir)?,
        };
        let dir = dir.to_owned();
        let folder = Self {
            dir,
            id,
            _lock: lock,
        };
        Ok((folder, seed))
    }

    /// Where it is.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// What was written, without the id.
    pub(crate) fn load(&self) -> Result<Vec<u8>, RekorError> {
        let path = self.dir.join(STATE);
        let state = read(&path)?.unwrap_or_default();
        let body = state.strip_prefix(header(&self.id).as_bytes());
        body.map(<[u8]>::to_vec)
            .ok_or_else(|| RekorError::Damaged(format!("{} lost its first line", path.display())))
    }

    /// Writes all of it anew: durable, and all or nothing (I8).
    pub(crate) fn save(&self, body: &[u8]) -> Result<(), RekorError> {
        write_state(&self.dir, &self.id, body)
    }

    /// Adds to what was written, durably. A kill may leave a part of it.
    pub(crate) fn append(&self, bytes: &[u8]) -> Result<(), RekorError> {
        let path = self.dir.join(STATE);
        OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_data()))
            .map_err(|e| RekorError::io("state", &path, e))
    }

    /// A file beside the state, as [`Self::put`] wrote it.
    pub(crate) fn read(&self, name: &str) -> Result<Option<String>, RekorError> {
        let path = self.dir.join(name);
        let text = read(&path)?.map(String::from_utf8).transpose();
        text.map_err(|_| RekorError::Damaged(format!("{} is not text", path.display())))
    }

    /// Writes a file beside the state, as [`Self::save`] does. `name` may have folders in it.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> Result<(), RekorError> {
        replace(&self.dir, name, bytes)
    }
}

fn header(id: &[u8; ID]) -> String {
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("siegel/keyed-folder/v1 {id}\n")
}

fn split(path: &Path, key: &[u8]) -> Result<(Secret<32>, [u8; ID]), RekorError> {
    let wrong = || pem::wrong(path, "expected a seed of 32 bytes and a folder id of 16");
    let (seed, id) = key.split_at_checked(32).ok_or_else(wrong)?;
    let seed = Secret::try_from_slice(seed).ok_or_else(wrong)?;
    let id = id.try_into().map_err(|_| wrong())?;
    Ok((seed, id))
}

/// The folder first: a key without one is never taken up.
fn born(label: &str, key_file: &Path, dir: &Path) -> Result<(Secret<32>, [u8; ID]), RekorError> {
    let mut both = [0u8; 32 + ID];
    SystemRandom::new()
        .fill(&mut both)
        .map_err(|_| pem::wrong(key_file, "the system has no randomness"))?;
    let both = Secret::new(both);
    let (seed, id) = split(key_file, both.expose())?;
    write_state(dir, &id, b"")?;
    pem::create(key_file, label, both.expose())?;
    let above = key_file.parent().filter(|dir| !dir.as_os_str().is_empty());
    sync_dir(above.unwrap_or(Path::new(".")))
        .map_err(|e| RekorError::io("writing a key", key_file, e))?;
    Ok((seed, id))
}

fn take_lock(dir: &Path) -> Result<File, RekorError> {
    let failed = |e| RekorError::io("opening the state folder", dir, e);
    fs::create_dir_all(dir).map_err(failed)?;
    let lock = File::create(dir.join("lock")).map_err(failed)?;
    crate::store::lock(&lock, dir)?;
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
            fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    Ok(lock)
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, RekorError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(RekorError::io("reading the state", path, e)),
    }
}

fn write_state(dir: &Path, id: &[u8; ID], body: &[u8]) -> Result<(), RekorError> {
    replace(dir, STATE, &[header(id).as_bytes(), body].concat())
}

fn replace(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), RekorError> {
    let path = dir.join(name);
    let failed = |e| RekorError::io("state", &path, e);
    let parent = path.parent().unwrap_or(dir);
    if !parent.is_dir() {
        fs::create_dir_all(parent)
            .and_then(|()| sync_dir(parent.parent().unwrap_or(dir)))
            .map_err(failed)?;
    }
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = dir.join(format!("{TEMPORARY}{file_name}"));
    let written = File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, &path))
        .and_then(|()| sync_dir(parent));
    if written.is_err() {
        // Best effort: a leftover is removed at the next start, the error is what counts.
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(failed)
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: &str = "SIEGEL TEST SEED";

    fn open(dir: &Path, state: &str) -> Result<(KeyedFolder, Secret<32>), RekorError> {
        KeyedFolder::open(LABEL, &dir.join("key"), &dir.join(state))
    }

    // I1: catches a witness that begins anew under a key that others rely on, and one whose memory is
    // another's.
    #[test]
    fn i1_a_key_without_its_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (first, seed) = open(dir.path(), "state").unwrap();
        first.save(b"seen").unwrap();
        drop(first);
        let (again, same) = open(dir.path(), "state").unwrap();
        assert_eq!(again.load().unwrap(), b"seen");
        assert_eq!(seed.expose(), same.expose());
        drop(again);
        // An empty folder, then the folder of another key.
        let lost = open(dir.path(), "other").err().unwrap();
        assert!(matches!(lost, RekorError::StateLost { .. }), "{lost}");
        let apart = tempfile::tempdir().unwrap();
        open(apart.path(), "state").unwrap().0.save(b"x").unwrap();
        let key = dir.path().join("key");
        let swapped = KeyedFolder::open(LABEL, &key, &apart.path().join("state"));
        assert!(matches!(swapped, Err(RekorError::StateLost { .. })));
        // The key is gone: what was seen under it stays as it is.
        fs::remove_file(&key).unwrap();
        let gone = open(dir.path(), "state").err().unwrap();
        assert!(matches!(gone, RekorError::KeyLost { .. }), "{gone}");
        assert!(!key.exists());
    }

    // I8: catches a birth that a kill in its middle makes impossible for ever.
    #[test]
    fn i8_a_birth_that_was_cut_short_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        drop(open(dir.path(), "state").unwrap());
        fs::remove_file(dir.path().join("key")).unwrap();
        fs::write(dir.path().join("state/tmp-state"), "half").unwrap();
        let (folder, _) = open(dir.path(), "state").unwrap();
        assert_eq!(folder.load().unwrap(), b"");
        assert!(!dir.path().join("state/tmp-state").exists());
    }

    #[test]
    fn i8_one_process_at_a_time_and_additions_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, _) = open(dir.path(), "state").unwrap();
        let second = open(dir.path(), "state").err().unwrap();
        assert!(matches!(second, RekorError::Locked(_)), "{second}");
        folder.append(b"a").unwrap();
        folder.append(b"b").unwrap();
        folder.put("evidence/x", b"y").unwrap();
        drop(folder);
        let (folder, _) = open(dir.path(), "state").unwrap();
        assert_eq!(folder.load().unwrap(), b"ab");
        assert_eq!(fs::read(folder.dir().join("evidence/x")).unwrap(), b"y");
    }
}
