//! `POST /api/v2/log/entries`: parse strictly, verify the signature, or refuse.

use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use serde::Deserialize;
use serde::de::IgnoredAny;
use siegel_ident::Digest;
use siegel_translog::dsse::MAX_SIGNATURE;
use siegel_translog::{HashedRekord, SpkiKey, Verifier};

use super::protojson::{KeyDetails, bytes};
use crate::certificate::certificate_key;
use crate::error::RekorError;

/// Reads a request and checks that the key signed the digest. The key may come in a certificate,
/// of which nothing else is checked here.
///
/// # Errors
/// [`RekorError::RequestType`], [`RekorError::Request`], [`RekorError::Signature`].
pub(super) fn parse(body: &[u8]) -> Result<HashedRekord, RekorError> {
    // An empty body is an empty message.
    let body = if body.is_empty() { b"{}" } else { body };
    let request: RequestJson = serde_json::from_slice(body).map_err(|e| invalid(&e.to_string()))?;
    let asked = match (request.hashed_rekord, request.dsse) {
        (Some(asked), None) => asked,
        (None, _) => return Err(RekorError::RequestType),
        (Some(_), Some(_)) => return Err(invalid("two entries in one request")),
    };
    let signature = asked.signature.unwrap_or_default();
    if signature.content.is_empty() {
        return Err(invalid("no signature"));
    }
    if signature.content.len() > MAX_SIGNATURE {
        return Err(invalid("the signature is too long for P-256"));
    }
    let verifier = signature.verifier.ok_or_else(|| invalid("no verifier"))?;
    if verifier.key_details != KeyDetails::EcdsaP256 {
        return Err(invalid("keyDetails must be PKIX_ECDSA_P256_SHA_256"));
    }
    let digest = Digest::try_from_slice(&asked.digest)
        .ok_or_else(|| invalid("the digest must have 32 bytes"))?;
    let (key, verifier) = signer(verifier)?;
    verify(&key, &digest, &signature.content)?;
    Ok(HashedRekord {
        digest,
        signature: signature.content,
        verifier,
    })
}

/// The key, and what the log keeps of it.
fn signer(verifier: VerifierJson) -> Result<(SpkiKey, Verifier), RekorError> {
    let bad = |e: &dyn std::fmt::Display| invalid(&e.to_string());
    match (verifier.public_key, verifier.x509_certificate) {
        (Some(spki), None) => {
            let key = SpkiKey::from_spki_der(&spki.raw_bytes).map_err(|e| bad(&e))?;
            Ok((key, Verifier::Key(key)))
        }
        (None, Some(certificate)) => {
            let key = certificate_key(&certificate.raw_bytes).map_err(|e| bad(&e))?;
            Ok((key, Verifier::Certificate(certificate.raw_bytes)))
        }
        _ => Err(invalid(
            "the verifier must be a public key or a certificate",
        )),
    }
}

/// ring verifies only whole messages; the log sees just the digest.
fn verify(key: &SpkiKey, digest: &Digest, signature: &[u8]) -> Result<(), RekorError> {
    let key = VerifyingKey::from_sec1_bytes(key.point())
        .map_err(|_| invalid("the public key is not a point of P-256"))?;
    let signature = Signature::from_der(signature).map_err(|_| RekorError::Signature)?;
    key.verify_prehash(digest.as_bytes(), &signature)
        .map_err(|_| RekorError::Signature)
}

fn invalid(why: &str) -> RekorError {
    RekorError::Request(why.to_owned())
}

// Both spellings of protobuf JSON names; unknown fields, and one field in both spellings, are
// refused. Absent and null members are the type's default, as in protobuf.

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
    dsse: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HashedRekordJson {
    #[serde(default, deserialize_with = "bytes")]
    digest: Vec<u8>,
    signature: Option<SignatureJson>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignatureJson {
    #[serde(default, deserialize_with = "bytes")]
    content: Vec<u8>,
    verifier: Option<VerifierJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VerifierJson {
    #[serde(rename = "publicKey", alias = "public_key")]
    public_key: Option<RawJson>,
    #[serde(rename = "x509Certificate", alias = "x509_certificate")]
    x509_certificate: Option<RawJson>,
    #[serde(rename = "keyDetails", alias = "key_details", default)]
    key_details: KeyDetails,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawJson {
    #[serde(
        rename = "rawBytes",
        alias = "raw_bytes",
        default,
        deserialize_with = "bytes"
    )]
    raw_bytes: Vec<u8>,
}
