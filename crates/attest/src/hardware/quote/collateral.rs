//! DCAP collateral: what Intel publishes about platforms. Signed by Intel; read strictly all the same, so that
//! one statement has one spelling.

use dcap_qvl::QuoteCollateralV3;
use serde::Deserialize;
use siegel_ident::Timestamp;

use super::framing::Frame;
use super::plain;
use crate::hardware::x509::{Certificate, RevocationList};
use crate::hardware::{Check, Rejection};

/// Collateral whose certificates stand in their one spelling and end in the pinned root.
pub struct Collateral {
    inner: QuoteCollateralV3,
    /// Who signed the PCK revocation list, DER.
    pck_crl_issuer: Vec<u8>,
    /// The PCK chain, where it is stapled again, DER.
    pck_chain: Option<Vec<Vec<u8>>>,
}

/// When the parts were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dates {
    /// The oldest of TCB info, QE identity and the PCK revocation list, which Intel makes anew each month. The root's
    /// list is made once a year: its own window says when it is too old.
    pub(crate) oldest: Timestamp,
}

impl Collateral {
    /// Reads JSON with the fields of `dcap-qvl`, revocation lists and signatures in hexadecimal.
    ///
    /// # Errors
    /// [`Check::QuoteCollateral`].
    pub fn parse(json: &[u8], root: &[u8]) -> Result<Self, Rejection> {
        let written: Written = serde_json::from_slice(json).map_err(|e| bad(e.to_string()))?;
        let (pck_crl_issuer, _) =
            signer("pck_crl_issuer_chain", &written.pck_crl_issuer_chain, root)?;
        for (name, chain) in [
            ("tcb_info_issuer_chain", &written.tcb_info_issuer_chain),
            (
                "qe_identity_issuer_chain",
                &written.qe_identity_issuer_chain,
            ),
        ] {
            let (_, signer) = signer(name, chain, root)?;
            if signer != TCB_SIGNING {
                return Err(bad(format!("{name}: {signer}, expected {TCB_SIGNING}")));
            }
        }
        let pck_chain = written.pck_certificate_chain.as_deref().map(|pem| {
            strict_pem(pem.as_bytes(), ENDS_IN_COLLATERAL)
                .map_err(|why| bad(format!("pck_certificate_chain: {why}")))
        });
        let hex = |name: &str, text: &str| {
            let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
            let bytes = hex::decode(text).ok().filter(|_| lower);
            bytes.ok_or_else(|| bad(format!("{name} is not lower-case hexadecimal")))
        };
        let inner = QuoteCollateralV3 {
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
        };
        Ok(Self {
            inner,
            pck_crl_issuer,
            pck_chain: pck_chain.transpose()?,
        })
    }

    /// The certificates that only stand here because tools staple them are those of the quote: none is spare.
    pub(crate) fn check_belongs_to(&self, frame: &Frame<'_>) -> Result<(), Rejection> {
        let [_, intermediate, _] = &frame.pck_chain;
        if self.pck_crl_issuer != *intermediate {
            return Err(bad(
                "pck_crl is not by the CA that issued the quote's PCK certificate".to_owned(),
            ));
        }
        match &self.pck_chain {
            Some(chain) if *chain != frame.pck_chain => Err(bad(
                "pck_certificate_chain is not the chain of the quote".to_owned(),
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn into_inner(self) -> QuoteCollateralV3 {
        self.inner
    }

    /// PCE id of the platforms that the TCB info is about.
    pub(crate) fn pce_id(&self) -> Result<Vec<u8>, Rejection> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct About {
            version: u32,
            tcb_type: u32,
            pce_id: String,
        }
        let about: About = serde_json::from_str(&self.inner.tcb_info)
            .map_err(|e| bad(format!("tcb_info: {e}")))?;
        if (about.version, about.tcb_type) != (3, 0) {
            return Err(bad(format!(
                "tcb_info of version {} and type {}, expected 3 and 0",
                about.version, about.tcb_type
            )));
        }
        hex::decode(&about.pce_id).map_err(|_| bad("tcb_info: pceId is not hexadecimal".to_owned()))
    }

    /// Dates of the parts. What they say is believed only after their signatures were verified.
    pub(crate) fn dates(&self) -> Result<Dates, Rejection> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Dated {
            issue_date: String,
        }
        // Both parsers refuse a field that stands twice, and this one reads a single spelling of a date.
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
        list("root_ca_crl", &self.inner.root_ca_crl)?;
        let all = [
            json("tcb_info", &self.inner.tcb_info)?,
            json("qe_identity", &self.inner.qe_identity)?,
            list("pck_crl", &self.inner.pck_crl)?,
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
    /// Some tools staple the PCK chain again. It must be the quote's.
    #[serde(default)]
    pck_certificate_chain: Option<String>,
}

/// Who signs TCB info and QE identity.
const TCB_SIGNING: &str = "Intel SGX TCB Signing";

/// The first of two certificates, DER and its name; the other is the pinned root.
fn signer(name: &str, pem: &str, root: &[u8]) -> Result<(Vec<u8>, String), Rejection> {
    let at = |why: String| bad(format!("{name}: {why}"));
    let chain = strict_pem(pem.as_bytes(), ENDS_IN_COLLATERAL).map_err(at)?;
    let [signer, last]: [Vec<u8>; 2] = chain
        .try_into()
        .map_err(|_| at("expected 2 certificates".to_owned()))?;
    if last != root {
        return Err(at("the last one is not the pinned root (I1)".to_owned()));
    }
    let read = Certificate::parse(&signer).map_err(at)?;
    Ok((signer, read.name()))
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
    Rejection::new(Check::QuoteCollateral, plain(&detail))
}
