//! The example file builds; every slip of the author is named with its line.

use super::*;
use crate::testing::measured;
use siegel_attest::TeeKind;

const EXAMPLE: &str = include_str!("../../../../policies/word-histogram.toml");

fn facts() -> Facts {
    let binaries = [("siegel-root", 4), ("siegel-worker", 5), ("siegel-kms", 3)];
    Facts {
        now: Timestamp(1_800_000_000),
        cluster_id: ClusterId::from_bytes([1; 32]),
        kms_config: ConfigDigest::from_bytes([2; 32]),
        log_origin: "log.example.org".into(),
        witnesses: 0,
        binaries: binaries
            .map(|(name, n)| (name.to_owned(), vec![measured(n)]))
            .into(),
        programs: [(
            "word-histogram".to_owned(),
            ProgramDigest::from_bytes([7; 32]),
        )]
        .into(),
        endorsers: vec![KeyDigest::from_bytes([9; 32])],
    }
}

fn error(from: &str, to: &str) -> AuthorError {
    let text = EXAMPLE.replacen(from, to, 1);
    assert_ne!(text, EXAMPLE, "{from:?} is not in the example");
    build(&text, &facts()).expect_err("it builds")
}

/// Line of the first occurrence of `part`, counted from 1.
fn line_of(part: &str) -> usize {
    EXAMPLE
        .lines()
        .position(|line| line.contains(part))
        .unwrap()
        + 1
}

#[test]
fn the_example_builds() {
    let policy = build(EXAMPLE, &facts()).unwrap();
    assert_eq!(policy.name, "word-histogram");
    assert_eq!(policy.kms.cluster_id, ClusterId::from_bytes([1; 32]));
    assert_eq!(policy.roles.worker.reference_values, [measured(5)]);
    assert_eq!(policy.roles.root.reference_values, [measured(4)]);
    assert_eq!(policy.kms.reference_values, [measured(3)]);
    assert_eq!(policy.kms.reference_values[0].tee(), TeeKind::Simulated);
    assert_eq!(
        policy.not_after.since(policy.not_before),
        Seconds(30 * 86_400)
    );
    // I6: the largest rho for which the stated epsilon is true.
    let mut more = policy.rules().clone();
    more.privacy.total.rho_nano.0 += 1;
    assert!(more.compile().is_err());
    // The same file and facts give the same policy.
    assert_eq!(build(EXAMPLE, &facts()).unwrap().digest(), policy.digest());
    assert_eq!(
        names(EXAMPLE).unwrap(),
        Names {
            root: "siegel-root".into(),
            worker: "siegel-worker".into(),
            kms: "siegel-kms".into(),
            programs: vec!["word-histogram".into()],
        }
    );
}

#[test]
fn unknown_missing_and_mistyped_keys_name_their_line() {
    let unknown = error("min_blobs = ", "min_blob = ");
    assert!(
        matches!(unknown, AuthorError::Toml { line: Some(_), .. }),
        "{unknown}"
    );
    assert!(
        unknown.to_string().contains("unknown field `min_blob`"),
        "{unknown}"
    );
    assert_eq!(unknown.line(), Some(line_of("min_blobs = ")));
    assert!(
        error("min_blobs = 2", "")
            .to_string()
            .contains("missing field `min_blobs`")
    );
    let kind = error("kind = \"words\"", "kind = \"numbers\"");
    assert_eq!(kind.line(), Some(line_of("kind = \"words\"")));
    assert!(
        kind.to_string().contains("unknown variant `numbers`"),
        "{kind}"
    );
    let decimal = error("\"0.000001\"", "\"1e-6\"");
    assert_eq!(decimal.line(), Some(line_of("delta = ")));
    assert!(decimal.to_string().contains("not 1e-6"), "{decimal}");
    let nested = error("epsilon = ", "epsilom = \"1\"\nepsilon = ");
    assert_eq!(nested.line(), Some(line_of("epsilon = ")));
    assert_eq!(
        error("[bounds]", "[bounds").line(),
        Some(line_of("[bounds]"))
    );
    let float = error("epsilon = \"2\"", "epsilon = 2.0");
    assert_eq!(float.line(), Some(line_of("epsilon = \"2\"")));
}

#[test]
fn unknown_binaries_and_programs_name_their_line() {
    let binary = error("root = \"siegel-root\"", "root = \"siegel-rot\"");
    assert!(
        matches!(binary, AuthorError::Unknown { kind: "binary", .. }),
        "{binary}"
    );
    assert_eq!(binary.line(), Some(line_of("root = \"siegel-root\"")));
    assert!(
        binary
            .to_string()
            .contains("siegel-kms, siegel-root, siegel-worker"),
        "{binary}"
    );
    let program = error("programs = [\"word-histogram\"]", "programs = [\"words\"]");
    assert!(
        matches!(
            program,
            AuthorError::Unknown {
                kind: "program",
                ..
            }
        ),
        "{program}"
    );
}

#[test]
fn values_and_rules_name_their_line() {
    let days = error("valid_days = 30", "valid_days = 0");
    assert!(matches!(days, AuthorError::Value { .. }), "{days}");
    assert_eq!(days.line(), Some(line_of("valid_days")));
    let epsilon = error("epsilon = \"2\"", "epsilon = \"0\"");
    assert_eq!(epsilon.line(), Some(line_of("epsilon = ")), "{epsilon}");
    let delta = error("\"0.000001\"", "\"1\"");
    assert_eq!(delta.line(), Some(line_of("delta = ")), "{delta}");
    for (from, to) in [
        ("key_ttl_seconds = 86400", "key_ttl_seconds = 0"),
        ("name = \"word-histogram\"", "name = \"Word Histogram\""),
        ("max_items_per_user = 32", "max_items_per_user = 0"),
        ("suites = [1]", "suites = [1, 1]"),
        (
            "public_counters = [\"blobs\"]",
            "public_counters = [\"users\"]",
        ),
        (
            "{ name = \"words\", kind = \"words\" }",
            "{ name = \"W\", kind = \"words\" }",
        ),
    ] {
        let error = error(from, to);
        assert!(matches!(error, AuthorError::Policy { .. }), "{error}");
        assert_eq!(error.line(), Some(line_of(from)), "{error}");
    }
    // I1: production needs witnesses, and here the cluster has none.
    let production = error("profile = \"simulation\"", "profile = \"production\"");
    assert!(
        production.to_string().contains("at least 2 witnesses"),
        "{production}"
    );
}

#[test]
fn sets_are_written_in_any_order() {
    let text = EXAMPLE.replacen("suites = [1]", "suites = [2, 1]", 1);
    assert_eq!(build(&text, &facts()).unwrap().suites, [1, 2]);
    let text = EXAMPLE.replacen("[input]", "[log]\nwitnesses = 2\n\n[input]", 1);
    assert_eq!(build(&text, &facts()).unwrap().log.witnesses, 2);
}

// I3: catches a file that requires endorsements and is built into a policy that does not.
#[test]
fn i3_required_endorsements_need_an_endorser() {
    let policy = build(EXAMPLE, &facts()).unwrap();
    assert_eq!(policy.endorsers, [KeyDigest::from_bytes([9; 32])]);
    let mut nobody = facts();
    nobody.endorsers.clear();
    let refused = build(EXAMPLE, &nobody).expect_err("it builds");
    assert_eq!(refused.line(), Some(line_of("endorsements = ")));
    let text = EXAMPLE.replacen("\"required\"", "\"none\"", 1);
    assert!(build(&text, &facts()).unwrap().endorsers.is_empty());
    assert!(
        error("endorsements = \"required\"", "")
            .to_string()
            .contains("missing field")
    );
}
