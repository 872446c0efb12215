//! Event logs: bounded, replayed as another reader does, and held against rules with a known answer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use siegel_attest::hardware::fuzzing;
use siegel_fuzz::memory;

fuzz_target!(|data: &[u8]| {
    memory::bounded(data.len(), || fuzzing::event_log(data));
});
