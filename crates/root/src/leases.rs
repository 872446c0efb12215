//! Who sums which blocks. Pure: the caller sends, waits and says what became of it.
//!
//! Each worker starts with one contiguous share, since one question costs it one pass over all
//! uploads. What fails goes back to the queue, for whoever is free (I8). Sums are exact and each
//! block is added once, so nothing here can change the result (I7).

use std::collections::{BTreeSet, VecDeque};

/// Blocks that one worker is asked for at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    /// Ascending.
    pub(crate) blocks: Vec<u32>,
    /// Workers that were there and refused.
    refused_by: BTreeSet<usize>,
}

/// The blocks that nobody works on now.
pub(crate) struct Leases {
    waiting: VecDeque<Lease>,
    workers: usize,
}

/// Every worker refused these blocks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AllRefused;

impl Leases {
    /// Cuts `blocks` into one contiguous share per worker, and shares into leases of at most `most`
    /// blocks, the first lease of every worker in front.
    pub(crate) fn new(blocks: u32, workers: usize, most: usize) -> Self {
        let all: Vec<u32> = (0..blocks).collect();
        let share = all.len().div_ceil(workers.max(1)).max(1);
        let shares: Vec<Vec<&[u32]>> = all
            .chunks(share)
            .map(|share| share.chunks(most.max(1)).collect())
            .collect();
        let longest = shares.iter().map(Vec::len).max().unwrap_or(0);
        let turns = (0..longest).flat_map(|turn| shares.iter().filter_map(move |s| s.get(turn)));
        let fresh = |blocks: &&[u32]| Lease {
            blocks: blocks.to_vec(),
            refused_by: BTreeSet::new(),
        };
        Self {
            waiting: turns.map(fresh).collect(),
            workers,
        }
    }

    /// The next lease for this worker: none that it has refused already.
    pub(crate) fn take(&mut self, worker: usize) -> Option<Lease> {
        let at = self
            .waiting
            .iter()
            .position(|lease| !lease.refused_by.contains(&worker))?;
        self.waiting.remove(at)
    }

    /// The worker was lost, slow or not reachable; anyone may try again.
    pub(crate) fn lost(&mut self, lease: Lease) {
        self.waiting.push_front(lease);
    }

    /// The worker refused; another one may try.
    pub(crate) fn refused(&mut self, mut lease: Lease, worker: usize) -> Result<(), AllRefused> {
        lease.refused_by.insert(worker);
        if lease.refused_by.len() >= self.workers {
            return Err(AllRefused);
        }
        self.waiting.push_front(lease);
        Ok(())
    }

    /// True if nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(leases: &mut Leases, worker: usize) -> Vec<Vec<u32>> {
        std::iter::from_fn(|| leases.take(worker))
            .map(|lease| lease.blocks)
            .collect()
    }

    #[test]
    fn shares_are_contiguous_and_cover_every_block_once() {
        for (blocks, workers, most) in [
            (16, 1, 99),
            (16, 3, 99),
            (5, 4, 1),
            (1, 8, 9),
            (1024, 7, 28),
        ] {
            let parts = drain(&mut Leases::new(blocks, workers, most), 0);
            assert!(
                parts
                    .iter()
                    .all(|p| p.len() <= most && p.windows(2).all(|w| w[0] + 1 == w[1]))
            );
            let mut all = parts.concat();
            all.sort_unstable();
            assert_eq!(all, (0..blocks).collect::<Vec<_>>());
        }
        // With room enough each worker gets its whole share in one question.
        assert_eq!(drain(&mut Leases::new(16, 4, 99), 0).len(), 4);
    }

    // I8: catches blocks that are forgotten with the worker that had them.
    #[test]
    fn a_lost_lease_goes_to_whoever_is_free() {
        let mut leases = Leases::new(16, 2, 99);
        let (mine, other) = (leases.take(0).unwrap(), leases.take(1).unwrap());
        assert!(leases.is_empty());
        leases.lost(mine.clone());
        assert_eq!(leases.take(1), Some(mine.clone()));
        leases.lost(other.clone());
        leases.lost(mine);
        assert!(leases.take(0).is_some() && leases.take(0) == Some(other));
    }

    // Bounded retries: catches a refusal that is asked for again for ever.
    #[test]
    fn a_lease_that_all_refuse_stops() {
        let mut leases = Leases::new(1, 2, 9);
        let lease = leases.take(0).unwrap();
        leases.refused(lease, 0).unwrap();
        assert_eq!(leases.take(0), None);
        let lease = leases.take(1).unwrap();
        leases.lost(lease);
        let lease = leases.take(1).unwrap();
        assert_eq!(leases.refused(lease, 1), Err(AllRefused));
    }
}
