//! A device seals once, under a verified policy, as one user, within its own cap.

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng as _;
use siegel_ident::{Delta, NanoRho};
use siegel_seal::{UploadHeader, open_upload};

use super::*;
use crate::Content;
use crate::testing::{NOW, World};

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([1; 32])
}

fn device(cap: u64) -> Device {
    let cap = Budget {
        rho_nano: NanoRho(cap),
        delta0: Delta(0),
    };
    Device::new(Secret::new([2; 32]), Odometer::new(), cap)
}

/// What is sealed opens to the device's words under its privacy id, with the right key only.
#[test]
fn i4_an_upload_opens_to_the_words_and_the_privacy_id() {
    let world = World::honest();
    let verified = world.verify().ok().unwrap();
    let mut device = device(1 << 40);
    let words = Words::of("The cat and the hat");
    let upload = device
        .seal_record(
            &mut rng(),
            &verified,
            &[("words", Content::Words(&words))],
            NOW,
        )
        .ok()
        .unwrap();
    assert_eq!(upload.digest(), BlobDigest::of(upload.bytes()));
    let (header, _) = UploadHeader::parse(upload.bytes()).unwrap();
    assert_eq!(header.policy, verified.policy().digest());
    assert_eq!(header.blob_id, upload.blob());
    let opened = open_upload(
        &world.cluster.private,
        &verified.upload_context(),
        upload.bytes(),
    );
    let opened = opened.ok().unwrap();
    let record = Record::decode(opened.expose()).ok().unwrap();
    assert!(record.privacy_id == device.privacy_id("org.example.words"));
    assert_eq!(record.words("words"), ["and", "cat", "hat", "the"]);
}

/// I4. One pseudonym per pipeline: the same over time, unlinkable to another pipeline's.
#[test]
fn i4_privacy_id_depends_on_secret_and_pipeline_alone() {
    let one = device(0);
    assert!(one.privacy_id("a") == device(9).privacy_id("a"));
    assert!(one.privacy_id("a") != one.privacy_id("b"));
    let other = Device::generate(&mut rng(), Budget::ZERO);
    assert!(one.privacy_id("a") != other.privacy_id("a"));
    // Golden: a change would make every user a new one.
    assert_eq!(
        siegel_ident::Digest::from_bytes(*one.privacy_id("a").as_bytes()).to_string(),
        GOLDEN
    );
}

/// By Python's `hmac`.
const GOLDEN: &str = "45d17696572c16470b761aac0520fa6b8883961dc02bdacbcd7cf6e675bb51e5";

/// I4. Sealing is random: only keeping the bytes makes a retry the same upload.
#[test]
fn i4_a_retry_is_the_same_bytes_a_second_sealing_is_not() {
    let verified = World::honest().verify().ok().unwrap();
    let (mut device, mut rng, words) = (device(1 << 40), rng(), Words::of("a"));
    let mut seal = || {
        device
            .seal_record(
                &mut rng,
                &verified,
                &[("words", Content::Words(&words))],
                NOW,
            )
            .ok()
            .unwrap()
    };
    let (first, second) = (seal(), seal());
    assert!(first.digest() != second.digest() && first.blob() != second.blob());
    assert!(first.clone().bytes() == first.bytes());
}

/// The pipeline's total is charged once, at the first upload, and not above the cap.
#[test]
fn i1_the_odometer_is_charged_before_anything_is_sealed() {
    let verified = World::honest().verify().ok().unwrap();
    let total = verified.policy().privacy.total;
    let words = Words::of("a");
    let mut exact = device(total.rho_nano.0);
    for _ in 0..3 {
        assert!(
            exact
                .seal_record(
                    &mut rng(),
                    &verified,
                    &[("words", Content::Words(&words))],
                    NOW
                )
                .is_ok()
        );
    }
    assert_eq!(exact.odometer().spent().unwrap(), total);
    let mut short = device(total.rho_nano.0 - 1);
    let refused = short.seal_record(
        &mut rng(),
        &verified,
        &[("words", Content::Words(&words))],
        NOW,
    );
    assert!(matches!(refused.err(), Some(DeviceRefusal::Cap { .. })));
    assert_eq!(short.odometer().spent().unwrap(), Budget::ZERO);
}

/// I9. The key's time is over between verification and sealing.
#[test]
fn i9_nothing_is_sealed_to_an_expired_key() {
    let verified = World::honest().verify().ok().unwrap();
    let words = Words::of("a");
    let mut device = device(1 << 40);
    let late = verified.expires();
    let refused = device.seal_record(
        &mut rng(),
        &verified,
        &[("words", Content::Words(&words))],
        late,
    );
    assert!(matches!(refused.err(), Some(DeviceRefusal::Expired { .. })));
    assert_eq!(device.odometer(), &Odometer::new());
    let last = Timestamp(late.0 - 1);
    assert!(
        device
            .seal_record(
                &mut rng(),
                &verified,
                &[("words", Content::Words(&words))],
                last
            )
            .is_ok()
    );
}

/// Columns are exactly the policy's; nothing is charged for a refused record.
#[test]
fn i14_columns_and_bounds_of_the_record() {
    let verified = World::honest().verify().ok().unwrap();
    let mut device = device(1 << 40);
    let words = Words::of("a");
    let cases: [&[(&str, Content<'_>)]; 4] = [
        &[("words", Content::Text("a"))],
        &[],
        &[("word", Content::Words(&words))],
        &[
            ("words", Content::Words(&words)),
            ("b", Content::Words(&words)),
        ],
    ];
    for columns in cases {
        let refused = device.seal_record(&mut rng(), &verified, columns, NOW);
        assert!(matches!(refused.err(), Some(DeviceRefusal::Columns { .. })));
    }
    // 70,000 distinct words are more than a record takes.
    let text: Vec<String> = (0..70_000u32)
        .map(|n| {
            (0..5)
                .map(|d| char::from(b'a' + (n / 26u32.pow(d) % 26) as u8))
                .collect()
        })
        .collect();
    let many = Words::of(&text.join(" "));
    let refused = device.seal_record(
        &mut rng(),
        &verified,
        &[("words", Content::Words(&many))],
        NOW,
    );
    assert!(matches!(refused.err(), Some(DeviceRefusal::Record(_))));
    assert_eq!(device.odometer(), &Odometer::new());
}

/// I12. No words is a record like any other, and short ones all have one size.
#[test]
fn i12_size_says_little() {
    let verified = World::honest().verify().ok().unwrap();
    let mut device = device(1 << 40);
    let mut size = |text: &str| {
        let words = Words::of(text);
        let upload = device.seal_record(
            &mut rng(),
            &verified,
            &[("words", Content::Words(&words))],
            NOW,
        );
        upload.ok().unwrap().bytes().len()
    };
    assert_eq!(size(""), size("a few words of no great length"));
}
