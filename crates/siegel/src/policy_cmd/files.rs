//! Files in and out. Inputs are bounded (I14); an output never replaces a file unasked.
//!
//! Every command reads and writes here, so that each says the same of a file that is not there, not a
//! file, or not the right one.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use siegel_policy::{AccessPolicy, POLICY_MAX, Policy, PolicyError};

use crate::failure::{Exit, Failure};

/// Reads at most `max` bytes; a file without any is refused.
pub fn read(path: &Path, what: &str, max: usize) -> Result<Vec<u8>, Failure> {
    let bytes = read_any(path, what, max)?;
    if bytes.is_empty() {
        let at = path.display().to_string();
        let message = format!("the {what} is empty");
        let help = "is this the right file, and was it written to its end?";
        return Err(Failure::usage("empty", &at, message, help));
    }
    Ok(bytes)
}

/// The same of what may be empty.
pub fn read_any(path: &Path, what: &str, max: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let file = open(path).map_err(|why| cannot_read(path, what, &why))?;
    file.take(max as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|why| cannot_read(path, what, &why))?;
    if bytes.len() > max {
        let at = path.display().to_string();
        let message = format!("the {what} is longer than {max} bytes");
        let help = "is this the right file?";
        return Err(Failure::usage("too-long", &at, message, help));
    }
    Ok(bytes)
}

/// What is no file is not waited for: a named pipe may never begin, a device never end. What this
/// command was handed open (`/dev/stdin`, `<(…)`) may be a pipe.
fn open(path: &Path) -> std::io::Result<File> {
    let handed = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];
    if handed.iter().any(|at| path.starts_with(at)) {
        return File::open(path);
    }
    let at_once = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(at_once).open(path)?;
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    match found.is_file() {
        true => Ok(file),
        false => Err(std::io::Error::other("this is no regular file")),
    }
}

/// Reads a text; a file without any is refused.
pub fn read_text(path: &Path, what: &str, max: usize) -> Result<String, Failure> {
    text(read(path, what, max)?, path, what)
}

/// The same of what may be empty.
pub fn read_text_any(path: &Path, what: &str, max: usize) -> Result<String, Failure> {
    text(read_any(path, what, max)?, path, what)
}

fn text(bytes: Vec<u8>, path: &Path, what: &str) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| {
        let at = path.display().to_string();
        let help = "is this the right file?";
        Failure::usage("not-text", &at, format!("the {what} is not UTF-8"), help)
    })
}

/// What the system says of a file that cannot be read.
pub fn cannot_read(path: &Path, what: &str, why: &std::io::Error) -> Failure {
    let (why, help): (String, _) = match why.kind() {
        ErrorKind::NotFound => ("there is no such file".into(), "check the path"),
        ErrorKind::IsADirectory => (
            "this is a folder".into(),
            "name the file, with its folder before it",
        ),
        ErrorKind::NotADirectory => ("a part of its path is no folder".into(), "check the path"),
        _ => (why.to_string(), "check the path and its permissions"),
    };
    let message = format!("cannot read the {what}: {why}");
    Failure::usage("cannot-read", &path.display().to_string(), message, help)
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

/// Refuses outputs that could not be written, before anything is done: files that are there and may
/// not be replaced, and places where there can be none.
pub fn writable(paths: &[&Path], force: bool) -> Result<(), Failure> {
    for (i, path) in paths.iter().enumerate() {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let twice = paths.iter().take(i).any(|other| other == path);
        let kind = match path.metadata() {
            _ if twice => ErrorKind::InvalidInput,
            Ok(found) if found.is_dir() => ErrorKind::IsADirectory,
            Ok(_) if !force => ErrorKind::AlreadyExists,
            _ if !folder.exists() => ErrorKind::NotFound,
            _ if !folder.is_dir() => ErrorKind::NotADirectory,
            _ if rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_err() => {
                ErrorKind::PermissionDenied
            }
            _ => continue,
        };
        return Err(cannot_write(path, &kind.into(), true));
    }
    Ok(())
}

/// Writes a new file; replaces one only with `force`.
pub fn write(path: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    write_to(path, bytes, force, true)
}

/// Writes a new file, for a command that replaces none.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_to(path, bytes, false, false)
}

fn write_to(path: &Path, bytes: &[u8], force: bool, has_force: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true);
    match force {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    let opened = match path.is_dir() {
        true => Err(ErrorKind::IsADirectory.into()),
        false => options.open(path),
    };
    let mut file = opened.map_err(|why| cannot_write(path, &why, has_force))?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(|why| {
            let at = path.display().to_string();
            Failure::failed("cannot-write", &at, why, "is the disk full?")
        })
}

fn cannot_write(path: &Path, why: &std::io::Error, has_force: bool) -> Failure {
    let other = "choose another place for the output";
    let (why, help): (String, _) = match why.kind() {
        ErrorKind::AlreadyExists => (
            "the file exists".into(),
            match has_force {
                true => "choose another name for the output, or replace it with --force",
                false => "choose another name for the output: nothing is replaced",
            },
        ),
        ErrorKind::NotFound => (
            "there is no such folder".into(),
            "make the folder first, or choose another place for the output",
        ),
        ErrorKind::IsADirectory => ("this is a folder".into(), "name a file in it"),
        ErrorKind::NotADirectory => ("a part of its path is no folder".into(), other),
        ErrorKind::InvalidInput => (
            "two outputs would go into this file".into(),
            "give each a name of its own",
        ),
        ErrorKind::PermissionDenied => ("no permission to write here".into(), other),
        _ => (why.to_string(), other),
    };
    Failure::usage("cannot-write", &path.display().to_string(), why, help)
}
