//! General Sigstore bundles: our own strict log checks, and `sigstore-verify` as second opinion.
//!
//! [`verify_bundle`] is for bundles of anybody, with a certificate or a managed key, of Rekor v1 or v2.
//! [`verify_policy_proof`] is for the small proofs that Siegel's clients and key service take: both
//! verifiers must agree wherever both judge. `OVERVIEW.md` has the picture and the list of checks.
//!
//! No file, network or random source here. Ours takes the time as an argument (I15); the second
//! opinion reads this machine's clock.

mod artifact;
mod asked;
mod body;
mod bundle;
mod certificate;
mod clock_text;
mod der;
mod encoding;
mod error;
mod note;
mod policy;
mod promise;
mod second;
mod signature;
mod strict;
mod token;
mod trusted_root;
mod verify;
mod wire;

pub use artifact::{Artifact, Signer};
pub use bundle::{Bundle, Content, Entry, Kind, MAX_BUNDLE, Material, Proof, Version};
pub use error::BundleError;
pub use policy::{trusted_root, verify_policy_proof};
pub use second::second_opinion;
pub use strict::{Verified, verify_strict};
pub use trusted_root::{MAX_ROOT, TrustedRoot};
pub use verify::{PUBLIC_GOOD, STAGING, verify_bundle};

#[cfg(test)]
mod tests;
