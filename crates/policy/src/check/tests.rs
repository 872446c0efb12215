//! Each semantic rule has its own refusal, on both sides of its border.

use siegel_ident::json::JsonError;
use siegel_ident::{Delta, NanoRho, Timestamp};

use super::*;
use crate::testing::{measured, production, sample};
use crate::{Column, ColumnKind};

fn refusal(change: impl Fn(&mut AccessPolicy)) -> PolicyError {
    let mut policy = sample();
    change(&mut policy);
    let by_writer = policy.to_bytes().expect_err("the writer lets it through");
    // The reader must refuse the same, whoever wrote it.
    let bytes = siegel_ident::json::to_canonical(&policy).unwrap();
    let by_reader = AccessPolicy::parse(&bytes).expect_err("the reader lets it through");
    assert_eq!(by_writer.to_string(), by_reader.to_string());
    by_reader
}

fn accepted(change: impl Fn(&mut AccessPolicy)) {
    let mut policy = sample();
    change(&mut policy);
    let compiled = policy.compile().unwrap();
    assert_eq!(compiled.rules(), &policy);
}

macro_rules! refuses {
    ($change:expr, $pattern:pat $(if $guard:expr)?) => {{
        let error = refusal($change);
        assert!(matches!(&error, $pattern $(if $guard)?), "{error}");
        assert!(!error.to_string().is_empty());
    }};
}

#[test]
fn names() {
    refuses!(
        |p| p.schema = "siegel/policy/v2".into(),
        PolicyError::Schema { .. }
    );
    for bad in ["", "Word", "a b", "a.b", &"x".repeat(65)] {
        refuses!(
            |p| p.name = bad.into(),
            PolicyError::Text { field: "name", .. }
        );
    }
    for bad in ["", "a..b", ".a", "a.", "A.b", "a b", &"x.".repeat(70)] {
        refuses!(
            |p| p.pipeline = bad.into(),
            PolicyError::Text {
                field: "pipeline",
                ..
            }
        );
    }
    for bad in ["", "a b", "a+b", "a\nb", "é", &"x".repeat(257)] {
        refuses!(
            |p| p.log.origin = bad.into(),
            PolicyError::Text {
                field: "log.origin",
                ..
            }
        );
    }
    accepted(|p| p.name = "x".repeat(64));
}

/// I9. Windows and lifetimes.
#[test]
fn i9_times() {
    refuses!(|p| p.not_after = p.not_before, PolicyError::Window { .. });
    refuses!(
        |p| p.not_before = p.not_after.plus(Seconds(1)),
        PolicyError::Window { .. }
    );
    accepted(|p| p.not_after = p.not_before.plus(Seconds(1)));
    refuses!(
        |p| p.not_after = Timestamp(1 << 53),
        PolicyError::Number {
            field: "not_after",
            ..
        }
    );
    refuses!(
        |p| p.not_before = Timestamp(1 << 53),
        PolicyError::Number {
            field: "not_before",
            ..
        }
    );
    refuses!(
        |p| p.key_ttl = Seconds(0),
        PolicyError::Number {
            field: "key_ttl",
            ..
        }
    );
    refuses!(
        |p| p.key_ttl = Seconds(259_201),
        PolicyError::Number {
            field: "key_ttl",
            ..
        }
    );
    accepted(|p| p.key_ttl = KEY_TTL_MIN);
    accepted(|p| p.key_ttl = KEY_TTL_MAX);
}

/// I1. Production needs a quorum of witnesses; a simulation may do without.
#[test]
fn i1_witnesses() {
    for witnesses in [0, 1] {
        let mut policy = production();
        policy.log.witnesses = witnesses;
        let error = policy.compile().unwrap_err();
        assert!(matches!(error, PolicyError::TooFewWitnesses { found } if found == witnesses));
        accepted(|p| p.log.witnesses = witnesses);
    }
    assert!(production().compile().is_ok());
    refuses!(
        |p| p.log.witnesses = 65,
        PolicyError::Number {
            field: "log.witnesses",
            ..
        }
    );
}

/// I3. A rule that names nobody is a refusal, not "anybody".
#[test]
fn i3_empty_lists() {
    refuses!(
        |p| p.kms.reference_values.clear(),
        PolicyError::Empty {
            field: "kms.reference_values"
        }
    );
    refuses!(
        |p| p.roles.root.reference_values.clear(),
        PolicyError::Empty {
            field: "roles.root.reference_values"
        }
    );
    refuses!(
        |p| p.roles.worker.reference_values.clear(),
        PolicyError::Empty {
            field: "roles.worker.reference_values"
        }
    );
    refuses!(
        |p| p.programs.clear(),
        PolicyError::Empty { field: "programs" }
    );
    refuses!(
        |p| p.recipients.clear(),
        PolicyError::Empty {
            field: "recipients"
        }
    );
    refuses!(|p| p.suites.clear(), PolicyError::Empty { field: "suites" });
    refuses!(
        |p| p.input.columns.clear(),
        PolicyError::Empty {
            field: "input.columns"
        }
    );
    refuses!(
        |p| p.privacy.mechanisms.clear(),
        PolicyError::Empty {
            field: "privacy.mechanisms"
        }
    );
    accepted(|p| p.public_counters.clear());
}

/// I2. Sets have one spelling: no duplicates, ascending.
#[test]
fn i2_duplicates_and_order() {
    fn twice<T: Clone>(list: &mut Vec<T>) {
        list.push(list[0].clone());
    }
    refuses!(
        |p| p.kms.reference_values = vec![measured(9), measured(9)],
        PolicyError::NotAscending {
            field: "kms.reference_values"
        }
    );
    refuses!(
        |p| p.roles.root.reference_values = vec![measured(9), measured(8)],
        PolicyError::NotAscending {
            field: "roles.root.reference_values"
        }
    );
    refuses!(
        |p| p.roles.worker.reference_values.reverse(),
        PolicyError::NotAscending {
            field: "roles.worker.reference_values"
        }
    );
    refuses!(
        |p| p.programs.reverse(),
        PolicyError::NotAscending { field: "programs" }
    );
    refuses!(
        |p| twice(&mut p.programs),
        PolicyError::NotAscending { field: "programs" }
    );
    refuses!(
        |p| p.suites = vec![2, 1],
        PolicyError::NotAscending { field: "suites" }
    );
    refuses!(
        |p| p.suites = vec![1, 1],
        PolicyError::NotAscending { field: "suites" }
    );
    refuses!(
        |p| twice(&mut p.recipients),
        PolicyError::NotAscending {
            field: "recipients"
        }
    );
    refuses!(
        |p| p.endorsers = vec![siegel_ident::KeyDigest::from_bytes([1; 32]); 2],
        PolicyError::NotAscending { field: "endorsers" }
    );
    refuses!(
        |p| twice(&mut p.privacy.mechanisms),
        PolicyError::NotAscending {
            field: "privacy.mechanisms"
        }
    );
    refuses!(
        |p| twice(&mut p.public_counters),
        PolicyError::NotAscending {
            field: "public_counters"
        }
    );
    refuses!(|p| twice(&mut p.input.columns), PolicyError::DuplicateColumn { name } if name == "words");
}

/// I14. Bounds of lists and of the document.
#[test]
fn i14_bounds() {
    refuses!(
        |p| p.programs = (0..65)
            .map(|i| [i; 32])
            .map(siegel_ident::ProgramDigest::from_bytes)
            .collect(),
        PolicyError::TooMany {
            field: "programs",
            len: 65,
            max: 64
        }
    );
    let column = |i: usize| Column {
        name: format!("c{i}"),
        kind: ColumnKind::Words,
    };
    refuses!(
        |p| p.input.columns = (0..17).map(column).collect(),
        PolicyError::TooMany {
            field: "input.columns",
            ..
        }
    );
    accepted(|p| p.input.columns = (0..16).map(column).collect());
    refuses!(
        |p| p.input.columns[0].name = "No".into(),
        PolicyError::Text {
            field: "input.columns.name",
            ..
        }
    );
    let long = vec![b' '; POLICY_MAX + 1];
    assert!(matches!(
        AccessPolicy::parse(&long),
        Err(PolicyError::Json(JsonError::TooLong { .. }))
    ));
    refuses!(
        |p| p.suites = vec![1, 3],
        PolicyError::UnknownSuite { suite: 3 }
    );
    refuses!(
        |p| p.suites = vec![0, 1],
        PolicyError::UnknownSuite { suite: 0 }
    );
}

#[test]
fn numbers() {
    let items = "bounds.max_items_per_user";
    refuses!(|p| p.bounds.max_items_per_user = 0, PolicyError::Number { field, .. } if *field == items);
    refuses!(
        |p| p.bounds.max_items_per_user = 65_537,
        PolicyError::Number { field, .. } if *field == items
    );
    refuses!(
        |p| p.min_blobs = 0,
        PolicyError::Number {
            field: "min_blobs",
            ..
        }
    );
    refuses!(
        |p| p.min_blobs = 1 << 53,
        PolicyError::Number {
            field: "min_blobs",
            ..
        }
    );
    accepted(|p| p.min_blobs = (1 << 53) - 1);
    accepted(|p| p.min_blobs = 1);
    refuses!(
        |p| p.public_counters = vec!["blobs".into(), "users".into()],
        PolicyError::UnknownCounter { name } if name == "users"
    );
    refuses!(
        |p| p.sideloads = vec!["m".into()],
        PolicyError::NotBuilt {
            field: "sideloads",
            ..
        }
    );
    refuses!(
        |p| p.rebuilders = 1,
        PolicyError::NotBuilt {
            field: "rebuilders",
            ..
        }
    );
}

/// I6. The stated ε is at least the conversion. Catches a check that is skipped, rounds inwards,
/// forgets δ₀, or compares the wrong way round.
#[test]
fn i6_stated_epsilon_covers_the_budget() {
    let rho = sample().privacy.total.rho_nano;
    accepted(|p| p.privacy.epsilon = "2.1".parse().unwrap());
    refuses!(
        |p| p.privacy.epsilon = "1.99".parse().unwrap(),
        PolicyError::EpsilonUnderstated { .. }
    );
    refuses!(
        |p| p.privacy.total.rho_nano = NanoRho(rho.0 + 1),
        PolicyError::EpsilonUnderstated { .. }
    );
    refuses!(
        |p| p.privacy.delta = "0.0000009".parse().unwrap(),
        PolicyError::EpsilonUnderstated { .. }
    );
    refuses!(
        |p| p.privacy.total.delta0 = Delta(1 << 40),
        PolicyError::EpsilonUnderstated { .. }
    );
    refuses!(
        |p| p.privacy.total.delta0 = Delta(u64::MAX),
        PolicyError::Delta0TooLarge { .. }
    );
    for delta in ["0", "1", "2"] {
        refuses!(
            |p| p.privacy.delta = delta.parse().unwrap(),
            PolicyError::DeltaRange { .. }
        );
    }
    refuses!(
        |p| p.privacy.total.rho_nano = NanoRho(0),
        PolicyError::Number {
            field: "privacy.total.rho_nano",
            ..
        }
    );
    refuses!(
        |p| p.privacy.total.rho_nano = NanoRho(1 << 53),
        PolicyError::Number {
            field: "privacy.total.rho_nano",
            ..
        }
    );
}
