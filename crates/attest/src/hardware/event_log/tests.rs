//! A real log, and what may be done to it.

use super::*;
use crate::hardware::quote::unpad;
use crate::hardware::vectors::{folder, read};

/// The registers of the quote that belongs to the log; its chain is not checked here, as its collateral is not there.
fn registers() -> [Hex<48>; 4] {
    let file = read("tdx/ccel_cos113.quote");
    let (quote, _) = unpad(&file);
    let at = |index: usize| {
        let from = 48 + 328 + 48 * index;
        Hex(quote[from..from + 48].try_into().unwrap())
    };
    [at(0), at(1), at(2), at(3)]
}

#[test]
fn the_real_log_replays_to_all_registers() {
    if folder().is_none() {
        return;
    }
    let log = EventLog::parse(&read("tdx/ccel_cos113.eventlog")).unwrap();
    assert_eq!(log.registers(), &registers());
    println!("{} events", log.events().len());
}
