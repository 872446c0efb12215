//! Whole rebuilds, by a script that is quick.

use siegel_endorse::testing::build;
use siegel_recipe::RECIPE_FILE;

use super::super::lookup::Looked;
use super::super::report::{Outcome, Report};
use super::super::testing::{MAIN, Repository};
use super::*;

const FIRST: &str = "fn main() {}\n";

fn report(expected: &Expected, options: &Options) -> Report {
    let rebuilt = rebuild(expected, options, &mut |_| ()).unwrap();
    let looked = Looked {
        expected: Some(expected.clone()),
        ..Looked::default()
    };
    Report::of(looked, Some(rebuilt), options.here)
}

fn ids(report: &Report) -> Vec<&str> {
    report.causes.iter().map(|cause| cause.id).collect()
}

/// Catches: the working tree built instead of the commit, and a commit's worktree left behind.
#[test]
fn a_commit_matches_whatever_the_working_tree_is() {
    let repository = Repository::new();
    let commit = worktree::head(&repository.path()).unwrap();
    let expected = repository.stated(&commit, FIRST);
    repository.write(MAIN, "fn main() { loop {} }\n");
    let mut heard = Vec::new();
    let options = repository.options(false);
    let rebuilt = rebuild(&expected, &options, &mut |said| {
        if let Heard::Line(line) = said {
            heard.push(line.to_owned());
        }
    });
    let rebuilt = rebuilt.unwrap();
    assert!(
        heard.contains(&"building siegel-root, production".to_owned()),
        "{heard:?}"
    );
    assert!(
        !repository
            .path()
            .join("target/reproduce")
            .join(commit)
            .exists()
    );
    assert!(rebuilt.causes.is_empty() && !differs(&expected, &rebuilt.record.unwrap()));
    assert!(rebuilt.findings.is_empty());
    // Another script here: the commit's is run all the same, and that is said.
    repository.write(SCRIPT, "exit 1\n");
    let report = report(&expected, &options);
    assert_eq!((report.result, report.exit()), (Outcome::Match, Exit::Ok));
    assert!(
        report
            .findings
            .iter()
            .any(|finding| finding.id == "other-script")
    );
}

/// Catches: a changed source line that is not named, and a MATCH where only a comment differs
/// reported as a mismatch.
#[test]
fn a_changed_line_here_is_named_and_a_comment_is_harmless() {
    let repository = Repository::new();
    let commit = worktree::head(&repository.path()).unwrap();
    let expected = repository.stated(&commit, FIRST);
    let here = repository.options(true);
    repository.write(MAIN, "fn main() { loop {} }\n");
    let changed = report(&expected, &here);
    assert_eq!(
        (changed.result, changed.exit()),
        (Outcome::Mismatch, Exit::NotTrustworthy)
    );
    assert_eq!(ids(&changed), ["source-differs", "dirty-tree"]);
    assert_eq!(changed.causes[0].file.as_deref(), Some(MAIN));
    assert!(changed.causes[1].message.contains(&commit));
    let text = changed.text();
    assert!(text.starts_with("MISMATCH siegel-kms"), "{text}");
    assert!(
        text.contains("source differs: crates/kms/src/main.rs (changed)"),
        "{text}"
    );

    let second = repository.commit("Second");
    assert_eq!(ids(&report(&expected, &here)), ["source-differs"]);
    assert_ne!(second, commit);

    repository.write(MAIN, "// a comment\nfn main() {}\n");
    let comment = report(&expected, &here);
    assert_eq!((comment.result, comment.exit()), (Outcome::Match, Exit::Ok));
    assert!(comment.causes.is_empty());
    let harmless = comment
        .findings
        .iter()
        .find(|f| f.id == "source-differs")
        .unwrap();
    assert_eq!(harmless.severity, Severity::Info);
}

/// Catches: minutes of building for a source that nobody has.
#[test]
fn a_dirty_endorsed_tree_is_not_built() {
    let repository = Repository::new();
    let commit = worktree::head(&repository.path()).unwrap();
    let mut expected = repository.stated(&commit, FIRST);
    expected.build.dirty = true;
    let mut files = expected.manifest.take().unwrap().files;
    files.insert("crates/kms/src/secret.rs".into(), Digest::of(b"x"));
    expected.manifest = Some(Manifest::new(files).unwrap());
    let dirty = report(&expected, &repository.options(false));
    assert_eq!(
        (dirty.result, dirty.exit()),
        (Outcome::Mismatch, Exit::NotTrustworthy)
    );
    assert_eq!(ids(&dirty), ["dirty-tree", "source-differs"]);
    assert_eq!(
        dirty.causes[1].file.as_deref(),
        Some("crates/kms/src/secret.rs")
    );
    assert!(
        dirty
            .binaries
            .iter()
            .all(|b| b.result == Outcome::Mismatch && b.built.is_none())
    );
    assert!(
        !repository
            .path()
            .join("target/reproduce/out-production")
            .exists()
    );
    expected.build.commit = Some("0".repeat(40));
    assert_eq!(
        ids(&report(&expected, &repository.options(false))),
        ["dirty-tree"]
    );
}

#[test]
fn another_flag_here_is_named() {
    let repository = Repository::new();
    let commit = worktree::head(&repository.path()).unwrap();
    let mut expected = repository.stated(&commit, FIRST);
    expected.files[0].sha256 = Digest::of(b"another");
    let recipe = repository.path().join(RECIPE_FILE);
    let text = std::fs::read_to_string(&recipe).unwrap();
    std::fs::write(
        &recipe,
        text.replace("codegen_units = \"16\"", "codegen_units = \"1\""),
    )
    .unwrap();
    let report = report(&expected, &repository.options(true));
    assert_eq!(ids(&report), ["flag-differs", "dirty-tree"]);
    assert!(report.causes[0].message.contains("profile.codegen_units"));
    let results: Vec<_> = report.binaries.iter().map(|binary| binary.result).collect();
    assert_eq!(results, [Outcome::Mismatch, Outcome::Match, Outcome::Match]);
}

/// Nothing differs but the bytes; then a path that got into them, and other tools.
#[test]
fn what_only_the_build_shows_is_named() {
    let repository = Repository::new();
    let commit = worktree::head(&repository.path()).unwrap();
    let other = "fn other() {}\n";
    let unknown = report(
        &repository.stated(&commit, other),
        &repository.options(false),
    );
    assert_eq!(
        (unknown.result, ids(&unknown)),
        (Outcome::Mismatch, vec!["unknown"])
    );
    let mut expected = repository.stated(&commit, other);
    expected.build.rustc = "rustc 2".into();
    assert_eq!(
        ids(&report(&expected, &repository.options(false))),
        ["toolchain-differs"]
    );
    repository.write("crates/leak", "");
    let commit = repository.commit("Leak");
    let leaking = report(
        &repository.stated(&commit, other),
        &repository.options(false),
    );
    assert!(ids(&leaking).contains(&"path-leak") && !ids(&leaking).contains(&"unknown"));
}

#[test]
fn without_a_build_only_source_and_recipe_are_judged() {
    let repository = Repository::new();
    let commit = worktree::head(&repository.path()).unwrap();
    let expected = repository.stated(&commit, FIRST);
    let options = Options {
        no_build: true,
        ..repository.options(true)
    };
    let same = report(&expected, &options);
    assert_eq!((same.result, same.exit()), (Outcome::NotBuilt, Exit::Ok));
    repository.write(MAIN, "fn main() { }\n");
    let changed = report(&expected, &options);
    assert_eq!(
        (changed.result, changed.exit()),
        (Outcome::Mismatch, Exit::NotTrustworthy)
    );
    assert!(changed.binaries.iter().all(|binary| binary.built.is_none()));
    let mut withheld = expected;
    withheld.manifest = None;
    assert!(
        report(&withheld, &options).causes[0]
            .message
            .contains("as stated")
    );
}

/// Catches: a good result where the archive withholds the recipe that would show the difference.
#[test]
fn a_withheld_recipe_hides_no_difference() {
    let repository = Repository::new();
    let commit = worktree::head(&repository.path()).unwrap();
    let mut withheld = repository.stated(&commit, FIRST);
    withheld.recipe = None;
    let options = Options {
        no_build: true,
        ..repository.options(true)
    };
    assert_eq!(report(&withheld, &options).exit(), Exit::Ok);
    withheld.build.recipe = Some(siegel_ident::Digest::of(b"another"));
    let differs = report(&withheld, &options);
    assert_eq!(
        (ids(&differs), differs.exit()),
        (vec!["recipe-differs"], Exit::NotTrustworthy)
    );
}

#[test]
fn an_unknown_commit_and_a_failing_build_are_no_mismatch() {
    let repository = Repository::new();
    let commit = worktree::head(&repository.path()).unwrap();
    let mut expected = repository.stated(&commit, FIRST);
    expected.build.commit = Some("0".repeat(40));
    let failure = rebuild(&expected, &repository.options(false), &mut |_| ()).unwrap_err();
    assert_eq!((failure.exit, &*failure.code), (4, "no-commit"));
    for (script, exit) in [("exit 1\n", 1), ("echo no cc >&2; exit 4\n", 4)] {
        repository.write(SCRIPT, script);
        let failure = rebuild(&expected, &repository.options(true), &mut |_| ()).unwrap_err();
        assert_eq!(
            (failure.exit, &*failure.code),
            (exit, "build"),
            "{}",
            failure.message
        );
    }
}

#[test]
fn what_nobody_can_repeat_is_not_built() {
    let mut named = build();
    assert_eq!(not_reproducible(&named, false), None);
    named.commit = None;
    assert_eq!(
        not_reproducible(&named, false).unwrap().id,
        "no-commit-named"
    );
    assert_eq!(not_reproducible(&named, true), None);
    named.recipe = None;
    let finding = not_reproducible(&named, true).unwrap();
    assert_eq!(
        (&*finding.id, finding.severity),
        ("plain-cargo-build", Severity::Error)
    );
}

/// Catches: crates of an older tree taken for built, because their files are older than the last build.
#[test]
fn our_own_crates_are_always_compiled_again() {
    let dir = tempfile::tempdir().unwrap();
    let notes =
        |release: &str, name: &str| dir.path().join(release).join(".fingerprint").join(name);
    let ours = [
        notes("release", "siegel-wire-0123"),
        notes("x86_64-unknown-linux-gnu/release", "siegel-kms-0123"),
    ];
    let theirs = notes("release", "ring-0123");
    for folder in ours.iter().chain([&theirs]) {
        std::fs::create_dir_all(folder).unwrap();
    }
    forget_ours(dir.path()).unwrap();
    assert!(ours.iter().all(|folder| !folder.exists()) && theirs.exists());
    forget_ours(&dir.path().join("none")).unwrap();
}
