//! Why there is no manifest, record or binary.

use std::path::{Path, PathBuf};

use siegel_attest::Profile;
use siegel_endorse::EndorseError;
use siegel_ident::json::JsonError;

/// What went wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// `--binaries DIR` lacks one.
    #[error("{} has no {name}: expected siegel-kms, siegel-root and siegel-worker", dir.display())]
    Missing {
        /// The directory.
        dir: PathBuf,
        /// Which is missing.
        name: &'static str,
    },
    /// The binaries are of the other flavour (I11).
    #[error(
        "the binaries in {} are of flavour {found}, by their {}; this needs flavour {expected} (I11): \
         reproducible-build/build --flavour {expected}", dir.display(), crate::RECORD_FILE
    )]
    OtherFlavour {
        /// The directory.
        dir: PathBuf,
        /// What the record says.
        found: Profile,
        /// What was asked for.
        expected: Profile,
    },
    /// A record lies beside given files that it does not describe.
    #[error(
        "{} in {} does not describe the files beside it: build them again, or take it away to run files \
         that nobody vouches for", crate::RECORD_FILE, dir.display()
    )]
    OtherFiles {
        /// The directory.
        dir: PathBuf,
    },
    /// Neither packaged binaries nor a checkout to build from.
    #[error(
        "no node binaries beside this executable, and no checkout to build them from: \
         run inside a checkout, or name a folder with --binaries DIR"
    )]
    NotFound,
    /// A program cannot be started.
    #[error("cannot run {program}: {source}; install {install}")]
    NoProgram {
        /// What was tried.
        program: String,
        /// The cause.
        source: std::io::Error,
        /// What brings it.
        install: &'static str,
    },
    /// The build script says that it cannot build here.
    #[error("this machine cannot build the node binaries:\n{tail}")]
    CannotBuild {
        /// The end of its messages.
        tail: String,
    },
    /// The build failed.
    #[error("building {name} failed:\n{tail}")]
    Build {
        /// Which binary was being built.
        name: String,
        /// The end of the messages.
        tail: String,
    },
    /// The script has built, but its record does not fit the files.
    #[error("{}: no record that fits the files beside it; was something else building there? build again", dir.display())]
    NoRecord {
        /// The output folder.
        dir: PathBuf,
    },
    /// A source file that a manifest cannot name.
    #[error("source file {path}: {problem}")]
    Source {
        /// Which, from the checkout.
        path: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The list of files is no manifest.
    #[error("source manifest: {0}")]
    Manifest(#[from] EndorseError),
    /// The recipe is not one.
    #[error("recipe: {0}")]
    Recipe(String),
    /// A record is not one.
    #[error("{}: {source}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: JsonError,
    },
    /// A field of a record is outside its grammar.
    #[error("{}: {field} {problem}", path.display())]
    RecordField {
        /// The file.
        path: PathBuf,
        /// Which field.
        field: &'static str,
        /// What is wrong.
        problem: &'static str,
    },
    /// Git does not know the commit, or cannot read it.
    #[error("git in {}: {why}", checkout.display())]
    Git {
        /// Where it was asked.
        checkout: PathBuf,
        /// Its words.
        why: String,
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

impl RecipeError {
    /// True where this machine cannot (exit 4), false where the request or the source is wrong.
    pub fn machine_cannot(&self) -> bool {
        matches!(
            self,
            Self::NotFound | Self::NoProgram { .. } | Self::CannotBuild { .. }
        )
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
