//! No byte of a real report or of its certificates can be changed.

use super::*;
use crate::hardware::tests::vectors::folder;

/// Reports: one bit of every byte, and all 255 other values of 64 places, spread over the six.
#[test]
fn no_changed_report_is_accepted() {
    if folder().is_none() {
        return;
    }
    let roots = TrustRoots::vendors();
    in_parallel(REAL.iter().enumerate().collect(), |(i, vector)| {
        let (good, stapled) = (vector.evidence(), vector.endorsements());
        let accepted = |at: usize, xor: u8| {
            let mut changed = good.clone();
            changed.body[at] ^= xor;
            verify_any(&changed, &stapled, &roots, NOW).is_ok()
        };
        let bits = (0..good.body.len()).map(|at| (at, 1 << (at % 8)));
        let places = (0..64usize)
            .filter(|k| k % REAL.len() == i)
            .map(|k| k * 1184 / 64 + k % 18);
        let values = places.flat_map(|at| (1..=255).map(move |xor| (at, xor)));
        let found: Vec<_> = bits
            .chain(values)
            .filter(|(at, xor)| accepted(*at, *xor))
            .collect();
        assert_eq!(found, [], "{}: accepted", vector.report);
    });
}

/// Every bit of one chip's certificate; one bit of every byte of the other leaves and of the authorities.
#[test]
fn no_changed_certificate_is_accepted() {
    if folder().is_none() {
        return;
    }
    let roots = TrustRoots::vendors();
    let mut work = Vec::new();
    for vector in &REAL {
        let every = vector.leaf == GENOA_V5.leaf;
        let certificates = if every || vector.leaf == VLEK.leaf {
            vector.endorsements().certificates.len()
        } else {
            1
        };
        work.extend((0..certificates).map(|index| (vector, index, every && index == 0)));
    }
    in_parallel(work, |(vector, index, every)| {
        let (evidence, good) = (vector.evidence(), vector.endorsements());
        let mut changed = good.clone();
        for at in 0..good.certificates[index].len() {
            for bit in (0..8).filter(|bit| every || *bit == at % 8) {
                changed.certificates[index][at] ^= 1 << bit;
                let found = verify_any(&evidence, &changed, &roots, NOW);
                assert!(
                    found.is_err(),
                    "{}: certificate {index}, byte {at}, bit {bit}",
                    vector.report
                );
                changed.certificates[index][at] ^= 1 << bit;
            }
        }
    });
}

/// Random bytes, cut and doubled inputs: an error, never a panic.
#[test]
fn i14_hostile_lengths_are_refused() {
    if folder().is_none() {
        return;
    }
    let roots = TrustRoots::vendors();
    let (good, stapled) = (GENOA_V5.evidence(), GENOA_V5.endorsements());
    for len in 0..=good.body.len() + 16 {
        let mut body = good.body.clone();
        body.resize(len, 0);
        let found = verify_any(&snp(body), &stapled, &roots, NOW);
        assert_eq!(found.is_ok(), len == good.body.len(), "{len} bytes");
    }
    for index in 0..3 {
        for len in (0..stapled.certificates[index].len()).step_by(3) {
            let mut cut = stapled.clone();
            cut.certificates[index].truncate(len);
            let found = verify_any(&good, &cut, &roots, NOW).unwrap_err();
            assert_eq!(
                found.check,
                Check::SnpChain,
                "certificate {index} cut to {len}"
            );
        }
    }
}

/// Runs all of `work` on two threads.
fn in_parallel<T: Send + Sync + Copy>(work: Vec<T>, each: impl Fn(T) + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(one) =
                    work.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    each(*one);
                }
            });
        }
    });
}
