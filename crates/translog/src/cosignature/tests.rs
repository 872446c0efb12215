use super::*;
use crate::testing::{TestLog, TestWitness};

const NOW: Timestamp = Timestamp(1_700_000_000);
const AGE: Seconds = Seconds(600);

fn log(witnesses: u8) -> TestLog {
    let witnesses = (1..=witnesses).map(TestWitness::new).collect();
    let mut log = TestLog::new("log.example.test", [7; 32]).witnessed(witnesses, AGE);
    log.set_time(NOW);
    log
}

fn quorum(
    note: &str,
    quorum: &WitnessQuorum,
    now: Timestamp,
) -> Result<Option<Timestamp>, ProofError> {
    check_quorum(&Note::parse(note).unwrap(), quorum, now)
}

// The format of C2SP tlog-cosignature, with an independent signature check.
#[test]
fn a_line_is_key_id_time_and_signature() {
    let witness = TestWitness::new(1);
    let NamedKey { name, key, .. } = witness.named_key();
    let text = "log.example.test\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n";
    let line = witness.cosign(text, NOW);
    let line = SignatureLine::parse(line.strip_suffix('\n').unwrap()).unwrap();
    assert_eq!(line.name, name);
    let id = ring::digest::digest(
        &ring::digest::SHA256,
        &[name.as_bytes(), &[0x0a, 0x04], key].concat(),
    );
    assert_eq!(line.key_id, id.as_ref()[..4]);
    assert_eq!(line.signature[..8], NOW.0.to_be_bytes());
    let signed = format!("cosignature/v1\ntime 1700000000\n{text}");
    UnparsedPublicKey::new(&ED25519, key)
        .verify(signed.as_bytes(), &line.signature[8..])
        .unwrap();
}

// I1: catches a quorum that counts lines instead of operators, or takes one that is not there.
#[test]
fn i1_k_distinct_operators_must_have_cosigned() {
    let three = log(3);
    let note = three.checkpoint();
    let mut anchors = three.anchors().witnesses;
    assert_eq!(quorum(&note, &anchors, NOW).unwrap(), Some(NOW));
    anchors.witnesses[1].operator = "operator 1".to_owned();
    assert!(matches!(
        quorum(&note, &anchors, NOW),
        Err(ProofError::Witnesses {
            required: 3,
            found: 2,
            stale: 0,
            ..
        })
    ));
    anchors.required = 2;
    quorum(&note, &anchors, NOW).unwrap();
    let alone = TestLog::new("log.example.test", [7; 32]).checkpoint();
    assert!(matches!(
        quorum(&alone, &anchors, NOW),
        Err(ProofError::Witnesses { found: 0, .. })
    ));
    assert_eq!(quorum(&alone, &WitnessQuorum::none(), NOW).unwrap(), None);
}

// I1: catches cosignatures without an end, and clocks that may say anything.
#[test]
fn i1_only_fresh_cosignatures_count() {
    let two = log(2);
    let (note, anchors) = (two.checkpoint(), two.anchors().witnesses);
    for good in [NOW, NOW.plus(AGE), NOW.minus(CLOCK_SKEW)] {
        assert_eq!(quorum(&note, &anchors, good).unwrap(), Some(NOW), "{good}");
    }
    for bad in [
        NOW.plus(Seconds(601)),
        NOW.minus(Seconds(301)),
        Timestamp(0),
        Timestamp(u64::MAX),
    ] {
        assert!(
            matches!(
                quorum(&note, &anchors, bad),
                Err(ProofError::Witnesses { stale: 2, .. })
            ),
            "{bad}"
        );
    }
}

// The time vouched for is one that `required` operators have reached.
#[test]
fn the_time_is_the_quorums_not_the_fastest() {
    let witnesses: Vec<_> = (1..=3).map(TestWitness::new).collect();
    let mut log = TestLog::new("log.example.test", [7; 32]);
    log.set_time(NOW);
    let mut note = log.checkpoint();
    let (text, _) = note.split_once("\n\n").unwrap();
    let text = format!("{text}\n");
    for (witness, ahead) in witnesses.iter().zip([100, 7, 50]) {
        note.push_str(&witness.cosign(&text, NOW.plus(Seconds(ahead))));
    }
    for (required, ahead) in [(1, 100), (2, 50), (3, 7)] {
        let quorum_of = TestWitness::quorum(&witnesses, required, AGE);
        let time = quorum(&note, &quorum_of, NOW).unwrap();
        assert_eq!(time, Some(NOW.plus(Seconds(ahead))));
    }
}

// Catches a pinned witness whose bad line is skipped because there are enough others.
#[test]
fn a_pinned_witness_line_must_verify_and_a_strangers_is_ignored() {
    let three = log(3);
    let note = three.checkpoint();
    let mut one_of_three = three.anchors().witnesses;
    one_of_three.required = 1;
    let line = |n: usize| note.lines().nth(5 + n).unwrap();
    let other_time = TestWitness::new(3).cosign("log.example.test\n1\n\n", NOW);
    let swapped = note.replace(line(2), other_time.trim_end());
    assert_ne!(swapped, note);
    assert!(matches!(
        quorum(&swapped, &one_of_three, NOW),
        Err(ProofError::Cosignature { .. })
    ));
    let twice = format!("{note}{}\n", line(2));
    assert!(matches!(
        quorum(&twice, &one_of_three, NOW),
        Err(ProofError::Cosignature { .. })
    ));
    let mut two_pinned = one_of_three;
    two_pinned.witnesses.pop();
    quorum(&swapped, &two_pinned, NOW).unwrap();
}
