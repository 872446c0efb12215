use super::*;
use crate::testing::{TestLog, TestMirror};

const NOW: Timestamp = Timestamp(1_800_000_000);
const AGE: Seconds = Seconds(3_600);

fn log() -> LogAnchors {
    TestLog::new("log.example.test", [3; 32]).anchors()
}

fn mirrors(count: u8) -> Vec<TestMirror> {
    (1..=count).map(|n| TestMirror::new(40 + n)).collect()
}

fn quorum(mirrors: &[TestMirror], required: u32) -> MirrorQuorum {
    MirrorQuorum {
        required,
        min_age: AGE,
        mirrors: mirrors.iter().map(|m| m.named_key().clone()).collect(),
    }
}

fn said(age: u64) -> Archived {
    Archived {
        origin: "log.example.test".into(),
        time: Timestamp(NOW.0 - age),
        sha256: Digest::of(b"policy"),
    }
}

fn verify(quorum: &MirrorQuorum, notes: &[String]) -> Result<(), ArchivedError> {
    quorum.verify(notes, &Digest::of(b"policy"), &log(), NOW)
}

fn few(said: Result<(), ArchivedError>, of: u32, later: u32) {
    match said {
        Err(ArchivedError::TooFew { found, young, .. }) => assert_eq!((found, young), (of, later)),
        other => panic!("{other:?}"),
    }
}

// I1: catches a count of notes or mirrors in place of operators, and an age that is not looked at.
#[test]
fn i1_enough_operators_for_long_enough() {
    let mut mirrors = mirrors(3);
    let quorum = |mirrors: &[TestMirror]| quorum(mirrors, 2);
    let notes = |mirrors: &[TestMirror], ages: &[u64]| -> Vec<String> {
        let each = mirrors.iter().zip(ages);
        each.map(|(mirror, age)| mirror.sign(&said(*age))).collect()
    };
    verify(&quorum(&mirrors), &notes(&mirrors, &[3_600, 9_999])).unwrap();
    let young = verify(&quorum(&mirrors), &notes(&mirrors, &[3_600, 3_599, 0]));
    few(young, 1, 2);
    few(verify(&quorum(&mirrors), &[]), 0, 0);
    let twice = [&mirrors[0], &mirrors[0]].map(|mirror| mirror.sign(&said(9_999)));
    few(verify(&quorum(&mirrors), &twice), 1, 0);
    // Two keys of one operator.
    let all = notes(&mirrors, &[9_999, 9_999]);
    mirrors[1].set_operator("operator 41");
    few(verify(&quorum(&mirrors), &all), 1, 0);
    // Nobody is asked.
    verify(&MirrorQuorum::none(), &[]).unwrap();
    verify(&MirrorQuorum::none(), &all).unwrap();
}

// I1, I2: catches a note about other bytes or of another log, and a signature that is not checked.
#[test]
fn i1_a_note_of_something_else_is_refused() {
    let mirrors = mirrors(2);
    let quorum = quorum(&mirrors, 2);
    let good: Vec<_> = mirrors.iter().map(|m| m.sign(&said(9_999))).collect();
    verify(&quorum, &good).unwrap();
    let with = |note: String| verify(&quorum, &[good[0].clone(), note]);
    let mut other = said(9_999);
    other.sha256 = Digest::of(b"another");
    let refused = with(mirrors[1].sign(&other));
    assert!(matches!(
        refused,
        Err(ArchivedError::Other { at: "sha256", .. })
    ));
    other = said(9_999);
    other.origin = "other.example.test".into();
    let refused = with(mirrors[1].sign(&other));
    assert!(matches!(
        refused,
        Err(ArchivedError::Other { at: "log", .. })
    ));
    // Another time under the same signature.
    let forged = good[1].replace(
        &said(9_999).time.to_string(),
        &said(99_999).time.to_string(),
    );
    assert!(matches!(with(forged), Err(ArchivedError::Signature { .. })));
    // A stranger's note is no note of the second mirror.
    let stranger = with(TestMirror::new(9).sign(&said(9_999)));
    assert!(matches!(
        stranger,
        Err(ArchivedError::TooFew { found: 1, .. })
    ));
    let many = vec![good[0].clone(); MAX_NOTES + 1];
    assert!(matches!(
        verify(&quorum, &many),
        Err(ArchivedError::TooMany { found: 17 })
    ));
}

#[test]
fn i1_a_quorum_that_cannot_be_enforced_is_refused() {
    let mirrors = mirrors(2);
    let refuse = |change: &dyn Fn(&mut MirrorQuorum)| {
        let mut quorum = quorum(&mirrors, 2);
        change(&mut quorum);
        quorum.check(&log()).unwrap_err()
    };
    assert!(matches!(
        refuse(&|q| q.required = 3),
        ArchivedError::Quorum(_)
    ));
    assert!(matches!(
        refuse(&|q| q.mirrors.swap(0, 1)),
        ArchivedError::Quorum(_)
    ));
    let too_long = Seconds(366 * 86_400 + 1);
    assert!(matches!(
        refuse(&|q| q.min_age = too_long),
        ArchivedError::Anchors(_)
    ));
    assert!(matches!(
        refuse(&|q| q.mirrors[0].key = log().key),
        ArchivedError::Anchors(_)
    ));
}

// I14: catches any byte of a note that is not looked at, and a panic.
#[test]
fn i14_every_flipped_bit_is_refused() {
    let mirrors = mirrors(1);
    let quorum = quorum(&mirrors, 1);
    let note = mirrors[0].sign(&said(9_999));
    for at in 0..note.len() {
        for bit in 0..8 {
            let mut bytes = note.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            let Ok(flipped) = String::from_utf8(bytes) else {
                continue;
            };
            assert!(verify(&quorum, &[flipped]).is_err(), "byte {at} bit {bit}");
        }
    }
}
