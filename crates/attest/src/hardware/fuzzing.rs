//! Hostile bytes for each parser alone. In production the signature comes first, and refuses nearly everything before a
//! parser's mistake shows (I14).
//!
//! Each function panics where a parser breaks its word: bytes that are accepted and do not count, lengths outside of the
//! input, two readings of one thing. It returns whether anything was read, so that a test can tell that it does read.

mod event_log;
mod frame;
mod intel;
mod nitro;
pub mod seeds;
mod snp;
mod x509;

pub use event_log::event_log;
pub use frame::frame;
pub use intel::{ROOT, collateral, quote};
pub use nitro::nitro;
pub use snp::snp_report;
pub use x509::{certificate, crl};

/// Whether `part` stands in `whole`.
fn within(whole: &[u8], part: &[u8]) -> bool {
    part.is_empty() || whole.windows(part.len()).any(|window| window == part)
}

/// The bytes with one more, and with one less.
fn neighbours(bytes: &[u8]) -> [Vec<u8>; 2] {
    let (mut more, mut less) = (bytes.to_vec(), bytes.to_vec());
    more.push(0);
    less.pop();
    [more, less]
}

#[cfg(test)]
mod tests;
