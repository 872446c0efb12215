//! Releases of a small repository.

use super::super::rebuild::{differs, rebuild};
use super::super::testing::{MAIN, Repository};
use super::*;

/// The record of a flavour, as the build script leaves it, but of a commit.
fn record(repository: &Repository, commit: &str, flavour: Profile, folder: &Path) {
    let mut stated = repository.stated(commit, "fn main() {}\n");
    stated.flavour = flavour;
    std::fs::create_dir_all(folder).unwrap();
    for file in &stated.files {
        std::fs::write(
            folder.join(&file.name),
            format!("{} production\nfn main() {{}}\n", file.name),
        )
        .unwrap();
    }
    let record = Record::of(folder, &BINARIES, flavour, stated.build).unwrap();
    record.write(folder).unwrap();
}

/// Catches: a release that is built from another commit than its own.
#[test]
fn a_release_is_written_found_and_built_again() {
    let repository = Repository::new();
    let checkout = repository.path();
    let first = worktree::head(&checkout).unwrap();
    let folders = [checkout.join("target/p"), checkout.join("target/s")];
    record(&repository, &first, Profile::Production, &folders[0]);
    record(&repository, &first, Profile::Simulation, &folders[1]);
    let path = write(&checkout, "0.1.0", &folders).unwrap();
    assert!(path.ends_with("reproducible-build/expected/0.1.0.json"));
    let release = repository.commit("Release");
    repository.write(MAIN, "fn main() { loop {} }\n");
    repository.commit("After");

    let expected = expected(&checkout, "0.1.0", Profile::Production).unwrap();
    assert_eq!(expected.build.commit, Some(release));
    assert!(expected.manifest.is_some() && expected.recipe.is_some());
    let rebuilt = rebuild(&expected, &repository.options(false), &mut |_| ()).unwrap();
    assert!(!differs(&expected, &rebuilt.record.unwrap()));
    let here = rebuild(&expected, &repository.options(true), &mut |_| ()).unwrap();
    assert!(differs(&expected, &here.record.unwrap()));
    assert_eq!(here.causes[0].file.as_deref(), Some(MAIN));
}

#[test]
fn the_newest_commit_may_be_the_release_before_its_file_is_committed() {
    let repository = Repository::new();
    let checkout = repository.path();
    let first = worktree::head(&checkout).unwrap();
    record(
        &repository,
        &first,
        Profile::Production,
        &checkout.join("target/p"),
    );
    write(&checkout, "0.2.0", &[checkout.join("target/p")]).unwrap();
    let found = expected(&checkout, "0.2.0", Profile::Production).unwrap();
    assert_eq!(found.build.commit, Some(first));
    repository.write(MAIN, "fn other() {}\n");
    repository.commit("Other");
    let gone = expected(&checkout, "0.2.0", Profile::Production).unwrap();
    assert_eq!(gone.build.commit, None);
}

#[test]
fn i14_what_is_no_release_is_refused() {
    let repository = Repository::new();
    let checkout = repository.path();
    let refused = |version: &str| {
        let failure = expected(&checkout, version, Profile::Production).unwrap_err();
        assert_eq!(failure.exit, 2);
        failure.code.to_string()
    };
    for version in ["", "../0.1.0", "..", "a/b", "0.1.0\n"] {
        assert_eq!(refused(version), "bad-version", "{version:?}");
    }
    assert_eq!(refused("9.9.9"), "no-such-release");
    repository.write("reproducible-build/expected/1.0.0.json", "{}");
    assert_eq!(refused("1.0.0"), "bad-release");
    let first = worktree::head(&checkout).unwrap();
    record(
        &repository,
        &first,
        Profile::Simulation,
        &checkout.join("target/s"),
    );
    write(&checkout, "1.0.0", &[checkout.join("target/s")]).unwrap();
    assert_eq!(refused("1.0.0"), "no-such-flavour");
    let from = checkout.join("reproducible-build/expected");
    std::fs::copy(from.join("1.0.0.json"), from.join("2.0.0.json")).unwrap();
    assert_eq!(refused("2.0.0"), "bad-release");
}

/// Catches: a release that nobody could build again, or of two different sources.
#[test]
fn only_builds_of_one_commit_make_a_release() {
    let repository = Repository::new();
    let checkout = repository.path();
    let first = worktree::head(&checkout).unwrap();
    let folder = checkout.join("target/p");
    record(&repository, &first, Profile::Production, &folder);
    let good = Record::fitting(&folder).unwrap().unwrap();
    let refused = |change: &dyn Fn(&mut Record)| {
        let mut other = good.clone();
        other.flavour = Profile::Simulation;
        change(&mut other);
        let failure = ReleaseFile::of("1.0.0", &[good.clone(), other]).unwrap_err();
        failure.message.to_string()
    };
    assert!(refused(&|r| r.flavour = Profile::Production).contains("one flavour"));
    assert!(refused(&|r| r.build.source = Digest::of(b"other")).contains("different source"));
    assert!(refused(&|r| r.build.dirty = true).contains("no commit"));
    assert!(refused(&|r| r.build.commit = None).contains("no commit"));
    assert!(ReleaseFile::of("1.0.0", &[]).is_err());
    let mut plain = good.clone();
    plain.build.recipe = None;
    assert!(
        ReleaseFile::of("1.0.0", &[plain])
            .unwrap_err()
            .message
            .contains("plain cargo")
    );
    assert!(write(&checkout, "1.0.0", &[checkout.join("none")]).is_err());
}
