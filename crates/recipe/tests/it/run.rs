//! The script run by the crate. Here a stand-in plays the script.

use siegel_attest::Profile;
use siegel_endorse::Build;
use siegel_ident::Digest;
use siegel_recipe::{NODES, RecipeError, Record, Script, run};

use crate::scene::Scene;

fn script(scene: &Scene, text: &str) -> Script {
    scene.write("reproducible-build/build", text);
    Script {
        checkout: scene.checkout(),
        flavour: Profile::Production,
        out: scene.path("out"),
        target_dir: Some(scene.path("t")),
        offline: true,
        jobs: Some(2),
    }
}

#[test]
fn the_scripts_words_and_exit_codes_arrive() {
    let scene = Scene::new();
    let ended = |text: &str| run(&script(&scene, text), &mut |_| ()).unwrap_err();
    let cannot = ended("echo no compiler >&2; exit 4");
    assert!(cannot.machine_cannot(), "{cannot}");
    assert!(cannot.to_string().contains("no compiler"));
    let failed =
        ended("echo 'building siegel-root, production (2 of 3)' >&2; echo oops >&2; exit 1");
    assert!(matches!(&failed, RecipeError::Build { name, tail }
        if name == "siegel-root" && tail.contains("oops")));
    assert!(!failed.machine_cannot());
    // Catches old files that pass for new ones.
    assert!(matches!(ended("exit 0"), RecipeError::NoRecord { .. }));
}

#[test]
fn the_record_comes_back_with_progress_on_the_way() {
    let scene = Scene::new();
    let out = scene.path("out");
    std::fs::create_dir_all(&out).unwrap();
    for name in NODES {
        std::fs::write(out.join(name), name).unwrap();
    }
    let build = Build {
        source: Digest::of(b"source"),
        commit: None,
        dirty: false,
        recipe: Some(Digest::of(b"recipe")),
        rustc: "rustc 1".into(),
        cc: "cc 1".into(),
    };
    let record = Record::of(&out, &NODES, Profile::Production, build).unwrap();
    record.write(&out).unwrap();
    let text = "echo \"$*\" >\"$(dirname \"$0\")/asked\"\n\
                for name in siegel-kms siegel-root siegel-worker; do\n\
                echo \"building $name, production\" >&2; echo '   Compiling x' >&2; done";
    let mut heard = Vec::new();
    let found = run(&script(&scene, text), &mut |at| {
        heard.push((at.binary, at.number, at.of, at.line.clone()));
    });
    assert_eq!(found.unwrap(), record);
    assert_eq!(heard.len(), 6);
    assert_eq!(heard[3], ("siegel-root", 2, 3, "Compiling x".to_owned()));
    let asked = std::fs::read_to_string(scene.checkout().join("reproducible-build/asked"));
    let paths = (out.display(), scene.path("t"));
    let expected = format!(
        "--flavour production --out {} --target-dir {} --offline --jobs 2\n",
        paths.0,
        paths.1.display()
    );
    assert_eq!(asked.unwrap(), expected);
}
