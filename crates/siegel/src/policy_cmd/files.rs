//! Files in and out. Inputs are bounded; an output never replaces a file unasked.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;

use siegel_policy::{AccessPolicy, POLICY_MAX, Policy, PolicyError};

use crate::failure::{Exit, Failure};

/// Reads at most `max` bytes.
pub fn read(path: &Path, what: &str, max: usize) -> Result<Vec<u8>, Failure> {
    let at = path.display().to_string();
    let cannot = |why: std::io::Error| {
        let message = format!("cannot read the {what}: {why}");
        Failure::usage(
            "cannot-read",
            &at,
            message,
            "check the path and its permissions",
        )
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(cannot)?;
    file.take(max as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    if bytes.len() > max {
        let message = format!("the {what} is longer than {max} bytes");
        return Err(Failure::usage(
            "too-long",
            &at,
            message,
            "is this the right file?",
        ));
    }
    Ok(bytes)
}

/// Reads a text.
pub fn read_text(path: &Path, what: &str, max: usize) -> Result<String, Failure> {
    String::from_utf8(read(path, what, max)?).map_err(|_| {
        let at = path.display().to_string();
        Failure::usage("not-text", &at, format!("the {what} is not UTF-8"), "")
    })
}

/// The bytes of a compiled policy, and what they parse to. A TOML file gets a hint.
pub(super) fn read_policy(path: &Path) -> Result<Result<Policy, PolicyError>, Failure> {
    if path.extension().is_some_and(|ext| ext == "toml") {
        let at = path.display().to_string();
        let help = "compile it first: siegel policy build";
        return Err(Failure::usage(
            "not-compiled",
            &at,
            "this is TOML, not a policy",
            help,
        ));
    }
    Ok(AccessPolicy::parse(&read(path, "policy", POLICY_MAX)?))
}

/// As a command that needs a good policy: one that does not parse is not trustworthy (exit 3).
pub fn good_policy(path: &Path) -> Result<Policy, Failure> {
    read_policy(path)?.map_err(|error| {
        let at = path.display().to_string();
        let help = "build it again with siegel policy build";
        Failure::new(Exit::NotTrustworthy, "policy-malformed", &at, &error, help)
            .under(error.invariant())
    })
}

/// Refuses files that are there and may not be replaced, before anything is done.
pub fn absent(paths: &[&Path], force: bool) -> Result<(), Failure> {
    match paths.iter().find(|path| !force && path.exists()) {
        None => Ok(()),
        Some(path) => Err(Failure::usage(
            "cannot-write",
            &path.display().to_string(),
            "the file exists",
            "choose another name for the output, or replace it with --force",
        )),
    }
}

/// Writes a new file; replaces one only with `force`.
pub fn write(path: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    let at = path.display().to_string();
    let mut options = OpenOptions::new();
    options.write(true);
    match force {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    let mut file = options.open(path).map_err(|why| {
        let help = "choose another --out, or replace it with --force";
        Failure::usage("cannot-write", &at, why, help)
    })?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(|why| Failure::failed("cannot-write", &at, why, "is the disk full?"))
}
