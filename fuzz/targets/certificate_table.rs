//! Certificate tables of SNP hosts: what is read stands in the table, once, and is read again from a table of
//! nothing else.
#![no_main]

use libfuzzer_sys::fuzz_target;
use siegel_fuzz::{memory, snp};
use siegel_platform::tsm::{CertificateTable, MAX_BLOB};

fuzz_target!(|data: &[u8]| {
    memory::bounded(data.len(), || {
        let Ok(table) = CertificateTable::parse(data) else {
            return;
        };
        assert!(data.len() <= MAX_BLOB);
        let CertificateTable {
            vcek,
            vlek,
            ask,
            ark,
            crl,
        } = &table;
        let found = [vcek, vlek, ask, ark, crl].map(Option::as_deref);
        let present: Vec<&[u8]> = found.iter().copied().flatten().collect();
        for one in &present {
            assert_eq!(one.first(), Some(&0x30));
            assert!(data.windows(one.len()).any(|window| window == *one));
        }
        // A row each, and the row that ends the directory; no byte is of two certificates.
        let bodies: usize = present.iter().map(|one| one.len()).sum();
        let rows = if data.is_empty() {
            0
        } else {
            present.len() + 1
        };
        assert!(bodies + 24 * rows <= data.len());
        let written = snp::certificate_table(&found);
        assert_eq!(CertificateTable::parse(&written), Ok(table));
    });
});
