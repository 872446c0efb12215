use super::*;
use crate::merkle::{leaf_hash, verify_consistency, verify_inclusion};
use crate::tree::Tree;

#[test]
fn one_spelling_per_tile() {
    let asked = TilePath::parse("entries/x001/x234/067.p/8").unwrap();
    let expected = TilePath {
        level: Level::Entries,
        index: 1_234_067,
        width: 8,
    };
    assert_eq!(asked, expected);
    assert_eq!(asked.to_string(), "entries/x001/x234/067.p/8");
    assert_eq!(asked.full().to_string(), "entries/x001/x234/067");
    assert_eq!(TilePath::parse("0/000").unwrap().width, 256);
    assert_eq!(TilePath::parse("7/255").unwrap().level, Level::Hashes(7));
    for bad in [
        "0/0",
        "0/00",
        "0/0000",
        "8/000",
        "00/000",
        "0/x000/000",
        "0/001/234",
        "0/000.p/0",
        "0/000.p/256",
        "0/000.p/01",
        "0/000.p/",
        "entries",
        "0/",
        "/000",
        "-1/000",
        "0/+00",
        "0/x999/x999/x999/x999/x999/x999/x999/999",
    ] {
        assert!(TilePath::parse(bad).is_none(), "{bad}");
    }
}

/// A tree of `size` leaves and all its tiles, written as a log writes them.
fn grown_log(size: u64) -> (Tree, TileSet) {
    let leaf = |i: u64| leaf_hash(&i.to_be_bytes());
    let tree: Tree = (0..size).map(leaf).collect();
    let set = tiles_of(&tree, 0, size);
    (tree, set)
}

fn tiles_of(tree: &Tree, from: u64, to: u64) -> TileSet {
    let mut set = TileSet::default();
    for tile in grown(from, to) {
        if let Level::Hashes(level) = tile.level {
            assert!(set.insert(tile, &bytes_of(tree, level, tile)), "{tile}");
        }
    }
    set
}

fn bytes_of(tree: &Tree, level: u32, tile: TilePath) -> Vec<u8> {
    let first = tile.index * WIDTH;
    (first..first + tile.width)
        .flat_map(|i| tree.node(level * 8, i).unwrap().to_vec())
        .collect()
}

/// Catches a proof from tiles that is not the tree's, at every size and index up to 600.
#[test]
fn proofs_from_tiles_are_those_of_the_tree() {
    let (tree, _) = grown_log(600);
    for size in 0..=600 {
        let set = tiles_of(&tree, 0, size);
        assert_eq!(set.root(size), tree.root_at(size), "{size}");
        for index in (0..size).step_by(if size % 256 < 3 { 1 } else { 7 }) {
            let proof = set.inclusion_proof(index, size);
            assert_eq!(proof, tree.inclusion_proof(index, size), "{index} {size}");
        }
        for from in (0..=size).step_by(13) {
            let proof = set.consistency_proof(from, size);
            assert_eq!(proof, tree.consistency_proof(from, size), "{from} {size}");
        }
    }
}

/// Catches a border taken one too early or too late, where a tile gets full, and a level above it.
#[test]
fn the_named_tiles_are_enough_around_tile_borders() {
    let (tree, _) = grown_log(65_793);
    for border in [255, 256, 257, 511, 512, 65_535, 65_536, 65_537, 65_792] {
        let root = tree.root_at(border).unwrap();
        for index in [0, 1, 254, 255, 256, border / 2, border - 2, border - 1] {
            let Some(expected) = tree.inclusion_proof(index, border) else {
                continue;
            };
            let mut set = TileSet::default();
            let asked = TileSet::for_inclusion(index, border);
            assert!(asked.len() <= 4, "{asked:?}");
            for tile in &asked {
                let Level::Hashes(level) = tile.level else {
                    panic!("{tile}")
                };
                assert!(set.insert(*tile, &bytes_of(&tree, level, *tile)));
            }
            let proof = set.inclusion_proof(index, border).unwrap();
            assert_eq!(proof, expected, "{index} of {border}");
            let leaf = tree.node(0, index).unwrap();
            verify_inclusion(&leaf, index, border, &proof, &root).unwrap();
        }
        let (from, to) = (border, 65_793);
        let mut set = TileSet::default();
        for tile in TileSet::for_consistency(from, to) {
            let Level::Hashes(level) = tile.level else {
                panic!("{tile}")
            };
            assert!(set.insert(tile, &bytes_of(&tree, level, tile)));
        }
        let proof = set.consistency_proof(from, to).unwrap();
        verify_consistency(from, &root, to, &tree.root(), &proof).unwrap();
    }
}

/// Catches a tile that grows and is not written, or one that is written again for nothing.
#[test]
fn growing_writes_the_changed_tiles_and_no_others() {
    let names =
        |from, to| -> Vec<String> { grown(from, to).iter().map(ToString::to_string).collect() };
    assert!(names(5, 5).is_empty());
    assert_eq!(names(0, 1), ["0/000.p/1", "entries/000.p/1"]);
    assert_eq!(names(250, 256), ["0/000", "1/000.p/1", "entries/000"]);
    assert_eq!(names(256, 257), ["0/001.p/1", "entries/001.p/1"]);
    assert_eq!(
        names(255, 513),
        [
            "0/000",
            "0/001",
            "0/002.p/1",
            "1/000.p/2",
            "entries/000",
            "entries/001",
            "entries/002.p/1"
        ]
    );
    assert_eq!(
        names(65_535, 65_536),
        ["0/255", "1/000", "2/000.p/1", "entries/255"]
    );
    assert!(Level::Hashes(7).tile(0, u64::MAX).is_some());
}

/// I14. Catches a reader that takes a part for the whole.
#[test]
fn i14_torn_tiles_are_refused() {
    let mut bundle = Vec::new();
    assert!(push_entry(&mut bundle, b"one") && push_entry(&mut bundle, b""));
    assert_eq!(parse_entries(&bundle).unwrap(), [b"one".to_vec(), vec![]]);
    for cut in [1, 2, 4, 6] {
        assert!(parse_entries(&bundle[..cut]).is_none(), "{cut}");
    }
    assert!(!push_entry(&mut bundle, &[0; 65_536]));
    for bad in [0, 31, 33, 32 * 257] {
        assert!(parse_hashes(&vec![0; bad]).is_none(), "{bad}");
    }
    assert_eq!(parse_hashes(&[0; 64]).unwrap().len(), 2);
    let tile = TilePath::parse("0/000.p/3").unwrap();
    assert!(!TileSet::default().insert(tile, &[0; 64]));
    assert!(TileSet::default().insert(tile, &[0; 128]));
    let entries = TilePath::parse("entries/000").unwrap();
    assert!(!TileSet::default().insert(entries, &[0; MAX_HASHES]));
}
