//! SNP reports: every byte that is read is written again, and every other is zero.
#![no_main]

use libfuzzer_sys::fuzz_target;
use siegel_attest::hardware::fuzzing;
use siegel_fuzz::memory;

fuzz_target!(|data: &[u8]| {
    memory::bounded(data.len(), || fuzzing::snp_report(data));
});
