//! In a repository of the test's own.

use super::*;

fn repository() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let mut command = git(dir.path());
        command.args(["-c", "user.name=Test", "-c", "user.email=test@example.org"]);
        command
            .args([
                "-c",
                "commit.gpgsign=false",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(args);
        run(command).unwrap()
    };
    git(&["init", "--quiet"]);
    std::fs::write(dir.path().join("file"), "first\r\n").unwrap();
    git(&["add", "file"]);
    git(&["commit", "--quiet", "-m", "First"]);
    // A hook that would change what is built.
    let hook = dir.path().join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho hook > file\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).unwrap();
    let commit = head(dir.path()).unwrap();
    (dir, commit)
}

/// Catches: files changed by a hook or left from before, a worktree that stays, a working tree touched.
#[test]
fn a_worktree_has_the_commits_bytes_and_goes_away() {
    let (dir, commit) = repository();
    let (checkout, folder) = (dir.path(), dir.path().join("target"));
    std::fs::write(checkout.join("file"), "changed\n").unwrap();
    let read = |tree: &Worktree| std::fs::read_to_string(tree.path().join("file")).unwrap();
    let kept = Worktree::add(checkout, &folder, &commit, true).unwrap();
    let path = kept.path().to_owned();
    assert_eq!(read(&kept), "first\r\n");
    std::fs::write(path.join("file"), "tampered\n").unwrap();
    std::fs::write(path.join("stray"), "").unwrap();
    drop(kept);
    assert!(path.exists());
    let again = Worktree::add(checkout, &folder, &commit, false).unwrap();
    assert_eq!(read(&again), "first\r\n");
    assert!(!path.join("stray").exists());
    drop(again);
    assert!(!path.exists());
    let mut list = git(checkout);
    list.args(["worktree", "list"]);
    assert_eq!(run(list).unwrap().lines().count(), 1);
    assert_eq!(
        std::fs::read_to_string(checkout.join("file")).unwrap(),
        "changed\n"
    );
}

#[test]
fn an_unknown_commit_is_exit_4_with_git_fetch() {
    let (dir, commit) = repository();
    assert!(require(dir.path(), &commit).is_ok());
    let failure = require(dir.path(), &"0".repeat(40)).unwrap_err();
    assert_eq!((failure.exit, &*failure.code), (4, "no-commit"));
    assert!(failure.help.contains("git fetch"));
    assert!(!has(dir.path(), "--help"));
}

#[test]
fn files_and_their_history_are_read_from_commits() {
    let (dir, commit) = repository();
    assert_eq!(show(dir.path(), &commit, "file").unwrap(), "first\r\n");
    assert!(show(dir.path(), &commit, "none").is_err());
    assert_eq!(history(dir.path(), "file").unwrap(), [commit]);
    assert_eq!(history(dir.path(), "none").unwrap(), [""; 0]);
    assert_eq!(head(tempfile::tempdir().unwrap().path()), None);
}
