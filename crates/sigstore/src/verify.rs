//! Both verifiers on one bundle.

use siegel_ident::Timestamp;

use crate::artifact::{Artifact, Signer};
use crate::error::BundleError;
use crate::second::second_opinion;
use crate::strict::{Verified, verify_strict};
use crate::trusted_root::TrustedRoot;

/// Trusted root of the public-good instance, as it came with this release.
pub const PUBLIC_GOOD: &str = sigstore_verify::trust_root::SIGSTORE_PRODUCTION_TRUSTED_ROOT;
/// Trusted root of the staging instance, as it came with this release.
pub const STAGING: &str = sigstore_verify::trust_root::SIGSTORE_STAGING_TRUSTED_ROOT;

/// Verifies a general bundle: ours first, then the second opinion. It is verified if both accept.
///
/// # Errors
/// [`BundleError`] names the first check of ours that failed, or [`BundleError::SecondOpinion`].
pub fn verify_bundle(
    bundle: &[u8],
    artifact: &Artifact<'_>,
    signer: &Signer<'_>,
    trusted_root: &str,
    now: Timestamp,
) -> Result<Verified, BundleError> {
    let root = TrustedRoot::parse(trusted_root)?;
    let verified = verify_strict(bundle, artifact, signer, &root, now)?;
    second_opinion(bundle, artifact, signer, trusted_root).map_err(BundleError::SecondOpinion)?;
    Ok(verified)
}
