//! The archive's packs: a directory is written again to the same bytes; its places follow each other to
//! the end of the pack.
#![no_main]

use libfuzzer_sys::fuzz_target;
use siegel_ident::Digest;
use siegel_rekor::PackDirectory;

fuzz_target!(|data: &[u8]| {
    if let Ok(directory) = PackDirectory::parse(data) {
        assert_eq!(directory.to_bytes(), data);
        let mut end = data.len() as u64;
        for (entry, at) in directory.places() {
            assert_eq!(at, end);
            end += u64::from(entry.len);
        }
        assert_eq!(end, directory.total_len());
    }
    // Under the name of its first bytes, as long as they are a directory.
    for len in [48, 84, 120] {
        let name = Digest::of(data.get(..len).unwrap_or(data));
        if let Ok(directory) = PackDirectory::of_pack(&name, data) {
            assert_eq!(directory.total_len(), data.len() as u64);
        }
    }
});
