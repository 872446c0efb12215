//! Intel quotes, of TDX and SGX: strict framing here, cryptography and Intel's rules by `dcap-qvl`, and the
//! policy's demands on platform and collateral again here.

mod collateral;
mod framing;
mod platform;

pub use collateral::Collateral;
pub use platform::{AdvisoryRule, Flag, QuoteRules, TcbStatus};

pub(crate) use framing::{Frame, unpad};
pub(crate) use platform::Platform;

use dcap_qvl::verify::QuoteVerifier;
use dcap_qvl::{Policy, QuoteClaims};
use siegel_ident::Timestamp;

use super::{Check, Endorsements, Rejection, TrustRoots};

/// Intel's SGX root CA, as Intel publishes it (valid until 2049).
pub const ROOT: &[u8] = include_bytes!("quote/intel-sgx-root-ca.der");

/// A quote that Intel's chain vouches for, before its body is looked at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verified {
    pub(crate) report: dcap_qvl::quote::Report,
    pub(crate) version: u16,
    pub(crate) platform: Platform,
}

/// `dcap-qvl` asks a policy for its opinion. Ours is asked later, with all fields in view.
struct NoOpinion;

impl Policy for NoOpinion {
    fn validate(&self, _: &QuoteClaims) -> anyhow::Result<()> {
        Ok(())
    }
}

/// Framing, chain, collateral and signatures at `now`.
///
/// # Errors
/// [`Check::QuoteFormat`], [`Check::QuoteSignature`], [`Check::QuoteCollateral`].
pub(crate) fn verify(
    body: &[u8],
    tee_type: u32,
    endorsements: &Endorsements,
    roots: &TrustRoots,
    now: Timestamp,
) -> Result<Verified, Rejection> {
    let frame = Frame::parse(body, tee_type, &roots.intel)?;
    let absent =
        "no collateral is stapled: without it nothing says whether the platform is still good";
    let json = endorsements.collateral.as_deref();
    let json = json.ok_or_else(|| Rejection::new(Check::QuoteCollateral, absent))?;
    let collateral = Collateral::parse(json, &roots.intel)?;
    let dates = collateral.dates()?;
    // Debug and service TDs are authentic; whether they are accepted is another question.
    let verifier = QuoteVerifier::new(roots.intel.clone())
        .allow_debug(true)
        .allow_service_td(true);
    let claims = verifier
        .verify_with_policy(body, collateral.into_inner(), now.0, &NoOpinion)
        .map_err(|e| Rejection::new(Check::QuoteSignature, format!("{e:#}")))?;
    let platform = Platform::new(&claims, dates, frame.authority);
    Ok(Verified {
        version: claims.header.version,
        report: claims.report,
        platform,
    })
}

#[cfg(test)]
mod tests;
