use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::*;
use crate::{derive_kem, stream::CHUNK};
use siegel_ident::secret::Wiped;

mod tamper;

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

fn context() -> UploadContext {
    UploadContext {
        cluster: ClusterId::from_bytes([1; 32]),
        epoch: EpochId(7),
        policy: PolicyDigest::from_bytes([2; 32]),
    }
}

fn keys(suite: Suite) -> (KemPrivate, KemPublic) {
    derive_kem(suite, &Secret::new([5; 32]))
}

fn blob() -> BlobId {
    BlobId::from_bytes([6; 16])
}

fn seal(suite: Suite, plaintext: &[u8]) -> Vec<u8> {
    let plaintext = SecretBytes::new(plaintext.to_vec());
    seal_upload(&mut rng(1), &keys(suite).1, &context(), blob(), &plaintext).unwrap()
}

fn refusal(suite: Suite, ctx: &UploadContext, bytes: &[u8]) -> Option<OpenError> {
    open_upload(&keys(suite).0, ctx, bytes).err()
}

// Sizes on both sides of every border: prefix, least size, Padmé steps, chunks.
#[test]
fn round_trip_around_chunk_and_padme_borders() {
    let borders = [
        0,
        1,
        503,
        504,
        505,
        1016,
        1017,
        CHUNK - 9,
        CHUNK - 8,
        CHUNK - 7,
        CHUNK,
        CHUNK + 1,
    ];
    let more = [2 * CHUNK - 8, 2 * CHUNK - 7, 3 * CHUNK, 300_000];
    for suite in [Suite::X25519, Suite::XWing] {
        for len in borders.into_iter().chain(more) {
            let plaintext: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let sealed = seal(suite, &plaintext);
            let opened = open_upload(&keys(suite).0, &context(), &sealed).unwrap();
            assert!(opened.expose() == plaintext, "{suite:?} {len}");
        }
    }
}

// I12: catches a size that follows the plaintext more closely than Padmé says.
#[test]
fn size_depends_on_the_padded_length_only() {
    let sizes: std::collections::BTreeSet<_> = (0..=504)
        .map(|len| seal(Suite::X25519, &vec![1; len]).len())
        .collect();
    assert_eq!(sizes.len(), 1);
    assert_eq!(
        seal(Suite::X25519, &[1; 505]).len(),
        seal(Suite::X25519, &[1; 520]).len()
    );
}

// I3: catches an upload that opens under another policy, epoch, cluster or key.
#[test]
fn wrong_context_is_refused() {
    let sealed = seal(Suite::X25519, b"x");
    let ctx = context();
    let other = |ctx: UploadContext| refusal(Suite::X25519, &ctx, &sealed);
    let policy = PolicyDigest::from_bytes([9; 32]);
    let wrong = |field| Some(OpenError::WrongContext { field });
    assert_eq!(other(UploadContext { policy, ..ctx }), wrong("policy"));
    assert_eq!(
        other(UploadContext {
            epoch: EpochId(8),
            ..ctx
        }),
        wrong("epoch")
    );
    let cluster = ClusterId::from_bytes([9; 32]);
    assert_eq!(
        other(UploadContext { cluster, ..ctx }),
        Some(OpenError::NotAuthentic)
    );
    let (other_key, _) = derive_kem(Suite::X25519, &Secret::new([8; 32]));
    assert_eq!(
        open_upload(&other_key, &ctx, &sealed).err(),
        Some(OpenError::NotAuthentic)
    );
    let expected = Suite::XWing;
    let error = Some(OpenError::WrongSuite {
        expected,
        got: Suite::X25519,
    });
    assert_eq!(refusal(Suite::XWing, &ctx, &sealed), error);
}

#[test]
fn header_golden() {
    let header = UploadHeader {
        version: VERSION,
        blob_id: BlobId::from_bytes([0xb1; 16]),
        policy: PolicyDigest::from_bytes([0xb2; 32]),
        epoch: EpochId(0x0102_0304_0506_0708),
        suite: Suite::X25519,
        padded_len: 1024,
        enc: vec![0xb3; 32],
        wrapped_dek: vec![0xb4; 48],
    };
    let expected = [
        "01".to_owned(),
        "b1".repeat(16),
        "b2".repeat(32),
        "0102030405060708".to_owned(),
        "0001".to_owned(),
        "0000000000000400".to_owned(),
        "00000020".to_owned(),
        "b3".repeat(32),
        "00000030".to_owned(),
        "b4".repeat(48),
    ];
    assert_eq!(hex::encode(header.to_bytes()), expected.concat());
    assert_eq!(
        UploadHeader::parse_prefix(&header.to_bytes()),
        Ok((header, 155))
    );
}

// An upload made by the first version still opens, whatever the libraries below have become.
#[test]
fn a_stored_upload_still_opens() {
    let stored = hex::decode(include_str!("upload_v1.hex").trim()).unwrap();
    let opened = open_upload(&keys(Suite::X25519).0, &context(), &stored).unwrap();
    assert_eq!(
        opened.expose(),
        b"ten words that were sealed by the very first version"
    );
}

// An authentic upload whose inside is not framed as the format says: one error, without content.
#[test]
fn a_broken_frame_is_refused() {
    let frame = |plaintext: &[u8], padded: usize| {
        let mut out = Vec::new();
        Frame::new(plaintext, padded).append(0, padded, &mut out);
        out
    };
    let ok = |len: u64, padded: u64| padded_len(len) == padded;
    let broken = |bytes: Vec<u8>| {
        let padded = bytes.len() as u64;
        unframe(Wiped::new(bytes), |len| ok(len, padded)).err()
    };
    let mut dirty = frame(b"abc", 512);
    dirty[511] = 1;
    let mut longer_than_it_is = frame(b"abc", 512);
    longer_than_it_is[..8].copy_from_slice(&600u64.to_be_bytes());
    let too_much_padding = frame(b"abc", 1024);
    for bad in [
        dirty,
        longer_than_it_is,
        too_much_padding,
        vec![0; 3],
        vec![0xff; 512],
    ] {
        assert_eq!(broken(bad), Some(OpenError::Framing));
    }
}

#[test]
fn what_does_not_fit_or_has_no_secret_is_not_sealed() {
    let big = SecretBytes::new(vec![0; MAX_PADDED as usize]);
    let key = keys(Suite::X25519).1;
    let error = seal_upload(&mut rng(1), &key, &context(), blob(), &big);
    assert!(matches!(error, Err(SealError::TooLong { .. })));
    // A point of low order: the shared secret would be known to everyone.
    let key = KemPublic::from_parts(Suite::X25519, &[0; 32]).unwrap();
    let error = seal_upload(
        &mut rng(1),
        &key,
        &context(),
        blob(),
        &SecretBytes::default(),
    );
    assert_eq!(error, Err(SealError::DegenerateKey));
}

proptest! {
    #[test]
    fn any_plaintext_comes_back(plaintext in prop::collection::vec(any::<u8>(), 0..3000)) {
        let sealed = seal(Suite::X25519, &plaintext);
        prop_assert_eq!(sealed.len() as u64, UploadHeader::parse(&sealed).unwrap().0.total_len());
        let opened = open_upload(&keys(Suite::X25519).0, &context(), &sealed).unwrap();
        prop_assert!(opened.expose() == plaintext);
    }
}
