//! The table: what `sigstore-verify` lets through, and other verifiers too. Each row is refused by
//! ours, by the check that is meant to. If upstream becomes stricter, its column here starts to
//! fail: good news, change the column.

use serde_json::json;
use siegel_ident::Digest;

use super::sample::{INTEGRATED, Sample, V1, V2, World, samples};
use crate::Kind;
use crate::encoding::{b64, from_b64};

#[test]
fn every_kind_of_entry_verifies_by_both() {
    for (what, sample) in samples(&World::new()) {
        let verified = sample
            .verify()
            .unwrap_or_else(|why| panic!("{what}: {why}"));
        assert_eq!(verified.tree_size, Some(7), "{what}");
        assert!(sample.they_accept(), "{what}");
    }
}

/// A row: bend a good bundle of this kind; the check of ours that refuses; whether they accept.
fn row(kind: Kind, what: &str, check: &str, they: bool, bend: fn(&World, Kind, &mut Sample)) {
    let world = World::new();
    let mut sample = world.bundle(kind, !matches!(kind, Kind::HashedRekord001));
    bend(&world, kind, &mut sample);
    let refused = sample.refused();
    assert_eq!(refused, check, "{what}: {:?}", sample.verify());
    assert_eq!(sample.they_accept(), they, "{what}: upstream");
}

const BOTH: [Kind; 2] = [Kind::HashedRekord002, Kind::Dsse001];

fn root_of(sample: &mut Sample) -> Digest {
    let text = sample.entry()["inclusionProof"]["rootHash"]
        .as_str()
        .unwrap();
    Digest::try_from_slice(&from_b64(text).unwrap()).unwrap()
}

fn set_note(sample: &mut Sample, note: &str) {
    sample.entry()["inclusionProof"]["checkpoint"] = json!({ "envelope": note });
}

/// Row 1: origin line differs, name kept. Signed anew by the log's own key.
#[test]
fn i1_a_checkpoint_of_another_origin() {
    for kind in BOTH {
        row(kind, "origin", "field", true, |world, kind, sample| {
            let text = World::text(kind, 7, &root_of(sample));
            let text = text.replacen("example.test", "example.tesu", 1);
            let name = if kind.is_v2() { V2 } else { V1 };
            set_note(sample, &world.note(kind, &text, name));
        });
    }
}

/// Row 2: the line's name differs from the origin.
#[test]
fn i1_a_checkpoint_signed_under_another_name() {
    for kind in BOTH {
        row(
            kind,
            "name",
            "checkpoint-signature",
            true,
            |world, kind, sample| {
                let text = World::text(kind, 7, &root_of(sample));
                set_note(sample, &world.note(kind, &text, "other.example.test"));
            },
        );
        row(kind, "both", "field", true, |world, kind, sample| {
            let text = World::text(kind, 7, &root_of(sample));
            let text = text.replacen("example.test", "example.tesu", 1);
            set_note(sample, &world.note(kind, &text, "other.example.test"));
        });
    }
}

/// Row 3: the entry's log id is another one: unknown, or that of the other log.
#[test]
fn i1_a_wrong_log_id() {
    row(
        Kind::HashedRekord002,
        "unknown id",
        "unknown-log",
        true,
        |_, _, sample| {
            sample.entry()["logId"]["keyId"] = json!(b64(&[1; 32]));
        },
    );
    row(
        Kind::HashedRekord002,
        "id of v1",
        "field",
        true,
        |world, _, sample| {
            sample.entry()["logId"]["keyId"] = json!(b64(world.log_id(Kind::Dsse001).as_bytes()));
        },
    );
    // The promise is looked up by id, so upstream refuses here.
    row(
        Kind::Dsse001,
        "id of v2",
        "entry-timestamp",
        false,
        |world, _, sample| {
            let id = world.log_id(Kind::HashedRekord002);
            sample.entry()["logId"]["keyId"] = json!(b64(id.as_bytes()));
        },
    );
}

/// Row 4: `logIndex` and `proof.logIndex`.
#[test]
fn i1_indices_that_differ() {
    row(
        Kind::HashedRekord002,
        "logIndex",
        "field",
        false,
        |_, _, sample| {
            sample.entry()["logIndex"] = json!("5");
        },
    );
    row(
        Kind::HashedRekord002,
        "proof.logIndex",
        "field",
        true,
        |_, _, sample| {
            sample.entry()["inclusionProof"]["logIndex"] = json!("5");
        },
    );
    row(
        Kind::Dsse001,
        "logIndex",
        "entry-timestamp",
        false,
        |_, _, sample| {
            sample.entry()["logIndex"] = json!("1005");
        },
    );
    row(
        Kind::Dsse001,
        "proof.logIndex",
        "inclusion-proof",
        false,
        |_, _, sample| {
            sample.entry()["inclusionProof"]["logIndex"] = json!("5");
        },
    );
    // Without a promise nothing signs the index over all shards; it cannot be below the shard's.
    row(
        Kind::Dsse001,
        "below the shard",
        "field",
        true,
        |_, _, sample| {
            let entry = sample.entry().as_object_mut().unwrap();
            entry.remove("inclusionPromise");
            entry.remove("integratedTime");
            entry.insert("logIndex".into(), json!("3"));
        },
    );
    row(
        Kind::HashedRekord002,
        "index = size",
        "inclusion-proof",
        false,
        |_, _, sample| {
            sample.entry()["logIndex"] = json!("7");
            sample.entry()["inclusionProof"]["logIndex"] = json!("7");
        },
    );
}

/// Row 5: the entry twice; none.
#[test]
fn i1_not_exactly_one_entry() {
    for kind in BOTH {
        row(kind, "twice", "not-one", true, |_, _, sample| {
            let entry = sample.entry().clone();
            sample.bundle["verificationMaterial"]["tlogEntries"] = json!([entry, entry]);
        });
        row(kind, "none", "not-one", false, |_, _, sample| {
            sample.bundle["verificationMaterial"]["tlogEntries"] = json!([]);
        });
    }
}

/// Beyond the table: what else upstream does not look at.
#[test]
fn i1_more_that_upstream_lets_through() {
    row(
        Kind::HashedRekord002,
        "size",
        "field",
        true,
        |_, _, sample| {
            sample.entry()["inclusionProof"]["treeSize"] = json!("8");
        },
    );
    row(
        Kind::HashedRekord002,
        "unknown field",
        "malformed",
        true,
        |_, _, sample| {
            sample.entry()["note"] = json!(1);
        },
    );
    row(
        Kind::HashedRekord002,
        "hint",
        "field",
        true,
        |_, _, sample| {
            let hint = b64(Digest::of(b"another key").as_bytes());
            sample.bundle["verificationMaterial"]["publicKey"]["hint"] = json!(hint);
        },
    );
    row(
        Kind::HashedRekord002,
        "a time of v2",
        "field",
        true,
        |_, _, sample| {
            sample.entry()["integratedTime"] = json!(INTEGRATED.to_string());
        },
    );
    row(
        Kind::Dsse001,
        "a time without a promise",
        "field",
        true,
        |_, _, sample| {
            sample
                .entry()
                .as_object_mut()
                .unwrap()
                .remove("inclusionPromise");
        },
    );
    row(
        Kind::Dsse001,
        "a promise without a time",
        "missing",
        false,
        |_, _, sample| {
            sample
                .entry()
                .as_object_mut()
                .unwrap()
                .remove("integratedTime");
        },
    );
    row(
        Kind::HashedRekord002,
        "line twice",
        "checkpoint-signature",
        true,
        |world, kind, sample| {
            let note = world.note(kind, &World::text(kind, 7, &root_of(sample)), V2);
            let line = note.lines().last().unwrap().to_owned();
            set_note(sample, &format!("{note}{line}\n"));
        },
    );
    row(
        Kind::HashedRekord002,
        "extension",
        "checkpoint-form",
        true,
        |world, kind, sample| {
            let text = World::text(kind, 7, &root_of(sample));
            set_note(sample, &world.note(kind, &format!("{text}extension\n"), V2));
        },
    );
    row(
        Kind::HashedRekord002,
        "size spelling",
        "checkpoint-form",
        true,
        |world, kind, sample| {
            let text = World::text(kind, 7, &root_of(sample)).replacen("\n7\n", "\n07\n", 1);
            set_note(sample, &world.note(kind, &text, V2));
        },
    );
    row(
        Kind::HashedRekord002,
        "a promise of v2",
        "field",
        false,
        |_, _, sample| {
            sample.entry()["inclusionPromise"] = json!({ "signedEntryTimestamp": "AA==" });
        },
    );
}

/// A body of another spelling, really in the log and really promised: pinned only by rebuilding it.
#[test]
fn i2_a_body_that_is_not_the_rebuilt_one() {
    let world = World::new();
    for (what, mut sample) in samples(&world) {
        let entry = sample.entry();
        let body = from_b64(entry["canonicalizedBody"].as_str().unwrap()).unwrap();
        let kind = crate::Bundle::parse(sample.bundle.to_string().as_bytes()).unwrap();
        let kind = kind.entry.kind;
        let text = String::from_utf8(body).unwrap();
        for bent in [
            format!("{text}\n"),
            text.replacen("\"spec\":{", "\"spec\":{\"a\":1,", 1),
            text.replacen("\"kind\":", "\"extra\":1,\"kind\":", 1),
            text.replacen(':', ": ", 1),
        ] {
            *sample.entry() = world.entry(kind, bent.as_bytes());
            assert_eq!(sample.refused(), "other-entry", "{what}: {bent}");
        }
    }
}

/// Lines of unknown cosigners are skipped; a line under the log's name with another key id is one.
#[test]
fn lines_of_others_are_skipped() {
    let world = World::new();
    let mut sample = world.bundle(Kind::HashedRekord002, true);
    let note = sample.entry()["inclusionProof"]["checkpoint"]["envelope"].clone();
    let (text, own) = note.as_str().unwrap().split_once("\n\n").unwrap();
    let witness = format!("\u{2014} witness.example {}\n", b64(&[9; 76]));
    let same_name = format!("\u{2014} {V2} {}\n", b64(&[9; 76]));
    for lines in [
        format!("{own}{witness}"),
        format!("{witness}{own}{same_name}"),
    ] {
        set_note(&mut sample, &format!("{text}\n\n{lines}"));
        assert!(sample.verify().is_ok(), "{lines}");
    }
    for lines in [witness.as_str(), same_name.as_str(), &own[..own.len() - 1]] {
        set_note(&mut sample, &format!("{text}\n\n{lines}"));
        assert!(sample.verify().is_err(), "{lines}");
    }
}
