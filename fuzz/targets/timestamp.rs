//! Requests to the time stamp authority: it answers or refuses, and never panics.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use siegel_rekor::TimestampAuthority;

static AUTHORITY: LazyLock<TimestampAuthority> =
    LazyLock::new(|| TimestampAuthority::generate("fuzz").expect("randomness"));

fuzz_target!(|data: &[u8]| {
    if let Ok(reply) = AUTHORITY.answer(data) {
        // A TimeStampResp that says "granted" and has a token.
        assert!(reply.len() > 300 && reply.starts_with(&[0x30, 0x82]));
    }
});
