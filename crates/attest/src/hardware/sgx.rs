//! Intel SGX: a quote of an enclave, version 3.

mod fields;
mod reference;

pub use reference::Reference;

use dcap_qvl::quote::{EnclaveReport, Report};
use siegel_ident::Timestamp;

use super::outcome::Outcomes;
use super::quote::{self, Frame, Platform};
use super::{Check, Endorsements, Expected, Hex, Mark, Rejection, TrustRoots};

const TEE_TYPE: u32 = 0;
/// Attribute bits (byte 0): the enclave may be debugged; it may use keys that the platform provisions.
const DEBUG: u8 = 0x02;
const PROVISION_KEY: u8 = 0x10;

/// A quote that Intel's chain vouches for, whatever it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Authentic {
    version: u16,
    body: EnclaveReport,
    platform: Platform,
}

/// Authenticity only.
///
/// # Errors
/// [`Rejection`] names the first check that failed.
pub fn verify(
    body: &[u8],
    endorsements: &Endorsements,
    roots: &TrustRoots,
    now: Timestamp,
) -> Result<Authentic, Rejection> {
    let frame = Frame::parse(body, TEE_TYPE, roots.intel()?)?;
    let verified = quote::verify(&frame, endorsements, roots, now)?;
    let Report::SgxEnclave(body) = verified.report else {
        return Err(Rejection::new(
            Check::QuoteFormat,
            "not an enclave's report",
        ));
    };
    Ok(Authentic {
        version: verified.version,
        body,
        platform: verified.platform,
    })
}

impl Authentic {
    /// MRENCLAVE.
    pub fn mrenclave(&self) -> Hex<32> {
        Hex(self.body.mr_enclave)
    }
    /// What the enclave chose.
    pub fn report_data(&self) -> Hex<64> {
        Hex(self.body.report_data)
    }
    /// TCB status in Intel's words.
    pub fn tcb_status(&self) -> &str {
        &self.platform.status
    }
    /// The evaluation number of the collateral.
    pub(crate) fn marks(&self) -> Vec<Mark> {
        vec![self.platform.mark()]
    }
    /// The end of the earliest window of certificates and collateral.
    pub fn valid_until(&self) -> Timestamp {
        self.platform.valid_until
    }

    fn fields(&self) -> fields::Fields {
        fields::Fields::read(&self.body)
    }

    /// What the quote says, by name.
    pub(crate) fn claims(&self) -> Vec<(&'static str, String)> {
        let body = &self.body;
        let mut claims = self.platform.claims();
        claims.extend([
            ("quote_version", self.version.to_string()),
            ("attributes", Hex(body.attributes).to_string()),
            ("misc_select", body.misc_select.to_string()),
            ("mrenclave", self.mrenclave().to_string()),
            ("mrsigner", Hex(body.mr_signer).to_string()),
            ("isv_prod_id", body.isv_prod_id.to_string()),
            ("isv_svn", body.isv_svn.to_string()),
            ("report_data", self.report_data().to_string()),
        ]);
        claims.extend(self.fields().claims());
        claims
    }

    pub(crate) fn hold_against(
        &self,
        reference: &Reference,
        expected: &Expected,
        now: Timestamp,
        outcomes: &mut Outcomes,
    ) {
        self.platform
            .hold_against(&reference.quote, self.version, now, outcomes);
        let (body, check) = (&self.body, Check::SgxAttributes);
        let on = |bit: bool| if bit { "on" } else { "off" };
        for (name, bit) in [("debugging", DEBUG), ("provisioning key", PROVISION_KEY)] {
            let found = body.attributes[0] & bit != 0;
            outcomes.must(
                check,
                !found,
                format!("{name}: found {}, wanted off (I3)", on(found)),
            );
        }
        outcomes.rule(
            check,
            "attributes",
            &reference.attributes,
            &Hex(body.attributes),
        );
        outcomes.rule(
            check,
            "MISCSELECT",
            &reference.misc_select,
            &body.misc_select,
        );
        let check = Check::SgxMeasurement;
        outcomes.rule(check, "MRENCLAVE", &reference.mrenclave, &self.mrenclave());
        outcomes.rule(check, "MRSIGNER", &reference.mrsigner, &Hex(body.mr_signer));
        outcomes.rule(
            check,
            "ISVPRODID",
            &reference.isv_prod_id,
            &body.isv_prod_id,
        );
        outcomes.rule(check, "ISVSVN", &reference.isv_svn, &body.isv_svn);
        self.fields().hold(reference, expected, outcomes);
        outcomes.rule(
            Check::ReportData,
            "report data",
            &expected.report_data,
            &self.report_data(),
        );
    }
}

#[cfg(test)]
pub(super) mod tests;
