//! Privacy units: who is one, where it belongs, and which of its items count (I4). All under a key
//! that only attested workers of the run hold: nobody outside can tell where a user went.

use ring::hmac;
use siegel_ident::{PrivacyId, Secret, Transcript};

use crate::ProgramError;

/// The run's key for grouping and bounding.
pub struct IndexKey(hmac::Key);

/// The keyed hash of a privacy id. Client data: no `Debug`, no `Display`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitHash([u8; 32]);

impl IndexKey {
    /// Takes the index key of a worker's grant. `ring` keeps its own copy, which is not zeroised.
    pub fn new(key: &Secret<32>) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key.expose()))
    }

    /// The unit of a user: the same for all uploads of one privacy id.
    pub fn unit(&self, id: &PrivacyId) -> UnitHash {
        UnitHash(self.mac(&Transcript::new("siegel/unit/v1").field(id.as_bytes())))
    }

    /// Rank of a bin within a unit: the bins of smallest rank count. It looks at nothing but the
    /// unit and the bin, so neither blobs nor their order play a part.
    pub(crate) fn rank(&self, unit: &UnitHash, bin: u32) -> [u8; 32] {
        self.mac(
            &Transcript::new("siegel/bound/v1")
                .field(&unit.0)
                .u64(bin.into()),
        )
    }

    /// Rank of a text or of rows within a unit. It looks at nothing but the unit and the content.
    pub(crate) fn piece_rank(&self, unit: &UnitHash, piece: &[u8]) -> [u8; 32] {
        self.mac(
            &Transcript::new("siegel/piece/v1")
                .field(&unit.0)
                .field(piece),
        )
    }

    fn mac(&self, of: &Transcript) -> [u8; 32] {
        let mut out = [0; 32];
        out.copy_from_slice(hmac::sign(&self.0, of.as_bytes()).as_ref());
        out
    }
}

/// Into how many ranges the hash space is cut: the grain of leases. A function of the public blob
/// count alone (never of how many users there are), and no part of the result (I7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCount(u32);

impl BlockCount {
    /// Most blocks of a run.
    pub const MAX: u32 = 1024;
    const MIN: u32 = 16;
    const BLOBS_PER_BLOCK: u64 = 64;

    /// The blocks of a run over this many blobs.
    pub fn for_blobs(blobs: u64) -> Self {
        let wanted = blobs.div_ceil(Self::BLOBS_PER_BLOCK);
        Self(wanted.clamp(Self::MIN.into(), Self::MAX.into()) as u32)
    }

    /// Reads a count from the wire.
    pub fn new(count: u32) -> Result<Self, ProgramError> {
        match count {
            1..=Self::MAX => Ok(Self(count)),
            _ => Err(ProgramError::invalid(
                "blocks",
                "a run has 1 to 1024 blocks",
            )),
        }
    }

    /// The number of blocks.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The block of a unit: blocks are equal ranges of the hash, in its order.
    pub fn block_of(self, unit: &UnitHash) -> u32 {
        let [a, b, c, d, e, f, g, h, ..] = unit.0;
        let head = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
        ((u128::from(head) * u128::from(self.0)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(byte: u8) -> IndexKey {
        IndexKey::new(&Secret::new([byte; 32]))
    }

    // I4: a unit depends on key and id alone.
    #[test]
    fn units_are_separated_by_key_and_id() {
        let (a, b) = (
            PrivacyId::from_bytes([3; 32]),
            PrivacyId::from_bytes([4; 32]),
        );
        assert!(key(1).unit(&a) == key(1).unit(&a));
        assert!(key(1).unit(&a) != key(1).unit(&b));
        assert!(key(1).unit(&a) != key(2).unit(&a));
    }

    #[test]
    fn blocks_are_ranges_that_cover_the_hash_space() {
        let count = BlockCount::new(3).unwrap();
        assert_eq!(count.block_of(&UnitHash([0; 32])), 0);
        assert_eq!(count.block_of(&UnitHash([255; 32])), 2);
        assert!(BlockCount::new(0).is_err() && BlockCount::new(1025).is_err());
        let for_blobs = |n| BlockCount::for_blobs(n).get();
        assert_eq!(
            [
                for_blobs(0),
                for_blobs(1000),
                for_blobs(6400),
                for_blobs(u64::MAX)
            ],
            [16, 16, 100, 1024]
        );
    }

    proptest! {
        #[test]
        fn block_order_is_hash_order(a: [u8; 32], b: [u8; 32], n in 1u32..=1024) {
            let n = BlockCount::new(n).unwrap();
            let (a, b) = (UnitHash(a), UnitHash(b));
            prop_assert!(n.block_of(&a) < n.get());
            if a <= b { prop_assert!(n.block_of(&a) <= n.block_of(&b)); }
        }
    }
}
