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

/// Chain, collateral and signatures of a framed quote, all at `now`.
///
/// The collateral is copied once, when its JSON is read, and then moved into the verifier.
///
/// # Errors
/// [`Check::QuoteSignature`], [`Check::QuoteCollateral`].
pub(crate) fn verify(
    frame: &Frame<'_>,
    endorsements: &Endorsements,
    roots: &TrustRoots,
    now: Timestamp,
) -> Result<Verified, Rejection> {
    let absent =
        "no collateral is stapled: without it nothing says whether the platform is still good";
    let json = endorsements.collateral.as_deref();
    let json = json.ok_or_else(|| Rejection::new(Check::QuoteCollateral, absent))?;
    let root = roots.intel()?;
    let collateral = Collateral::parse(json, root)?;
    collateral.check_belongs_to(frame)?;
    let dates = collateral.dates()?;
    let pce_id = collateral.pce_id()?;
    // Debug and service TDs are authentic; whether they are accepted is another question.
    let verifier = QuoteVerifier::new(root.to_vec())
        .allow_debug(true)
        .allow_service_td(true);
    let claims = verifier
        .verify_with_policy(frame.quote, collateral.into_inner(), now.0, &NoOpinion)
        .map_err(|e| Rejection::new(Check::QuoteSignature, plain(&format!("{e:#}"))))?;
    check_pce(&claims, &pce_id)?;
    check_windows(&claims, now)?;
    let platform = Platform::new(&claims, dates, frame.authority);
    Ok(Verified {
        version: claims.header.version,
        report: claims.report,
        platform,
    })
}

/// The platform's service enclave, beside FMSPC: without it, levels of another one could be read.
fn check_pce(claims: &QuoteClaims, pce_id: &[u8]) -> Result<(), Rejection> {
    match claims.platform.pck.pce_id == pce_id {
        true => Ok(()),
        false => Err(Rejection::new(
            Check::QuoteCollateral,
            "tcb_info is for another PCE than the PCK certificate",
        )),
    }
}

/// `dcap-qvl` asks most windows, but not whether a revocation list or the root is valid yet.
fn check_windows(claims: &QuoteClaims, now: Timestamp) -> Result<(), Rejection> {
    let (from, until) = (
        Timestamp(claims.latest_issue_date),
        Timestamp(claims.earliest_expiration_date),
    );
    match from <= now && now <= until {
        true => Ok(()),
        false => Err(Rejection::new(
            Check::QuoteCollateral,
            format!(
                "certificates and collateral are valid together from {from} to {until}, now is {now}"
            ),
        )),
    }
}

/// Text of others in our own: short, and nothing that could move a cursor.
pub(crate) fn plain(text: &str) -> String {
    const MAX: usize = 300;
    text.chars()
        .take(MAX)
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

#[cfg(test)]
pub(super) mod tests;
