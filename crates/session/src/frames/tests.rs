use super::*;
use crate::testing::sessions;

mod sizes;

fn message(opened: Opened) -> Vec<u8> {
    match opened {
        Opened::Message(message) => message,
        _ => panic!("not a whole message"),
    }
}

#[test]
fn messages_of_all_sizes_arrive_whole_and_in_order() {
    let (mut a, mut b) = sessions();
    for len in [
        0,
        1,
        CHUNK - PREFIX,
        CHUNK,
        CHUNK + 1,
        2 * CHUNK,
        3 * CHUNK + 5,
        MESSAGE_MAX,
    ] {
        let sent: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let frames = a.seal(&sent).unwrap();
        assert_eq!(frames.len(), padded_len(len).div_ceil(CHUNK));
        let (last, parts) = frames.split_last().unwrap();
        for part in parts {
            assert!(part.len() == FRAME_MAX && b.open(part).unwrap() == Opened::Part);
        }
        assert!(message(b.open(last).unwrap()) == sent, "{len}");
    }
    // Both directions are independent.
    let frames = b.seal(b"back").unwrap();
    assert_eq!(message(a.open(&frames[0]).unwrap()), b"back");
}

// I3: replay, reordering, loss, another channel, reflection, change. Catches a nonce that the
// sender chooses, or keys shared by directions.
#[test]
fn i3_only_the_next_frame_of_this_channel_and_direction_opens() {
    type Attack = fn(Vec<Vec<u8>>) -> Vec<u8>;
    let attacks: [(&str, Attack); 5] = [
        ("replay", |f| f[0].clone()),
        ("loss or reordering", |f| f[2].clone()),
        ("cut", |f| f[1][..f[1].len() - 1].to_vec()),
        ("extended", |f| [&f[1][..], &[0]].concat()),
        ("empty", |_| Vec::new()),
    ];
    for (what, attack) in attacks {
        let (mut a, mut b) = sessions();
        // Frame 0 of each direction was its proof.
        let frames: Vec<_> = (0..3).map(|i| a.seal(&[i]).unwrap().remove(0)).collect();
        assert!(b.open(&frames[0]).is_ok());
        let wrong = attack(frames.clone());
        assert!(
            matches!(b.open(&wrong), Err(SessionError::Frame { frame: 2, .. })),
            "{what}"
        );
        // Fail closed: the right frame comes too late.
        assert!(
            matches!(b.open(&frames[1]), Err(SessionError::Broken)),
            "{what}"
        );
    }
    let (mut a, mut b) = sessions();
    let frame = a.seal(b"x").unwrap().remove(0);
    assert!(
        matches!(a.open(&frame), Err(SessionError::Frame { .. })),
        "reflection"
    );
    for at in 0..frame.len() {
        let mut b = opener_again(&b);
        let mut changed = frame.clone();
        changed[at] ^= 1;
        assert!(
            matches!(b.open(&changed), Err(SessionError::Frame { .. })),
            "byte {at}"
        );
    }
    assert!(b.open(&frame).is_ok());
}

/// A second opener of the same channel, so that a sweep needs no new handshake per byte.
fn opener_again(session: &crate::Session) -> Opener {
    let transport = session.opener.transport.clone();
    Opener {
        transport,
        next: session.opener.next,
        over: false,
        max: session.opener.max,
        partial: None,
    }
}

#[test]
fn i3_frames_of_another_session_do_not_open() {
    let (mut a, _) = sessions();
    let b = {
        use crate::testing::*;
        use siegel_attest::Role;
        let (a, b) = (node(Role::KmsPeer, 1), node(Role::KmsPeer, 2));
        let (mut a, first) = End::dial(&a, a.setup(kms()), 101);
        let mut b = End::accept(&b, b.setup(kms_or_workload()), 201);
        shake(&mut a, first, &mut b, |_, frame| vec![frame]).unwrap();
        b.session.unwrap()
    };
    let (_, mut opener, _) = b.split();
    let frame = a.seal(b"x").unwrap().remove(0);
    assert!(matches!(
        opener.open(&frame),
        Err(SessionError::Frame { .. })
    ));
}

// Catches a nonce that wraps, or AES-GCM used beyond its bound.
#[test]
fn a_worn_out_key_is_not_used() {
    let (a, b) = sessions();
    let (mut sealer, _, _) = a.split();
    let (_, mut opener, _) = b.split();
    (sealer.next, opener.next) = (FRAMES_MAX - 1, FRAMES_MAX - 1);
    let last = sealer.seal(b"last").unwrap().remove(0);
    assert!(matches!(
        sealer.seal(b"more"),
        Err(SessionError::Exhausted { .. })
    ));
    assert_eq!(message(opener.open(&last).unwrap()), b"last");
    assert!(matches!(
        opener.open(&last),
        Err(SessionError::Exhausted { .. })
    ));
    // A message that would cross the limit is refused too, not sent by halves and forgotten.
    sealer.next = FRAMES_MAX - 1;
    assert!(matches!(
        sealer.seal(&[0; CHUNK + 1]),
        Err(SessionError::Exhausted { .. })
    ));
}

// I14: what a hostile peer (with the right keys) may try against the receiver's memory and time.
#[test]
fn i14_reassembly_is_bounded_and_has_one_encoding() {
    let (a, b) = sessions();
    let (mut sealer, _, _) = a.split();
    let (_, mut opener, _) = b.split();
    let too_long = vec![0; MESSAGE_MAX + 1];
    assert!(matches!(
        sealer.seal(&too_long),
        Err(SessionError::MessageTooLong { .. })
    ));
    // Refusing to send harms nothing.
    let frame = sealer.seal(b"fine").unwrap().remove(0);
    assert_eq!(message(opener.open(&frame).unwrap()), b"fine");

    // One byte too much is refused by the length in front, whatever would follow.
    let mut first = pad(&too_long);
    first.truncate(CHUNK);
    let part = sealer.frame(PART, &first).unwrap();
    assert!(matches!(
        opener.open(&part),
        Err(SessionError::MessageTooLong {
            max: MESSAGE_MAX,
            ..
        })
    ));
    assert!(opener.partial.is_none());

    // Two chunks of a message that takes three, then something else; a last chunk that is one byte
    // short or long; chunks that are not full, and tags without a meaning.
    let (padded, zeros) = (pad(&vec![7; 2 * CHUNK]), vec![0; CHUNK]);
    let (one, rest) = padded.split_at(CHUNK);
    let (two, three) = rest.split_at(CHUNK);
    let longer = [three, &[0]].concat();
    let short = pad(b"");
    type Plain<'a> = &'a [(u8, &'a [u8])];
    let refused: [Plain<'_>; 15] = [
        &[(PART, &[])],
        &[(PART, &one[..CHUNK - 1])],
        &[(PART, one), (PART, two), (PART, three)],
        &[(PART, one), (PART, two), (PART, &zeros)],
        &[(PART, one), (PART, two), (LAST, &[])],
        &[(PART, one), (PART, two), (LAST, &three[1..])],
        &[(PART, one), (PART, two), (LAST, &longer)],
        &[(PART, one), (LAST, two)],
        &[(PART, one), (CLOSE, &[0; PADDED_MIN])],
        &[(PART, &short), (LAST, &short)],
        &[(LAST, &[])],
        &[(LAST, &[0; 3])],
        &[(LAST, one)],
        &[(CLOSE, &[])],
        &[(3, &short)],
    ];
    for plain in refused {
        let (a, b) = sessions();
        let (mut sealer, _, _) = a.split();
        let (_, mut opener, _) = b.split();
        let results = plain.iter().map(|(tag, chunk)| {
            let frame = sealer.frame(*tag, chunk).unwrap();
            opener.open(&frame)
        });
        let last = results.last().unwrap();
        let tags: Vec<_> = plain
            .iter()
            .map(|(tag, chunk)| (tag, chunk.len()))
            .collect();
        assert!(last.is_err(), "{tags:?}");
        assert!(opener.over && opener.partial.is_none());
    }
}

// Catches a cut that looks like an end: only the sealed goodbye is one.
#[test]
fn goodbye_is_sealed_and_final() {
    let (mut a, mut b) = sessions();
    let frame = a.seal(b"x").unwrap().remove(0);
    let goodbye = a.sealer.close().unwrap();
    assert!(matches!(a.seal(b"y"), Err(SessionError::Broken)));
    assert!(b.open(&frame).is_ok());
    assert!(b.open(&goodbye).unwrap() == Opened::Closed);
    assert!(matches!(b.open(&goodbye), Err(SessionError::Broken)));
    // The other direction lives on.
    let back = b.seal(b"z").unwrap().remove(0);
    assert_eq!(message(a.open(&back).unwrap()), b"z");
}

impl Sealer {
    /// Takes a frame back that was not sent.
    pub(crate) fn rewind(&mut self) {
        self.next -= 1;
    }
}
