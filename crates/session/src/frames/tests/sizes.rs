//! I12: what sizes on the wire tell.

use proptest::prelude::*;

use super::*;

/// One half of each end of a channel.
fn halves_of_a_session() -> (Sealer, Opener) {
    let (a, b) = sessions();
    let ((sealer, _, _), (_, opener, _)) = (a.split(), b.split());
    (sealer, opener)
}

fn sizes(frames: &[Vec<u8>]) -> Vec<usize> {
    frames.iter().map(Vec::len).collect()
}

/// Sends these padded bytes as they are, and says what the receiver makes of them.
fn sent_raw(padded: &[u8]) -> Result<Vec<u8>, SessionError> {
    let (mut sealer, mut opener) = halves_of_a_session();
    let last = padded.len().div_ceil(CHUNK) - 1;
    for (at, chunk) in padded.chunks(CHUNK).enumerate() {
        let tag = if at == last { LAST } else { PART };
        let frame = sealer.frame(tag, chunk).unwrap();
        if let Opened::Message(message) = opener.open(&frame)? {
            return Ok(message);
        }
    }
    panic!("no message")
}

// The table of OVERVIEW.md: bytes of a message, and of its frames together.
#[test]
fn known_sizes() {
    let (mut sealer, _) = halves_of_a_session();
    for (len, on_the_wire) in [
        (0, 273),
        (252, 273),
        (253, 289),
        (1_000, 1_041),
        (10_000, 10_257),
        (65_000, 65_570),
        (100_000, 100_386),
        (1_000_000, 1_016_080),
        (MESSAGE_MAX, 17_306_009),
    ] {
        let frames = sealer.seal(&vec![1; len]).unwrap();
        assert_eq!(sizes(&frames).iter().sum::<usize>(), on_the_wire, "{len}");
    }
    // The goodbye is as long as the shortest message.
    assert_eq!(sealer.close().unwrap().len(), 273);
}

// Catches padding that nobody looks at: it would carry something past whoever checks the message,
// and one message would have many encodings.
#[test]
fn i12_foreign_padding_is_refused() {
    for len in [0, 10, 251, 305, 70_000] {
        let padded = pad(&vec![9; len]);
        assert_eq!(sent_raw(&padded).unwrap(), vec![9; len]);
        let zeros = PREFIX + len..padded.len();
        let step = (zeros.len() / 40).max(1);
        for at in zeros.clone().step_by(step).chain([zeros.end - 1]) {
            for bit in [0, 7] {
                let mut foreign = padded.clone();
                foreign[at] ^= 1 << bit;
                let error = sent_raw(&foreign).unwrap_err();
                assert!(matches!(error, SessionError::Frame { .. }), "{len}: {at}");
            }
        }
    }
}

// Catches a class that the sender may choose: more padding than the least, or less.
#[test]
fn i12_another_class_is_refused() {
    for len in [0, 10, 251, 305, 70_000, 200_000] {
        let padded = pad(&vec![9; len]);
        let next = padded_len(padded.len());
        assert!(next > padded.len());
        for size in [padded.len() - 1, padded.len() + 1, next, PREFIX + len] {
            let mut other = padded.clone();
            other.resize(size, 0);
            let error = sent_raw(&other).unwrap_err();
            assert!(matches!(error, SessionError::Frame { .. }), "{len}: {size}");
        }
        // A length of another class in front of the same bytes.
        for claims in [padded.len() - PREFIX + 1, next - PREFIX] {
            let mut other = padded.clone();
            other[..PREFIX].copy_from_slice(&(claims as u32).to_be_bytes());
            assert!(sent_raw(&other).is_err(), "{len}: {claims}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // Catches sizes that follow the message more closely than its class, or its bytes.
    #[test]
    fn i12_sizes_depend_on_the_class_alone(
        len in 0usize..300_000,
        shift in 0usize..40_000,
        byte in any::<u8>(),
    ) {
        let (mut sealer, mut opener) = halves_of_a_session();
        let (one, two) = (vec![byte; len], vec![!byte; len + shift]);
        let (first, second) = (sealer.seal(&one).unwrap(), sealer.seal(&two).unwrap());
        prop_assert_eq!(
            sizes(&first) == sizes(&second),
            padded_len(one.len()) == padded_len(two.len())
        );
        let framed: usize = sizes(&first).iter().map(|size| size - TAG_LEN - 1).sum();
        prop_assert_eq!(framed, padded_len(len));
        prop_assert!(framed == PADDED_MIN || framed as f64 <= 1.12 * (len + PREFIX) as f64);
        for (sent, frames) in [(one, first), (two, second)] {
            let (last, parts) = frames.split_last().unwrap();
            for part in parts {
                prop_assert!(opener.open(part).unwrap() == Opened::Part);
            }
            prop_assert!(message(opener.open(last).unwrap()) == sent);
        }
    }

    // I14: whatever a peer with the right keys frames, what is taken has one encoding.
    #[test]
    fn i14_hostile_padding(
        bytes in prop::collection::vec(any::<u8>(), 1..600),
        len in 0u32..700,
        zeros in any::<bool>(),
    ) {
        let mut padded = bytes;
        if padded.len() >= PREFIX {
            padded[..PREFIX].copy_from_slice(&len.to_be_bytes());
        }
        if zeros {
            padded = pad(&padded[..padded.len().min(len as usize)]);
        }
        if let Ok(message) = sent_raw(&padded) {
            prop_assert_eq!(pad(&message), padded);
        } else {
            prop_assert!(!zeros);
        }
    }
}
