//! A compact index of digests: 5 to 9 bytes for each, besides the digests, which lie elsewhere.

use std::hash::{BuildHasher as _, RandomState};

use siegel_ident::Digest;

/// An empty slot; so there are at most so many numbers.
const EMPTY: u32 = u32::MAX;

/// From digests to numbers, which are indices into a list of these digests. Open addressing; hashed
/// with a random key, so that nobody can make digests that all fall into one place (I14).
#[derive(Default)]
pub(crate) struct Known {
    /// A power of two of them, or none.
    slots: Vec<u32>,
    used: usize,
    hasher: RandomState,
}

impl Known {
    /// The first number under this digest that `is` takes. `is` must compare the digests.
    pub(crate) fn find(&self, digest: &Digest, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        self.probe(digest).find(|number| is(*number))
    }

    /// All numbers that may be under this digest.
    pub(crate) fn probe(&self, digest: &Digest) -> impl Iterator<Item = u32> {
        let (slots, start) = (&self.slots, self.start(digest));
        let places = (0..slots.len()).map(move |step| start.wrapping_add(step) & mask(slots));
        places
            .filter_map(|place| slots.get(place).copied())
            .take_while(|number| *number != EMPTY)
    }

    /// Adds a number. `digest_of` gives the digest of any number that was added.
    pub(crate) fn insert(
        &mut self,
        digest: &Digest,
        number: u32,
        digest_of: impl Fn(u32) -> Option<Digest>,
    ) {
        if self.used * 8 >= self.slots.len() * 7 {
            self.grow(digest_of);
        }
        self.place(digest, number);
        self.used += 1;
    }

    fn grow(&mut self, digest_of: impl Fn(u32) -> Option<Digest>) {
        let size = (self.slots.len() * 2).max(64);
        let old = std::mem::replace(&mut self.slots, vec![EMPTY; size]);
        for number in old.into_iter().filter(|number| *number != EMPTY) {
            if let Some(digest) = digest_of(number) {
                self.place(&digest, number);
            }
        }
    }

    fn place(&mut self, digest: &Digest, number: u32) {
        let (mask, mut place) = (mask(&self.slots), self.start(digest));
        // There is always an empty one: at most seven eighths are used.
        while let Some(slot) = self.slots.get_mut(place & mask) {
            if *slot == EMPTY {
                *slot = number;
                return;
            }
            place = place.wrapping_add(1);
        }
    }

    fn start(&self, digest: &Digest) -> usize {
        self.hasher.hash_one(digest) as usize
    }
}

fn mask(slots: &[u32]) -> usize {
    slots.len().wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a number that is lost when the index grows, and one found under another digest.
    #[test]
    fn every_number_is_found_under_its_digest() {
        let all: Vec<Digest> = (0..5000u32).map(|i| Digest::of(&i.to_be_bytes())).collect();
        let digest_of = |number: u32| all.get(number as usize).copied();
        let find = |known: &Known, digest: &Digest| {
            known.find(digest, |number| digest_of(number) == Some(*digest))
        };
        let mut known = Known::default();
        for (number, digest) in (0..).zip(&all) {
            assert_eq!(find(&known, digest), None);
            known.insert(digest, number, digest_of);
            assert_eq!(find(&known, digest), Some(number));
        }
        for (number, digest) in (0..).zip(&all) {
            assert_eq!(find(&known, digest), Some(number));
        }
        assert_eq!(find(&known, &Digest::of(b"unknown")), None);
        assert!(known.slots.len() * 4 < 10 * all.len() * 4);
    }
}
