//! What an endorsement names besides its files: source manifest and recipe, so that anyone can build
//! the same again and say which file differs.

use siegel_endorse::{Endorsement, Manifest, Subject};
use siegel_policy::Finding;
use siegel_rekor::LogReader;

use super::entry::{Unread, fetch, wrong};

/// Gets them by their digests from the archive (I1, I2).
///
/// # Errors
/// [`Unread::Source`]. What is wrong with the bytes is a finding.
pub(super) async fn check(
    log: &LogReader,
    index: u64,
    endorsement: &Endorsement,
) -> Result<Vec<Finding>, Unread> {
    let Subject::Binaries(binaries) = &endorsement.subject else {
        return Ok(Vec::new());
    };
    let Some(build) = &binaries.build else {
        return Ok(Vec::new());
    };
    let mut findings = Vec::new();
    match fetch(log, index, &build.source, "source manifest", "I1").await {
        Ok(bytes) => {
            if let Err(e) = Manifest::parse(&bytes) {
                let why = format!("its source manifest does not parse: {e}");
                findings.push(wrong(index, "manifest-unreadable", "I2", &why));
            }
        }
        Err(Unread::Entry(finding)) => findings.push(finding),
        Err(source) => return Err(source),
    }
    if let Some(recipe) = &build.recipe {
        match fetch(log, index, recipe, "recipe", "I1").await {
            Ok(bytes) if std::str::from_utf8(&bytes).is_err() => {
                let why = "its recipe is not text: nobody can follow it";
                findings.push(wrong(index, "recipe-unreadable", "I2", why));
            }
            Ok(_) => {}
            Err(Unread::Entry(finding)) => findings.push(finding),
            Err(source) => return Err(source),
        }
    }
    Ok(findings)
}
