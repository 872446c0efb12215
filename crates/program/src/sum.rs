//! A worker's part: records to exact sums per block of units (I4, I7).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};

use siegel_ident::secret::Wiped;
use siegel_ident::{Digest, Fencing, RunId, SecretBytes, Step, Transcript};

use crate::gather::Gathered;
use crate::{BlockCount, IndexKey, Intrinsic, ProgramError, Query, Record, UnitHash};

/// Collects the units of some blocks, in one pass over all records of a run, in any order.
pub struct SumBuilder<'a> {
    query: &'a Query<'a>,
    key: &'a IndexKey,
    units: Units,
}

impl<'a> SumBuilder<'a> {
    /// Starts on the blocks `wanted`; each may be named once.
    pub fn new(
        query: &'a Query<'a>,
        key: &'a IndexKey,
        blocks: BlockCount,
        wanted: &[u32],
    ) -> Result<Self, ProgramError> {
        let units = Units::new(blocks, wanted)?;
        Ok(Self { query, key, units })
    }

    /// As [`Units::add`].
    pub fn add(&mut self, record: &Record<'_>) {
        self.units.add(self.query, self.key, record);
    }

    /// Bounds each unit and sums up, one sum per wanted block, ascending.
    pub fn finish(self) -> Result<Vec<BlockSum>, ProgramError> {
        self.finish_with(1, &|| true)
    }

    /// As [`Units::sums`].
    pub fn finish_with(
        self,
        threads: usize,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<BlockSum>, ProgramError> {
        self.units.sums(self.query, self.key, threads, go_on)
    }
}

/// The units of some blocks: of each one what a query takes from its records, and no more. All calls
/// must have the same query and key.
///
/// The steps are in the order that I4 asks for: first all blobs of a unit are joined, then the
/// unit is bounded, then it is added. Client data: no `Debug`; wiped on drop (I13).
pub struct Units {
    blocks: BlockCount,
    units: BTreeMap<u32, BTreeMap<UnitHash, Gathered>>,
}

impl Units {
    /// Of the blocks `wanted`; each may be named once.
    pub fn new(blocks: BlockCount, wanted: &[u32]) -> Result<Self, ProgramError> {
        let mut units = BTreeMap::new();
        for &block in wanted {
            if block >= blocks.get() {
                return Err(ProgramError::NoSuchBlock {
                    block,
                    count: blocks.get(),
                });
            }
            if units.insert(block, BTreeMap::new()).is_some() {
                return Err(ProgramError::BlockTwice { block });
            }
        }
        Ok(Self { blocks, units })
    }

    /// Joins a record to its unit, if that is in a wanted block. A blob that does not open or does
    /// not decode is simply not added: it is a unit of its own that contributes zero (I12).
    pub fn add(&mut self, query: &Query<'_>, key: &IndexKey, record: &Record<'_>) {
        let unit = key.unit(&record.privacy_id);
        let Some(block) = self.units.get_mut(&self.blocks.block_of(&unit)) else {
            return;
        };
        let gathered = block.entry(unit);
        let gathered = gathered.or_insert_with(|| Gathered::new(query));
        gathered.join(query, record);
    }

    /// Joins what was gathered elsewhere from other records. The result is that of one gathering of
    /// all of them, whoever had which (I4, I7).
    pub fn join(&mut self, other: Self) {
        for (block, units) in other.units {
            let Some(block) = self.units.get_mut(&block) else {
                continue;
            };
            for (unit, gathered) in units {
                match block.entry(unit) {
                    Entry::Vacant(place) => {
                        place.insert(gathered);
                    }
                    Entry::Occupied(mut place) => place.get_mut().join_all(gathered),
                }
            }
        }
    }

    /// Takes one block out; without units, if it is not there.
    #[must_use]
    pub fn take(&mut self, block: u32) -> Self {
        let units = self.units.remove(&block).unwrap_or_default();
        Self {
            blocks: self.blocks,
            units: [(block, units)].into(),
        }
    }

    /// Bounds each unit and sums up on some threads, one unit at a time on each: one sum per block,
    /// ascending. `go_on` is asked before every unit; if it says no, nothing comes out
    /// ([`ProgramError::Interrupted`]).
    pub fn sums(
        self,
        query: &Query<'_>,
        key: &IndexKey,
        threads: usize,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<BlockSum>, ProgramError> {
        let mut out = Vec::with_capacity(self.units.len());
        for (block, units) in self.units {
            let units: Vec<(UnitHash, Gathered)> = units.into_iter().collect();
            let work = Work {
                query,
                key,
                units: &units,
                next: AtomicUsize::new(0),
                go_on,
            };
            let sums = work.sums(threads)?;
            out.push(BlockSum { block, sums });
        }
        Ok(out)
    }
}

/// The units of one block, shared by threads.
struct Work<'a> {
    query: &'a Query<'a>,
    key: &'a IndexKey,
    units: &'a [(UnitHash, Gathered)],
    next: AtomicUsize,
    go_on: &'a (dyn Fn() -> bool + Sync),
}

type Sums = Wiped<i64>;

impl Work<'_> {
    /// Sums of integers: which thread took which unit cannot be seen (I7).
    fn sums(&self, threads: usize) -> Result<Sums, ProgramError> {
        let threads = threads.clamp(1, self.units.len().max(1));
        if threads == 1 {
            return self.share();
        }
        let shares: Vec<Result<Sums, ProgramError>> = std::thread::scope(|scope| {
            let started: Vec<_> = (0..threads).map(|_| scope.spawn(|| self.share())).collect();
            let ended = started.into_iter().map(|thread| thread.join());
            ended
                .map(|share| share.unwrap_or(Err(ProgramError::Interrupted)))
                .collect()
        });
        let mut total = Wiped::new(vec![0i64; self.query.dimension()]);
        for share in shares {
            for (sum, part) in total.iter_mut().zip(share?.iter()) {
                *sum = sum.checked_add(*part).ok_or(ProgramError::Overflow)?;
            }
        }
        Ok(total)
    }

    /// Takes units until there are none.
    fn share(&self) -> Result<Sums, ProgramError> {
        let mut sums = Wiped::new(vec![0i64; self.query.dimension()]);
        let mut adder = Gathered::adder(self.query);
        while let Some((unit, gathered)) = self.units.get(self.next.fetch_add(1, Ordering::Relaxed))
        {
            if !(self.go_on)() {
                return Err(ProgramError::Interrupted);
            }
            gathered.add_to(&mut adder, self.key, unit, &mut sums)?;
        }
        Ok(sums)
    }
}

/// The exact sum of one block. A raw sum: it goes sealed to the root's own key and nowhere else,
/// and its only consumer is [`crate::Total`] (I5). No `Debug`.
pub struct BlockSum {
    pub(crate) block: u32,
    pub(crate) sums: Wiped<i64>,
}

impl BlockSum {
    /// Which block.
    pub fn block(&self) -> u32 {
        self.block
    }

    /// The plaintext to be sealed: `i64` little-endian per bin or parameter. Its length is public.
    pub fn to_bytes(&self) -> SecretBytes {
        let mut out = Vec::with_capacity(self.sums.len() * 8);
        self.sums
            .iter()
            .for_each(|sum| out.extend_from_slice(&sum.to_le_bytes()));
        out.into()
    }

    /// Reads an opened block sum; it must be exactly of the intrinsic's length.
    pub fn from_bytes(
        block: u32,
        bytes: &SecretBytes,
        intrinsic: &Intrinsic,
    ) -> Result<Self, ProgramError> {
        let (whole, rest) = bytes.expose().as_chunks::<8>();
        let expected = intrinsic.dimension();
        if !rest.is_empty() || whole.len() != expected {
            return Err(ProgramError::SumLength { block, expected });
        }
        let sums = whole
            .iter()
            .map(|eight| i64::from_le_bytes(*eight))
            .collect();
        Ok(Self {
            block,
            sums: Wiped::new(sums),
        })
    }

    /// What a sealed block sum is bound to: the `info` of its sealed box, the same on both sides.
    /// A worker's answer to one question cannot pass as the answer to another.
    pub fn seal_info(run: &RunId, fencing: Fencing, place: &SumPlace<'_>) -> Transcript {
        Transcript::new("siegel/block-sum/v2")
            .field(run.as_bytes())
            .u64(fencing.0)
            .u64(place.step.0)
            .u64(place.intrinsic.into())
            .field(place.spec)
            .field(place.state.as_bytes())
            .u64(place.blocks.get().into())
            .u64(place.block.into())
    }
}

/// Where a block sum belongs.
#[derive(Clone, Copy, Debug)]
pub struct SumPlace<'a> {
    /// Step of the run.
    pub step: Step,
    /// Index of the intrinsic within the step.
    pub intrinsic: u32,
    /// Canonical bytes of the intrinsic.
    pub spec: &'a [u8],
    /// SHA-256 of the broadcast state.
    pub state: Digest,
    /// How many blocks there are.
    pub blocks: BlockCount,
    /// Which one this is.
    pub block: u32,
}
