//! Cargo's configuration files: what could change the bytes is refused by file and line.

use crate::scene::Scene;

fn refused(scene: &Scene, place: &str, text: &str) -> Option<String> {
    let path = scene.path(place);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    let out = scene.path("out");
    let (code, said) = scene.run(&["--out", out.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    match code {
        0 => None,
        4 => {
            assert!(said.contains(path.to_str().unwrap()), "{said}");
            Some(said)
        }
        other => panic!("exit {other}: {said}"),
    }
}

#[test]
fn settings_that_change_the_bytes_are_refused_by_name_and_line() {
    let scene = Scene::new();
    let place = "cargo-home/config.toml";
    for (text, line, name) in [
        ("[build]\nrustc = \"x\"", 2, "build.rustc "),
        ("[build]\njobs = 1\n\"rustc\" = \"x\"", 3, "build.rustc "),
        (
            "[build]\nrustflags = [\n  \"-O\",\n]\ntarget = \"x\"",
            5,
            "build.target ",
        ),
        (
            "[build]\ndep-info-basedir = \"x\"",
            2,
            "build.dep-info-basedir",
        ),
        ("# x\n\n  [ build ]", 3, "build"),
        ("build.rustflags = [\"-O\"]", 1, "build"),
        ("\"build\".rustflags = []", 1, "build"),
        ("build = { jobs = 1 }", 1, "build"),
        (
            "[net]\noffline = false\n[profile.release]\nlto = true",
            3,
            "profile",
        ),
        ("['profile'.release]", 1, "profile"),
        ("[target.x86_64-unknown-linux-gnu.z]", 1, "target"),
        ("[target]\nx.linker = \"mold\"", 1, "target"),
        ("[target.x]\nar = \"x\"", 2, "target.ar"),
        ("[target.x]\nz.rustc-link-lib = []", 2, "target.z"),
        ("[env]\nCC = \"clang\"", 1, "env"),
        ("[unstable]", 1, "unstable"),
        ("[[patch.crates-io]]", 1, "patch"),
        ("paths = [\"/x\"]", 1, "paths"),
        ("include = \"other.toml\"", 1, "include"),
        ("[net]\r\n[env]\r\n", 2, "env"),
        ("\u{feff}[build]", 1, ""),
        ("[\"\\u0062uild\"]", 1, ""),
    ] {
        let said = refused(&scene, place, text).unwrap_or_else(|| panic!("{text:?} is taken"));
        assert!(
            said.contains(&format!("{place}:{line} ")),
            "{text:?}: {said}"
        );
        assert!(said.contains(&format!("sets {name}")), "{text:?}: {said}");
    }
}

// Catches `cargo vendor`: panics would name its folders.
#[test]
fn vendored_packages_are_refused() {
    let scene = Scene::new();
    let place = "cargo-home/config.toml";
    for text in [
        "[source.a]\n\n directory = \"vendor\"",
        "\n\nsource.a.directory=\"vendor\"",
        "\n\nsource.a = { \"directory\" = \"vendor\" }",
    ] {
        let said = refused(&scene, place, text).unwrap_or_else(|| panic!("{text:?} is taken"));
        assert!(
            said.contains(&format!("{place}:3 sets a directory")),
            "{said}"
        );
    }
}

#[test]
fn settings_of_network_and_display_are_taken() {
    let scene = Scene::new();
    let text = "# directory = 1\n[source.crates-io]\nreplace-with = \"mirror\" # build\n[source.mirror]\n\
                registry = \"sparse+https://mirror.example/\"\n[net]\nretry = 2\n[http]\n\
                timeout = 9\n[registries.a]\nindex = \"x\"\n[registry]\n[term]\nquiet = false\n";
    assert_eq!(refused(&scene, "cargo-home/config.toml", text), None);
    assert_eq!(
        refused(&scene, "checkout/.cargo/config.toml", "net.retry = 2"),
        None
    );
}

// Catches a newcomer who is turned away for settings that the script overrides anyway.
#[test]
fn settings_that_are_overridden_are_taken() {
    let scene = Scene::new();
    let text = "[build] # mine\njobs = 1\nrustc-wrapper = \"sccache\"\nrustflags = [\n  \"-Clink-arg=x\",\n]\n\
                target-dir = \"/x\"\n[target.x86_64-unknown-linux-gnu]\nlinker = \"mold\"\n\
                rustflags = [\"-O\"]\n[target.'cfg(unix)']\nrunner = \"x\"\n[net]\nretry = 2\n";
    assert_eq!(refused(&scene, "cargo-home/config.toml", text), None);
}

// Cargo reads these too.
#[test]
fn every_place_is_looked_at() {
    let scene = Scene::new();
    for place in [
        "cargo-home/config",
        "checkout/.cargo/config.toml",
        "checkout/.cargo/config",
        ".cargo/config.toml",
    ] {
        assert!(refused(&scene, place, "[env]").is_some(), "{place}");
    }
}
