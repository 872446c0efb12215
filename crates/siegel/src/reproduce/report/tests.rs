//! Results from values; whole rebuilds are in `rebuild/tests.rs`.

use siegel_endorse::testing::build;

use super::super::expected::ExpectedFile;
use super::*;

fn looked() -> Looked {
    let file = ExpectedFile {
        role: Part::Kms,
        name: "siegel-kms".into(),
        sha256: Digest::of(b"kms"),
    };
    Looked {
        expected: Some(Expected {
            flavour: Profile::Simulation,
            files: vec![file],
            build: build(),
            manifest: None,
            recipe: None,
        }),
        ..Looked::default()
    }
}

fn rebuilt(bytes: &[u8]) -> Rebuilt {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("siegel-kms"), bytes).unwrap();
    let record =
        siegel_recipe::Record::of(dir.path(), &["siegel-kms"], Profile::Simulation, build());
    Rebuilt {
        record: Some(record.unwrap()),
        build_s: Some(61.0),
        ..Rebuilt::default()
    }
}

/// The names that programs read.
#[test]
fn the_json_has_the_stated_keys() {
    let report = Report::of(looked(), Some(rebuilt(b"kms")), false);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["schema"], "siegel/reproduce/v1");
    assert_eq!(json["result"], "match");
    let binary = &json["binaries"][0];
    assert_eq!(binary["name"], "siegel-kms");
    assert_eq!(binary["role"], "kms");
    assert_eq!(binary["expected"], binary["built"]);
    assert_eq!(binary["result"], "match");
    for key in [
        "flavour", "commit", "here", "recipe", "source", "causes", "findings", "timing",
    ] {
        assert!(!json[key].is_null(), "{key}");
    }
    // I11.
    assert!(
        json["findings"][0]["message"]
            .as_str()
            .unwrap()
            .contains("INSECURE SIMULATION")
    );
}

/// Catches: exit 0 with an error finding, or with nothing built and differences.
#[test]
fn only_the_same_bytes_without_an_error_are_exit_0() {
    let good = Report::of(looked(), Some(rebuilt(b"kms")), false);
    assert_eq!(good.exit(), Exit::Ok);
    assert!(
        good.text().starts_with("MATCH siegel-kms (kms)\n"),
        "{}",
        good.text()
    );
    let other = Report::of(looked(), Some(rebuilt(b"other")), false);
    assert_eq!(
        (other.result, other.exit()),
        (Outcome::Mismatch, Exit::NotTrustworthy)
    );
    assert!(other.text().starts_with("MISMATCH siegel-kms (kms)\n"));
    let mut left = looked();
    left.findings
        .push(Finding::new(Severity::Error, "other-build", "I3", "x"));
    let left = Report::of(left, Some(rebuilt(b"kms")), false);
    assert_eq!(
        (left.result, left.exit()),
        (Outcome::Match, Exit::NotTrustworthy)
    );
    let certain = Rebuilt {
        certain: true,
        ..Rebuilt::default()
    };
    let certain = Report::of(looked(), Some(certain), false);
    assert_eq!(
        (certain.result, certain.exit()),
        (Outcome::Mismatch, Exit::NotTrustworthy)
    );
}

#[test]
fn nothing_endorsed_is_not_reproducible() {
    let nothing = Report::of(Looked::default(), None, false);
    assert_eq!(
        (nothing.result, nothing.exit()),
        (Outcome::NotReproducible, Exit::NotTrustworthy)
    );
    assert!(nothing.text().starts_with("NOT REPRODUCIBLE\n"));
    let json = serde_json::to_value(&nothing).unwrap();
    assert_eq!(json["result"], "not-reproducible");
    assert!(json["commit"].is_null() && json["binaries"].as_array().unwrap().is_empty());
    // A stated build that cannot be repeated: what is known of it is shown.
    let plain = Report::of(looked(), None, false);
    assert_eq!(plain.result, Outcome::NotReproducible);
    assert!(plain.commit.is_some());
}

/// Catches: an empty list of binaries that all match.
#[test]
fn no_binaries_are_no_match() {
    let mut empty = looked();
    empty.expected.as_mut().unwrap().files.clear();
    let report = Report::of(empty, Some(rebuilt(b"kms")), false);
    assert_eq!(report.result, Outcome::Mismatch);
}
