//! AMD SEV-SNP: a report of 1,184 bytes, signed by a key of the chip (VCEK) or of the cloud provider (VLEK).

mod appraise;
mod bits;
pub(super) mod certificates;
#[cfg(any(test, feature = "test-util"))]
pub mod mock;
mod reference;
pub(super) mod report;
mod tcb;

pub use bits::{AbiVersion, BitSet, GuestPolicy, PlatformInfo};
pub use reference::{GuestPolicyRules, IdentityRules, PlatformRules, Reference, TcbRules};
pub use report::{REPORT_LEN, Report, SigningKey};
pub use tcb::{Product, TcbVersion};

use ring::signature::{ECDSA_P384_SHA384_FIXED, UnparsedPublicKey};
use siegel_ident::Timestamp;

use super::{Check, Endorsements, Mark, Rejection, TrustRoots};
use certificates::Chain;

/// AMD's root keys (ARK), by SHA-256 of the SubjectPublicKeyInfo.
pub const ROOTS: [(Product, [u8; 32]); 3] = [
    (
        Product::Milan,
        [
            0x9f, 0x05, 0x6b, 0xee, 0x44, 0x37, 0x7e, 0x29, 0x30, 0x8c, 0xb5, 0xff, 0xa8, 0x95,
            0xbd, 0xfb, 0x62, 0xd1, 0x88, 0x81, 0xfa, 0x6b, 0xed, 0x8d, 0x6f, 0x07, 0x5b, 0x02,
            0x04, 0x08, 0x9c, 0xb9,
        ],
    ),
    (
        Product::Genoa,
        [
            0x42, 0x9a, 0x69, 0xc9, 0x42, 0x2a, 0xa2, 0x58, 0xee, 0x4d, 0x8d, 0xb5, 0xfc, 0xda,
            0x9c, 0x64, 0x70, 0xef, 0x15, 0xf8, 0xcd, 0x5a, 0x9c, 0xeb, 0xd6, 0xcb, 0xc7, 0xd9,
            0x0b, 0x86, 0x38, 0x31,
        ],
    ),
    (
        Product::Turin,
        [
            0x4f, 0x12, 0x54, 0x10, 0x56, 0x3a, 0x2a, 0xb9, 0xa5, 0x03, 0x56, 0xf9, 0x24, 0x3f,
            0x6f, 0xe0, 0xb6, 0xf7, 0x3d, 0xe9, 0x86, 0x03, 0xf5, 0x3f, 0x90, 0x33, 0x9c, 0x70,
            0xe9, 0xd7, 0xad, 0x08,
        ],
    ),
];

/// A report that an AMD chip signed, whatever it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Authentic {
    report: Report,
    chain: Chain,
}

impl Authentic {
    /// The fields.
    pub fn report(&self) -> &Report {
        &self.report
    }
    /// The CPU generation.
    pub fn product(&self) -> Product {
        self.chain.product
    }
    /// The cloud provider that the VLEK names.
    pub fn provider(&self) -> Option<&str> {
        self.chain.leaf.provider.as_deref()
    }
    /// What the report says, by name.
    pub(crate) fn claims(&self) -> Vec<(&'static str, String)> {
        let report = &self.report;
        let mut claims = vec![
            ("product", self.product().to_string()),
            ("report_version", report.version.to_string()),
            ("signing_key", report.signing_key.to_string()),
            ("measurement", report.measurement.to_string()),
            ("host_data", report.host_data.to_string()),
            ("report_data", report.report_data.to_string()),
            ("guest_policy", format!("{:#x}", report.policy.0)),
            ("debug", report.policy.debug().to_string()),
            ("platform_info", format!("{:#x}", report.platform.0)),
            ("vmpl", report.vmpl.to_string()),
            ("guest_svn", report.guest_svn.to_string()),
            ("family_id", report.family_id.to_string()),
            ("image_id", report.image_id.to_string()),
            ("id_key", report.id_key_digest.to_string()),
            ("author_key", report.author_key_digest.to_string()),
            ("report_id", report.report_id.to_string()),
            ("migration_agent", report.report_id_ma.to_string()),
            ("chip_id", report.chip_id.to_string()),
            ("reported_tcb", report.reported_tcb.to_string()),
            ("committed_tcb", report.committed_tcb.to_string()),
            ("current_tcb", report.current_tcb.to_string()),
            ("launch_tcb", report.launch_tcb.to_string()),
        ];
        let mitigations = [
            ("launch_mitigations", report.launch_mitigations),
            ("current_mitigations", report.current_mitigations),
        ];
        claims.extend(
            mitigations
                .into_iter()
                .filter_map(|(name, bits)| Some((name, format!("{:#x}", bits?)))),
        );
        claims.extend(
            self.provider()
                .map(|provider| ("provider", provider.to_owned())),
        );
        claims
    }
    /// The revocation list's time of issue: an older list says less.
    pub(crate) fn marks(&self) -> Vec<Mark> {
        let list = self.chain.crl.map(|window| Mark {
            what: format!("amd/{}/crl", self.product()),
            value: window.from.0,
        });
        list.into_iter().collect()
    }
    /// The end of the earliest window of certificates and revocation list.
    pub fn valid_until(&self) -> Timestamp {
        self.chain.valid_until
    }
}

/// Authenticity only: chain to a pinned root at `now`, signature over the raw bytes, certificate and report
/// about the same chip and the same TCB.
///
/// # Errors
/// [`Rejection`] names the first check that failed.
pub fn verify(
    body: &[u8],
    endorsements: &Endorsements,
    roots: &TrustRoots,
    now: Timestamp,
) -> Result<Authentic, Rejection> {
    let raw = report::Raw::new(body)?;
    let chain = certificates::verify(endorsements, roots, now)?;
    let report = Report::parse(&raw, chain.product)?;
    check_signing_key(&report, &chain)?;
    check_signature(&raw, &chain)?;
    check_tcb(&report, &chain)?;
    check_chip(&report, &chain)?;
    Ok(Authentic { report, chain })
}

fn check_signing_key(report: &Report, chain: &Chain) -> Result<(), Rejection> {
    let bad = |detail: String| Err(Rejection::new(Check::SnpSigningKey, detail));
    // A VLEK stays usable where the chip's own key is withheld.
    if report.masked_chip_key && report.signing_key == SigningKey::Vcek {
        return bad("the chip's key is masked: such a report is not signed by it".to_owned());
    }
    match report.signing_key == chain.leaf.key {
        true => Ok(()),
        false => bad(format!(
            "report says {}, certificate is a {}",
            report.signing_key, chain.leaf.key
        )),
    }
}

/// Over the raw bytes, never over something re-encoded.
fn check_signature(raw: &report::Raw<'_>, chain: &Chain) -> Result<(), Rejection> {
    UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, &chain.leaf.public_key)
        .verify(raw.signed(), &raw.signature())
        .map_err(|_| {
            Rejection::new(
                Check::SnpSignature,
                "signature over the report is not by the certificate's key",
            )
        })
}

/// The firmware reports its patch level itself; the key that signs is derived from the real one.
fn check_tcb(report: &Report, chain: &Chain) -> Result<(), Rejection> {
    let (found, stated) = (report.reported_tcb, chain.leaf.tcb);
    match found == stated {
        true => Ok(()),
        false => Err(Rejection::new(
            Check::SnpCertificateTcb,
            format!("report says {found}, certificate {stated}"),
        )),
    }
}

fn check_chip(report: &Report, chain: &Chain) -> Result<(), Rejection> {
    let Some(id) = &chain.leaf.hardware_id else {
        return Ok(());
    };
    let (chip, padding) = report.chip_id.0.split_at(chain.product.chip_id_len());
    match id == chip && padding.iter().all(|byte| *byte == 0) {
        true => Ok(()),
        false => Err(Rejection::new(
            Check::SnpChipId,
            "the certificate is for another chip than the report names, or the host hides the chip",
        )),
    }
}

#[cfg(test)]
mod tests;
