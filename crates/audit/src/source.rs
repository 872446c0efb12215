//! What an endorsement names besides its files: source manifest and recipe, so that anyone can build
//! the same again and say which file differs.

use siegel_endorse::{Build, Endorsement, Manifest, Subject};
use siegel_policy::Finding;
use siegel_rekor::{LogReader, RekorError};

use crate::item::{fetch, wrong};

/// Gets them by their digests from the archive (I1, I2).
///
/// # Errors
/// As [`fetch`]: the source fails. What is wrong with the bytes is a finding.
pub(crate) async fn check(
    log: &LogReader,
    index: u64,
    endorsement: &[u8],
) -> Result<Vec<Finding>, RekorError> {
    let Some(build) = build_of(endorsement) else {
        return Ok(Vec::new());
    };
    let mut findings = Vec::new();
    match fetch(log, index, &build.source, "source manifest", "I1").await? {
        Ok(bytes) => {
            if let Err(e) = Manifest::parse(&bytes) {
                let why = format!("its source manifest does not parse: {e}");
                findings.push(wrong(index, "manifest-unreadable", "I2", &why));
            }
        }
        Err(finding) => findings.push(finding),
    }
    if let Some(recipe) = &build.recipe {
        match fetch(log, index, recipe, "recipe", "I1").await? {
            Ok(bytes) if std::str::from_utf8(&bytes).is_err() => {
                let why = "its recipe is not text: nobody can follow it";
                findings.push(wrong(index, "recipe-unreadable", "I2", why));
            }
            Ok(_) => {}
            Err(finding) => findings.push(finding),
        }
    }
    Ok(findings)
}

/// An endorsement that does not parse is a finding of the replay.
fn build_of(endorsement: &[u8]) -> Option<Build> {
    match Endorsement::parse(endorsement).ok()?.subject {
        Subject::Binaries(binaries) => binaries.build,
        Subject::Program(_) => None,
    }
}
