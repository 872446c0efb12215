//! DCAP collateral: what Intel publishes about platforms. Signed by Intel; read strictly all the same, so that
//! one statement has one spelling.

use dcap_qvl::QuoteCollateralV3;
use serde::Deserialize;
use siegel_ident::Timestamp;

use super::super::x509::{Certificate, RevocationList};
use crate::hardware::{Check, Rejection};

/// Collateral whose certificates stand in their one spelling and end in the pinned root.
pub struct Collateral(QuoteCollateralV3);

/// When the parts were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dates {
    /// The oldest of TCB info, QE identity and both revocation lists.
    pub(crate) oldest: Timestamp,
}

impl Collateral {
    /// Reads JSON with the fields of `dcap-qvl`, revocation lists and signatures in hexadecimal.
    ///
    /// # Errors
    /// [`Check::QuoteCollateral`].
    pub fn parse(json: &[u8], root: &[u8]) -> Result<Self, Rejection> {
        let written: Written = serde_json::from_slice(json).map_err(|e| bad(e.to_string()))?;
        for (name, chain, len) in [
            ("pck_crl_issuer_chain", &written.pck_crl_issuer_chain, 2),
            ("tcb_info_issuer_chain", &written.tcb_info_issuer_chain, 2),
            (
                "qe_identity_issuer_chain",
                &written.qe_identity_issuer_chain,
                2,
            ),
        ] {
            check_chain(name, chain, len, root)?;
        }
        let hex = |name: &str, text: &str| {
            let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
            let bytes = hex::decode(text).ok().filter(|_| lower);
            bytes.ok_or_else(|| bad(format!("{name} is not lower-case hexadecimal")))
        };
        Ok(Self(QuoteCollateralV3 {
            root_ca_crl: hex("root_ca_crl", &written.root_ca_crl)?,
            pck_crl: hex("pck_crl", &written.pck_crl)?,
            tcb_info_signature: hex("tcb_info_signature", &written.tcb_info_signature)?,
            qe_identity_signature: hex("qe_identity_signature", &written.qe_identity_signature)?,
            pck_crl_issuer_chain: written.pck_crl_issuer_chain,
            tcb_info_issuer_chain: written.tcb_info_issuer_chain,
            tcb_info: written.tcb_info,
            qe_identity_issuer_chain: written.qe_identity_issuer_chain,
            qe_identity: written.qe_identity,
            // The chain in the quote is the one that counts.
            pck_certificate_chain: None,
        }))
    }

    pub(crate) fn into_inner(self) -> QuoteCollateralV3 {
        self.0
    }

    /// Dates of the parts. What they say is believed only after their signatures were verified.
    pub(crate) fn dates(&self) -> Result<Dates, Rejection> {
        #[derive(Deserialize)]
        struct Dated {
            #[serde(rename = "issueDate")]
            issue_date: String,
        }
        let json = |name: &str, text: &str| {
            let dated: Dated =
                serde_json::from_str(text).map_err(|e| bad(format!("{name}: {e}")))?;
            let at = dated.issue_date.parse::<der::DateTime>();
            at.map(|at| Timestamp(at.unix_duration().as_secs()))
                .map_err(|_| bad(format!("{name}: issueDate {} is no date", dated.issue_date)))
        };
        let list = |name: &str, der: &[u8]| {
            let list = RevocationList::parse(der).map_err(|why| bad(format!("{name}: {why}")))?;
            Ok::<_, Rejection>(list.window().from)
        };
        let all = [
            json("tcb_info", &self.0.tcb_info)?,
            json("qe_identity", &self.0.qe_identity)?,
            list("root_ca_crl", &self.0.root_ca_crl)?,
            list("pck_crl", &self.0.pck_crl)?,
        ];
        let [first, ..] = all;
        Ok(Dates {
            oldest: all.into_iter().fold(first, Timestamp::min),
        })
    }
}

/// As other tools write it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    pck_crl_issuer_chain: String,
    root_ca_crl: String,
    pck_crl: String,
    tcb_info_issuer_chain: String,
    tcb_info: String,
    tcb_info_signature: String,
    qe_identity_issuer_chain: String,
    qe_identity: String,
    qe_identity_signature: String,
    /// Some tools staple the PCK chain again. It is not read: the quote carries it.
    #[serde(default, rename = "pck_certificate_chain")]
    _pck_certificate_chain: Option<String>,
}

fn check_chain(name: &str, pem: &str, len: usize, root: &[u8]) -> Result<(), Rejection> {
    let chain = strict_pem(pem.as_bytes(), ENDS_IN_COLLATERAL)
        .map_err(|why| bad(format!("{name}: {why}")))?;
    if chain.len() != len || chain.last().is_none_or(|last| last != root) {
        return Err(bad(format!(
            "{name}: expected {len} certificates, the last one the pinned root (I1)"
        )));
    }
    for der in &chain {
        Certificate::parse(der).map_err(|why| bad(format!("{name}: {why}")))?;
    }
    Ok(())
}

/// How a chain may end in a quote: Intel's libraries differ.
pub(crate) const ENDS_IN_QUOTE: &[&str] = &["", "\n", "\n\0"];
/// How a chain may end in collateral: Intel's services differ.
const ENDS_IN_COLLATERAL: &[&str] = &["", "\n", "\n\n", "\n\0"];

/// Certificates in the one spelling of RFC 7468: lines of 64 characters, line feeds, nothing between, and one of
/// `ends` after the last.
pub(crate) fn strict_pem(pem: &[u8], ends: &[&str]) -> Result<Vec<Vec<u8>>, String> {
    use base64::Engine as _;
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----\n";
    const END: &str = "-----END CERTIFICATE-----";
    let mut text = std::str::from_utf8(pem).map_err(|_| "certificates are not PEM".to_owned())?;
    let mut chain = Vec::new();
    loop {
        let inner = text
            .strip_prefix(BEGIN)
            .and_then(|rest| rest.split_once(END));
        let (lines, rest) = inner.ok_or("certificates are not PEM, one after the other")?;
        let joined = lines.replace('\n', "");
        let der = base64::engine::general_purpose::STANDARD
            .decode(&joined)
            .map_err(|e| format!("certificate is not base64: {e}"))?;
        if wrapped(&joined) != lines {
            return Err("certificate is not in lines of 64 characters".to_owned());
        }
        chain.push(der);
        if ends.contains(&rest) {
            return Ok(chain);
        }
        text = rest.strip_prefix('\n').unwrap_or(rest);
    }
}

fn wrapped(base64: &str) -> String {
    let mut out = String::with_capacity(base64.len() + base64.len() / 64 + 1);
    for line in base64.as_bytes().chunks(64) {
        out.extend(line.iter().map(|byte| char::from(*byte)));
        out.push('\n');
    }
    out
}

fn bad(detail: String) -> Rejection {
    Rejection::new(Check::QuoteCollateral, detail)
}
