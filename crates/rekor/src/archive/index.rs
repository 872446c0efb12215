//! Which objects there are and where they lie. In memory, rebuilt from the packs' directories at
//! start: there is no second truth that a kill could leave behind (I8).

use std::collections::BTreeMap;
use std::ops::Range;

use siegel_ident::Digest;

use super::pack::PackDirectory;
use crate::known::Known;

/// About 55 bytes per object.
#[derive(Default)]
pub(crate) struct Index {
    /// In no order; numbers of packs are indices. One that is gone keeps its number.
    packs: Vec<Pack>,
    /// Numbers of packs that no object points to.
    free: Vec<u32>,
    numbers: BTreeMap<Digest, u32>,
    digests: Vec<Digest>,
    places: Vec<Place>,
    known: Known,
}

#[derive(Clone, Copy)]
pub(crate) struct Pack {
    pub(crate) name: Digest,
    /// Length in bytes.
    pub(crate) len: u64,
    /// Number of objects.
    pub(crate) count: usize,
    /// It can be merged: it is there, and was readable whenever that was tried.
    pub(crate) usable: bool,
    live: bool,
}

#[derive(Clone, Copy)]
struct Place {
    at: u64,
    len: u32,
    pack: u32,
}

impl Index {
    /// Adds a pack. With `fresh`, its objects are known to be good: they are looked up here and no
    /// longer where they were.
    pub(crate) fn add(&mut self, name: Digest, directory: &PackDirectory, fresh: bool) {
        if self.has(&name) {
            if !fresh {
                return;
            }
            self.gone(&name);
        }
        let pack = Pack {
            name,
            len: directory.total_len(),
            count: directory.count(),
            usable: true,
            live: true,
        };
        let number = self.free.pop().unwrap_or(self.packs.len() as u32);
        match self.packs.get_mut(number as usize) {
            Some(slot) => *slot = pack,
            None => self.packs.push(pack),
        }
        self.numbers.insert(name, number);
        for (entry, at) in directory.places() {
            let place = Place {
                at,
                len: entry.len,
                pack: number,
            };
            let mut moved = false;
            for old in self.all(&entry.digest) {
                if (fresh || !self.is_live(old))
                    && let Some(old) = self.places.get_mut(old as usize)
                {
                    *old = place;
                    moved = true;
                }
            }
            if !moved {
                self.insert(entry.digest, place);
            }
        }
    }

    /// Puts a pack in the place of others, whose objects are all in it.
    pub(crate) fn replace(&mut self, old: &[Digest], name: Digest, directory: &PackDirectory) {
        let mut numbers = Vec::new();
        for old in old {
            numbers.extend(self.numbers.get(old).copied());
            self.gone(old);
        }
        self.add(name, directory, false);
        // No object points to them any more.
        self.free.extend(numbers);
    }

    fn insert(&mut self, digest: Digest, place: Place) {
        let number = self.digests.len() as u32;
        self.digests.push(digest);
        self.places.push(place);
        let digests = &self.digests;
        let digest_of = |number: u32| digests.get(number as usize).copied();
        self.known.insert(&digest, number, digest_of);
    }

    /// The numbers of an object.
    fn all(&self, digest: &Digest) -> Vec<u32> {
        let same = |number: &u32| self.digests.get(*number as usize) == Some(digest);
        self.known.probe(digest).filter(same).collect()
    }

    /// Forgets a pack that is no longer there. Its objects are found again where [`Self::add`] finds
    /// them.
    pub(crate) fn gone(&mut self, name: &Digest) {
        if let Some(pack) = self.pack_mut(name) {
            (pack.live, pack.usable) = (false, false);
        }
        self.numbers.remove(name);
    }

    /// A pack that cannot be read whole is left as it is.
    pub(crate) fn leave(&mut self, name: &Digest) {
        if let Some(pack) = self.pack_mut(name) {
            pack.usable = false;
        }
    }

    pub(crate) fn has(&self, name: &Digest) -> bool {
        self.numbers.contains_key(name)
    }

    /// The packs that are there.
    pub(crate) fn packs(&self) -> impl Iterator<Item = &Pack> {
        self.packs.iter().filter(|pack| pack.live)
    }

    /// Where an object lies: the pack's name, and the bytes in it. More than one place only after a
    /// kill while packs were merged, or where a rotten object was stored again.
    pub(crate) fn find(&self, digest: &Digest) -> Vec<(Digest, Range<u64>)> {
        let place = |number: u32| {
            let place = self.places.get(number as usize)?;
            let pack = self.packs.get(place.pack as usize).filter(|p| p.live)?;
            Some((pack.name, place.at..place.at + u64::from(place.len)))
        };
        self.all(digest).into_iter().filter_map(place).collect()
    }

    fn is_live(&self, number: u32) -> bool {
        let place = self.places.get(number as usize);
        let pack = place.and_then(|place| self.packs.get(place.pack as usize));
        pack.is_some_and(|pack| pack.live)
    }

    fn pack_mut(&mut self, name: &Digest) -> Option<&mut Pack> {
        let number = self.numbers.get(name)?;
        self.packs.get_mut(*number as usize)
    }
}
