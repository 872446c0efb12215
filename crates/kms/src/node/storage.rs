//! The Raft log, in memory only (I10). raft-rs' own `MemStorage` is not used: it fabricates
//! snapshots without data. Here a snapshot exists only where the log was really cut, and holds the
//! state machine as it was there.

use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use raft::{Error, GetEntriesContext, RaftState, Result, Storage, StorageError};
/// The entries after the cut, and the hard state.
pub(super) struct MemoryLog {
    /// As of the last applied entry.
    conf: ConfState,
    hard_state: HardState,
    /// Index and term of the last entry that is gone; (0, 0) while none is.
    cut: (u64, u64),
    /// Entry of index `i` is at `i - cut - 1`.
    entries: Vec<Entry>,
    /// Bytes of their data.
    bytes: usize,
    /// The state machine at the cut.
    snapshot: Option<Snapshot>,
}

impl MemoryLog {
    /// An empty log of a cluster of these voters; of none for a node that joins.
    pub(super) fn new(voters: Vec<u64>) -> Self {
        Self {
            conf: ConfState::from((voters, Vec::new())),
            hard_state: HardState::default(),
            cut: (0, 0),
            entries: Vec::new(),
            bytes: 0,
            snapshot: None,
        }
    }

    /// Adds entries; they replace what stands from the first one's index on.
    pub(super) fn append(&mut self, entries: Vec<Entry>) {
        let Some(first) = entries.first() else { return };
        let kept = self.position(first.index).min(self.entries.len());
        self.bytes -= size_of(self.entries.get(kept..).unwrap_or_default());
        self.entries.truncate(kept);
        self.bytes += size_of(&entries);
        self.entries.extend(entries);
    }

    pub(super) fn set_hard_state(&mut self, hard_state: HardState) {
        self.hard_state = hard_state;
    }

    pub(super) fn set_conf(&mut self, conf: ConfState) {
        self.conf = conf;
    }

    pub(super) fn conf(&self) -> &ConfState {
        &self.conf
    }

    pub(super) fn set_commit(&mut self, commit: u64) {
        self.hard_state.commit = commit;
    }

    /// Drops every entry up to `index`, which is applied; `data` is the state machine there.
    pub(super) fn cut_at(&mut self, index: u64, data: Vec<u8>) {
        let Ok(term) = self.term(index) else { return };
        let gone = self
            .position(index.saturating_add(1))
            .min(self.entries.len());
        self.entries.drain(..gone);
        self.bytes = size_of(&self.entries);
        // Room that the dropped entries leave is given back, not kept with their bytes.
        self.entries.shrink_to_fit();
        self.cut = (index, term);
        let mut snapshot = Snapshot {
            data: data.into(),
            ..Snapshot::default()
        };
        let meta = snapshot.mut_metadata();
        (meta.index, meta.term) = (index, term);
        meta.set_conf_state(self.conf.clone());
        self.snapshot = Some(snapshot);
    }

    /// Replaces everything by a snapshot from the leader.
    pub(super) fn replace_by(&mut self, snapshot: Snapshot) {
        let meta = snapshot.get_metadata();
        self.cut = (meta.index, meta.term);
        self.conf = meta.get_conf_state().clone();
        self.entries.clear();
        self.bytes = 0;
        self.hard_state.commit = self.hard_state.commit.max(meta.index);
        self.snapshot = Some(snapshot);
    }

    /// How many entries are held.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many bytes of data they hold.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> &[Entry] {
        &self.entries
    }

    fn position(&self, index: u64) -> usize {
        let at = index.saturating_sub(self.cut.0).saturating_sub(1);
        usize::try_from(at).unwrap_or(usize::MAX)
    }
}

fn size_of(entries: &[Entry]) -> usize {
    entries.iter().map(|entry| entry.data.len()).sum()
}

impl Storage for MemoryLog {
    fn initial_state(&self) -> Result<RaftState> {
        Ok(RaftState::new(self.hard_state.clone(), self.conf.clone()))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _: GetEntriesContext,
    ) -> Result<Vec<Entry>> {
        if low <= self.cut.0 {
            return Err(Error::Store(StorageError::Compacted));
        }
        let all = self
            .entries
            .get(self.position(low)..self.position(high))
            .ok_or(Error::Store(StorageError::Unavailable))?;
        let mut left = max_size.into().unwrap_or(u64::MAX);
        let mut taken = Vec::new();
        for entry in all {
            let size = entry.data.len() as u64 + entry.context.len() as u64 + 32;
            // At least one entry, however large, or replication would stop at it.
            if !taken.is_empty() && size > left {
                break;
            }
            left = left.saturating_sub(size);
            taken.push(entry.clone());
        }
        Ok(taken)
    }

    fn term(&self, index: u64) -> Result<u64> {
        if index == self.cut.0 {
            return Ok(self.cut.1);
        }
        if index < self.cut.0 {
            return Err(Error::Store(StorageError::Compacted));
        }
        self.entries
            .get(self.position(index))
            .map(|entry| entry.term)
            .ok_or(Error::Store(StorageError::Unavailable))
    }

    fn first_index(&self) -> Result<u64> {
        Ok(self.cut.0 + 1)
    }

    fn last_index(&self) -> Result<u64> {
        Ok(self.cut.0 + self.entries.len() as u64)
    }

    fn snapshot(&self, request_index: u64, _: u64) -> Result<Snapshot> {
        self.snapshot
            .clone()
            .filter(|snapshot| snapshot.get_metadata().index >= request_index)
            .ok_or(Error::Store(StorageError::SnapshotTemporarilyUnavailable))
    }
}
