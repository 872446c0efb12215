//! A log's folder, written as a log would leave it, without its server: entry bundles, hash tiles,
//! packs and checkpoint.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use siegel_ident::Digest;
use siegel_rekor::{PackDirectory, PackEntry};
use siegel_translog::tiles::{Level, WIDTH, grown, push_entry};
use siegel_translog::{Tree, merkle};

/// Appends to a log's folder.
pub struct Folder {
    dir: PathBuf,
    tree: Tree,
    /// The last bundle, while it is not full.
    bundle: Vec<u8>,
    pub bytes: u64,
}

impl Folder {
    /// Goes on after these entries, which are all that is there.
    pub fn after(dir: &Path, bodies: &[Vec<u8>]) -> io::Result<Self> {
        // Narrow bundles of a log that has not filled one.
        fs::remove_dir_all(dir.join("tile"))?;
        let mut folder = Self {
            dir: dir.to_owned(),
            tree: Tree::new(),
            bundle: Vec::new(),
            bytes: 0,
        };
        for body in bodies {
            folder.append(body)?;
        }
        Ok(folder)
    }

    pub fn append(&mut self, body: &[u8]) -> io::Result<()> {
        self.tree.push(merkle::leaf_hash(body));
        if !push_entry(&mut self.bundle, body) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        match self.tree.size().is_multiple_of(WIDTH) {
            true => self.write_bundle(),
            false => Ok(()),
        }
    }

    /// Writes objects as one pack.
    pub fn pack(&mut self, mut objects: Vec<(Digest, Vec<u8>)>) -> io::Result<()> {
        objects.sort_unstable_by_key(|(digest, _)| *digest);
        let entry = |(digest, bytes): &(Digest, Vec<u8>)| PackEntry {
            digest: *digest,
            len: bytes.len() as u32,
        };
        let directory = PackDirectory::new(objects.iter().map(entry).collect());
        let directory = directory.ok_or(io::ErrorKind::InvalidData)?;
        let mut bytes = directory.to_bytes();
        let name = Digest::of(&bytes).to_string();
        objects
            .iter()
            .for_each(|(_, object)| bytes.extend_from_slice(object));
        self.write(&format!("archive/{name}"), &bytes)
    }

    /// Writes what is left, and the checkpoint.
    pub fn publish(mut self, sign: impl FnOnce(u64, Digest) -> String) -> io::Result<u64> {
        if !self.bundle.is_empty() {
            self.write_bundle()?;
        }
        for tile in grown(0, self.tree.size()) {
            if let Some(bytes) = self.tree.hash_tile(&tile) {
                self.write(&format!("tile/{tile}"), &bytes)?;
            }
        }
        let note = sign(self.tree.size(), self.tree.root());
        self.write("checkpoint", note.as_bytes())?;
        Ok(self.bytes)
    }

    fn write_bundle(&mut self) -> io::Result<()> {
        let size = self.tree.size();
        let tile = Level::Entries.tile((size - 1) / WIDTH, size);
        let tile = tile.ok_or(io::ErrorKind::InvalidData)?;
        let bytes = std::mem::take(&mut self.bundle);
        self.write(&format!("tile/{tile}"), &bytes)
    }

    fn write(&mut self, at: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.dir.join(at);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        self.bytes += bytes.len() as u64;
        fs::write(path, bytes)
    }
}
