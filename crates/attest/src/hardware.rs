//! Evidence of real TEEs: is it authentic, and does a policy accept it?
//!
//! Two questions, apart. [`verify`] asks only whether the vendor's hardware made this evidence. [`appraise`]
//! asks that first, and then holds every field against [`ReferenceValues`] (I3). Pure: time is an argument,
//! endorsements come with the evidence (I15).

mod check;
mod container;
pub mod event_log;
mod freshness;
#[cfg(any(test, feature = "test-util"))]
pub mod fuzzing;
pub mod nitro;
mod outcome;
pub mod quote;
mod rejection;
mod roots;
mod rule;
pub mod sgx;
pub mod snp;
pub mod tdx;
#[cfg(test)]
pub(crate) mod tests;
mod x509;

pub use check::Check;
pub use container::{Opened, open};
pub use freshness::Freshness;
pub use outcome::{Outcome, Status};
pub use rejection::Rejection;
pub use roots::{TrustRoots, Vendor};
pub use rule::{Field, Hex, Rule, RuleError};

use serde::{Deserialize, Serialize};
use siegel_ident::Timestamp;

use crate::ReferenceValue;
use outcome::Outcomes;

/// Most bytes of evidence: a quote with its certificates, a Nitro document (I14).
pub const EVIDENCE_MAX: usize = 32 * 1024;
/// Most bytes of all endorsements without the event log (I14).
pub const ENDORSEMENTS_MAX: usize = 256 * 1024;
/// Most bytes of an event log (I14).
pub const EVENT_LOG_MAX: usize = 512 * 1024;

/// A kind of TEE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// AMD SEV-SNP attestation report.
    SevSnp,
    /// Intel TDX quote.
    Tdx,
    /// Intel SGX quote.
    Sgx,
    /// AWS Nitro attestation document.
    AwsNitro,
}

impl Kind {
    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SevSnp => "sev-snp",
            Self::Tdx => "tdx",
            Self::Sgx => "sgx",
            Self::AwsNitro => "aws-nitro",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Evidence as the platform gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What the presenter says it is.
    pub kind: Kind,
    /// The platform's own bytes.
    pub body: Vec<u8>,
}

/// What vendors say about the platform; stapled to the evidence, so that nobody has to ask them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endorsements {
    /// DER. SNP: VCEK or VLEK first, then ASK or ASVK, then ARK. Others carry theirs inside.
    pub certificates: Vec<Vec<u8>>,
    /// DER revocation lists. SNP: the ARK's.
    pub crls: Vec<Vec<u8>>,
    /// DCAP collateral, JSON as Intel's services and `dcap-qvl` write it.
    pub collateral: Option<Vec<u8>>,
    /// CCEL or TCG2 event log.
    pub event_log: Option<Vec<u8>>,
}

/// What is accepted, by kind. A kind without a reference value is refused; every field of a reference value
/// is named in the file ([`Rule`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReferenceValues {
    /// AMD SEV-SNP.
    #[serde(default)]
    pub sev_snp: Vec<snp::Reference>,
    /// Intel TDX.
    #[serde(default)]
    pub tdx: Vec<tdx::Reference>,
    /// Intel SGX.
    #[serde(default)]
    pub sgx: Vec<sgx::Reference>,
    /// AWS Nitro Enclaves.
    #[serde(default)]
    pub aws_nitro: Vec<nitro::Reference>,
}

/// What this very evidence must carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The 64 bytes that the guest chose: [`crate::Binding::report_data`].
    pub report_data: Rule<Hex<64>>,
    /// The configuration digest, where the platform has a field for it (HOST_DATA, MRCONFIGID).
    pub config: Rule<Hex<32>>,
}

/// Evidence that the vendor's hardware made, whatever it says. No policy was asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Authentic {
    /// An SNP report.
    SevSnp(Box<snp::Authentic>),
    /// A TDX quote.
    Tdx(Box<tdx::Authentic>),
    /// An SGX quote.
    Sgx(Box<sgx::Authentic>),
    /// A Nitro document.
    AwsNitro(Box<nitro::Authentic>),
}

/// A number that a vendor raises: whoever has seen one never goes below it again, or statements that the vendor has
/// replaced would count once more (24, 46).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Of what: `intel/<fmspc>/tcb-evaluation`, `amd/<product>/crl`.
    pub what: String,
    /// Intel's TCB evaluation data number; unix seconds of AMD's revocation list.
    pub value: u64,
}

/// Proof that evidence was verified and appraised: [`appraise`] alone makes it (I3). It says nothing about whose keys
/// the evidence binds: that is [`crate::Appraisal`].
#[derive(Clone, Debug, PartialEq)]
pub struct Appraisal {
    authentic: Authentic,
    outcomes: Vec<Outcome>,
    valid_until: Timestamp,
}

impl Appraisal {
    /// The evidence and its claims.
    pub fn authentic(&self) -> &Authentic {
        &self.authentic
    }
    /// Every check with its outcome.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }
    /// The end of the earliest window: certificates, revocation lists, collateral, and the ages that the policy demands.
    pub fn valid_until(&self) -> Timestamp {
        self.valid_until
    }
}

/// Authenticity only: is this the vendor's hardware speaking? Says nothing about what runs there.
///
/// # Errors
/// [`Rejection`] names the first check that failed.
pub fn verify(
    evidence: &Evidence,
    endorsements: &Endorsements,
    roots: &TrustRoots,
    now: Timestamp,
) -> Result<Authentic, Rejection> {
    check_sizes(evidence, endorsements)?;
    match evidence.kind {
        Kind::SevSnp => snp::verify(&evidence.body, endorsements, roots, now)
            .map(|found| Authentic::SevSnp(Box::new(found))),
        Kind::Tdx => tdx::verify(&evidence.body, endorsements, roots, now)
            .map(|found| Authentic::Tdx(Box::new(found))),
        Kind::Sgx => sgx::verify(&evidence.body, endorsements, roots, now)
            .map(|found| Authentic::Sgx(Box::new(found))),
        Kind::AwsNitro => nitro::verify(&evidence.body, roots, now)
            .map(|found| Authentic::AwsNitro(Box::new(found))),
    }
}

/// The one decision about evidence of hardware: authentic, and every field as one of `references` and
/// `expected` demand.
///
/// # Errors
/// [`Rejection`]; where the evidence is authentic, with the outcome of every check against the reference value
/// that came closest.
pub fn appraise(
    evidence: &Evidence,
    endorsements: &Endorsements,
    roots: &TrustRoots,
    references: &ReferenceValues,
    expected: &Expected,
    now: Timestamp,
) -> Result<Appraisal, Rejection> {
    let held: Vec<_> = references.held().collect();
    appraise_as_one_of(evidence, endorsements, roots, &held, expected, now).map(|(found, _)| found)
}

/// As [`appraise`]; also says which of `references` the evidence satisfies, by its place.
pub(crate) fn appraise_as_one_of(
    evidence: &Evidence,
    endorsements: &Endorsements,
    roots: &TrustRoots,
    references: &[Held<'_>],
    expected: &Expected,
    now: Timestamp,
) -> Result<(Appraisal, usize), Rejection> {
    let authentic = verify(evidence, endorsements, roots, now)?;
    let hold = |(place, reference): (usize, &Held<'_>)| {
        let outcomes = authentic.hold(*reference, endorsements, expected, now)?;
        Some((place, outcomes))
    };
    // Where none is satisfied, the one with the fewest failures says most.
    let closest = references
        .iter()
        .enumerate()
        .filter_map(hold)
        .min_by_key(|(_, outcomes)| outcomes.failures());
    let (place, outcomes) = closest.ok_or_else(|| {
        Rejection::new(
            Check::Kind,
            format!(
                "{}: the policy has no reference value for it (I3)",
                evidence.kind
            ),
        )
    })?;
    if let Some(failure) = outcomes.failure() {
        return Err(Rejection {
            check: failure.check,
            detail: failure.detail.clone(),
            outcomes: outcomes.into_vec(),
        });
    }
    let appraisal = Appraisal {
        valid_until: outcomes.ends_before(authentic.valid_until()),
        outcomes: outcomes.into_vec(),
        authentic,
    };
    Ok((appraisal, place))
}

/// One reference value, wherever it stands.
#[derive(Clone, Copy)]
pub(crate) enum Held<'a> {
    SevSnp(&'a snp::Reference),
    Tdx(&'a tdx::Reference),
    Sgx(&'a sgx::Reference),
    AwsNitro(&'a nitro::Reference),
}

impl ReferenceValues {
    fn held(&self) -> impl Iterator<Item = Held<'_>> {
        let sev_snp = self.sev_snp.iter().map(Held::SevSnp);
        let tdx = self.tdx.iter().map(Held::Tdx);
        let sgx = self.sgx.iter().map(Held::Sgx);
        let aws_nitro = self.aws_nitro.iter().map(Held::AwsNitro);
        sev_snp.chain(tdx).chain(sgx).chain(aws_nitro)
    }
}

impl From<ReferenceValues> for Vec<ReferenceValue> {
    /// As a policy lists them.
    fn from(values: ReferenceValues) -> Self {
        let sev_snp = values.sev_snp.into_iter().map(Box::new);
        let tdx = values.tdx.into_iter().map(Box::new);
        let sgx = values.sgx.into_iter().map(Box::new);
        let aws_nitro = values.aws_nitro.into_iter().map(Box::new);
        sev_snp
            .map(ReferenceValue::SevSnp)
            .chain(tdx.map(ReferenceValue::Tdx))
            .chain(sgx.map(ReferenceValue::Sgx))
            .chain(aws_nitro.map(ReferenceValue::AwsNitro))
            .collect()
    }
}

impl Authentic {
    /// What the evidence says, by name: for people, and for authors of reference values.
    pub fn claims(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::SevSnp(found) => found.claims(),
            Self::Tdx(found) => found.claims(),
            Self::Sgx(found) => found.claims(),
            Self::AwsNitro(found) => found.claims(),
        }
    }

    /// Every check against one reference value; `None` if that is of another kind.
    fn hold(
        &self,
        reference: Held<'_>,
        endorsements: &Endorsements,
        expected: &Expected,
        now: Timestamp,
    ) -> Option<Outcomes> {
        let mut outcomes = Outcomes::default();
        let kind = self.kind();
        outcomes.passed(
            Check::Kind,
            format!("{kind}: the policy has reference values for it"),
        );
        let of = &mut outcomes;
        match (self, reference) {
            (Self::SevSnp(found), Held::SevSnp(wanted)) => {
                found.hold_against(wanted, expected, now, of);
            }
            (Self::Tdx(found), Held::Tdx(wanted)) => {
                found.hold_against(wanted, expected, now, of);
                let log = endorsements.event_log.as_deref();
                event_log::hold(log, &found.rtmrs(), &wanted.event_log, of);
            }
            (Self::Sgx(found), Held::Sgx(wanted)) => {
                found.hold_against(wanted, expected, now, of);
            }
            (Self::AwsNitro(found), Held::AwsNitro(wanted)) => {
                found.hold_against(wanted, expected, now, of);
            }
            _ => return None,
        }
        Some(outcomes)
    }

    /// Which vendor's hardware made it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::SevSnp(_) => Kind::SevSnp,
            Self::Tdx(_) => Kind::Tdx,
            Self::Sgx(_) => Kind::Sgx,
            Self::AwsNitro(_) => Kind::AwsNitro,
        }
    }

    /// When the hardware says that it made it. Only Nitro does.
    pub fn made_at(&self) -> Option<Timestamp> {
        match self {
            Self::AwsNitro(found) => Some(found.document().made_at()),
            Self::SevSnp(_) | Self::Tdx(_) | Self::Sgx(_) => None,
        }
    }

    /// How new the vendor's statements are on which it rests (24, 46).
    pub fn marks(&self) -> Vec<Mark> {
        match self {
            Self::SevSnp(found) => found.marks(),
            Self::Tdx(found) => found.marks(),
            Self::Sgx(found) => found.marks(),
            Self::AwsNitro(_) => Vec::new(),
        }
    }

    /// The end of the earliest window of what vouches for it.
    pub fn valid_until(&self) -> Timestamp {
        match self {
            Self::SevSnp(found) => found.valid_until(),
            Self::Tdx(found) => found.valid_until(),
            Self::Sgx(found) => found.valid_until(),
            Self::AwsNitro(found) => found.valid_until(),
        }
    }
}

fn check_sizes(evidence: &Evidence, endorsements: &Endorsements) -> Result<(), Rejection> {
    let lists = endorsements
        .certificates
        .iter()
        .chain(&endorsements.crls)
        .map(Vec::len);
    let stapled = lists.sum::<usize>() + endorsements.collateral.as_ref().map_or(0, Vec::len);
    let event_log = endorsements.event_log.as_ref().map_or(0, Vec::len);
    for (what, found, max) in [
        ("evidence", evidence.body.len(), EVIDENCE_MAX),
        ("endorsements", stapled, ENDORSEMENTS_MAX),
        ("event log", event_log, EVENT_LOG_MAX),
    ] {
        if found > max {
            return Err(Rejection::new(
                Check::Size,
                format!("{what}: {found} bytes, at most {max} (I14)"),
            ));
        }
    }
    Ok(())
}
