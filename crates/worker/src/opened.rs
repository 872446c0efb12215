//! Opened uploads of a run, and the bounded memory that keeps them for its later questions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use siegel_ident::SecretBytes;

use crate::inputs::{Batch, Batches};
use crate::job::Job;
use crate::open;
use crate::serve::Node;
use crate::stop::Stop;

/// Plaintexts by the block of their unit, in digest order within it; those that did not open or
/// decode are not there. Zeroised on drop (I13).
pub(crate) struct Opened {
    blocks: BTreeMap<u32, Vec<SecretBytes>>,
    /// After the plaintexts: the space is free when they are gone.
    _taken: Option<Taken>,
}

impl Opened {
    #[cfg(test)]
    pub(crate) fn of_block(block: u32, plaintexts: Vec<SecretBytes>) -> Self {
        Self {
            blocks: [(block, plaintexts)].into(),
            _taken: None,
        }
    }

    /// The plaintexts of one block.
    pub(crate) fn of(&self, block: u32) -> &[SecretBytes] {
        self.blocks.get(&block).map_or(&[], Vec::as_slice)
    }
}

/// Memory for the opened uploads of all runs of this process, in bytes of sealed uploads: their
/// plaintexts are smaller. What fits is so decided by public sizes alone (I12).
pub(crate) struct Space(Arc<AtomicUsize>);

impl Space {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(bytes)))
    }

    fn none_yet(&self) -> Taken {
        Taken {
            left: self.0.clone(),
            bytes: 0,
        }
    }
}

/// A part of the space, given back on drop.
struct Taken {
    left: Arc<AtomicUsize>,
    bytes: usize,
}

impl Taken {
    /// False if there is not so much left.
    fn more(&mut self, bytes: usize) -> bool {
        let order = Ordering::Relaxed;
        let took = self
            .left
            .fetch_update(order, order, |left| left.checked_sub(bytes));
        if took.is_ok() {
            self.bytes += bytes;
        }
        took.is_ok()
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.left.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

/// Plaintexts of a pass that is under way: all of them as long as they fit, then those of the asked
/// blocks only.
struct Pass {
    blocks: BTreeMap<u32, Vec<SecretBytes>>,
    taken: Option<Taken>,
    wanted: BTreeSet<u32>,
}

impl Pass {
    fn new(space: &Space, wanted: &[u32]) -> Self {
        Self {
            blocks: BTreeMap::new(),
            taken: Some(space.none_yet()),
            wanted: wanted.iter().copied().collect(),
        }
    }

    /// Takes the space for more uploads; gives all of it back if they do not fit. True as long as
    /// everything is kept.
    fn make_room(&mut self, sealed: &[Vec<u8>]) -> bool {
        let bytes = sealed.iter().map(Vec::len).sum();
        if self.taken.as_mut().is_some_and(|taken| !taken.more(bytes)) {
            self.taken = None;
            self.blocks.retain(|block, _| self.wanted.contains(block));
        }
        self.taken.is_some()
    }

    fn add(&mut self, block: u32, plaintext: SecretBytes) {
        if self.taken.is_some() || self.wanted.contains(&block) {
            self.blocks.entry(block).or_default().push(plaintext);
        }
    }

    fn done(self) -> Opened {
        Opened {
            blocks: self.blocks,
            _taken: self.taken,
        }
    }
}

/// The opened uploads of a run, at least those of the asked blocks.
///
/// The first question reads and opens all uploads. If they fit the space they are kept as long as
/// the run, and no later question reads or opens any. A second question meanwhile waits for the
/// first one, unless it turns out that they do not fit; then each question reads all uploads and
/// keeps those of its blocks until it is answered.
pub(crate) async fn opened(node: &Node, job: &Arc<Job>) -> Result<Arc<Opened>, Stop> {
    let (grant, kept) = (&job.run.grant, &job.run.kept);
    let digests = kept.inputs(grant, &node.depot, &node.pool).await?;
    let mut keeping = Some(kept.opened.lock().await);
    if let Some(opened) = keeping.as_ref().and_then(|kept| kept.as_ref()) {
        return Ok(opened.clone());
    }
    let mut pass = Pass::new(&node.space, &job.question.wanted);
    let mut batches = Batches::new(digests, &node.depot);
    let mut next = batches.next().await?;
    while let Some(batch) = next {
        if !pass.make_room(&batch) {
            keeping = None;
        }
        let (parts, following) = tokio::try_join!(open_all(node, job, batch), batches.next())?;
        for (block, plaintext) in parts.into_iter().flatten() {
            pass.add(block, plaintext);
        }
        next = following;
    }
    let opened = Arc::new(pass.done());
    if let Some(mut keeping) = keeping {
        *keeping = Some(opened.clone());
    }
    Ok(opened)
}

async fn open_all(
    node: &Node,
    job: &Arc<Job>,
    batch: Batch,
) -> Result<Vec<Vec<(u32, SecretBytes)>>, Stop> {
    let job = job.clone();
    node.pool
        .split(batch, move |uploads| open::open_some(&job, &uploads))
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(byte: u8) -> SecretBytes {
        SecretBytes::new(vec![byte; 10])
    }

    // Catches memory without bound: what is not asked for goes as soon as not everything fits, and
    // the space is for others from then on.
    #[test]
    fn a_pass_keeps_everything_or_what_was_asked_for() {
        let space = Space::new(100);
        let left = || space.0.load(Ordering::Relaxed);
        let sealed = [vec![0; 30], vec![0; 30]];
        let mut pass = Pass::new(&space, &[1]);
        assert!(pass.make_room(&sealed));
        (0..3).for_each(|block| pass.add(block, plain(1)));
        assert_eq!((left(), pass.blocks.len()), (40, 3));
        assert!(!pass.make_room(&sealed));
        assert_eq!((left(), pass.blocks.len()), (100, 1));
        (0..3).for_each(|block| pass.add(block, plain(2)));
        // It would fit now, but what was dropped does not come back.
        assert!(!pass.make_room(&sealed[..1]));
        let opened = pass.done();
        let lens = [0, 1, 2].map(|block| opened.of(block).len());
        assert_eq!((left(), lens), (100, [0, 2, 0]));

        let mut pass = Pass::new(&space, &[1]);
        assert!(pass.make_room(&sealed));
        pass.add(7, plain(3));
        let opened = pass.done();
        assert_eq!((left(), opened.of(7).len()), (40, 1));
        drop(opened);
        assert_eq!(left(), 100);
    }
}
