//! Tiles: their names and bytes are written again as they were read; a set of tiles made of the input
//! gives proofs or none, and never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use siegel_translog::tiles::{self, Level};
use siegel_translog::{TilePath, TileSet};

fuzz_target!(|data: &[u8]| {
    if let Some(path) = std::str::from_utf8(data).ok().and_then(TilePath::parse) {
        assert_eq!(path.to_string().as_bytes(), data);
        assert_eq!(TilePath::parse(&path.full().to_string()), Some(path.full()));
    }
    if let Some(entries) = tiles::parse_entries(data) {
        let mut again = Vec::new();
        for entry in &entries {
            assert!(tiles::push_entry(&mut again, entry));
        }
        assert_eq!(again, data);
    }
    if let Some(hashes) = tiles::parse_hashes(data) {
        let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_vec()).collect();
        assert_eq!(bytes, data);
    }

    // Any sizes, and one tile that is wherever it is wanted first.
    let [index, size, bytes @ ..] = data else {
        return;
    };
    let spread = |byte: &u8| (1u64 << (byte & 63)).saturating_sub(u64::from(byte >> 6));
    let (index, size) = (spread(index), spread(size));
    let mut set = TileSet::default();
    for tile in TileSet::for_inclusion(index, size) {
        assert!(matches!(tile.level, Level::Hashes(_)));
        assert_eq!(TilePath::parse(&tile.to_string()), Some(tile));
        set.insert(tile, bytes);
    }
    let _ = set.inclusion_proof(index, size);
    let _ = set.consistency_proof(index, size);
    let _ = set.root(size);
});
