//! Frames of TDX and SGX quotes: one reading, which covers each byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use siegel_attest::hardware::fuzzing;
use siegel_fuzz::memory;

fuzz_target!(|data: &[u8]| {
    memory::bounded(data.len(), || fuzzing::quote(data));
});
