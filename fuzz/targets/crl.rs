//! Revocation lists: one encoding, and nobody on it who is not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use siegel_attest::hardware::fuzzing;
use siegel_fuzz::memory;

fuzz_target!(|data: &[u8]| {
    memory::bounded(data.len(), || fuzzing::crl(data));
});
