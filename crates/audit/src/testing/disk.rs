//! What an operator can do to the folder of a log.

use std::fs;
use std::path::{Path, PathBuf};

use siegel_ident::Digest;
use siegel_rekor::{PackDirectory, PackEntry};
use siegel_translog::tiles::{Level, WIDTH};

/// Where the last entries lie.
pub fn last_bundle(log: &Path) -> PathBuf {
    let note = fs::read_to_string(log.join("checkpoint")).unwrap();
    let size: u64 = note.lines().nth(1).unwrap().parse().unwrap();
    let last = Level::Entries.tile((size - 1) / WIDTH, size).unwrap();
    log.join(format!("tile/{last}"))
}

/// Takes an object out of the archive, as if it had never been there.
pub fn withhold(log: &Path, bytes: &[u8]) {
    let digest = Digest::of(bytes);
    let (path, pack, directory) = pack_of(log, &digest);
    fs::remove_file(path).unwrap();
    let (mut entries, mut bodies) = (Vec::new(), Vec::new());
    for (entry, body) in objects(&pack, &directory) {
        if entry.digest != digest {
            entries.push(*entry);
            bodies.push(body);
        }
    }
    if let Some(rest) = PackDirectory::new(entries) {
        let head = rest.to_bytes();
        let path = log.join("archive").join(Digest::of(&head).to_string());
        fs::write(path, [head, bodies.concat()].concat()).unwrap();
    }
}

/// Changes a byte of an object in the archive.
pub fn rot(log: &Path, bytes: &[u8]) {
    let digest = Digest::of(bytes);
    let (path, mut pack, directory) = pack_of(log, &digest);
    let (_, at) = directory
        .places()
        .find(|(entry, _)| entry.digest == digest)
        .unwrap();
    pack[at as usize] ^= 1;
    fs::write(path, pack).unwrap();
}

fn pack_of(log: &Path, digest: &Digest) -> (PathBuf, Vec<u8>, PackDirectory) {
    for file in fs::read_dir(log.join("archive")).unwrap() {
        let path = file.unwrap().path();
        let pack = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let directory = PackDirectory::of_pack(&name.parse().unwrap(), &pack).unwrap();
        if directory.places().any(|(entry, _)| entry.digest == *digest) {
            return (path, pack, directory);
        }
    }
    panic!("{digest} is not archived");
}

fn objects<'a>(
    pack: &'a [u8],
    directory: &'a PackDirectory,
) -> impl Iterator<Item = (&'a PackEntry, &'a [u8])> {
    let body = |entry: &PackEntry, at: u64| &pack[at as usize..][..entry.len as usize];
    directory
        .places()
        .map(move |(entry, at)| (entry, body(entry, at)))
}
