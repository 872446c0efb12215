//! Which crates a measured binary links, and where their source lies. Asks cargo.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::TcbError;
use crate::reproduce::Flavour;

/// The one platform that is measured.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Name and version of a crate.
pub type CrateId = (String, String);

/// A crate's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub id: CrateId,
    /// Of this workspace.
    pub ours: bool,
    /// The folder of its library, else of its binary.
    pub folder: PathBuf,
}

/// The crates that `package` links, without procedural macros and build scripts: those run in the
/// compiler, not in the binary.
pub fn linked(
    checkout: &Path,
    package: &str,
    flavour: Flavour,
    offline: bool,
) -> Result<BTreeSet<CrateId>, TcbError> {
    let mut command = cargo(checkout, "tree", offline);
    command.args(["-p", package, "--edges", "normal,no-proc-macro"]);
    command.args(["--target", TARGET, "--prefix", "none", "--format", "{p}"]);
    if flavour == Flavour::Simulation {
        command.args(["--features", &format!("{package}/simulation")]);
    }
    parse_tree(&output(command, "tree")?)
}

/// Lines such as `ring v0.17.14` and `siegel-kms v0.1.0 (/checkout/crates/kms) (*)`.
pub fn parse_tree(text: &[u8]) -> Result<BTreeSet<CrateId>, TcbError> {
    let text = String::from_utf8_lossy(text);
    let mut found = BTreeSet::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let version = |word: &str| word.strip_prefix('v').map(str::to_owned);
        let (Some(name), Some(version)) = (words.next(), words.next().and_then(version)) else {
            let why = format!("`cargo tree` printed {line:?}");
            return Err(TcbError::Answer { why });
        };
        found.insert((name.to_owned(), version));
    }
    Ok(found)
}

/// All crates that the lock file names for this platform.
pub fn sources(checkout: &Path, offline: bool) -> Result<Vec<Source>, TcbError> {
    let mut command = cargo(checkout, "metadata", offline);
    command.args(["--format-version", "1", "--filter-platform", TARGET]);
    parse_metadata(&output(command, "metadata")?)
}

/// Cargo's JSON, as far as it is used.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// Absent for a member of the workspace.
    source: Option<String>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
}

fn parse_metadata(json: &[u8]) -> Result<Vec<Source>, TcbError> {
    let metadata: Metadata = serde_json::from_slice(json).map_err(|why| TcbError::Answer {
        why: format!("`cargo metadata`: {why}"),
    })?;
    let sources = metadata.packages.into_iter().filter_map(|package| {
        let folder = package.folder()?;
        Some(Source {
            id: (package.name, package.version),
            ours: package.source.is_none(),
            folder,
        })
    });
    Ok(sources.collect())
}

impl Package {
    /// The folder of the library's root file, else of a binary's.
    fn folder(&self) -> Option<PathBuf> {
        let of = |wanted: &dyn Fn(&str) -> bool| {
            let mut targets = self.targets.iter();
            targets.find(|target| target.kind.iter().any(|kind| wanted(kind)))
        };
        let target = of(&|kind| kind.ends_with("lib")).or_else(|| of(&|kind| kind == "bin"))?;
        target.src_path.parent().map(Path::to_path_buf)
    }
}

fn cargo(checkout: &Path, what: &str, offline: bool) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args([what, "--locked", "--color", "never"]);
    if offline {
        command.arg("--offline");
    }
    command.current_dir(checkout).stdin(Stdio::null());
    command
}

fn output(mut command: Command, what: &'static str) -> Result<Vec<u8>, TcbError> {
    let output = command.output().map_err(TcbError::NoCargo)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(TcbError::Cargo { what, said })
}
