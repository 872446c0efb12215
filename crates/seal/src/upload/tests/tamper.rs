//! Every change of an upload is refused.

use super::*;

// Catches any byte that is neither authenticated nor fixed by the format.
#[test]
fn a_flip_of_any_byte_is_refused() {
    let sealed = seal(Suite::X25519, b"some words");
    for at in 0..sealed.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bad = sealed.clone();
            bad[at] ^= flip;
            assert!(
                refusal(Suite::X25519, &context(), &bad).is_some(),
                "byte {at} ^ {flip:#x}"
            );
        }
    }
}

// Catches a length that is not checked against the header, and a missing last-chunk flag.
#[test]
fn truncation_at_any_length_and_extra_bytes_are_refused() {
    let sealed = seal(Suite::X25519, b"some words");
    for len in 0..sealed.len() {
        assert!(
            refusal(Suite::X25519, &context(), &sealed[..len]).is_some(),
            "cut to {len}"
        );
    }
    for extra in [1, 16, 600] {
        let mut long = sealed.clone();
        long.resize(sealed.len() + extra, 0);
        let got = long.len() as u64;
        let expected = sealed.len() as u64;
        let error = refusal(Suite::X25519, &context(), &long);
        assert_eq!(error, Some(OpenError::Length { expected, got }));
    }
}

// Catches a decoder that believes a padded length: a longer and a shorter one, odd ones, and one
// that would allocate.
#[test]
fn a_header_that_lies_about_the_length_is_refused() {
    let sealed = seal(Suite::X25519, &[7; 2 * CHUNK]);
    let (header, body_at) = UploadHeader::parse(&sealed).unwrap();
    let with_len = |padded_len| {
        let lie = UploadHeader {
            padded_len,
            ..header.clone()
        }
        .to_bytes();
        let bytes = [lie, sealed[body_at..].to_vec()].concat();
        refusal(Suite::X25519, &context(), &bytes).unwrap()
    };
    for odd in [0, 511, 513, 100_001, MAX_PADDED + 1, u64::MAX] {
        assert_eq!(
            with_len(odd),
            OpenError::Field {
                field: "padded length"
            },
            "{odd}"
        );
    }
    for other in [512, 65_536, MAX_PADDED] {
        assert!(
            matches!(with_len(other), OpenError::Length { .. }),
            "{other}"
        );
    }
    // A lie that fits the number of bytes: cut whole chunks and say so.
    let shorter = UploadHeader {
        padded_len: CHUNK as u64,
        ..header
    }
    .to_bytes();
    let bytes = [&shorter, &sealed[body_at..body_at + CHUNK + 16]].concat();
    assert_eq!(
        refusal(Suite::X25519, &context(), &bytes),
        Some(OpenError::NotAuthentic)
    );
}

// Catches STREAM without counter or last flag: chunks swapped, repeated, or the last one dropped.
#[test]
fn chunks_do_not_move() {
    let key = Secret::new([1; 32]);
    let header = Digest::of(b"header");
    let mut body = Vec::new();
    let plain: Vec<u8> = [vec![1; CHUNK - PREFIX], vec![2; CHUNK], vec![3; 5]].concat();
    stream::seal(
        &key,
        &header,
        &Frame::new(&plain, plain.len() + PREFIX),
        &mut body,
    )
    .unwrap();
    assert!(stream::open(&key, &header, &body).is_ok());
    let whole = CHUNK + stream::TAG;
    let (first, second, last) = (&body[..whole], &body[whole..2 * whole], &body[2 * whole..]);
    for moved in [
        [second, first, last].concat(),
        [first, first, last].concat(),
        [first, second].concat(),
        [first, last].concat(),
        [second, last].concat(),
        last.to_vec(),
        first.to_vec(),
    ] {
        assert_eq!(
            stream::open(&key, &header, &moved).err(),
            Some(OpenError::NotAuthentic)
        );
    }
    // AAD swap: the same body under another header.
    let other = Digest::of(b"other");
    assert_eq!(
        stream::open(&key, &other, &body).err(),
        Some(OpenError::NotAuthentic)
    );
}

// I4: catches a blob id or policy that can be relabelled without the key, and a wrapped key or a
// body that can be moved to another upload.
#[test]
fn parts_of_two_uploads_do_not_mix() {
    let one = seal(Suite::X25519, b"one");
    let plaintext = SecretBytes::new(b"two".to_vec());
    let key = keys(Suite::X25519).1;
    let two = seal_upload(&mut rng(2), &key, &context(), blob(), &plaintext).unwrap();
    let (header_one, at) = UploadHeader::parse(&one).unwrap();
    let (header_two, _) = UploadHeader::parse(&two).unwrap();
    let relabelled = UploadHeader {
        blob_id: BlobId::from_bytes([9; 16]),
        ..header_one.clone()
    };
    let rewrapped = UploadHeader {
        enc: header_two.enc.clone(),
        wrapped_dek: header_two.wrapped_dek.clone(),
        ..header_one
    };
    for bad in [
        [relabelled.to_bytes(), one[at..].to_vec()].concat(),
        [rewrapped.to_bytes(), one[at..].to_vec()].concat(),
        [one[..at].to_vec(), two[at..].to_vec()].concat(),
    ] {
        assert_eq!(
            refusal(Suite::X25519, &context(), &bad),
            Some(OpenError::NotAuthentic)
        );
    }
}

proptest! {
    // I14.
    #[test]
    fn hostile_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(UploadHeader::parse(&bytes).is_err());
        prop_assert!(open_upload(&keys(Suite::X25519).0, &context(), &bytes).is_err());
    }

    // I14, close to the format: a real upload with a few bytes overwritten, cut anywhere.
    #[test]
    fn nearly_right_bytes_never_panic_and_never_open(
        edits in prop::collection::vec((0usize..200, any::<u8>()), 1..6),
        cut in 0usize..700,
    ) {
        let good = seal(Suite::X25519, b"x");
        let mut bad = good.clone();
        for (at, byte) in edits {
            bad[at] = byte;
        }
        bad.truncate(cut.max(1));
        prop_assume!(bad != good);
        prop_assert!(open_upload(&keys(Suite::X25519).0, &context(), &bad).is_err());
    }
}
