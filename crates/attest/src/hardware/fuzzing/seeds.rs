//! Small inputs that the parsers take, to start from. All of them are made here, under the development keys of the mock
//! platform; nobody's hardware signed any.

use base64::Engine as _;
use ciborium::Value;
use coset::{CborSerializable as _, CoseSign1Builder, HeaderBuilder, iana};
use serde_json::json;

use super::{ROOT, event_log as log, nitro as document};
use crate::hardware::event_log::Event;
use crate::hardware::nitro::Document;
use crate::hardware::snp::mock::{Authority, Certificate, MockError, NOW, Platform};
use crate::hardware::snp::{Product, SigningKey};
use crate::hardware::{Hex, Kind};

/// A chip's report.
///
/// # Errors
/// [`MockError`] if signing fails.
pub fn snp_report(product: Product, key: SigningKey) -> Result<Vec<u8>, MockError> {
    Ok(Platform::new(product, key)?.evidence()?.body)
}

/// A chain in DER, root first.
///
/// # Errors
/// [`MockError`] if signing fails.
pub fn chain(product: Product, key: SigningKey) -> Result<Vec<u8>, MockError> {
    let mut all = Platform::new(product, key)?.endorsements()?.certificates;
    all.reverse();
    Ok(all.concat())
}

/// A root's revocation list.
///
/// # Errors
/// [`MockError`] if signing fails.
pub fn crl() -> Result<Vec<u8>, MockError> {
    let endorsements = Platform::new(Product::Genoa, SigningKey::Vcek)?.endorsements()?;
    Ok(endorsements.crls.concat())
}

/// A quote that consists of its frame: version 3, 4 or 5; in 5, a report of TD 1.0 or 1.5. The rest are zeros.
///
/// # Errors
/// [`MockError`] if signing fails.
pub fn quote(version: u16, td_15: bool) -> Result<Vec<u8>, MockError> {
    let u16 = |value: usize| (value as u16).to_le_bytes();
    let u32 = |value: usize| (value as u32).to_le_bytes();
    let issuer = "Intel SGX PCK Platform CA";
    let pem = [
        pem(&certificate("Intel SGX PCK Certificate", issuer)?),
        pem(&certificate(issuer, "Intel SGX Root CA")?),
        pem(ROOT),
    ]
    .concat();
    let qe_report = [&[0; 384 + 64][..], &u16(0)].concat();
    let chain = [&u16(5)[..], &u32(pem.len()), pem.as_bytes()].concat();
    let certification = [qe_report, chain].concat();
    let frame = [&u16(6)[..], &u32(certification.len())].concat();
    let (tee_type, described, report) = match (version, td_15) {
        (3, _) => (0, Vec::new(), 384),
        (4, _) => (0x81, Vec::new(), 584),
        (_, false) => (0x81, [&u16(2)[..], &u32(584)].concat(), 584),
        (_, true) => (0x81, [&u16(3)[..], &u32(648)].concat(), 648),
    };
    let frame = if version == 3 { Vec::new() } else { frame };
    let signature = [vec![0; 128], frame, certification].concat();
    let header = [
        &version.to_le_bytes()[..],
        &u16(2),
        &u32(tee_type),
        &[0; 40],
    ]
    .concat();
    Ok([
        header,
        described,
        vec![0; report],
        u32(signature.len()).to_vec(),
        signature,
    ]
    .concat())
}

/// Collateral of nobody's platform.
///
/// # Errors
/// [`MockError`] if signing fails.
pub fn collateral() -> Result<Vec<u8>, MockError> {
    let chain = |subject| -> Result<String, MockError> {
        Ok([pem(&certificate(subject, "root")?), pem(ROOT)].concat())
    };
    let list = hex::encode(crl()?);
    let date = "2025-12-01T00:00:00Z";
    let about = json!({ "version": 3, "tcbType": 0, "pceId": "0000", "issueDate": date });
    let json = json!({
        "pck_crl_issuer_chain": chain("Intel SGX PCK Platform CA")?,
        "root_ca_crl": list,
        "pck_crl": list,
        "tcb_info_issuer_chain": chain("Intel SGX TCB Signing")?,
        "tcb_info": about.to_string(),
        "tcb_info_signature": "00",
        "qe_identity_issuer_chain": chain("Intel SGX TCB Signing")?,
        "qe_identity": json!({ "issueDate": date }).to_string(),
        "qe_identity_signature": "00",
    });
    Ok(json.to_string().into_bytes())
}

/// A document with all its fields, whose chain verifies and whose signature does not; and its payload alone.
///
/// # Errors
/// [`MockError`] if signing fails.
pub fn nitro() -> Result<[Vec<u8>; 2], MockError> {
    let endorsements = Platform::new(Product::Genoa, SigningKey::Vcek)?.endorsements()?;
    let mut chain = endorsements.certificates;
    chain.reverse();
    let certificate = chain.pop().unwrap_or_default();
    let payload = cbor(&document::write(&Document {
        module_id: "i-1-enc2".to_owned(),
        timestamp_ms: NOW.0 * 1000,
        pcrs: [0, 1, 2, 31]
            .map(|index| (index, Hex([index + 1; 48])))
            .into(),
        certificate,
        cabundle: chain,
        public_key: None,
        user_data: Some(vec![0x5d; 64]),
        nonce: Some(Vec::new()),
    }))?;
    let es384 = HeaderBuilder::new().algorithm(iana::Algorithm::ES384);
    let signed = CoseSign1Builder::new()
        .protected(es384.build())
        .payload(payload.clone())
        .signature(vec![0; 96])
        .build();
    let signed = signed.to_vec();
    Ok([signed.map_err(|_| MockError("writing COSE"))?, payload])
}

/// A log of three events in two registers, one of them twice; padded.
pub fn event_log() -> Vec<u8> {
    let event = |register, kind, data: &[u8]| Event {
        register,
        kind,
        digest: Hex(sha384(data)),
        data: data.to_vec(),
    };
    let mut log = log::write(&[
        event(0, 1, b"firmware"),
        event(3, 2, b"program"),
        event(3, 2, b"program"),
    ]);
    log.extend_from_slice(&[0xff; 16]);
    log
}

/// Evidence of `kind` as far as this module can make it.
///
/// # Errors
/// [`MockError`] if signing fails.
pub fn evidence(kind: Kind) -> Result<Vec<u8>, MockError> {
    match kind {
        Kind::SevSnp => snp_report(Product::Genoa, SigningKey::Vcek),
        Kind::Tdx => quote(4, false),
        Kind::Sgx => quote(3, false),
        Kind::AwsNitro => nitro().map(|[signed, _]| signed),
    }
}

/// Signed by the development vendor, whoever it says.
fn certificate(subject: &str, issuer: &str) -> Result<Vec<u8>, MockError> {
    let leaf = Platform::new(Product::Genoa, SigningKey::Vcek)?.leaf;
    let certificate = Certificate {
        subject: subject.to_owned(),
        issuer: issuer.to_owned(),
        extensions: Vec::new(),
        ..leaf
    };
    certificate.sign(&Authority::ark()?)
}

fn pem(der: &[u8]) -> String {
    let base64 = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> = base64
        .as_bytes()
        .chunks(64)
        .filter_map(|line| std::str::from_utf8(line).ok())
        .collect();
    let lines = lines.join("\n");
    format!("-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n")
}

fn cbor(value: &Value) -> Result<Vec<u8>, MockError> {
    let mut out = Vec::new();
    let written = ciborium::into_writer(value, &mut out);
    written.map_err(|_| MockError("writing CBOR"))?;
    Ok(out)
}

fn sha384(data: &[u8]) -> [u8; 48] {
    let mut out = [0; 48];
    out.copy_from_slice(ring::digest::digest(&ring::digest::SHA384, data).as_ref());
    out
}
