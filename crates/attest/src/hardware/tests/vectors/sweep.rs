//! Bytes changed one at a time, in threads.

/// One bit of every byte, and every other value of `sample` bytes spread over the whole: position and what is xored.
pub(crate) fn flips(len: usize, sample: usize) -> Vec<(usize, u8)> {
    let bits = (0..len).map(|at| (at, 1 << (at % 8)));
    let values = (0..sample).flat_map(move |i| (1..=255).map(move |mask| (i * len / sample, mask)));
    bits.chain(values).collect()
}

/// The flips of `bytes` that `accepts` lets through.
pub(crate) fn accepted(
    bytes: &[u8],
    flips: &[(usize, u8)],
    accepts: impl Fn(&[u8]) -> bool + Sync,
) -> Vec<(usize, u8)> {
    const THREADS: usize = 4;
    assert!(accepts(bytes), "the bytes are good as they are");
    let part = flips.len().div_ceil(THREADS).max(1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = flips
            .chunks(part)
            .map(|flips| {
                let accepts = &accepts;
                scope.spawn(move || {
                    let mut bent = bytes.to_vec();
                    let mut found = Vec::new();
                    for (at, mask) in flips {
                        bent[*at] ^= mask;
                        if accepts(&bent) {
                            found.push((*at, *mask));
                        }
                        bent[*at] ^= mask;
                    }
                    found
                })
            })
            .collect();
        let parts = threads.into_iter().map(|thread| thread.join().unwrap());
        parts.flatten().collect()
    })
}
