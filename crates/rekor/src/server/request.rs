//! `POST /api/v2/log/entries`: parse strictly, verify the signature, or refuse.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use serde::Deserialize;
use siegel_ident::Digest;
use siegel_translog::dsse::MAX_SIGNATURE;
use siegel_translog::{HashedRekord, SpkiKey};

use crate::error::RekorError;

/// Reads a request and checks that the key signed the digest.
///
/// # Errors
/// [`RekorError::Request`] in the words of Rekor v2, [`RekorError::Signature`].
pub(super) fn parse(body: &[u8]) -> Result<HashedRekord, RekorError> {
    let request: RequestJson = serde_json::from_slice(body).map_err(|e| invalid(&e.to_string()))?;
    let Some(asked) = request.hashed_rekord else {
        return Err(RekorError::Request(
            "invalid type, must be hashedrekord".into(),
        ));
    };
    let verifier = asked.signature.verifier;
    if verifier.x509_certificate.is_some() {
        return Err(invalid(
            "certificates are not taken by this log, only public keys",
        ));
    }
    if verifier.key_details != "PKIX_ECDSA_P256_SHA_256" {
        return Err(invalid("keyDetails must be PKIX_ECDSA_P256_SHA_256"));
    }
    let key = verifier
        .public_key
        .ok_or_else(|| invalid("no public key"))?;
    let digest = Digest::try_from_slice(&bytes(&asked.digest, "digest")?)
        .ok_or_else(|| invalid("the digest must have 32 bytes"))?;
    let signature = bytes(&asked.signature.content, "signature")?;
    if signature.len() > MAX_SIGNATURE {
        return Err(invalid("the signature is too long for P-256"));
    }
    let key = SpkiKey::from_spki_der(&bytes(&key.raw_bytes, "public key")?)
        .map_err(|e| invalid(&e.to_string()))?;
    let record = HashedRekord {
        digest,
        signature,
        key,
    };
    verify(&record)?;
    Ok(record)
}

/// ring verifies only whole messages; the log sees just the digest.
fn verify(record: &HashedRekord) -> Result<(), RekorError> {
    let key = VerifyingKey::from_sec1_bytes(record.key.point())
        .map_err(|_| invalid("the public key is not a point of P-256"))?;
    let signature = Signature::from_der(&record.signature).map_err(|_| RekorError::Signature)?;
    key.verify_prehash(record.digest.as_bytes(), &signature)
        .map_err(|_| RekorError::Signature)
}

fn bytes(text: &str, what: &str) -> Result<Vec<u8>, RekorError> {
    STANDARD
        .decode(text)
        .map_err(|_| invalid(&format!("{what} is not base64")))
}

fn invalid(why: &str) -> RekorError {
    RekorError::Request(format!("invalid hashedrekord request: {why}"))
}

// Both spellings of protobuf JSON names; unknown fields are refused.

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestJson {
    #[serde(
        rename = "hashedRekordRequestV002",
        alias = "hashed_rekord_request_v002"
    )]
    hashed_rekord: Option<HashedRekordJson>,
    // Named only to say "invalid type" instead of "unknown field", as Rekor does.
    #[serde(rename = "dsseRequestV002", alias = "dsse_request_v002")]
    _dsse: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HashedRekordJson {
    digest: String,
    signature: SignatureJson,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignatureJson {
    content: String,
    verifier: VerifierJson,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VerifierJson {
    #[serde(rename = "publicKey", alias = "public_key")]
    public_key: Option<RawJson>,
    #[serde(rename = "x509Certificate", alias = "x509_certificate")]
    x509_certificate: Option<RawJson>,
    #[serde(rename = "keyDetails", alias = "key_details")]
    key_details: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawJson {
    #[serde(rename = "rawBytes", alias = "raw_bytes")]
    raw_bytes: String,
}
