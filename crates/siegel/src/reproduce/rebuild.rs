//! Builds again and compares: what is in the way first, then the build, then the causes.

mod here;

use std::path::{Path, PathBuf};
use std::time::Instant;

use siegel_endorse::{Build, Manifest};
use siegel_ident::Digest;
use siegel_policy::{Finding, Severity};
use siegel_recipe::{RecipeError, Record, Script, run};

use super::causes::{self, Cause};
use super::expected::Expected;
use super::worktree;
use crate::failure::{Exit, Failure};
use here::Here;

/// Builds a checkout by its recipe.
const SCRIPT: &str = "reproducible-build/build";

/// How to rebuild.
#[derive(Clone, Debug)]
pub struct Options {
    pub checkout: PathBuf,
    /// The working tree as it stands, instead of the stated commit.
    pub here: bool,
    pub offline: bool,
    /// Leave the worktree.
    pub keep: bool,
    /// Compare source and recipe only.
    pub no_build: bool,
}

/// What is heard on the way.
#[derive(Debug)]
pub enum Heard<'a> {
    /// A difference, known before the build.
    Difference(&'a Cause),
    /// The build script's latest line.
    Line(&'a str),
}

/// How it went.
#[derive(Debug, Default)]
pub struct Rebuilt {
    /// The rebuilt binaries; None if nothing was built.
    pub record: Option<Record>,
    /// Where the source or the tools differ; if the bytes differ, these are the causes.
    pub causes: Vec<Cause>,
    pub findings: Vec<Finding>,
    /// A mismatch that is certain without a build.
    pub certain: bool,
    pub build_s: Option<f64>,
}

/// Why a build cannot be repeated at all.
pub fn not_reproducible(build: &Build, here: bool) -> Option<Finding> {
    let (id, message) = if build.recipe.is_none() {
        let message = "these binaries are of a plain cargo build, without the recipe: their bytes depend \
                       on the machine, and nobody can be expected to repeat them";
        ("plain-cargo-build", message)
    } else if build.commit.is_none() && !here {
        let message =
            "no commit with the stated source is known: compare a working tree with --here";
        ("no-commit-named", message)
    } else {
        return None;
    };
    Some(Finding::new(Severity::Error, id, "", message))
}

/// Compares the source, builds unless that is pointless, and says what differs. `hear` gets what
/// a waiting person wants to know.
pub fn rebuild(
    expected: &Expected,
    options: &Options,
    hear: &mut dyn FnMut(Heard<'_>),
) -> Result<Rebuilt, Failure> {
    let checkout = &options.checkout;
    let folder = checkout.join("target/reproduce");
    std::fs::create_dir_all(&folder).map_err(|why| disk(&folder, &why))?;
    let lock = std::fs::File::create(folder.join("lock")).map_err(|why| disk(&folder, &why))?;
    lock.lock().map_err(|why| disk(&folder, &why))?;
    if expected.build.dirty && !options.here {
        return dirty(expected, options, hear);
    }
    let source = Here::of(expected, options)?;
    let mut rebuilt = Rebuilt {
        causes: source.causes(expected),
        findings: other_script(&source.manifest, checkout)
            .into_iter()
            .collect(),
        ..Rebuilt::default()
    };
    for cause in &rebuilt.causes {
        hear(Heard::Difference(cause));
    }
    if options.no_build {
        return Ok(rebuilt);
    }

    let started = Instant::now();
    let commit = expected.build.commit.as_deref().filter(|_| !options.here);
    let tree = commit
        .map(|commit| worktree::Worktree::add(checkout, &folder, commit, options.keep))
        .transpose()?;
    let target = folder.join(format!("build-{}", expected.flavour));
    forget_ours(&target).map_err(|why| disk(&target, &why))?;
    let script = Script {
        checkout: tree
            .as_ref()
            .map_or(checkout.as_path(), worktree::Worktree::path)
            .to_owned(),
        flavour: expected.flavour,
        out: folder.join(format!("out-{}", expected.flavour)),
        target_dir: Some(target.clone()),
        offline: options.offline,
        jobs: None,
    };
    let record =
        run(&script, &mut |progress| hear(Heard::Line(&progress.line))).map_err(build_failure)?;
    rebuilt.build_s = Some(started.elapsed().as_secs_f64());
    rebuilt
        .causes
        .extend(causes::tools(&expected.build, &record.build));
    if source
        .manifest
        .digest()
        .is_ok_and(|digest| digest != record.build.source)
    {
        let message = "the files that were built are not those of the commit or tree: does a git filter \
                       or another program change them?";
        rebuilt.causes.push(Cause::new("source-differs", message));
    }
    if differs(expected, &record) {
        rebuilt.causes.extend(leaks(expected, &record, &script)?);
        if rebuilt.causes.is_empty() {
            rebuilt.causes.push(causes::unknown());
        }
    }
    rebuilt.record = Some(record);
    Ok(rebuilt)
}

/// The commit's own script builds it. Whoever wrote that commit could write a script that fetches the
/// stated bytes, so a script that is not the one of this checkout is said.
fn other_script(source: &Manifest, checkout: &Path) -> Option<Finding> {
    let here = std::fs::read(checkout.join(SCRIPT)).ok();
    let here = here.map(|bytes| Digest::of(&bytes));
    if source.files.get(SCRIPT) == here.as_ref() {
        return None;
    }
    let message = format!(
        "the stated commit is built by a {SCRIPT} that is not the one of this checkout: read it, it \
         decides what is compared"
    );
    Some(Finding::new(Severity::Warning, "other-script", "", message))
}

/// The stated source is in no commit: a build of the commit would show nothing.
fn dirty(
    expected: &Expected,
    options: &Options,
    hear: &mut dyn FnMut(Heard<'_>),
) -> Result<Rebuilt, Failure> {
    let mut causes = vec![endorsed_dirty(&expected.build)];
    let commit = expected.build.commit.as_deref();
    if commit.is_some_and(|commit| worktree::has(&options.checkout, commit)) {
        causes.extend(Here::of(expected, options)?.causes(expected));
    }
    for cause in &causes {
        hear(Heard::Difference(cause));
    }
    Ok(Rebuilt {
        causes,
        certain: true,
        ..Rebuilt::default()
    })
}

/// Whether any stated binary is not what was built.
pub fn differs(expected: &Expected, record: &Record) -> bool {
    let built = |name: &str| record.binaries.get(name);
    expected
        .files
        .iter()
        .any(|file| built(&file.name) != Some(&file.sha256))
}

fn endorsed_dirty(build: &Build) -> Cause {
    let commit = build.commit.as_deref().unwrap_or("none");
    let message = format!(
        "dirty tree: the stated build was of a tree that differed from its commit {commit}, so that nobody \
         else has its source; not built"
    );
    Cause::new("dirty-tree", message)
}

fn leaks(expected: &Expected, record: &Record, script: &Script) -> Result<Vec<Cause>, Failure> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = variable("HOME").unwrap_or_default();
    let cargo_home = variable("CARGO_HOME").unwrap_or_else(|| home.join(".cargo"));
    let target = script.target_dir.clone().unwrap_or_default();
    let paths = [
        ("checkout path", script.checkout.as_path()),
        ("CARGO_HOME", &cargo_home),
        ("HOME", &home),
        ("target folder", &target),
    ];
    let mut found = Vec::new();
    for file in &expected.files {
        if record
            .binaries
            .get(&file.name)
            .is_some_and(|built| *built != file.sha256)
        {
            let path = script.out.join(&file.name);
            let bytes = std::fs::read(&path).map_err(|why| disk(&path, &why))?;
            found.extend(causes::path_leaks(&file.name, &bytes, &paths));
        }
    }
    Ok(found)
}

/// Cargo tells by file times whether our crates are built already, and those of another commit in
/// the same target folder can be older than the last build. Built from old files, a false MATCH would
/// be said. So our own crates are always compiled again; those of others never change.
fn forget_ours(target: &Path) -> std::io::Result<()> {
    for release in ["x86_64-unknown-linux-gnu/release", "release"] {
        let notes = target.join(release).join(".fingerprint");
        let Ok(entries) = std::fs::read_dir(notes) else {
            continue;
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b"siegel") {
                std::fs::remove_dir_all(entry.path())?;
            }
        }
    }
    Ok(())
}

fn build_failure(why: RecipeError) -> Failure {
    let exit = if why.machine_cannot() {
        Exit::MachineCannot
    } else {
        Exit::Failed
    };
    let help = "the messages above say what is wrong; nothing was compared";
    Failure::new(exit, "build", SCRIPT, why, help)
}

fn disk(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::failed(
        "disk",
        &path.display().to_string(),
        why,
        "is the disk full?",
    )
}

#[cfg(test)]
mod tests;
