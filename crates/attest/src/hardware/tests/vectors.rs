//! Real evidence of other people's machines, by path (`SIEGEL_VECTORS`); absent = a printed skip.

mod cases;
mod checklist;
mod reference;
mod sweep;

pub(crate) use cases::{Case, failed, nitro, references, sgx, tdx, tdx_debug};
pub(crate) use checklist::Negative;
pub(crate) use sweep::{accepted, flips};

use std::path::PathBuf;

/// The folder, or `None` with a printed line.
pub(crate) fn folder() -> Option<PathBuf> {
    let root = std::env::var_os("SIEGEL_VECTORS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"),
        PathBuf::from,
    );
    let dir = root.join("attestation");
    if dir.is_dir() {
        return Some(dir);
    }
    println!("skipped: no {} (set SIEGEL_VECTORS)", dir.display());
    None
}

// A test reads what is no part of the project.
#[allow(clippy::disallowed_methods)]
pub(crate) fn read(name: &str) -> Vec<u8> {
    let path = folder().unwrap().join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    if name.ends_with(".hex") {
        return hex::decode(std::str::from_utf8(&bytes).unwrap().trim()).unwrap();
    }
    bytes
}

/// The certificates of a PEM file, as DER.
pub(crate) fn pem(name: &str) -> Vec<Vec<u8>> {
    use base64::Engine as _;
    let text = String::from_utf8(read(name)).unwrap();
    let mut all = Vec::new();
    for block in text.split("-----BEGIN CERTIFICATE-----").skip(1) {
        let body = block.split("-----END CERTIFICATE-----").next().unwrap();
        let body: String = body.split_whitespace().collect();
        all.push(
            base64::engine::general_purpose::STANDARD
                .decode(body)
                .unwrap(),
        );
    }
    all
}
