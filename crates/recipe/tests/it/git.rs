//! The source of a commit, and a tree that is not it.

use siegel_recipe::{RecipeError, Record, TreeState, of_commit, of_tree, tree_state};

use crate::scene::Scene;

fn committed() -> (Scene, String) {
    let scene = Scene::new();
    scene.write(".gitignore", "*.log\ntarget\n");
    scene.git(&["init", "-q"]);
    scene.git(&["add", "."]);
    scene.git(&["commit", "-q", "-m", "one"]);
    let commit = scene.git(&["rev-parse", "HEAD"]);
    (scene, commit)
}

/// By script and crate alike.
fn state(scene: &Scene) -> TreeState {
    let out = scene.path("out");
    let (code, said) = scene.run(&["--out", out.to_str().unwrap()]);
    assert_eq!(code, 0, "{said}");
    let build = Record::read(&out).unwrap().unwrap().build;
    let state = TreeState {
        commit: build.commit,
        dirty: build.dirty,
    };
    assert_eq!(tree_state(&scene.checkout()).unwrap(), state);
    state
}

// Catches a record that names a commit whose source it was not.
#[test]
fn a_dirty_tree_is_recorded() {
    let (scene, commit) = committed();
    let at = |dirty| TreeState {
        commit: Some(commit.clone()),
        dirty,
    };
    assert_eq!(state(&scene), at(false));
    // No source, so no difference.
    scene.write("README.md", "other");
    scene.write("notes", "");
    assert_eq!(state(&scene), at(false));
    for (file, undo) in [
        ("crates/kms/src/main.rs", Some("crates/kms/src/main.rs")),
        ("crates/kms/new.rs", None),
        // Git ignores it; cargo would not.
        ("crates/kms/include.log", None),
    ] {
        scene.write(file, "other");
        assert_eq!(state(&scene), at(true), "{file}");
        match undo {
            Some(text) => scene.write(file, text),
            None => std::fs::remove_file(scene.checkout().join(file)).unwrap(),
        }
    }
    scene.git(&["rm", "-q", "--cached", "proto/a.proto"]);
    assert_eq!(state(&scene), at(true));
}

#[test]
fn without_git_there_is_no_commit() {
    let scene = Scene::new();
    let none = TreeState {
        commit: None,
        dirty: false,
    };
    assert_eq!(state(&scene), none);
    // A copy inside somebody's repository is not that repository's commit.
    std::fs::write(scene.path("file"), "").unwrap();
    let outer = scene.checkout().parent().unwrap().to_owned();
    let git = std::process::Command::new("git")
        .arg("-C")
        .arg(&outer)
        .args(["init", "-q"])
        .status();
    assert!(git.unwrap().success());
    assert_eq!(state(&scene), none);
}

// Catches a manifest of the working tree that passes for the commit's.
#[test]
fn i2_the_manifest_of_a_commit_is_that_of_its_clean_tree() {
    let (scene, commit) = committed();
    let checkout = scene.checkout();
    let clean = of_tree(&checkout).unwrap();
    assert_eq!(of_commit(&checkout, &commit).unwrap(), clean);
    scene.write("crates/kms/src/main.rs", "");
    scene.write("proto/b.proto", "x\n\0y");
    assert_eq!(of_commit(&checkout, &commit).unwrap(), clean);
    scene.git(&["add", "."]);
    scene.git(&["commit", "-q", "-m", "two"]);
    let tree = of_tree(&checkout).unwrap();
    assert_ne!(tree, clean);
    assert_eq!(of_commit(&checkout, "HEAD").unwrap(), tree);
    assert_eq!(of_commit(&checkout, &commit).unwrap(), clean);
}

#[test]
fn i2_a_commit_with_links_or_gaps_is_refused_by_name() {
    let (scene, _) = committed();
    let checkout = scene.checkout();
    let refused = |commit: &str| match of_commit(&checkout, commit).unwrap_err() {
        RecipeError::Source { path, .. } => path,
        RecipeError::Git { why, .. } => why,
        other => panic!("{other}"),
    };
    std::os::unix::fs::symlink("a.proto", checkout.join("proto/link")).unwrap();
    scene.git(&["add", "."]);
    scene.git(&["commit", "-q", "-m", "link"]);
    assert_eq!(refused("HEAD"), "proto/link");
    scene.git(&["rm", "-q", "proto/link", "rust-toolchain.toml"]);
    scene.git(&["commit", "-q", "-m", "gap"]);
    assert_eq!(refused("HEAD"), "rust-toolchain.toml");
    for absent in [
        "0123456789012345678901234567890123456789",
        "--help",
        "no-branch",
    ] {
        assert!(refused(absent).contains(absent));
    }
}
