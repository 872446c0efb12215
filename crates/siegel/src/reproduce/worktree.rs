//! A commit's files in a folder of their own, beside the working tree that someone works in.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Exit, Failure};

/// A detached worktree; taken away at its end unless it is kept.
pub struct Worktree {
    checkout: PathBuf,
    path: PathBuf,
    keep: bool,
}

impl Worktree {
    /// Checks `commit` out afresh under `folder`: what lay there before could have been changed.
    pub fn add(checkout: &Path, folder: &Path, commit: &str, keep: bool) -> Result<Self, Failure> {
        let worktree = Self {
            checkout: checkout.to_owned(),
            path: folder.join(commit),
            keep,
        };
        worktree.remove();
        let path = worktree.path.as_os_str();
        let mut command = git(checkout);
        // No hook of the user runs, and no setting changes line ends: the bytes are the commit's.
        command.args([
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.autocrlf=false",
        ]);
        command.args(["worktree", "add", "--quiet", "--detach"]);
        command.arg(path).arg(commit);
        run(command)?;
        Ok(worktree)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whatever is there, and git's note of it. That nothing is there is no failure.
    fn remove(&self) {
        let mut command = git(&self.checkout);
        command
            .args(["worktree", "remove", "--force", "--force"])
            .arg(&self.path);
        let _ = run(command);
        let _ = std::fs::remove_dir_all(&self.path);
        let mut command = git(&self.checkout);
        command.args(["worktree", "prune"]);
        let _ = run(command);
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        if !self.keep {
            self.remove();
        }
    }
}

/// Exit 4 unless this repository has the commit.
pub fn require(checkout: &Path, commit: &str) -> Result<(), Failure> {
    if has(checkout, commit) {
        return Ok(());
    }
    let message = format!("this repository does not have commit {commit}");
    let help = "git fetch --all gets it, if it is published; or compare this tree: --here";
    Err(Failure::new(
        Exit::MachineCannot,
        "no-commit",
        "git",
        message,
        help,
    ))
}

/// Whether this repository has the commit.
pub fn has(checkout: &Path, commit: &str) -> bool {
    let mut command = git(checkout);
    command.args(["cat-file", "-e", "--end-of-options"]);
    command.arg(format!("{commit}^{{commit}}"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The commits that changed a file, the newest first.
pub fn history(checkout: &Path, file: &str) -> Result<Vec<String>, Failure> {
    let mut command = git(checkout);
    command.args(["log", "--all", "--format=%H", "--", file]);
    Ok(run(command)?.lines().map(str::to_owned).collect())
}

/// The present commit; none outside a repository.
pub fn head(checkout: &Path) -> Option<String> {
    let mut command = git(checkout);
    command.args(["rev-parse", "--verify", "--quiet", "HEAD"]);
    Some(run(command).ok()?.trim().to_owned())
}

/// A file of a commit, as text.
pub fn show(checkout: &Path, commit: &str, file: &str) -> Result<String, Failure> {
    let mut command = git(checkout);
    command.args(["show", "--no-textconv", "--end-of-options"]);
    command.arg(format!("{commit}:{file}"));
    run(command)
}

fn git(checkout: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(checkout).stdin(Stdio::null());
    // A hook's or a user's settings must not point to another repository.
    for (key, _) in std::env::vars_os() {
        if key.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(key);
        }
    }
    command
}

fn run(mut command: Command) -> Result<String, Failure> {
    let output = command.output().map_err(|why| {
        let help = "install git, then try again";
        Failure::new(Exit::MachineCannot, "no-git", "git", why, help)
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failure::failed(
        "git",
        "git",
        said,
        "is this a clone of the repository?",
    ))
}

#[cfg(test)]
mod tests;
