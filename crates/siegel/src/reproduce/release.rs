//! `reproducible-build/expected/VERSION.json`: the digests of a release, kept in the repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use siegel_attest::Profile;
use siegel_endorse::{Build, Manifest, Part};
use siegel_ident::{Digest, json};
use siegel_recipe::{Record, of_commit};

use super::expected::{Expected, ExpectedFile};
use super::{BINARIES, worktree};
use crate::failure::{Exit, Failure};

const EXPECTED_MAX: usize = 64 * 1024;

/// `siegel/expected/v1`, canonical JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseFile {
    pub schema: String,
    pub version: String,
    /// SHA-256 of the source manifest.
    pub source: Digest,
    /// SHA-256 of the recipe.
    pub recipe: Digest,
    pub rustc: String,
    pub cc: String,
    /// Flavour to file name to SHA-256.
    pub flavours: BTreeMap<Profile, BTreeMap<String, Digest>>,
}

impl ReleaseFile {
    const SCHEMA: &'static str = "siegel/expected/v1";

    /// Of build records, one per flavour, all of one source.
    pub fn of(version: &str, records: &[Record]) -> Result<Self, Failure> {
        let bad = |message: &str| {
            let help = "build each flavour with reproducible-build/build from one commit";
            Failure::usage("bad-record", "--write-from", message, help)
        };
        let first = records.first().ok_or_else(|| bad("no record is given"))?;
        let mut flavours = BTreeMap::new();
        for record in records {
            if record.build.dirty || record.build.commit.is_none() {
                return Err(bad(
                    "a record is of a tree that is no commit: nobody else has its source",
                ));
            }
            if record.build != first.build {
                return Err(bad(
                    "the records are of different source, recipe, commit or tools",
                ));
            }
            if flavours
                .insert(record.flavour, record.binaries.clone())
                .is_some()
            {
                return Err(bad("two records are of one flavour"));
            }
        }
        let build = &first.build;
        Ok(Self {
            schema: Self::SCHEMA.to_owned(),
            version: version.to_owned(),
            source: build.source,
            recipe: build
                .recipe
                .ok_or_else(|| bad("a record is of a plain cargo build"))?,
            rustc: build.rustc.clone(),
            cc: build.cc.clone(),
            flavours,
        })
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>, Failure> {
        json::to_canonical(self).map_err(|why| Failure::failed("json", "release", why, ""))
    }

    fn read(checkout: &Path, version: &str) -> Result<Self, Failure> {
        let path = checkout.join(file(version)?);
        let at = path.display().to_string();
        let bytes = std::fs::read(&path).map_err(|why| {
            let message = format!("release {version}: {why}");
            let help = "the releases of this checkout are in reproducible-build/expected; git fetch \
                        gets newer ones";
            Failure::usage("no-such-release", &at, message, help)
        })?;
        let broken = |why: &dyn std::fmt::Display| {
            let message = format!("release {version}: {why}");
            Failure::usage("bad-release", &at, message, "restore it with git checkout")
        };
        let read: Self = json::from_canonical(&bytes, EXPECTED_MAX).map_err(|why| broken(&why))?;
        if read.schema != Self::SCHEMA || read.version != version {
            return Err(broken(&"it is of another schema or version"));
        }
        Ok(read)
    }
}

/// Where a release's file lies in a checkout.
pub fn file(version: &str) -> Result<PathBuf, Failure> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b".-+".contains(&b);
    if version.is_empty() || version.starts_with('.') || !version.bytes().all(plain) {
        let help = "a version is 0.1.0";
        return Err(Failure::usage("bad-version", "--release", version, help));
    }
    Ok(format!("reproducible-build/expected/{version}.json").into())
}

/// What a release's binaries must be. Its source is sought in the commits that touched the file, the
/// newest first, then in the present one: the file itself is no part of the source.
pub fn expected(checkout: &Path, version: &str, flavour: Profile) -> Result<Expected, Failure> {
    let release = ReleaseFile::read(checkout, version)?;
    let binaries = release.flavours.get(&flavour).ok_or_else(|| {
        let message = format!("release {version} has no flavour {flavour}");
        Failure::usage(
            "no-such-flavour",
            "--flavour",
            message,
            "name another with --flavour",
        )
    })?;
    let found = commit_of(checkout, version, release.source)?;
    let (commit, manifest) = found.unzip();
    let files = BINARIES.iter().zip([Part::Kms, Part::Root, Part::Worker]);
    let files = files.map(|(name, role)| {
        let sha256 = binaries.get(*name).copied().ok_or_else(|| {
            let message = format!("release {version} does not name {name}");
            Failure::usage(
                "bad-release",
                "release",
                message,
                "restore it with git checkout",
            )
        })?;
        Ok(ExpectedFile {
            role,
            name: (*name).to_owned(),
            sha256,
        })
    });
    Ok(Expected {
        flavour,
        files: files.collect::<Result<_, Failure>>()?,
        recipe: recipe(checkout, commit.as_deref(), release.recipe),
        build: Build {
            source: release.source,
            commit,
            dirty: false,
            recipe: Some(release.recipe),
            rustc: release.rustc,
            cc: release.cc,
        },
        manifest,
    })
}

fn commit_of(
    checkout: &Path,
    version: &str,
    source: Digest,
) -> Result<Option<(String, Manifest)>, Failure> {
    let path = file(version)?.display().to_string();
    let mut commits = worktree::history(checkout, &path).unwrap_or_default();
    commits.extend(worktree::head(checkout));
    for commit in commits {
        // A commit from before the build script is no source at all.
        let Ok(manifest) = of_commit(checkout, &commit) else {
            continue;
        };
        if manifest.digest().is_ok_and(|digest| digest == source) {
            return Ok(Some((commit, manifest)));
        }
    }
    Ok(None)
}

fn recipe(checkout: &Path, commit: Option<&str>, digest: Digest) -> Option<String> {
    let text = worktree::show(checkout, commit?, siegel_recipe::RECIPE_FILE).ok()?;
    (Digest::of(text.as_bytes()) == digest).then_some(text)
}

/// Writes a release's file from the records in `folders`.
pub fn write(checkout: &Path, version: &str, folders: &[PathBuf]) -> Result<PathBuf, Failure> {
    let record = |folder: &PathBuf| {
        let at = folder.display().to_string();
        let help = "name the --out folders of reproducible-build/build";
        let read =
            Record::fitting(folder).map_err(|why| Failure::usage("bad-record", &at, why, help))?;
        let message = "there is no build record here that fits the files";
        read.ok_or_else(|| Failure::usage("no-record", &at, message, help))
    };
    let records: Vec<Record> = folders.iter().map(record).collect::<Result<_, _>>()?;
    let bytes = ReleaseFile::of(version, &records)?.to_bytes()?;
    let path = checkout.join(file(version)?);
    let at = path.display().to_string();
    let cannot = |why| Failure::new(Exit::Failed, "cannot-write", &at, why, "is the disk full?");
    std::fs::create_dir_all(path.with_file_name("")).map_err(cannot)?;
    std::fs::write(&path, bytes).map_err(cannot)?;
    Ok(path)
}

#[cfg(test)]
mod tests;
