//! I14: files that are not there, not files, or not the right ones.

use super::super::files;
use super::*;

/// Catches a read without a bound, and a message that does not say what is wrong with which file.
#[test]
fn i14_what_cannot_be_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("empty"), b"").unwrap();
    std::fs::write(at("four"), b"four").unwrap();
    std::fs::write(at("five"), b"fives").unwrap();
    std::fs::write(at("binary"), [0xff; 3]).unwrap();
    let read = |path: &std::path::Path| files::read_text(path, "thing", 4);
    assert_eq!(read(&at("four")).unwrap(), "four");
    for (path, code, says) in [
        (
            at("absent"),
            "cannot-read",
            "cannot read the thing: there is no such file",
        ),
        (
            at("."),
            "cannot-read",
            "cannot read the thing: this is a folder",
        ),
        (at("four/x"), "cannot-read", "no folder"),
        (at("empty"), "empty", "the thing is empty"),
        (at("binary"), "not-text", "the thing is not UTF-8"),
        (at("five"), "too-long", "longer than 4 bytes"),
        ("/dev/zero".into(), "cannot-read", "this is no regular file"),
    ] {
        let failure = read(&path).unwrap_err();
        assert_eq!((failure.exit, &*failure.code), (Exit::Usage as u8, code));
        assert_eq!(*failure.at, *path.display().to_string());
        assert!(failure.message.contains(says), "{}", failure.message);
        assert!(!failure.help.is_empty());
    }
    assert_eq!(files::read_any(&at("empty"), "thing", 4).unwrap(), b"");
}

/// Catches an output that is found impossible only after something was done for it, one that replaces
/// a file unasked, and a help that names an option that is not there.
#[test]
fn an_output_is_refused_before_anything_is_done() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("there"), b"there").unwrap();
    let wrong = [
        (at("there"), "exists"),
        (at("absent/x"), "no such folder"),
        (at("there/x"), "no folder"),
        (at("."), "folder"),
    ];
    for (path, says) in &wrong {
        for failure in [
            files::writable(&[path], false).unwrap_err(),
            files::write(path, b"new", false).unwrap_err(),
            files::write_new(path, b"new").unwrap_err(),
        ] {
            assert_eq!(&*failure.code, "cannot-write");
            assert_eq!(*failure.at, *path.display().to_string());
            assert!(failure.message.contains(says), "{}", failure.message);
        }
        assert!(files::writable(&[path], true).is_ok() == path.ends_with("there"));
    }
    assert_eq!(std::fs::read(at("there")).unwrap(), b"there");
    let help = |failure: Failure| failure.help.contains("--force");
    assert!(help(files::write(&at("there"), b"", false).unwrap_err()));
    assert!(!help(files::write_new(&at("there"), b"").unwrap_err()));
    let twice = files::writable(&[&at("new"), &at("new")], true).unwrap_err();
    assert!(twice.message.contains("two outputs"), "{}", twice.message);
    files::write(&at("there"), b"new", true).unwrap();
    assert_eq!(std::fs::read(at("there")).unwrap(), b"new");
}
