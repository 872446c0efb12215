//! Election timeouts from a seed: raft-rs draws them from a thread-local generator, which no
//! simulation could replay.

use siegel_ident::NodeId;

/// Fewest ticks without a leader before a node stands for election.
pub(super) const MIN_TICKS: usize = 10;
/// Every timeout is below this.
pub(super) const MAX_TICKS: usize = 20;

/// The timeout of one node in one term: it differs between nodes and terms, so that two candidates
/// that split the votes do not split them again.
pub(super) fn timeout(seed: u64, id: NodeId, term: u64) -> usize {
    let mixed = mix(mix(seed ^ id.0.rotate_left(32)) ^ term);
    MIN_TICKS + (mixed % (MAX_TICKS - MIN_TICKS) as u64) as usize
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014). It spreads, it is no secret.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_range_and_spread_over_terms() {
        let mut equal = 0;
        for term in 0..1000 {
            let (a, b) = (timeout(7, NodeId(1), term), timeout(7, NodeId(2), term));
            assert!((MIN_TICKS..MAX_TICKS).contains(&a));
            equal += usize::from(a == b);
        }
        assert!(equal < 200, "nodes 1 and 2 agree in {equal} of 1000 terms");
    }
}
