//! What the script builds, under which flags, and how it says no.

use std::collections::BTreeMap;

use siegel_attest::Profile;
use siegel_ident::Digest;
use siegel_recipe::{NODES, Record, of_tree};

use crate::scene::Scene;

/// The environment that cargo had.
fn environment(scene: &Scene) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(scene.path("home/env")).unwrap();
    let pair = |line: &str| line.split_once('=').map(|(k, v)| (k.into(), v.into()));
    text.lines().filter_map(pair).collect()
}

#[test]
fn the_record_says_what_was_built_and_from_what() {
    let scene = Scene::new();
    let out = scene.path("out");
    let (code, said) = scene.run(&["--out", out.to_str().unwrap()]);
    assert_eq!(code, 0, "{said}");
    let record = Record::fitting(&out).unwrap().unwrap();
    assert_eq!(record.flavour, Profile::Simulation);
    assert_eq!(record.binaries.keys().collect::<Vec<_>>(), NODES.each_ref());
    let read = |name: &str| std::fs::read(out.join(name)).unwrap();
    // Each with its own feature, in a cargo invocation of its own (I11).
    for name in NODES {
        let expected = format!("{name} {name}/simulation\n");
        assert_eq!(String::from_utf8(read(name)).unwrap(), expected);
    }
    let source = of_tree(&scene.checkout()).unwrap();
    assert_eq!(read("source.json"), source.to_bytes().unwrap());
    assert_eq!(record.build.source, source.digest().unwrap());
    assert_eq!(record.build.recipe, Some(Digest::of(&read("recipe.toml"))));
    assert_eq!(record.build.rustc, "rustc 1.95.0 (0123abcde 2026-01-01)");
    assert_eq!(record.build.cc, "cc \"quoted\" 12");

    // I11: the other flavour has no feature at all.
    let args = ["--flavour", "production", "--out", "production"];
    assert_eq!(scene.run(&args).0, 0);
    let out = scene.path("production");
    let record = Record::fitting(&out).unwrap().unwrap();
    assert_eq!(record.flavour, Profile::Production);
    for name in NODES {
        let built = std::fs::read_to_string(out.join(name)).unwrap();
        assert_eq!(built, format!("{name} none\n"));
    }
}

// Catches a setting of the user that reaches the compiler, and rules in the wrong order.
#[test]
fn i7_only_the_recipe_decides_the_bytes() {
    let scene = Scene::new();
    let mut command = scene.script(&["--target-dir", "build files/../t"]);
    command.args(["--out", "out", "--jobs", "3"]);
    for (name, value) in [
        ("RUSTFLAGS", "-Cdebuginfo=2"),
        ("CARGO_BUILD_RUSTFLAGS", "-O"),
        ("CARGO_PROFILE_RELEASE_LTO", "thin"),
        ("RUSTC_WRAPPER", "sccache"),
        ("RUSTC", "/bin/false"),
        ("CC", "clang"),
        ("CFLAGS", "-O0"),
        ("LANG", "de_DE.UTF-8"),
        ("TZ", "Asia/Tokyo"),
        ("LC_ALL", "C.UTF-8"),
        ("CARGO_HTTP_TIMEOUT", "77"),
        ("https_proxy", "http://proxy.example"),
    ] {
        command.env(name, value);
    }
    std::fs::create_dir_all(scene.path("build files")).unwrap();
    let (code, said) = crate::scene::said(&command.output().unwrap());
    assert_eq!(code, 0, "{said}");
    let found = environment(&scene);
    for gone in ["RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "RUSTC", "CC", "LANG"] {
        assert_eq!(found.get(gone), None, "{gone}");
    }
    for (name, value) in [
        ("CARGO_PROFILE_RELEASE_LTO", "off"),
        ("TZ", "UTC"),
        ("LC_ALL", "C"),
        ("CARGO_INCREMENTAL", "0"),
        // Empty, not absent: only so do they win over cargo's configuration.
        ("RUSTC_WRAPPER", ""),
        ("RUSTC_WORKSPACE_WRAPPER", ""),
        ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", "cc"),
        ("RUSTUP_TOOLCHAIN", "1.95.0"),
        ("CARGO_HTTP_TIMEOUT", "77"),
        ("https_proxy", "http://proxy.example"),
    ] {
        assert_eq!(found[name], value, "{name}");
    }
    let at = |path: &str| scene.path(path).display().to_string();
    let maps = [
        (at("cargo-home"), "/cargo"),
        ("/sysroot/lib/rustlib/src/rust".into(), "/rustc/0123abcdef"),
        (at("cargo-home/registry/src/mirror.example-0123"), "/crates"),
        (at("checkout"), "/src"),
        (at("t"), "/target"),
    ];
    let flags = ["-Ctarget-cpu=x86-64-v3", "-Csymbol-mangling-version=v0"].map(String::from);
    let remap = maps
        .iter()
        .map(|(from, to)| format!("--remap-path-prefix={from}={to}"));
    let rust: Vec<String> = flags.into_iter().chain(remap).collect();
    assert_eq!(found["CARGO_ENCODED_RUSTFLAGS"], rust.join("\u{1f}"));
    let c: Vec<String> = maps
        .iter()
        .map(|(from, to)| format!("-ffile-prefix-map={from}={to}"))
        .collect();
    assert_eq!(found["CFLAGS"], c.join(" "));
    assert_eq!(found["CXXFLAGS"], c.join(" "));
}

// Catches a path that no rule maps, and source that was edited meanwhile.
#[test]
fn i2_what_cannot_be_repeated_gets_no_record() {
    let scene = Scene::new();
    let args = ["--out", "out", "--target-dir", "t"];
    assert_eq!(scene.run(&args).0, 0);
    let record = scene.path("out/siegel-build.json");
    for leak in [
        "checkout/src/x.rs",
        "cargo-home/y",
        "t/z",
        "mirror.example-0123",
        "/sysroot/lib/x",
    ] {
        let path = match leak.starts_with(['m', '/']) {
            true => leak.to_owned(),
            false => scene.path(leak).display().to_string(),
        };
        std::fs::write(scene.path("home/leak"), format!("\0{path}\0")).unwrap();
        let (code, said) = scene.run(&args);
        assert_eq!(code, 1, "{leak}: {said}");
        assert!(said.contains("siegel-kms holds the path"), "{said}");
        assert!(!record.exists());
    }
    std::fs::remove_file(scene.path("home/leak")).unwrap();
    std::fs::write(scene.path("home/edit"), "").unwrap();
    let (code, said) = scene.run(&args);
    assert_eq!(code, 1);
    assert!(said.contains("source changed during the build"), "{said}");
    assert!(!record.exists());
}

#[test]
fn exit_codes_tell_misuse_from_a_machine_that_cannot() {
    let scene = Scene::new();
    for args in [
        &["--flavour", "other"][..],
        &["--jobs", "0"],
        &["--jobs", "x"],
        &["--out"],
        &["--verbose"],
    ] {
        let (code, said) = scene.run(args);
        assert_eq!(code, 2, "{args:?}: {said}");
    }
    let help = scene.script(&["--help"]).output().unwrap();
    assert!(help.status.success());
    assert!(
        String::from_utf8(help.stdout)
            .unwrap()
            .contains("Examples:")
    );

    let (code, said) = scene.run(&["--target-dir", "a b"]);
    assert_eq!(code, 4, "{said}");
    scene.program("rustc", "#!/bin/sh\necho 'rustc 1.94.0 (x 2026-01-01)'\n");
    let (code, said) = scene.run(&[]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("rustup toolchain install 1.95.0"), "{said}");
}
