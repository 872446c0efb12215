use super::*;

fn evidence(kind: Kind) -> (hardware::Evidence, Endorsements) {
    let endorsements = Endorsements {
        certificates: vec![vec![1; 5], vec![2; 6]],
        crls: vec![vec![3; 7]],
        collateral: Some(vec![4; 8]),
        event_log: Some(vec![5; 9]),
    };
    let body = vec![6; 10];
    (hardware::Evidence { kind, body }, endorsements)
}

// Catches a part that is lost, mixed up with another or read for another kind.
#[test]
fn what_is_stapled_comes_back() {
    let bare = Endorsements::default();
    for (_, kind) in KINDS {
        let (one, full) = evidence(kind);
        for endorsements in [&full, &bare] {
            let framed = one.staple(endorsements).unwrap();
            let Ok(Evidence::Hardware(found)) = Evidence::parse(&framed) else {
                panic!("not read back");
            };
            assert_eq!(*found, (one.clone(), endorsements.clone()));
        }
    }
}

// I2, I14: one spelling; nothing cut, added or too long.
#[test]
fn i14_hostile_frames_are_refused() {
    let (one, endorsements) = evidence(Kind::Tdx);
    let framed = one.staple(&endorsements).unwrap();
    for cut in 0..framed.len() {
        assert!(Evidence::parse(&framed[..cut]).is_err(), "cut at {cut}");
    }
    let (head, body) = (&framed[..2], &framed[6..]);
    let with = |body: &[u8]| [head, &(body.len() as u32).to_be_bytes(), body].concat();
    assert_eq!(with(body), framed);
    for bad in [
        [&framed[..], &[0]].concat(),
        with(&[body, &[0]].concat()),
        with(&body[..body.len() - 1]),
        with(&[]),
    ] {
        assert!(matches!(Evidence::parse(&bad), Err(Refusal::Frame(_))));
    }
    for kind in (0..=255u8).filter(|kind| *kind != KIND_SIMULATED && !(1..=4).contains(kind)) {
        let mut bad = framed.clone();
        bad[1] = kind;
        assert!(
            matches!(Evidence::parse(&bad), Err(Refusal::UnknownKind { .. })),
            "{kind:#x}"
        );
    }
    let many = Endorsements {
        certificates: vec![vec![1]; 9],
        ..endorsements.clone()
    };
    assert!(matches!(one.staple(&many), Err(Refusal::Malformed { .. })));
    let count = 2 + 4 + 4 + one.body.len();
    let mut bad = framed.clone();
    bad[count] = 255;
    assert!(matches!(
        Evidence::parse(&bad),
        Err(Refusal::Malformed { .. })
    ));
    let long = Endorsements {
        event_log: Some(vec![0; EVIDENCE_MAX]),
        ..endorsements
    };
    assert!(matches!(one.staple(&long), Err(Refusal::TooLong { .. })));
    let long = hardware::Evidence {
        body: vec![0; hardware::EVIDENCE_MAX + 1],
        ..one
    };
    assert!(matches!(
        long.staple(&Endorsements::default()),
        Err(Refusal::Frame(_))
    ));
}
