use siegel_endorse::Build;

use super::*;

fn record(dir: &Path, names: &[&str], flavour: Profile) -> Record {
    let build = Build {
        source: Digest::of(b"{}"),
        commit: None,
        dirty: false,
        recipe: Some(Digest::of(b"recipe")),
        rustc: "rustc 1".into(),
        cc: "cc 1".into(),
    };
    Record::of(dir, names, flavour, build).unwrap()
}

fn request(dir: &Path, flavour: Profile) -> Request {
    Request {
        dir: Some(dir.to_owned()),
        profile: BuildProfile::Dev,
        flavour,
        offline: true,
    }
}

fn folder(names: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in names {
        std::fs::write(dir.path().join(name), name).unwrap();
    }
    dir
}

// Catches a record that is believed for other files, and bytes that the record does not name (I2).
#[test]
fn i2_given_files_have_a_record_only_if_it_fits() {
    let dir = folder(&NODES);
    let path = dir.path();
    let found = || find(&request(path, Profile::Simulation), &mut |_| ()).unwrap();
    assert_eq!((found().record, found().origin), (None, Origin::Given));

    let record = record(path, &NODES, Profile::Simulation);
    record.write(path).unwrap();
    assert_eq!(found().record, Some(record));
    assert_eq!((found().source, found().recipe), (None, None));
    std::fs::write(path.join("source.json"), "{}").unwrap();
    std::fs::write(path.join("recipe.toml"), "recipe").unwrap();
    assert_eq!(found().source.unwrap(), b"{}");
    assert_eq!(found().recipe.unwrap(), b"recipe");
    std::fs::write(path.join("source.json"), "{ }").unwrap();
    std::fs::write(path.join("recipe.toml"), "other").unwrap();
    assert_eq!((found().source, found().recipe), (None, None));

    std::fs::write(path.join("siegel-root"), "other bytes").unwrap();
    let refused = || find(&request(path, Profile::Simulation), &mut |_| ()).unwrap_err();
    assert!(matches!(refused(), RecipeError::OtherFiles { .. }));
    std::fs::write(path.join(RECORD_FILE), "{").unwrap();
    assert!(matches!(refused(), RecipeError::OtherFiles { .. }));
    std::fs::remove_file(path.join(RECORD_FILE)).unwrap();
    assert_eq!(found().record, None);
    std::fs::remove_file(path.join("siegel-root")).unwrap();
    let why = find(&request(path, Profile::Simulation), &mut |_| ()).unwrap_err();
    assert!(matches!(why, RecipeError::Missing { name, .. } if name == "siegel-root"));
}

// I11: production files under a simulation, and the other way round.
#[test]
fn i11_the_other_flavour_is_refused_at_once() {
    let dir = folder(&NODES);
    record(dir.path(), &NODES, Profile::Production)
        .write(dir.path())
        .unwrap();
    let asked = |flavour| find(&request(dir.path(), flavour), &mut |_| ());
    assert!(asked(Profile::Production).is_ok());
    let why = asked(Profile::Simulation).unwrap_err();
    assert!(!why.machine_cannot());
    let why = why.to_string();
    assert!(
        why.contains("flavour production") && why.contains("I11"),
        "{why}"
    );
}

// Catches what a plain build leaves beside the command: unified features are in it (I11).
#[test]
fn i11_files_beside_the_command_count_only_if_packaged_with_it() {
    let dir = folder(&["siegel", "siegel-kms", "siegel-root", "siegel-worker"]);
    let running = dir.path().join("siegel");
    let packaged = || packaged(dir.path(), &running).unwrap().is_some();
    assert!(!packaged());
    let nodes = record(dir.path(), &NODES, Profile::Simulation);
    nodes.write(dir.path()).unwrap();
    assert!(!packaged(), "the command is not in it");
    let names = [NODES.as_slice(), &["siegel"]].concat();
    let all = record(dir.path(), &names, Profile::Simulation);
    all.write(dir.path()).unwrap();
    assert!(packaged());
    std::fs::write(dir.path().join("siegel-kms"), "other bytes").unwrap();
    assert!(!packaged());
}
