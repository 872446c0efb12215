//! Intel TDX: a quote of a trust domain, version 4 or 5.

mod attributes;
mod reference;

pub use attributes::TdAttributes;
pub use reference::{AttributeRules, Reference, Svn};

use dcap_qvl::quote::{Report, TDReport10};
use siegel_ident::Timestamp;

use super::outcome::Outcomes;
use super::quote::{self, Frame, Platform};
use super::{Check, Endorsements, Expected, Hex, Mark, Rejection, TrustRoots};

const TEE_TYPE: u32 = 0x81;

/// A quote that Intel's chain vouches for, whatever it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Authentic {
    version: u16,
    body: TDReport10,
    /// TEE_TCB_SVN2 and MRSERVICETD, in a TD 1.5 report.
    newer: Option<(Svn, Hex<48>)>,
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
    attributes::check_appraisable(frame.report)?;
    let verified = quote::verify(&frame, endorsements, roots, now)?;
    let (body, newer) = match verified.report {
        Report::TD10(body) => (body, None),
        Report::TD15(report) => (
            report.base,
            Some((Svn(report.tee_tcb_svn2), Hex(report.mr_service_td))),
        ),
        Report::SgxEnclave(_) | Report::TD15Ex(_) => {
            return Err(Rejection::new(
                Check::QuoteFormat,
                "not a TD 1.0 or 1.5 report",
            ));
        }
    };
    Ok(Authentic {
        version: verified.version,
        body,
        newer,
        platform: verified.platform,
    })
}

impl Authentic {
    /// MRTD: what was loaded at launch.
    pub fn mrtd(&self) -> Hex<48> {
        Hex(self.body.mr_td)
    }
    /// The run-time registers 0 to 3.
    pub fn rtmrs(&self) -> [Hex<48>; 4] {
        let body = &self.body;
        [
            Hex(body.rt_mr0),
            Hex(body.rt_mr1),
            Hex(body.rt_mr2),
            Hex(body.rt_mr3),
        ]
    }
    /// What the guest chose.
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

    /// What the quote says, by name.
    pub(crate) fn claims(&self) -> Vec<(&'static str, String)> {
        let body = &self.body;
        let mut claims = self.platform.claims();
        claims.extend([
            ("quote_version", self.version.to_string()),
            ("td_attributes", Hex(body.td_attributes).to_string()),
            ("xfam", Hex(body.xfam).to_string()),
            ("mrseam", Hex(body.mr_seam).to_string()),
            ("tee_tcb_svn", Hex(body.tee_tcb_svn).to_string()),
            ("mrtd", self.mrtd().to_string()),
            ("rtmr0", Hex(body.rt_mr0).to_string()),
            ("rtmr1", Hex(body.rt_mr1).to_string()),
            ("rtmr2", Hex(body.rt_mr2).to_string()),
            ("rtmr3", Hex(body.rt_mr3).to_string()),
            ("mrconfigid", Hex(body.mr_config_id).to_string()),
            ("mrowner", Hex(body.mr_owner).to_string()),
            ("mrownerconfig", Hex(body.mr_owner_config).to_string()),
            ("report_data", self.report_data().to_string()),
        ]);
        if let Some((svn, service)) = &self.newer {
            claims.extend([
                ("tee_tcb_svn2", svn.to_string()),
                ("mrservicetd", service.to_string()),
            ]);
        }
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
        attributes::hold(&self.body, &reference.attributes, outcomes);
        outcomes.rule(
            Check::TdxXfam,
            "XFAM",
            &reference.xfam,
            &Hex(self.body.xfam),
        );
        self.module(reference, outcomes);
        outcomes.rule(Check::TdxMeasurement, "MRTD", &reference.mrtd, &self.mrtd());
        let rules = [
            &reference.rtmr0,
            &reference.rtmr1,
            &reference.rtmr2,
            &reference.rtmr3,
        ];
        for (at, (rule, found)) in rules.into_iter().zip(self.rtmrs()).enumerate() {
            outcomes.rule(Check::TdxMeasurement, &format!("RTMR{at}"), rule, &found);
        }
        self.config(reference, expected, outcomes);
        outcomes.rule(
            Check::ReportData,
            "report data",
            &expected.report_data,
            &self.report_data(),
        );
    }

    fn module(&self, reference: &Reference, outcomes: &mut Outcomes) {
        let (body, check) = (&self.body, Check::TdxModule);
        outcomes.rule(check, "MRSEAM", &reference.mrseam, &Hex(body.mr_seam));
        let signer = Hex(body.mr_signer_seam);
        outcomes.must(
            check,
            signer.is_zero(),
            format!("MRSIGNERSEAM: found {signer}, wanted zeros (Intel's module)"),
        );
        let attributes = Hex(body.seam_attributes);
        outcomes.must(
            check,
            attributes.is_zero(),
            format!("SEAMATTRIBUTES: found {attributes}, wanted zeros"),
        );
        outcomes.rule(
            check,
            "TEE_TCB_SVN",
            &reference.tee_tcb_svn,
            &Svn(body.tee_tcb_svn),
        );
        let newer = self.newer.as_ref().map(|(svn, _)| svn);
        outcomes.rule_if(check, "TEE_TCB_SVN2", &reference.tee_tcb_svn2, newer);
    }

    /// MRCONFIGID has 48 bytes: the configuration digest, then zeros.
    fn config(&self, reference: &Reference, expected: &Expected, outcomes: &mut Outcomes) {
        let (body, check) = (&self.body, Check::TdxConfig);
        outcomes.rule(
            check,
            "MRCONFIGID",
            &reference.mrconfigid,
            &Hex(body.mr_config_id),
        );
        let mut digest = [0u8; 32];
        let (head, tail) = body.mr_config_id.split_at(32);
        digest.copy_from_slice(head);
        if !matches!(expected.config, super::Rule::Ignore(_)) {
            let zeros = tail.iter().all(|byte| *byte == 0);
            outcomes.must(
                check,
                zeros,
                "MRCONFIGID: zeros after the configuration digest",
            );
        }
        outcomes.rule(
            check,
            "configuration digest in MRCONFIGID",
            &expected.config,
            &Hex(digest),
        );
        outcomes.rule(check, "MROWNER", &reference.mrowner, &Hex(body.mr_owner));
        outcomes.rule(
            check,
            "MROWNERCONFIG",
            &reference.mrownerconfig,
            &Hex(body.mr_owner_config),
        );
        let service = self
            .newer
            .as_ref()
            .map_or(Hex([0; 48]), |(_, service)| *service);
        outcomes.rule(check, "MRSERVICETD", &reference.mrservicetd, &service);
    }
}

#[cfg(test)]
pub(super) mod tests;
