//! What git knows about a checkout. Only reads.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use siegel_ident::Digest;

use crate::RecipeError;
use crate::record::is_commit;
use crate::source::SOURCES;

/// Longest source file that is read from a commit, in bytes.
const FILE_MAX: u64 = 64 << 20;

/// Where a working tree stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeState {
    /// The commit, 40 hex digits; none without git or before the first commit.
    pub commit: Option<String>,
    /// A source file differs from that commit, or is unknown to git.
    pub dirty: bool,
}

/// Commit and dirtiness of the source in a checkout, by the same questions as the build script's.
///
/// # Errors
/// [`RecipeError::Git`] if git gives up on a checkout of its own.
pub fn tree_state(checkout: &Path) -> Result<TreeState, RecipeError> {
    let none = TreeState {
        commit: None,
        dirty: false,
    };
    let Ok(top) = output(checkout, &["rev-parse", "--show-toplevel"]) else {
        return Ok(none);
    };
    let real = |path: &Path| path.canonicalize().map_err(RecipeError::io(path));
    if real(Path::new(top.trim_end()))? != real(checkout)? {
        return Ok(none);
    }
    let head = output(checkout, &["rev-parse", "--verify", "-q", "HEAD"]);
    let status = [
        "status",
        "--porcelain",
        "--untracked-files=all",
        "--ignored",
        "--",
    ];
    let status = output(checkout, &[&status[..], &SOURCES].concat())?;
    Ok(TreeState {
        commit: head
            .ok()
            .map(|line| line.trim_end().to_owned())
            .filter(|commit| is_commit(commit)),
        dirty: !status.is_empty(),
    })
}

/// One file of a commit.
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) regular: bool,
    object: String,
}

/// The files of a commit below these paths.
pub(crate) fn list(
    checkout: &Path,
    commit: &str,
    paths: &[&str],
) -> Result<Vec<Entry>, RecipeError> {
    // Not an option, and nothing but a commit.
    let revision = format!("{commit}^{{commit}}");
    let resolve = ["rev-parse", "--verify", "-q", "--end-of-options", &revision];
    let commit = output(checkout, &resolve).map_err(|_| RecipeError::Git {
        checkout: checkout.to_owned(),
        why: format!("there is no commit {commit:?} here; fetch it first"),
    })?;
    let tree = [
        "ls-tree",
        "-r",
        "-z",
        "--full-tree",
        commit.trim_end(),
        "--",
    ];
    let listing = output(checkout, &[&tree[..], paths].concat())?;
    let entry = |line: &str| {
        let (meta, path) = line.split_once('\t')?;
        let mut meta = meta.split(' ');
        let (mode, _, object) = (meta.next()?, meta.next()?, meta.next()?);
        Some(Entry {
            path: path.to_owned(),
            regular: mode == "100644" || mode == "100755",
            object: object.to_owned(),
        })
    };
    let lines = listing.split('\0').filter(|line| !line.is_empty());
    lines
        .map(|line| entry(line).ok_or_else(|| failed(checkout, "ls-tree answers oddly")))
        .collect()
}

/// SHA-256 of each file's content, in order.
pub(crate) fn digests(checkout: &Path, entries: &[Entry]) -> Result<Vec<Digest>, RecipeError> {
    let mut child = git(checkout)
        .args(["cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(no_git)?;
    let (Some(mut questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(failed(checkout, "cat-file has no pipes"));
    };
    let mut answers = BufReader::new(answers);
    let mut ask = |object: &str| -> std::io::Result<Digest> {
        writeln!(questions, "{object}")?;
        questions.flush()?;
        let mut header = String::new();
        answers.read_line(&mut header)?;
        let size = header.trim_end().rsplit(' ').next();
        let size: u64 = size
            .and_then(|size| size.parse().ok())
            .filter(|size| *size <= FILE_MAX)
            .ok_or_else(|| std::io::Error::other(format!("cat-file: {}", header.trim_end())))?;
        let mut content = vec![0; size as usize + 1];
        answers.read_exact(&mut content)?;
        content.pop();
        Ok(Digest::of(&content))
    };
    let digests: std::io::Result<Vec<_>> = entries.iter().map(|entry| ask(&entry.object)).collect();
    drop(questions);
    let _ = child.wait();
    digests.map_err(|error| failed(checkout, &error.to_string()))
}

fn output(checkout: &Path, args: &[&str]) -> Result<String, RecipeError> {
    let output = git(checkout)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .map_err(no_git)?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(failed(checkout, why.trim_end()));
    }
    // Odd names stay visible as such: they are refused by name later.
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn git(checkout: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(checkout);
    // A hook's or a user's settings must not point to another repository.
    for (key, _) in std::env::vars_os() {
        if key.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(key);
        }
    }
    command
}

fn no_git(source: std::io::Error) -> RecipeError {
    RecipeError::NoProgram {
        program: "git".into(),
        source,
        install: "git",
    }
}

fn failed(checkout: &Path, why: &str) -> RecipeError {
    RecipeError::Git {
        checkout: checkout.to_owned(),
        why: why.to_owned(),
    }
}
