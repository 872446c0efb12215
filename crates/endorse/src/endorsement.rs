//! The document.

use serde::{Deserialize, Serialize};
use siegel_attest::{Profile, ReferenceValue};
use siegel_ident::{Digest, ProgramDigest, Timestamp, json};

use crate::EndorseError;

/// Longest endorsement, in bytes.
pub const ENDORSEMENT_MAX: usize = 16 * 1024;
const FILES_MAX: usize = 16;
const MEASUREMENTS_MAX: usize = 16;
const NAME_MAX: usize = 128;
const LINE_MAX: usize = 256;
/// Numbers in hashed JSON stay below 2⁵³, so that every JSON reader sees the same value (I2).
const NUMBER_LIMIT: u64 = 1 << 53;

/// An endorsement, `siegel/endorsement/v1`: canonical JSON, named by the SHA-256 of its exact bytes.
/// It is the artifact of a statement in the log (predicate type `ENDORSEMENT`); the key that signed
/// that statement is the endorser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endorsement {
    /// `siegel/endorsement/v1`.
    pub schema: String,
    /// For people: 1 to 128 printable characters.
    pub name: String,
    /// First second in which it holds.
    pub not_before: Timestamp,
    /// First second in which it holds no more.
    pub not_after: Timestamp,
    /// What is vouched for.
    pub subject: Subject,
}

/// What an endorsement is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Measured binaries of one flavour.
    Binaries(Binaries),
    /// A program bundle.
    Program(ProgramDigest),
}

/// Measured binaries, and how they were made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binaries {
    /// With the simulator or without it (I11).
    pub flavour: Profile,
    /// The files, ascending by role.
    pub files: Vec<Binary>,
    /// How they were built; `null` if the endorser does not know, and then nobody can rebuild them.
    #[serde(deserialize_with = "json::present")]
    pub build: Option<Build>,
}

/// One binary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binary {
    /// What it is for.
    pub role: Part,
    /// Its file name, as `siegel-kms`.
    pub name: String,
    /// SHA-256 of the file.
    pub sha256: Digest,
    /// What it measures in the role, by kind of TEE; ascending, may be empty.
    pub measurements: Vec<ReferenceValue>,
}

/// The role of a measured binary. Its endorsement for one is none for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// A member of the key service.
    Kms,
    /// The root of runs.
    Root,
    /// A worker.
    Worker,
}

impl Part {
    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kms => "kms",
            Self::Root => "root",
            Self::Worker => "worker",
        }
    }
}

/// How binaries were built: enough to build them again and to explain a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// SHA-256 of the source manifest ([`crate::Manifest`]), whose bytes are in the archive.
    pub source: Digest,
    /// The Git commit that the tree was at: 40 hex digits; `null` outside a Git checkout.
    #[serde(deserialize_with = "json::present")]
    pub commit: Option<String>,
    /// The tree differed from that commit: nobody else has this source by its name.
    pub dirty: bool,
    /// SHA-256 of `reproducible-build/recipe.toml`; `null` for a plain cargo build, which nobody can
    /// be expected to repeat bit for bit.
    #[serde(deserialize_with = "json::present")]
    pub recipe: Option<Digest>,
    /// `rustc --version`.
    pub rustc: String,
    /// First line of the C compiler's `--version`.
    pub cc: String,
}

impl Build {
    /// Anyone can fetch the source by its commit and repeat the build by its recipe.
    pub fn is_reproducible(&self) -> bool {
        self.recipe.is_some() && self.commit.is_some() && !self.dirty
    }

    fn check(&self) -> Result<(), EndorseError> {
        if let Some(commit) = &self.commit {
            let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            let good = commit.len() == 40 && commit.bytes().all(hex);
            require(
                good,
                "build.commit",
                "must be 40 lower-case hex digits or null",
            )?;
        }
        require(
            is_line(&self.rustc, LINE_MAX),
            "build.rustc",
            "must be one line",
        )?;
        require(is_line(&self.cc, LINE_MAX), "build.cc", "must be one line")
    }
}

impl Endorsement {
    /// The value of `schema`.
    pub const SCHEMA: &'static str = "siegel/endorsement/v1";

    /// Reads exactly the canonical bytes and checks every rule (I2, I14).
    ///
    /// # Errors
    /// [`EndorseError`] names the field.
    pub fn parse(bytes: &[u8]) -> Result<Self, EndorseError> {
        let document = Self::SCHEMA;
        let read: Self = json::from_canonical(bytes, ENDORSEMENT_MAX)
            .map_err(|source| EndorseError::Json { document, source })?;
        read.check()?;
        Ok(read)
    }

    /// The canonical bytes; refuses a document that would not parse.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, EndorseError> {
        self.check()?;
        let document = Self::SCHEMA;
        let bytes =
            json::to_canonical(self).map_err(|source| EndorseError::Json { document, source })?;
        Self::parse(&bytes)?;
        Ok(bytes)
    }

    /// `not_before ≤ now < not_after`.
    pub fn holds_at(&self, now: Timestamp) -> bool {
        self.not_before <= now && now < self.not_after
    }

    fn check(&self) -> Result<(), EndorseError> {
        if self.schema != Self::SCHEMA {
            return Err(EndorseError::Schema {
                expected: Self::SCHEMA,
                found: self.schema.chars().take(80).collect(),
            });
        }
        require(
            is_line(&self.name, NAME_MAX),
            "name",
            "must be one line of 1 to 128 printable characters",
        )?;
        let (not_before, not_after) = (self.not_before, self.not_after);
        if not_before >= not_after {
            return Err(EndorseError::Window {
                not_before,
                not_after,
            });
        }
        require(
            not_after.0 < NUMBER_LIMIT,
            "not_after",
            "must be below 2^53",
        )?;
        match &self.subject {
            Subject::Program(_) => Ok(()),
            Subject::Binaries(binaries) => binaries.check(),
        }
    }
}

impl Binaries {
    fn check(&self) -> Result<(), EndorseError> {
        let files = &self.files;
        require(
            (1..=FILES_MAX).contains(&files.len()),
            "files",
            "must name 1 to 16 files",
        )?;
        let ascending = files.is_sorted_by(|a, b| (a.role, a.sha256) < (b.role, b.sha256));
        require(
            ascending,
            "files",
            "must be strictly ascending by role and digest",
        )?;
        for file in files {
            let name = &file.name;
            let good = is_line(name, NAME_MAX) && !name.contains(['/', '\\', ' ']);
            require(
                good,
                "files.name",
                "must be a file name without folder or space",
            )?;
            let values = &file.measurements;
            let bounded = values.len() <= MEASUREMENTS_MAX && values.is_sorted_by(|a, b| a < b);
            require(
                bounded,
                "files.measurements",
                "must be at most 16, strictly ascending",
            )?;
        }
        self.build.as_ref().map_or(Ok(()), Build::check)
    }
}

fn require(good: bool, field: &'static str, problem: &'static str) -> Result<(), EndorseError> {
    match good {
        true => Ok(()),
        false => Err(EndorseError::Field { field, problem }),
    }
}

/// Printable, not empty, bounded: it is shown to people.
fn is_line(text: &str, max: usize) -> bool {
    (1..=max).contains(&text.len()) && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests;
