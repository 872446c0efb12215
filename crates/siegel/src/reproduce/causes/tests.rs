//! Each cause, from values.

use siegel_endorse::testing::build;
use siegel_ident::Digest;

use super::*;

const RECIPE: &str = include_str!("../../../../../reproducible-build/recipe.toml");

fn manifest(files: &[(&str, &str)]) -> Manifest {
    let entry = |(path, text): &(&str, &str)| ((*path).to_owned(), Digest::of(text.as_bytes()));
    Manifest::new(files.iter().map(entry).collect()).unwrap()
}

fn ids(causes: &[Cause]) -> Vec<&str> {
    causes.iter().map(|cause| cause.id).collect()
}

fn messages(causes: &[Cause]) -> Vec<&str> {
    causes.iter().map(|cause| &*cause.message).collect()
}

/// Catches: a file that differs and is not named, or is named the wrong way round.
#[test]
fn each_differing_file_is_named() {
    let stated = manifest(&[
        ("Cargo.lock", "a"),
        ("crates/x/src/y.rs", "a"),
        ("proto/old.proto", "a"),
    ]);
    let here = manifest(&[
        ("Cargo.lock", "a"),
        ("crates/x/src/y.rs", "b"),
        ("crates/x/new.rs", "a"),
    ]);
    let causes = source(&stated, &here);
    let expected = [
        "source differs: crates/x/new.rs (only here)",
        "source differs: crates/x/src/y.rs (changed)",
        "source differs: proto/old.proto (only as stated)",
    ];
    assert_eq!(messages(&causes), expected);
    assert!(causes.iter().all(|cause| cause.id == "source-differs"));
    assert_eq!(causes[1].file.as_deref(), Some("crates/x/src/y.rs"));
    assert!(source(&stated, &stated).is_empty());
}

#[test]
fn many_differing_files_are_counted() {
    let names: Vec<String> = (0..NAMED + 3)
        .map(|n| format!("crates/{n:03}.rs"))
        .collect();
    let files = |text| names.iter().map(|name| (&**name, text)).collect::<Vec<_>>();
    let (stated, here) = (manifest(&files("a")), manifest(&files("b")));
    let causes = source(&stated, &here);
    assert_eq!(causes.len(), NAMED + 1);
    assert_eq!(causes[NAMED].message, "source differs: 3 more files");
    let dirty = dirty_tree("c0ffee", &stated, &here).unwrap();
    assert!(dirty.message.contains("c0ffee") && dirty.message.ends_with("3 more"));
}

#[test]
fn a_dirty_tree_names_commit_and_files() {
    let commit = manifest(&[("Cargo.toml", "a")]);
    let tree = manifest(&[("Cargo.toml", "b")]);
    assert_eq!(dirty_tree("abc", &commit, &commit), None);
    let cause = dirty_tree("abc", &commit, &tree).unwrap();
    assert_eq!(cause.id, "dirty-tree");
    assert!(
        cause.message.contains("commit abc: Cargo.toml (changed)"),
        "{}",
        cause.message
    );
}

/// Catches: "the recipe differs" without saying in what. The recipe's file is not named a second
/// time as source.
#[test]
fn the_flag_is_named_with_both_values() {
    let changed = |from: &str, to: &str| {
        let here = RECIPE.replacen(from, to, 1);
        assert_ne!(here, RECIPE);
        recipe(RECIPE, &here)
    };
    assert!(recipe(RECIPE, RECIPE).is_empty());
    let causes = changed("lto = \"off\"", "lto = \"thin\"");
    assert_eq!(ids(&causes), ["flag-differs"]);
    assert_eq!(
        causes[0].message,
        "flag differs: profile.lto is \"off\" as stated, \"thin\" here"
    );
    assert_eq!(ids(&changed("x86-64-v3", "x86-64-v4")), ["flag-differs"]);
    let causes = changed("rustflags = [", "rustflags = [\"-Copt-level=s\", ");
    assert!(causes[0].id == "flag-differs" && causes[0].message.contains("-Copt-level=s"));
    let causes = changed("features = []", "features = [\"x\"]");
    assert!(causes[0].message.contains("flavour.production.features"));
    let causes = changed("toolchain = \"1.95.0\"", "toolchain = \"1.96.0\"");
    assert!(causes[0].id == "recipe-differs" && causes[0].message.contains("1.96.0"));
    assert!(changed("# ", "#  ")[0].message.contains("only in comments"));
    let causes = recipe("nonsense", RECIPE);
    assert!(
        causes[0]
            .message
            .contains("not one that this version reads")
    );
    let files = |text| manifest(&[("reproducible-build/recipe.toml", text)]);
    assert!(source(&files("a"), &files("b")).is_empty());
}

#[test]
fn other_compilers_are_named() {
    let stated = build();
    let mut here = build();
    assert!(tools(&stated, &here).is_empty());
    here.rustc = "rustc 1.96.0".into();
    here.cc = "clang 19".into();
    let causes = tools(&stated, &here);
    assert_eq!(ids(&causes), ["toolchain-differs", "compiler-differs"]);
    assert!(causes[0].message.contains("rustc 1.95.0") && causes[0].message.contains("1.96.0"));
    assert!(causes[1].message.contains("clang 19"));
}

#[test]
fn a_leaked_path_is_named_and_a_short_one_is_not_sought() {
    let binary = b"\x7fELF..../home/me/siegel/crates/kms....../tmp..";
    let checkout = Path::new("/home/me/siegel");
    let paths = [
        ("checkout path", checkout),
        ("HOME", Path::new("/tmp")),
        ("CARGO_HOME", Path::new("/cargo/home")),
    ];
    let causes = path_leaks("siegel-kms", binary, &paths);
    assert_eq!(ids(&causes), ["path-leak"]);
    assert!(
        causes[0].message.contains("siegel-kms") && causes[0].message.contains("/home/me/siegel")
    );
    assert!(path_leaks("siegel-kms", b"", &paths).is_empty());
}
