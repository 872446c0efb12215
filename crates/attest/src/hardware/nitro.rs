//! AWS Nitro Enclaves: an attestation document, COSE_Sign1 over CBOR, signed by the hypervisor.

mod document;
mod reference;

pub use document::Document;
pub use reference::Reference;

use coset::{CborSerializable, CoseSign1, TaggedCborSerializable, iana};
use ring::signature::{ECDSA_P384_SHA384_FIXED, UnparsedPublicKey};
use siegel_ident::Timestamp;

use super::outcome::Outcomes;
use super::x509::{Certificate, verify_path};
use super::{Check, Expected, Hex, Rejection, TrustRoots};

/// AWS's Nitro Enclaves root certificate (G1), by SHA-256 of its DER, as AWS publishes it.
pub const ROOT_SHA256: [u8; 32] = [
    0x64, 0x1a, 0x03, 0x21, 0xa3, 0xe2, 0x44, 0xef, 0xe4, 0x56, 0x46, 0x31, 0x95, 0xd6, 0x06, 0x31,
    0x7e, 0xd7, 0xcd, 0xcc, 0x3c, 0x17, 0x56, 0xe0, 0x98, 0x93, 0xf3, 0xc6, 0x8f, 0x79, 0xbb, 0x5b,
];

/// Most certificates between leaf and root.
const BUNDLE_MAX: usize = 6;
/// How far a document's time may lie ahead of the verifier's.
const CLOCK_SKEW: siegel_ident::Seconds = siegel_ident::Seconds(60);

/// A document that a Nitro hypervisor signed, whatever it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Authentic {
    document: Document,
    valid_until: Timestamp,
}

impl Authentic {
    /// The fields.
    pub fn document(&self) -> &Document {
        &self.document
    }
    /// The end of the earliest window of the chain.
    pub fn valid_until(&self) -> Timestamp {
        self.valid_until
    }
}

/// Authenticity only: one encoding, ES384 by the leaf, chain to the pinned root at `now`, document made while its
/// leaf was valid.
///
/// # Errors
/// [`Rejection`] names the first check that failed.
pub fn verify(body: &[u8], roots: &TrustRoots, now: Timestamp) -> Result<Authentic, Rejection> {
    let signed = parse(body)?;
    let payload = signed.payload.as_deref().unwrap_or_default();
    let document = Document::parse(payload)?;
    let chain = |why: String| Rejection::new(Check::NitroChain, why);
    let leaf = Certificate::parse(&document.certificate).map_err(chain)?;
    UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, leaf.public_key())
        .verify(&signed.tbs_data(b""), &signed.signature)
        .map_err(|_| {
            Rejection::new(
                Check::NitroSignature,
                "the document is not signed by its certificate's key",
            )
        })?;
    // Until here the document vouches only for itself.
    let valid_until = verify_chain(&leaf, &document.cabundle, roots, now)?;
    check_time(&document, &leaf, now)?;
    Ok(Authentic {
        document,
        valid_until,
    })
}

/// The time in a document, whoever made it.
pub(crate) fn claimed_time(body: &[u8]) -> Option<Timestamp> {
    let signed = parse(body).ok()?;
    let document = Document::parse(signed.payload.as_deref()?).ok()?;
    Some(document.made_at())
}

/// COSE_Sign1, tagged or not, whose bytes are exactly the encoding of what was read. Nothing is unprotected, and the
/// one protected header is the algorithm.
pub(super) fn parse(body: &[u8]) -> Result<CoseSign1, Rejection> {
    let bad = |why: &str| Rejection::new(Check::NitroFormat, why);
    let tagged = body.first() == Some(&0xd2);
    let signed = match tagged {
        true => CoseSign1::from_tagged_slice(body),
        false => CoseSign1::from_slice(body),
    }
    .map_err(|_| bad("not a COSE_Sign1"))?;
    let again = match tagged {
        true => signed.clone().to_tagged_vec(),
        false => signed.clone().to_vec(),
    };
    if again.ok().as_deref() != Some(body) {
        return Err(bad("COSE_Sign1 is not in the one encoding"));
    }
    let alone = coset::HeaderBuilder::new()
        .algorithm(iana::Algorithm::ES384)
        .build();
    match signed.protected.header == alone && signed.unprotected.is_empty() {
        true => Ok(signed),
        false => Err(bad("headers: expected ES384, protected, and nothing else")),
    }
}

/// `bundle` leads from the root to the leaf's issuer.
pub(super) fn verify_chain(
    leaf: &Certificate,
    bundle: &[Vec<u8>],
    roots: &TrustRoots,
    now: Timestamp,
) -> Result<Timestamp, Rejection> {
    let bad = |why: String| Rejection::new(Check::NitroChain, why);
    if bundle.len() > BUNDLE_MAX {
        return Err(bad(format!(
            "{} certificates in the bundle, at most {BUNDLE_MAX}",
            bundle.len()
        )));
    }
    let Some(root) = bundle.first() else {
        return Err(bad("the bundle is empty".to_owned()));
    };
    let found = ring::digest::digest(&ring::digest::SHA256, root);
    let pinned = roots.aws_nitro.as_ref();
    if pinned.is_none_or(|pinned| found.as_ref() != pinned) {
        return Err(bad(
            "the bundle does not start with the pinned root (I1)".to_owned()
        ));
    }
    let authorities = bundle
        .iter()
        .map(|der| Certificate::parse(der))
        .collect::<Result<Vec<_>, _>>()
        .map_err(bad)?;
    verify_path(&authorities, leaf, now).map_err(bad)
}

pub(super) fn check_time(
    document: &Document,
    leaf: &Certificate,
    now: Timestamp,
) -> Result<(), Rejection> {
    let bad = |why: String| Err(Rejection::new(Check::NitroTime, why));
    let made = document.made_at();
    if made > now.plus(CLOCK_SKEW) {
        return bad(format!(
            "the document was made at {made}, which is after {now}"
        ));
    }
    match leaf.window().contains(made) {
        true => Ok(()),
        false => bad(format!(
            "the document was made at {made}, when its certificate was not valid"
        )),
    }
}

impl Authentic {
    pub(crate) fn hold_against(
        &self,
        reference: &Reference,
        expected: &Expected,
        now: Timestamp,
        outcomes: &mut Outcomes,
    ) {
        let document = &self.document;
        outcomes.passed(Check::NitroFormat, "COSE_Sign1 in the one encoding, ES384");
        outcomes.passed(
            Check::NitroChain,
            format!("leads to the pinned root, valid until {}", self.valid_until),
        );
        outcomes.passed(Check::NitroSignature, "by the leaf certificate's key");
        let made = Some(document.made_at());
        reference
            .age
            .hold(Check::NitroTime, "document", made, now, outcomes);
        let debug = document.is_debug();
        outcomes.must(
            Check::NitroDebug,
            !debug,
            format!(
                "PCR0 to PCR2: found {}, wanted measurements (I3)",
                if debug { "zeros" } else { "measurements" }
            ),
        );
        self.pcrs(reference, outcomes);
        outcomes.rule(
            Check::NitroModule,
            "module id",
            &reference.module_id,
            &document.module_id,
        );
        let check = Check::NitroBinding;
        let hex = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(hex::encode);
        outcomes.rule_if(
            check,
            "nonce",
            &reference.nonce,
            hex(&document.nonce).as_ref(),
        );
        outcomes.rule_if(
            check,
            "public key",
            &reference.public_key,
            hex(&document.public_key).as_ref(),
        );
        outcomes.rule_if(
            check,
            "user data",
            &reference.user_data,
            hex(&document.user_data).as_ref(),
        );
        let bound = document
            .user_data
            .as_deref()
            .and_then(|data| data.try_into().ok())
            .map(Hex);
        outcomes.rule_if(
            Check::ReportData,
            "report data in user data",
            &expected.report_data,
            bound.as_ref(),
        );
    }

    /// What the document says, by name.
    pub(crate) fn claims(&self) -> Vec<(&'static str, String)> {
        const PCRS: [&str; 32] = [
            "pcr0", "pcr1", "pcr2", "pcr3", "pcr4", "pcr5", "pcr6", "pcr7", "pcr8", "pcr9",
            "pcr10", "pcr11", "pcr12", "pcr13", "pcr14", "pcr15", "pcr16", "pcr17", "pcr18",
            "pcr19", "pcr20", "pcr21", "pcr22", "pcr23", "pcr24", "pcr25", "pcr26", "pcr27",
            "pcr28", "pcr29", "pcr30", "pcr31",
        ];
        let document = &self.document;
        let mut claims = vec![
            ("module_id", document.module_id.clone()),
            ("made_at", document.made_at().to_string()),
            ("debug", document.is_debug().to_string()),
        ];
        let pcrs = document.pcrs.iter();
        claims.extend(pcrs.filter_map(|(index, value)| {
            Some((*PCRS.get(usize::from(*index))?, value.to_string()))
        }));
        for (name, value) in [
            ("nonce", &document.nonce),
            ("public_key", &document.public_key),
            ("user_data", &document.user_data),
        ] {
            claims.extend(value.as_ref().map(|bytes| (name, hex::encode(bytes))));
        }
        claims
    }

    /// Registers without a rule must be zero: whoever extends one means something by it.
    fn pcrs(&self, reference: &Reference, outcomes: &mut Outcomes) {
        let (pcrs, check) = (&self.document.pcrs, Check::NitroMeasurement);
        let named = [
            (0, &reference.pcr0),
            (1, &reference.pcr1),
            (2, &reference.pcr2),
            (3, &reference.pcr3),
            (4, &reference.pcr4),
            (8, &reference.pcr8),
        ];
        for (index, rule) in named {
            outcomes.rule_if(check, &format!("PCR{index}"), rule, pcrs.get(&index));
        }
        for (index, found) in pcrs
            .iter()
            .filter(|(index, _)| named.iter().all(|(one, _)| one != *index))
        {
            outcomes.must(
                check,
                found.is_zero(),
                format!("PCR{index}: found {found}, wanted zeros (it has no rule)"),
            );
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
