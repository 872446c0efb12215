//! Finds the node binaries, or builds them.

mod build;
mod source;
mod stamp;

use std::path::{Path, PathBuf};

use siegel_ident::Digest;

pub use source::{checkout, source_digest};
pub use stamp::{STAMP_FILE, Stamp};

/// The measured binaries, in build order.
pub const NODES: [&str; 3] = ["siegel-kms", "siegel-root", "siegel-worker"];

/// The three measured binaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeBinaries {
    /// The key service.
    pub kms: PathBuf,
    /// The root.
    pub root: PathBuf,
    /// The worker.
    pub worker: PathBuf,
    /// How they were found.
    pub origin: Origin,
}

/// Where binaries came from; the summary says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `--binaries DIR`: taken as they are.
    Given,
    /// Packaged with the running executable.
    Beside,
    /// Built earlier from exactly this source.
    Built,
    /// Built just now.
    Fresh,
}

/// Cargo profile of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildProfile {
    /// `--release`: what `simulate` uses.
    Release,
    /// The dev profile: for tests.
    Dev,
}

/// What to look for.
#[derive(Clone, Debug)]
pub struct Request {
    /// `--binaries DIR`.
    pub dir: Option<PathBuf>,
    /// How to build.
    pub profile: BuildProfile,
    /// Build without network.
    pub offline: bool,
}

/// What the search does at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Which binary, as `siegel-kms`.
    pub binary: &'static str,
    /// Counted from 1.
    pub number: usize,
    /// Of so many.
    pub of: usize,
    /// Cargo's latest line.
    pub line: String,
}

/// Why there are no binaries.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BinariesError {
    /// `--binaries DIR` lacks one.
    #[error("{} has no {name}: expected siegel-kms, siegel-root and siegel-worker", dir.display())]
    Missing {
        /// The directory.
        dir: PathBuf,
        /// Which is missing.
        name: &'static str,
    },
    /// Neither packaged binaries nor a checkout to build from.
    #[error(
        "no node binaries beside this executable, and no checkout to build them from: \
         run inside a checkout, or name a folder with --binaries DIR"
    )]
    NotFound,
    /// Cargo cannot be started.
    #[error("cannot run {cargo}: {source}; install Rust, or name a folder with --binaries DIR")]
    NoCargo {
        /// What was tried.
        cargo: String,
        /// The cause.
        source: std::io::Error,
    },
    /// Cargo failed.
    #[error("building {name} failed:\n{tail}")]
    Build {
        /// Which.
        name: &'static str,
        /// The end of cargo's messages.
        tail: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

impl BinariesError {
    /// True where this machine cannot (exit 4), false where the request or the source is wrong.
    pub fn machine_cannot(&self) -> bool {
        matches!(self, Self::NotFound | Self::NoCargo { .. })
    }
}

/// Looks in `--binaries`; else beside the running executable; else in the checkout's own target
/// folder; else builds there, one cargo invocation per binary, since unified features could put the
/// simulator into a production KMS (I11).
pub fn find(
    request: &Request,
    progress: &mut dyn FnMut(&Progress),
) -> Result<NodeBinaries, BinariesError> {
    if let Some(dir) = &request.dir {
        for name in NODES {
            if !dir.join(name).is_file() {
                return Err(BinariesError::Missing {
                    dir: dir.clone(),
                    name,
                });
            }
        }
        return Ok(in_dir(dir, Origin::Given));
    }
    let running = std::env::current_exe().map_err(io(Path::new("the running executable")))?;
    if let Some(dir) = running.parent()
        && stamp::packaged(dir, &running)?
    {
        return Ok(in_dir(dir, Origin::Beside));
    }
    let checkout = checkout(&running).ok_or(BinariesError::NotFound)?;
    build::ensure(&checkout, request, progress)
}

fn in_dir(dir: &Path, origin: Origin) -> NodeBinaries {
    let at = |name: &str| dir.join(name);
    NodeBinaries {
        kms: at("siegel-kms"),
        root: at("siegel-root"),
        worker: at("siegel-worker"),
        origin,
    }
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> BinariesError + use<> {
    let path = path.to_owned();
    move |source| BinariesError::Io { path, source }
}

fn file_digest(path: &Path) -> Result<Digest, BinariesError> {
    Ok(Digest::of(&std::fs::read(path).map_err(io(path))?))
}
