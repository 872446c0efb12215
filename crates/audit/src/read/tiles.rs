//! The hash tiles of a log, against the hashes that the auditor computed from its entries. Whoever asks
//! for a proof reads them; a wrong one gives proofs that do not hold, or none (I1).

use std::collections::VecDeque;

use siegel_ident::Digest;
use siegel_rekor::{LogReader, RekorError};
use siegel_translog::tiles::{Level, grown};
use siegel_translog::{TilePath, Tree};

use super::ReadError;
use super::workers::Workers;

/// So many of each kind are named.
const NAMED: usize = 3;

/// The tiles that are not as they should be.
#[derive(Default)]
pub(crate) struct Tiles {
    pub(crate) wrong: Bad,
    pub(crate) missing: Bad,
}

/// Some of them, in the order in which they were looked at.
#[derive(Default)]
pub(crate) struct Bad {
    /// The first ones.
    named: Vec<String>,
    /// All.
    count: u64,
}

impl Bad {
    fn add(&mut self, tile: TilePath) {
        self.count += 1;
        if self.named.len() < NAMED {
            self.named.push(format!("tile/{tile}"));
        }
    }

    /// Which they are; `None` if there are none.
    pub(crate) fn names(&self) -> Option<String> {
        let others = self.count - self.named.len() as u64;
        let named = self.named.join(", ");
        match (self.count, others) {
            (0, _) => None,
            (_, 0) => Some(named),
            _ => Some(format!("{named} and {others} more")),
        }
    }
}

enum Verdict {
    Good,
    Wrong,
    Missing,
}

/// Holds every hash tile that a log of this size has against its tree: level by level, full ones and
/// the narrow one at the end of each. A few tiles are in memory at a time.
///
/// # Errors
/// [`ReadError`]. What is wrong with a tile is none.
pub(crate) async fn tiles(log: &LogReader, tree: &Tree) -> Result<Tiles, ReadError> {
    let workers = Workers::of(log);
    let mut jobs = VecDeque::with_capacity(workers.most());
    let mut tiles = Tiles::default();
    let all = grown(0, tree.size()).into_iter();
    for tile in all.filter(|tile| tile.level != Level::Entries) {
        if jobs.len() == workers.most()
            && let Some((tile, oldest)) = jobs.pop_front()
        {
            note(&mut tiles, tree, tile, oldest.await?)?;
        }
        let log = log.clone();
        let job = workers.begin(move |wait| wait.on(log.hash_tile(tile)));
        jobs.push_back((tile, job));
    }
    for (tile, job) in jobs {
        note(&mut tiles, tree, tile, job.await?)?;
    }
    Ok(tiles)
}

fn note(
    tiles: &mut Tiles,
    tree: &Tree,
    tile: TilePath,
    read: Result<(TilePath, Vec<u8>), RekorError>,
) -> Result<(), RekorError> {
    match judge(tree, &tile, read)? {
        Verdict::Good => {}
        Verdict::Wrong => tiles.wrong.add(tile),
        Verdict::Missing => tiles.missing.add(tile),
    }
    Ok(())
}

/// The log may have grown meanwhile: of a wider tile the beginning is compared. It must be as long as
/// its own name says.
fn judge(
    tree: &Tree,
    tile: &TilePath,
    read: Result<(TilePath, Vec<u8>), RekorError>,
) -> Result<Verdict, RekorError> {
    let (found, bytes) = match read {
        Ok(read) => read,
        Err(e) if e.is_transient() => return Err(e),
        Err(RekorError::NotFound(_)) => return Ok(Verdict::Missing),
        Err(
            RekorError::Answer { .. }
            | RekorError::TooLong { .. }
            | RekorError::Refused { .. }
            | RekorError::Damaged(_),
        ) => return Ok(Verdict::Wrong),
        Err(e) => return Err(e),
    };
    let expected = tree.hash_tile(tile);
    let same = expected.is_some_and(|expected| bytes.starts_with(&expected));
    match same && bytes.len() as u64 == found.width * Digest::LEN as u64 {
        true => Ok(Verdict::Good),
        false => Ok(Verdict::Wrong),
    }
}
