//! The signatures of a chain and nothing else: what verification costs at least.

use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED,
    RSA_PSS_2048_8192_SHA384, UnparsedPublicKey, VerificationAlgorithm,
};

use super::subject::{Trouble, pems};

type Algorithm = &'static dyn VerificationAlgorithm;

struct Signature {
    name: &'static str,
    algorithm: Algorithm,
    key: Vec<u8>,
    message: Vec<u8>,
    signature: Vec<u8>,
}

/// All signatures of one piece of evidence, taken out of it.
pub struct Bare(Vec<Signature>);

impl Bare {
    pub fn snp(report: &[u8], certificates: &[Vec<u8>]) -> Result<Self, Trouble> {
        let [vcek, ask, ark] = certificates else {
            return Err(Trouble::Shape("chain of three"));
        };
        let number = |at: usize| {
            let little = report.get(at..at + 48).ok_or(Trouble::Shape("signature"))?;
            Ok::<_, Trouble>(little.iter().rev().copied().collect::<Vec<u8>>())
        };
        let pss: Algorithm = &RSA_PSS_2048_8192_SHA384;
        Ok(Self(vec![
            link("ARK", pss, ark, ark)?,
            link("ASK", pss, ark, ask)?,
            link("VCEK", pss, ask, vcek)?,
            Signature {
                name: "report",
                algorithm: &ECDSA_P384_SHA384_FIXED,
                key: key(vcek)?,
                message: report.get(..0x2a0).unwrap_or_default().to_vec(),
                signature: [number(0x2a0)?, number(0x2a0 + 72)?].concat(),
            },
        ]))
    }

    pub fn tdx(quote: &[u8], collateral: &[u8]) -> Result<Self, Trouble> {
        let json: serde_json::Value =
            serde_json::from_slice(collateral).map_err(|_| Trouble::Shape("JSON"))?;
        let text = |name: &str| {
            json.get(name)
                .and_then(|value| value.as_str())
                .unwrap_or_default()
        };
        let bytes = |name: &str| hex::decode(text(name)).map_err(|_| Trouble::Shape("hexadecimal"));
        let from = quote
            .windows(11)
            .position(|window| window == b"-----BEGIN ");
        let chain = pems(quote.get(from.unwrap_or_default()..).unwrap_or_default())?;
        let signers = pems(text("tcb_info_issuer_chain").as_bytes())?;
        let ([pck, ca, root], [signer, _]) = (chain.as_slice(), signers.as_slice()) else {
            return Err(Trouble::Shape("chain"));
        };
        let at =
            |from: usize, len: usize| quote.get(from..from + len).ok_or(Trouble::Shape("quote"));
        let signed = |name, key: Vec<u8>, message: &[u8], signature: &[u8]| Signature {
            name,
            algorithm: &ECDSA_P256_SHA256_FIXED,
            key,
            message: message.to_vec(),
            signature: signature.to_vec(),
        };
        // Header and report; length; signature and key; type and length; QE report and its signature.
        let (report, signature) = (48 + 584, 48 + 584 + 4);
        let qe = signature + 128 + 6;
        let attestation_key = [&[4], at(signature + 64, 64)?].concat();
        let der: Algorithm = &ECDSA_P256_SHA256_ASN1;
        let json_by = |name, field: &str, signature: &[u8]| {
            Ok::<_, Trouble>(signed(
                name,
                key(signer)?,
                text(field).as_bytes(),
                signature,
            ))
        };
        Ok(Self(vec![
            link("root's list", der, root, &bytes("root_ca_crl")?)?,
            link("PCK list", der, ca, &bytes("pck_crl")?)?,
            link("TCB signer", der, root, signer)?,
            json_by("TCB info", "tcb_info", &bytes("tcb_info_signature")?)?,
            json_by(
                "QE identity",
                "qe_identity",
                &bytes("qe_identity_signature")?,
            )?,
            link("PCK CA", der, root, ca)?,
            link("PCK", der, ca, pck)?,
            signed("QE report", key(pck)?, at(qe, 384)?, at(qe + 384, 64)?),
            signed("quote", attestation_key, at(0, report)?, at(signature, 64)?),
        ]))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn verify(&self) -> Result<(), Trouble> {
        self.0.iter().try_for_each(|one| {
            UnparsedPublicKey::new(one.algorithm, &one.key)
                .verify(&one.message, &one.signature)
                .map_err(|_| Trouble::Bare(one.name))
        })
    }
}

/// A certificate or a revocation list: what is signed, the algorithm, the bits of the signature.
fn link(
    name: &'static str,
    algorithm: Algorithm,
    issuer: &[u8],
    der: &[u8],
) -> Result<Signature, Trouble> {
    let (outer, _) = element(der)?;
    let (_, after) = element(outer)?;
    let message = outer.get(..outer.len() - after.len()).unwrap_or_default();
    let (_, bits) = element(after)?;
    Ok(Signature {
        name,
        algorithm,
        key: key(issuer)?,
        message: message.to_vec(),
        signature: bit_string(bits)?,
    })
}

/// The bits of a certificate's public key.
fn key(der: &[u8]) -> Result<Vec<u8>, Trouble> {
    let (outer, _) = element(der)?;
    let (mut rest, _) = element(outer)?;
    // Version, serial number, algorithm, issuer, validity, subject.
    for _ in 0..6 {
        (_, rest) = element(rest)?;
    }
    let (info, _) = element(rest)?;
    let (_, bits) = element(info)?;
    bit_string(bits)
}

fn bit_string(der: &[u8]) -> Result<Vec<u8>, Trouble> {
    let (value, _) = element(der)?;
    value
        .get(1..)
        .map(<[u8]>::to_vec)
        .ok_or(Trouble::Shape("bit string"))
}

/// The value of the first DER element, and what follows it.
fn element(der: &[u8]) -> Result<(&[u8], &[u8]), Trouble> {
    let short = || Trouble::Shape("DER element");
    let (len, header) = match der.get(1).copied().ok_or_else(short)? {
        0x81 => (usize::from(der.get(2).copied().ok_or_else(short)?), 3),
        0x82 => {
            let bytes = der.get(2..4).and_then(|bytes| bytes.try_into().ok());
            (usize::from(u16::from_be_bytes(bytes.ok_or_else(short)?)), 4)
        }
        len => (usize::from(len), 2),
    };
    let rest = der.get(header..).ok_or_else(short)?;
    rest.split_at_checked(len).ok_or_else(short)
}
