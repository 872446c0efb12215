use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::*;
use crate::derive_kem;

const SIZE: u64 = 300;

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(1)
}

fn context() -> ObjectContext {
    ObjectContext {
        run: RunId::from_bytes([1; 16]),
        step: Step(3),
        previous: ObjectDigest::from_bytes([2; 32]),
    }
}

fn others() -> [(&'static str, ObjectContext); 3] {
    let ctx = context();
    [
        (
            "run",
            ObjectContext {
                run: RunId::from_bytes([9; 16]),
                ..ctx
            },
        ),
        (
            "step",
            ObjectContext {
                step: Step(4),
                ..ctx
            },
        ),
        (
            "previous object",
            ObjectContext {
                previous: ObjectDigest::from_bytes([9; 32]),
                ..ctx
            },
        ),
    ]
}

fn release_pair() -> (KemPrivate, KemPublic) {
    derive_kem(Suite::XWing, &Secret::new([4; 32]))
}

fn text(bytes: &[u8]) -> SecretBytes {
    SecretBytes::new(bytes.to_vec())
}

fn release(plaintext: &[u8]) -> Sealed {
    seal_release(
        &mut rng(),
        &release_pair().1,
        &context(),
        SIZE,
        &text(plaintext),
    )
    .unwrap()
}

fn checkpoint(plaintext: &[u8]) -> Sealed {
    let key = Secret::new([5; 32]);
    seal_checkpoint(&mut rng(), &key, &context(), SIZE, &text(plaintext)).unwrap()
}

fn open_checkpoint_at(ctx: &ObjectContext, bytes: &[u8]) -> Result<SecretBytes, OpenError> {
    open_checkpoint(&Secret::new([5; 32]), ctx, bytes)
}

#[test]
fn a_release_opens_by_way_of_its_header() {
    for plaintext in [&b""[..], b"a,b\n1,2\n", &[7; SIZE as usize]] {
        let sealed = release(plaintext);
        assert_eq!(sealed.digest, ObjectDigest::of(&sealed.bytes));
        assert!(sealed.bytes.starts_with(&sealed.header));
        let dek = unwrap_release_dek(&release_pair().0, &sealed.header, &context()).unwrap();
        let opened = open_release(&dek, &context(), &sealed.bytes).unwrap();
        assert!(opened.expose() == plaintext);
    }
}

#[test]
fn a_checkpoint_opens_under_the_key_of_its_run_only() {
    let sealed = checkpoint(b"state");
    assert!(
        open_checkpoint_at(&context(), &sealed.bytes)
            .unwrap()
            .expose()
            == b"state"
    );
    let error = open_checkpoint(&Secret::new([6; 32]), &context(), &sealed.bytes).err();
    assert_eq!(error, Some(OpenError::NotAuthentic));
}

// I12: catches a sealed size that follows the plaintext.
#[test]
fn sizes_are_fixed_by_the_public_size() {
    for len in [0, 1, 17, SIZE as usize] {
        let expected = sealed_len(Purpose::Release, SIZE);
        assert_eq!(release(&vec![1; len]).bytes.len() as u64, expected);
        let expected = sealed_len(Purpose::Checkpoint, SIZE);
        assert_eq!(checkpoint(&vec![1; len]).bytes.len() as u64, expected);
    }
    let plaintext = text(&[0; SIZE as usize + 1]);
    let error = seal_release(&mut rng(), &release_pair().1, &context(), SIZE, &plaintext);
    assert_eq!(
        error,
        Err(SealError::TooLong {
            len: SIZE + 1,
            max: SIZE
        })
    );
}

// I6, I17: catches a header of another run, step, predecessor or purpose that yields a data key,
// by what it says and, relabelled, by what its data key is bound to.
#[test]
fn an_object_of_another_place_is_refused() {
    let (key, _) = release_pair();
    let sealed = release(b"x");
    let dek = unwrap_release_dek(&key, &sealed.header, &context()).unwrap();
    let mark = checkpoint(b"x");
    for (field, ctx) in others() {
        let wrong = Some(OpenError::WrongContext { field });
        assert_eq!(unwrap_release_dek(&key, &sealed.header, &ctx).err(), wrong);
        assert_eq!(open_release(&dek, &ctx, &sealed.bytes).err(), wrong);
        assert_eq!(open_checkpoint_at(&ctx, &mark.bytes).err(), wrong);

        let relabel = |bytes: &[u8]| {
            let (header, at) = ObjectHeader::parse_prefix(bytes).unwrap();
            let header = ObjectHeader {
                context: ctx,
                ..header
            }
            .to_bytes();
            (header.clone(), [header, bytes[at..].to_vec()].concat())
        };
        let forged = Some(OpenError::NotAuthentic);
        let (header, bytes) = relabel(&sealed.bytes);
        assert_eq!(unwrap_release_dek(&key, &header, &ctx).err(), forged);
        assert_eq!(open_release(&dek, &ctx, &bytes).err(), forged);
        let (_, bytes) = relabel(&mark.bytes);
        assert_eq!(open_checkpoint_at(&ctx, &bytes).err(), forged);
    }
    let wrong = Some(OpenError::WrongContext { field: "purpose" });
    assert_eq!(
        unwrap_release_dek(&key, &mark.header, &context()).err(),
        wrong
    );
    assert_eq!(open_checkpoint_at(&context(), &sealed.bytes).err(), wrong);
}

#[test]
fn a_release_key_is_of_suite_2() {
    let (private, public) = derive_kem(Suite::X25519, &Secret::new([4; 32]));
    let error = seal_release(&mut rng(), &public, &context(), SIZE, &text(b"x"));
    assert!(matches!(error, Err(SealError::WrongSuite { .. })));
    let error = unwrap_release_dek(&private, &release(b"x").header, &context()).err();
    assert!(matches!(error, Some(OpenError::WrongSuite { .. })));
}

#[test]
fn a_flip_of_any_byte_is_refused() {
    let sealed = release(b"x");
    let dek = unwrap_release_dek(&release_pair().0, &sealed.header, &context()).unwrap();
    for at in 0..sealed.bytes.len() {
        let mut bad = sealed.bytes.clone();
        bad[at] ^= 0x40;
        assert!(open_release(&dek, &context(), &bad).is_err(), "byte {at}");
        if at < sealed.header.len() {
            let bad =
                unwrap_release_dek(&release_pair().0, &bad[..sealed.header.len()], &context());
            assert!(bad.is_err(), "header byte {at}");
        }
    }
    let mark = checkpoint(b"x");
    for at in 0..mark.bytes.len() {
        let mut bad = mark.bytes.clone();
        bad[at] ^= 0x40;
        assert!(open_checkpoint_at(&context(), &bad).is_err(), "byte {at}");
        assert!(
            open_checkpoint_at(&context(), &mark.bytes[..at]).is_err(),
            "cut to {at}"
        );
    }
}

#[test]
fn a_committed_header_stands_alone() {
    let sealed = release(b"x");
    let mut long = sealed.header.clone();
    long.push(0);
    assert!(matches!(
        ObjectHeader::parse(&long),
        Err(OpenError::Length { .. })
    ));
    assert!(ObjectHeader::parse(&sealed.header).is_ok());
}

// Catches a change of the layout, which would make stored objects unreadable.
#[test]
fn header_golden() {
    let header = ObjectHeader {
        purpose: Purpose::Checkpoint,
        context: context(),
        size: SIZE,
        enc: Vec::new(),
        wrapped_dek: vec![0xd0; 81],
    };
    let expected = [
        "0102".to_owned(),
        "01".repeat(16),
        "0000000000000003".to_owned(),
        "02".repeat(32),
        "000000000000012c".to_owned(),
        "00000000".to_owned(),
        "00000051".to_owned(),
        "d0".repeat(81),
    ];
    assert_eq!(hex::encode(header.to_bytes()), expected.concat());
}

proptest! {
    // I14.
    #[test]
    fn hostile_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..1300)) {
        prop_assert!(ObjectHeader::parse(&bytes).is_err());
        prop_assert!(open_checkpoint_at(&context(), &bytes).is_err());
    }
}
