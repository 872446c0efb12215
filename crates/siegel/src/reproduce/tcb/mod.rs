//! `siegel reproduce --tcb`: how much code one trusts with each measured binary (I16).
//!
//! Counted are the `.rs` files of every linked crate, tests in them and code for other platforms
//! included: an upper bound. Not counted: the standard library, code that a build script writes, and
//! the C and assembly of `ring`.

mod count;
mod linked;
mod show;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{BINARIES, Flavour};
use count::count;
use linked::{CrateId, Source};

pub use show::text;

/// Why there is no count.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TcbError {
    /// Cargo cannot be started.
    #[error("cannot run cargo: {0}")]
    NoCargo(#[source] std::io::Error),
    /// Cargo refused.
    #[error("`cargo {what}` failed: {said}")]
    Cargo {
        /// The subcommand.
        what: &'static str,
        /// Its words.
        said: String,
    },
    /// Cargo's answer is not what this version reads.
    #[error("cargo's answer cannot be read: {why}")]
    Answer {
        /// What is wrong with it.
        why: String,
    },
    /// A linked crate is not among those that cargo knows.
    #[error("the source of {name} {version} is not known to cargo")]
    NoSource {
        /// The crate.
        name: String,
        /// Its version.
        version: String,
    },
    /// A source file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// `siegel/tcb/v1`.
#[derive(Clone, Debug, Serialize)]
pub struct Tcb {
    pub schema: &'static str,
    pub flavour: Flavour,
    pub target: &'static str,
    pub binaries: Vec<Measured>,
    /// Files with a comment or string that does not end: their figures are a guess.
    pub not_lexed: Vec<PathBuf>,
}

/// One measured binary.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    pub name: &'static str,
    pub ours: Totals,
    pub others: Totals,
    /// All linked crates, the one with most lines first.
    pub crates: Vec<Weight>,
}

/// Sums over crates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    pub crates: u64,
    /// Lines of Rust that are neither blank nor comment.
    pub lines: u64,
    pub unsafe_tokens: u64,
}

/// One linked crate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Weight {
    pub name: String,
    pub version: String,
    pub ours: bool,
    pub lines: u64,
    pub unsafe_tokens: u64,
}

/// Counts what the three measured binaries of a checkout link.
pub fn tcb(checkout: &Path, flavour: Flavour, offline: bool) -> Result<Tcb, TcbError> {
    let sources = linked::sources(checkout, offline)?;
    let sources: BTreeMap<CrateId, Source> =
        sources.into_iter().map(|s| (s.id.clone(), s)).collect();
    let mut weighed = BTreeMap::new();
    let mut not_lexed = Vec::new();
    let mut binaries = Vec::new();
    for name in BINARIES {
        let mut crates = Vec::new();
        for id in linked::linked(checkout, name, flavour, offline)? {
            if !weighed.contains_key(&id) {
                let source = sources.get(&id).ok_or_else(|| TcbError::NoSource {
                    name: id.0.clone(),
                    version: id.1.clone(),
                })?;
                weighed.insert(id.clone(), weigh(source, &mut not_lexed)?);
            }
            crates.extend(weighed.get(&id).cloned());
        }
        binaries.push(Measured::of(name, crates));
    }
    Ok(Tcb {
        schema: "siegel/tcb/v1",
        flavour,
        target: linked::TARGET,
        binaries,
        not_lexed,
    })
}

impl Measured {
    fn of(name: &'static str, mut crates: Vec<Weight>) -> Self {
        crates.sort_by(|a, b| b.lines.cmp(&a.lines).then_with(|| a.name.cmp(&b.name)));
        let mut totals = [Totals::default(); 2];
        for weight in &crates {
            let [ours, others] = &mut totals;
            let total = if weight.ours { ours } else { others };
            total.crates += 1;
            total.lines += weight.lines;
            total.unsafe_tokens += weight.unsafe_tokens;
        }
        let [ours, others] = totals;
        Self {
            name,
            ours,
            others,
            crates,
        }
    }
}

fn weigh(source: &Source, not_lexed: &mut Vec<PathBuf>) -> Result<Weight, TcbError> {
    let mut weight = Weight {
        name: source.id.0.clone(),
        version: source.id.1.clone(),
        ours: source.ours,
        lines: 0,
        unsafe_tokens: 0,
    };
    let mut folders = vec![source.folder.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(io(&folder))? {
            let entry = entry.map_err(io(&folder))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(io(&folder))?);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|ext| ext == "rs") {
                let counted = count(&std::fs::read(&path).map_err(io(&path))?);
                weight.lines += counted.lines;
                weight.unsafe_tokens += counted.unsafe_tokens;
                if !counted.whole {
                    not_lexed.push(path);
                }
            }
        }
    }
    Ok(weight)
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> TcbError + use<> {
    let path = path.to_owned();
    move |source| TcbError::Io { path, source }
}
