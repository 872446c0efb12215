//! Files of reference values: TOML, by kind of TEE.

use std::path::Path;

use siegel_attest::hardware::ReferenceValues;

use super::files;
use crate::failure::Failure;

/// Most bytes of such a file.
const MAX: usize = 1 << 20;

/// Reads one; every field must be named.
pub fn read(path: &Path) -> Result<ReferenceValues, Failure> {
    let text = files::read_text(path, "file of reference values", MAX)?;
    toml::from_str(&text).map_err(|why| {
        let at = path.display().to_string();
        let help = "every field must be named: { exact = … }, { any_of = […] }, { at_least = … } or { ignore = \"why\" }";
        Failure::usage("reference-malformed", &at, why, help).under("I3")
    })
}
