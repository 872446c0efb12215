//! Keys that signed entries, each kept once.

use std::collections::BTreeMap;

use siegel_translog::SpkiKey;

/// A key by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SignerId(u32);

/// All keys that signed something.
#[derive(Default)]
pub(crate) struct Signers {
    ids: BTreeMap<SpkiKey, SignerId>,
}

impl Signers {
    /// The number of a key. A log has fewer than 2^32 entries that an auditor could read, so none
    /// is given twice.
    pub(crate) fn id(&mut self, key: SpkiKey) -> SignerId {
        let next = SignerId(self.ids.len() as u32);
        *self.ids.entry(key).or_insert(next)
    }

    /// The number of a key that has signed something.
    pub(crate) fn find(&self, key: &SpkiKey) -> Option<SignerId> {
        self.ids.get(key).copied()
    }
}
