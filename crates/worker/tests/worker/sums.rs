use siegel_ident::{EpochId, SecretBytes};
use siegel_seal::UploadContext;

use super::setting::*;

/// All blocks in one question.
async fn total(setting: &Setting) -> Vec<i64> {
    let mut session = setting.session().await.unwrap();
    let all: Vec<u32> = (0..setting.blocks().get()).collect();
    let sums = compute(&mut session, setting.ask(&all)).await.unwrap();
    assert_eq!(sums.blocks.len(), all.len());
    setting.total(&sums)
}

// Bins: and, of, the, to, other. At most 2 per user.
#[tokio::test]
async fn counts_each_user_once_within_the_bound() {
    let setting = Setting::new(|s| {
        vec![
            s.seal(&record(1, &["the", "of"])),
            s.seal(&record(2, &["the", "the", "zebra"])),
            s.seal(&record(3, &[])),
        ]
    })
    .await;
    assert_eq!(setting.prepare().await, None);
    assert_eq!(total(&setting).await, [0, 1, 2, 0, 1]);
}

// I4: a user's second upload adds no second voice: catches a bound per blob, and words of two
// blobs that count twice.
#[tokio::test]
async fn two_uploads_of_a_user_are_one_voice() {
    let setting = Setting::new(|s| {
        vec![
            s.seal(&record(1, &["the", "of"])),
            s.seal(&record(1, &["the", "of"])),
            s.seal(&record(2, &["and", "of"])),
            s.seal(&record(2, &["the", "to", "zebra"])),
        ]
    })
    .await;
    setting.prepare().await;
    let total = total(&setting).await;
    assert_eq!(total.iter().sum::<i64>(), 4, "{total:?}");
    assert!(total.iter().all(|&count| count <= 2));
}

// I7: the same blocks asked one by one, or of a worker that was prepared twice, add up the same.
#[tokio::test]
async fn blocks_add_up_however_they_are_asked() {
    let setting = Setting::new(|s| {
        (1..=40)
            .map(|user| s.seal(&record(user, &["the", "to", "and"])))
            .collect()
    })
    .await;
    setting.prepare().await;
    let whole = total(&setting).await;
    assert_eq!(whole.iter().sum::<i64>(), 80);
    setting.prepare().await;
    let mut session = setting.session().await.unwrap();
    let mut parts = vec![0; whole.len()];
    for block in (0..setting.blocks().get()).rev() {
        let sums = compute(&mut session, setting.ask(&[block])).await.unwrap();
        parts
            .iter_mut()
            .zip(setting.total(&sums))
            .for_each(|(a, b)| *a += b);
    }
    assert_eq!(parts, whole);
}

// I12: whatever is wrong inside an upload, it counts zero and the answer looks the same. Catches a
// worker that stops, refuses, or answers with another length.
#[tokio::test]
async fn uploads_that_do_not_open_or_decode_count_zero_silently() {
    let good = |s: &Sealer| s.seal(&record(1, &["the"]));
    let setting = Setting::new(|s| {
        let mut flipped = s.seal(&record(2, &["the"]));
        *flipped.last_mut().unwrap() ^= 1;
        let mut cut = s.seal(&record(3, &["the"]));
        cut.truncate(cut.len() - 1);
        let other = |change: fn(&mut UploadContext)| {
            let mut context = s.context;
            change(&mut context);
            s.seal_for(&context, &record(4, &["the"]))
        };
        vec![
            good(s),
            flipped,
            cut,
            other(|c| c.cluster = siegel_ident::ClusterId::from_bytes([9; 32])),
            other(|c| c.epoch = EpochId(99)),
            other(|c| c.policy = siegel_ident::PolicyDigest::from_bytes([9; 32])),
            s.seal(&SecretBytes::new(b"not a record".to_vec())),
            s.seal(&SecretBytes::default()),
            b"no upload at all".to_vec(),
        ]
    })
    .await;
    setting.prepare().await;
    assert_eq!(total(&setting).await, [0, 0, 1, 0, 0]);

    let clean = Setting::new(|s| vec![good(s)]).await;
    clean.prepare().await;
    let lengths = |sums: &siegel_wire::v1::BlockSums| -> Vec<usize> {
        sums.blocks.iter().map(|block| block.sealed.len()).collect()
    };
    let ask = |setting: &Setting| setting.ask(&[0, 1]);
    let one = compute(&mut setting.session().await.unwrap(), ask(&setting))
        .await
        .unwrap();
    let two = compute(&mut clean.session().await.unwrap(), ask(&clean))
        .await
        .unwrap();
    assert_eq!(lengths(&one), lengths(&two));
}

// Raw sums go to the granted root only: another key of the same kind opens none of them (I5).
#[tokio::test]
async fn sums_are_sealed_to_the_granted_root() {
    let setting = Setting::new(|s| vec![s.seal(&record(1, &["the"]))]).await;
    setting.prepare().await;
    let mut session = setting.session().await.unwrap();
    let sums = compute(&mut session, setting.ask(&[0])).await.unwrap();
    let spec = bytes(&setting.spec);
    let place = siegel_program::SumPlace {
        step: STEP,
        intrinsic: 0,
        spec: &spec,
        state: siegel_ident::Digest::of(b""),
        blocks: setting.blocks(),
        block: 0,
    };
    let info = siegel_program::BlockSum::seal_info(&RUN, FENCING, &place);
    let sealed = &sums.blocks[0].sealed;
    assert!(siegel_seal::sealed_box::open_box(setting.root().kem(), &info, sealed).is_ok());
    let other = setting.another_root();
    assert!(siegel_seal::sealed_box::open_box(other.kem(), &info, sealed).is_err());
}

#[tokio::test]
async fn no_uploads_give_zeros() {
    let setting = Setting::new(|_| Vec::new()).await;
    setting.prepare().await;
    assert_eq!(total(&setting).await, [0; 5]);
}
