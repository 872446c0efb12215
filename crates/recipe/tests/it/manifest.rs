//! Script and crate list the same source (I2).

use std::path::Path;
use std::process::Command;

use siegel_endorse::Manifest;
use siegel_ident::Digest;
use siegel_recipe::{RecipeError, checkout_of, of_tree};

use crate::scene::{Scene, real};

fn by_script(checkout: &Path) -> Result<Vec<u8>, String> {
    let output = Command::new("bash")
        .arg(checkout.join("reproducible-build/build"))
        .arg("--manifest-only")
        .output()
        .unwrap();
    match output.status.code() {
        Some(0) => Ok(output.stdout),
        Some(1) => Err(String::from_utf8(output.stderr).unwrap()),
        other => panic!("exit {other:?}"),
    }
}

fn digest(checkout: &Path) -> Digest {
    let manifest = of_tree(checkout).unwrap();
    let bytes = by_script(checkout).unwrap();
    assert_eq!(bytes, manifest.to_bytes().unwrap());
    assert_eq!(Manifest::parse(&bytes).unwrap(), manifest);
    manifest.digest().unwrap()
}

// Catches two digests for one source: nobody could compare.
#[test]
fn i2_script_and_crate_agree_on_this_source() {
    digest(real());
    let files = of_tree(real()).unwrap().files;
    assert!(files.contains_key("reproducible-build/build"));
    assert!(files.contains_key("crates/recipe/tests/it/manifest.rs"));
    assert!(!files.keys().any(|path| path.starts_with("tests/")));
}

// Catches a file that is left out: stale or other binaries would pass for these.
#[test]
fn i2_each_kind_of_source_counts_and_nothing_else() {
    let scene = Scene::new();
    let checkout = scene.checkout();
    let before = digest(&checkout);
    let script = std::fs::read_to_string(checkout.join("reproducible-build/build")).unwrap();
    for (file, text) in [
        ("Cargo.toml", "Cargo.toml"),
        ("Cargo.lock", "Cargo.lock"),
        ("rust-toolchain.toml", "rust-toolchain.toml"),
        ("crates/kms/Cargo.toml", "crates/kms/Cargo.toml"),
        ("crates/kms/src/main.rs", "crates/kms/src/main.rs"),
        // It can be included by a macro.
        ("crates/kms/OVERVIEW.md", "crates/kms/OVERVIEW.md"),
        ("proto/a.proto", "proto/a.proto"),
        ("reproducible-build/build", &script),
    ] {
        scene.write(file, &format!("{text}\n"));
        assert_ne!(digest(&checkout), before, "{file}");
        scene.write(file, text);
    }
    for added in ["crates/.hidden", "crates/new/a+b-c_d.rs", "proto/x/y"] {
        scene.write(added, "");
        assert_ne!(digest(&checkout), before, "{added}");
        std::fs::remove_file(checkout.join(added)).unwrap();
    }
    for outside in [
        "README.md",
        "tests/a.rs",
        "reproducible-build/README.md",
        "target/x",
    ] {
        scene.write(outside, "other");
    }
    assert_eq!(digest(&checkout), before);
    let inside = checkout.join("target/release/siegel");
    assert_eq!(checkout_of(&inside).as_deref(), Some(&*checkout));
    assert_eq!(checkout_of(&scene.path("home")), None);
}

// A link's content is not the checkout's; an odd name means another thing to another reader.
#[test]
fn i2_links_odd_names_and_gaps_are_refused_by_name() {
    let scene = Scene::new();
    let checkout = scene.checkout();
    let refused = |named: &str| {
        let why = by_script(&checkout).unwrap_err();
        assert!(why.contains(named), "{why}");
        match of_tree(&checkout).unwrap_err() {
            RecipeError::Source { path, problem } => {
                assert!(path.contains(named), "{path} {problem}");
            }
            other => panic!("{other}"),
        }
    };
    let link = |at: &str, to: &str| {
        std::os::unix::fs::symlink(to, checkout.join(at)).unwrap();
        refused(at);
        std::fs::remove_file(checkout.join(at)).unwrap();
    };
    link("crates/kms/link.rs", "src/main.rs");
    link("proto/folder", "../crates");
    link("proto/dangling", "nowhere");
    for odd in ["crates/a b.rs", "crates/a\"b.rs", "proto/\u{e9}"] {
        scene.write(odd, "");
        refused(if odd.is_ascii() { &odd[..8] } else { "proto/" });
        std::fs::remove_file(checkout.join(odd)).unwrap();
    }
    scene.write("crates/a\nb", "");
    refused("crates/a");
    std::fs::remove_file(checkout.join("crates/a\nb")).unwrap();
    let moved = |from: &str, to: &str| {
        std::fs::rename(checkout.join(from), checkout.join(to)).unwrap();
    };
    moved("Cargo.lock", "elsewhere");
    refused("Cargo.lock");
    link("Cargo.lock", "elsewhere");
    moved("elsewhere", "Cargo.lock");
    digest(&checkout);
    moved("reproducible-build", "elsewhere");
    std::os::unix::fs::symlink("elsewhere", checkout.join("reproducible-build")).unwrap();
    refused("reproducible-build");
}
