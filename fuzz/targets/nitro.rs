//! Nitro documents: one encoding, each field within bounds, a chain only inside its windows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use siegel_attest::hardware::fuzzing;
use siegel_fuzz::memory;

fuzz_target!(|data: &[u8]| {
    memory::bounded(data.len(), || fuzzing::nitro(data));
});
