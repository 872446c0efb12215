//! The archive: what it promises over kills, merges and rot.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::TryStreamExt as _;
use siegel_ident::Digest;
use siegel_ident::lp::LpError;
use siegel_store::{Path, Refusal, RuledStore, Store};

use super::pack::PREAMBLE;
use super::*;
use crate::error::RekorError;

fn object(n: u32) -> Vec<u8> {
    let len = 20 + n as usize % 50;
    n.to_be_bytes().repeat(len)
}

async fn open(store: &Store) -> Result<Archive, RekorError> {
    Archive::start(Packs::open(store.clone()).await?)
}

async fn put(archive: &Archive, n: u32) -> Result<bool, RekorError> {
    archive.put(Digest::of(&object(n)), object(n)).await
}

async fn has(packs: &Packs, n: u32) -> bool {
    match packs.get(&Digest::of(&object(n))).await {
        Ok(bytes) => bytes == object(n),
        Err(RekorError::NotFound(_)) => false,
        Err(error) => panic!("{n}: {error}"),
    }
}

/// Path and bytes of all packs.
async fn packs(store: &Store) -> BTreeMap<Path, Vec<u8>> {
    let listed: Vec<_> = store.list("archive").try_collect().await.unwrap();
    let mut all = BTreeMap::new();
    for object in listed {
        let bytes = store.get(&object.location).await.unwrap().unwrap();
        all.insert(object.location, bytes.to_vec());
    }
    all
}

async fn write(store: &Store, path: &Path, bytes: &[u8]) {
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    store.replace(path, [bytes]).await.unwrap();
}

/// Catches packs that are never merged, a merge that loses an object, and a start that finds less
/// than was acknowledged.
#[tokio::test]
async fn i8_objects_one_by_one_stay_in_few_packs() {
    let store = Store::memory();
    let archive = open(&store).await.unwrap();
    let reader = Packs::following(store.clone());
    for n in 0..400 {
        assert!(put(&archive, n).await.unwrap(), "{n}");
        assert!(!put(&archive, n).await.unwrap(), "{n} again");
        // Seven of each class: of one object, of eight, of 64, ...
        assert!(archive.packs() <= 4 * 7, "{} packs", archive.packs());
        if n % 37 == 0 {
            assert!(has(&reader, n).await, "{n}: a reader finds what came later");
        }
    }
    drop(archive);
    assert!(packs(&store).await.len() <= 4 * 7);
    let again = Packs::open(store.clone()).await.unwrap();
    for n in 0..400 {
        assert!(has(&again, n).await && has(&reader, n).await, "{n}");
    }
    assert!(!has(&reader, 400).await);
}

// Catches a reader that asks the store for every object of a pack it goes through, and one that holds
// on to bytes that were wrong.
#[tokio::test]
async fn a_pack_that_is_gone_through_is_read_once() {
    let store = Store::memory();
    let archive = open(&store).await.unwrap();
    for n in 0..8 {
        put(&archive, n).await.unwrap();
    }
    drop(archive);
    let all = packs(&store).await;
    let [(path, good)] = &all.iter().collect::<Vec<_>>()[..] else {
        panic!("eight are merged into one, found {}", all.len());
    };
    let reader = Packs::following(store.clone());
    for n in 0..4 {
        assert!(has(&reader, n).await, "{n}");
    }
    let mut bad = (*good).clone();
    let at = bad.len() - 1;
    bad[at] ^= 1;
    write(&store, path, &bad).await;
    assert!(has(&reader, 7).await, "from memory");
    let fresh = Packs::following(store.clone());
    for n in 0..7 {
        assert!(has(&fresh, n).await, "{n}");
    }
    let rotten = |read| matches!(read, Err(RekorError::OtherBytes { .. }));
    assert!(rotten(fresh.get(&Digest::of(&object(7))).await));
    write(&store, path, good).await;
    assert!(has(&fresh, 7).await, "restored");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_share_packs_and_each_is_stored_once() {
    let store = Store::memory();
    let archive = Arc::new(open(&store).await.unwrap());
    let tasks: Vec<_> = (0..600)
        .map(|task| {
            let archive = Arc::clone(&archive);
            tokio::spawn(async move { put(&archive, task / 2).await.unwrap() })
        })
        .collect();
    let mut new = 0;
    for task in tasks {
        new += u32::from(task.await.unwrap());
    }
    assert_eq!(new, 300);
    let mut directories = 0;
    for (path, bytes) in packs(&store).await {
        let name = path.filename().unwrap().parse().unwrap();
        directories += PackDirectory::of_pack(&name, &bytes).unwrap().count();
    }
    assert_eq!(directories, 300);
}

/// Catches a merge that removes before it has stored: whatever subset of a merge's writes and
/// deletions a kill leaves, all is found, by a new writer and by a reader that read the index before.
#[tokio::test]
async fn i8_a_kill_in_a_merge_loses_nothing() {
    let store = Store::memory();
    let archive = open(&store).await.unwrap();
    for n in 0..7 {
        put(&archive, n).await.unwrap();
    }
    let reader = Packs::following(store.clone());
    assert!(has(&reader, 0).await);
    let before = packs(&store).await;
    assert_eq!(before.len(), 7);
    put(&archive, 7).await.unwrap();
    drop(archive);
    let after = packs(&store).await;
    assert_eq!(after.len(), 1, "eight small packs are one");
    assert!(has(&reader, 3).await, "its pack has gone");
    let old: Vec<_> = before.into_iter().collect();
    for kept in 0..=7 {
        // The merged pack and some of the old ones.
        for (path, bytes) in old.iter().take(kept) {
            write(&store, path, bytes).await;
        }
        let again = open(&store).await.unwrap();
        let reader = Packs::following(store.clone());
        for n in 0..8 {
            assert!(has(&reader, n).await, "{n} with {kept}");
            assert!(!put(&again, n).await.unwrap(), "{n} with {kept}");
        }
        // What is there twice is merged away in time.
        for n in 8..100 {
            put(&again, n + 1000 * kept as u32).await.unwrap();
        }
        for n in 0..8 {
            assert!(has(&reader, n).await, "{n} with {kept}, later");
        }
        assert!(again.packs() <= 4 * 7);
        drop(again);
        for path in packs(&store).await.into_keys() {
            store.delete(&path).await.unwrap();
        }
        for (path, bytes) in &after {
            write(&store, path, bytes).await;
        }
    }
}

/// Catches a merge that removes before the merged pack is durable.
#[tokio::test]
async fn i8_a_merge_that_fails_leaves_all_where_it_is() {
    let memory = Store::memory();
    let store = memory.clone().wrapped(|inner| {
        RuledStore::when(inner, |_, size| match size > 400 {
            true => Refusal::Before,
            false => Refusal::None,
        })
    });
    let archive = open(&store).await.unwrap();
    for n in 0..20 {
        assert!(put(&archive, n).await.unwrap());
        assert!(has(&Packs::following(memory.clone()), n).await);
    }
    drop(archive);
    assert_eq!(packs(&memory).await.len(), 20);
    let again = open(&memory).await.unwrap();
    for n in 0..20 {
        assert!(!put(&again, n).await.unwrap(), "{n}");
    }
}

/// I2: an object that rotted is not handed out, and can be stored again, though its pack may have the
/// same name then; a merge does not bring the rotten one back.
#[tokio::test]
async fn a_rotten_object_is_an_error_until_it_is_stored_again() {
    let store = Store::memory();
    let archive = open(&store).await.unwrap();
    let together: Vec<_> = (0..5).map(|n| put(&archive, n)).collect();
    futures::future::join_all(together).await;
    for n in 0..5 {
        let digest = Digest::of(&object(n));
        for (path, mut bytes) in packs(&store).await {
            let name = path.filename().unwrap().parse().unwrap();
            let directory = PackDirectory::of_pack(&name, &bytes).unwrap();
            let found = directory.places().find(|(e, _)| e.digest == digest);
            let at = found.map(|(_, at)| at as usize);
            if let Some(at) = at {
                bytes[at] ^= 1;
                write(&store, &path, &bytes).await;
            }
        }
        let reader = Packs::following(store.clone());
        for rotten in [archive.get(&digest).await, reader.get(&digest).await] {
            assert!(matches!(rotten, Err(RekorError::OtherBytes { .. })), "{n}");
        }
        assert!(put(&archive, n).await.unwrap());
        assert!(!put(&archive, n).await.unwrap());
        assert_eq!(archive.get(&digest).await.unwrap(), object(n));
    }
    for n in 100..200 {
        put(&archive, n).await.unwrap();
    }
    drop(archive);
    let again = open(&store).await.unwrap();
    for n in 0..5 {
        let digest = Digest::of(&object(n));
        assert_eq!(again.get(&digest).await.unwrap(), object(n));
    }
}

/// Catches a directory that is believed although it is not the one of its name, and a server that
/// goes on without objects that it acknowledged. A reader goes on, and says so.
#[tokio::test]
async fn a_damaged_directory_stops_the_start_and_is_named() {
    let store = Store::memory();
    let archive = open(&store).await.unwrap();
    put(&archive, 1).await.unwrap();
    put(&archive, 2).await.unwrap();
    drop(archive);
    let all = packs(&store).await;
    let (path, good) = all.first_key_value().unwrap();
    let [first, second] = [1, 2].map(|n| Digest::of(&object(n)));
    let in_it = PackDirectory::parse(&good[..PREAMBLE + 36]).unwrap();
    let (lost, kept) = match in_it.places().next().unwrap().0.digest == first {
        true => (first, second),
        false => (second, first),
    };
    for at in (0..PREAMBLE + 36).chain([good.len()]) {
        let mut bad = good.clone();
        match bad.get_mut(at) {
            Some(byte) => *byte ^= 1,
            None => drop(bad.pop()),
        }
        write(&store, path, &bad).await;
        let refused = open(&store).await.err().unwrap().to_string();
        assert!(refused.contains(path.as_ref()), "{at}: {refused}");
        let reader = Packs::following(store.clone());
        assert!(reader.get(&kept).await.is_ok(), "{at}");
        let unreadable = reader.get(&lost).await;
        assert!(matches!(unreadable, Err(RekorError::Damaged(_))), "{at}");
    }
    write(&store, path, good).await;
    write(&store, &Path::from("archive/readme"), b"hi").await;
    let foreign = open(&store).await.err().unwrap().to_string();
    assert!(foreign.contains("archive/readme"), "{foreign}");
    let reader = Packs::following(store.clone());
    assert!(reader.get(&lost).await.is_ok());
}

fn directory() -> PackDirectory {
    let entry = |n: u8, len: u32| PackEntry {
        digest: Digest::from_bytes([n; 32]),
        len,
    };
    PackDirectory::new(vec![entry(3, 5), entry(1, 10), entry(2, 0)]).unwrap()
}

// Catches a body looked for at a wrong place, and a change of the layout.
#[test]
fn bodies_follow_the_directory_in_its_order() {
    let directory = directory();
    let bytes = directory.to_bytes();
    assert_eq!(bytes.len(), 12 + 3 * 36);
    assert_eq!(&bytes[..12], b"siegpck\x01\0\0\0\x03");
    assert_eq!(PackDirectory::len_of(&bytes[..PREAMBLE]), Ok(bytes.len()));
    let places: Vec<_> = directory.places().map(|(e, at)| (e.len, at)).collect();
    assert_eq!(places, [(10, 120), (0, 130), (5, 130)]);
    assert_eq!(directory.total_len(), 135);
    assert_eq!(PackDirectory::parse(&bytes), Ok(directory));
    assert_eq!(PackDirectory::new(Vec::new()), None);
    let twice = PackEntry {
        digest: Digest::of(b""),
        len: 0,
    };
    assert_eq!(PackDirectory::new(vec![twice, twice]), None);
}

// I14: catches a reader that takes a part for the whole, or makes room for what is claimed.
#[test]
fn i14_what_is_not_exactly_a_directory_is_refused() {
    let good = directory().to_bytes();
    for cut in 0..good.len() {
        assert!(PackDirectory::parse(&good[..cut]).is_err(), "{cut}");
    }
    let longer = [&good[..], b"x"].concat();
    assert!(matches!(
        PackDirectory::parse(&longer),
        Err(PackError::Cut(LpError::Trailing { extra: 1 }))
    ));
    for (at, byte) in [(0, b'S'), (7, 2)] {
        let mut bad = good.clone();
        bad[at] = byte;
        assert_eq!(PackDirectory::parse(&bad), Err(PackError::NoPack));
    }
    for count in [0, 65_537, u32::MAX] {
        let mut bad = good.clone();
        bad[8..12].copy_from_slice(&count.to_be_bytes());
        assert_eq!(PackDirectory::parse(&bad), Err(PackError::Count { count }));
    }
    let mut swapped = good.clone();
    swapped[12..48].copy_from_slice(&good[48..84]);
    assert_eq!(
        PackDirectory::parse(&swapped),
        Err(PackError::Order { at: 1 })
    );
    let mut long = good.clone();
    long[44..48].copy_from_slice(&(1024 * 1024 + 1u32).to_be_bytes());
    let refused = PackDirectory::parse(&long);
    assert!(matches!(refused, Err(PackError::TooLong { .. })));
    let name = Digest::of(&good);
    let pack = [&good[..], &[7; 15]].concat();
    assert_eq!(PackDirectory::of_pack(&name, &pack), Ok(directory()));
    assert!(PackDirectory::of_pack(&name, &pack[1..]).is_err());
    assert!(PackDirectory::of_pack(&name, &pack[..pack.len() - 1]).is_err());
    assert!(PackDirectory::of_pack(&Digest::of(b""), &pack).is_err());
}
