//! Envelopes, statements, entry bodies and answers of a log: what is read is written again to the same
//! bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use siegel_translog::dsse::{pae, payload_of_pae};
use siegel_translog::{Envelope, HashedRekord, Statement, TlogEntry};

fuzz_target!(|data: &[u8]| {
    if let Ok(envelope) = Envelope::parse(data) {
        assert_eq!(envelope.to_json().expect("it was read"), data);
        assert_eq!(
            payload_of_pae(&envelope.pae()).expect("its own"),
            envelope.payload
        );
    }
    if let Ok(payload) = payload_of_pae(data) {
        assert_eq!(pae(payload), data);
    }
    if let Ok(statement) = Statement::parse(data) {
        assert_eq!(statement.to_bytes().expect("it was read"), data);
    }
    if let Ok(record) = HashedRekord::parse(data) {
        assert_eq!(record.canonical_body(), data);
    }
    if let Ok(entry) = TlogEntry::parse_answer(data) {
        let written = entry.to_answer().expect("it was read");
        assert_eq!(TlogEntry::parse_answer(&written).expect("ours"), entry);
    }
});
