//! Requests for a time stamp: DER as RFC 3161 has it, or the JSON of Sigstore's JavaScript client.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use der::asn1::{Int, ObjectIdentifier, OctetString, Uint};
use der::{Decode as _, Encode as _};
use serde::Deserialize;
use x509_cert::spki::AlgorithmIdentifierOwned;

use super::asn1::{MessageImprint, POLICY, SHA256, SHA384, SHA512, TimeStampReq};
use crate::error::RekorError;

/// Longest nonce, in bytes.
const MAX_NONCE: usize = 64;

/// What is to be stamped. The imprint is one that a token may carry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) imprint: MessageImprint,
    pub(super) nonce: Option<Int>,
    /// True if the token shall carry the authority's certificate.
    pub(super) certificate: bool,
}

impl Query {
    /// Reads a request. JSON starts with a brace, DER never does.
    ///
    /// # Errors
    /// [`RekorError::Timestamp`]: form, version, hash, policy, nonce, extensions (I14).
    pub(super) fn parse(body: &[u8]) -> Result<Self, RekorError> {
        let query = match body.trim_ascii_start().first() {
            Some(b'{') => from_json(body)?,
            _ => from_der(body)?,
        };
        check_imprint(&query.imprint)?;
        match &query.nonce {
            Some(nonce) if nonce.as_bytes().len() > MAX_NONCE => {
                Err(bad("the nonce is longer than 64 bytes"))
            }
            _ => Ok(query),
        }
    }
}

fn from_der(body: &[u8]) -> Result<Query, RekorError> {
    let request = TimeStampReq::from_der(body)
        .map_err(|e| bad(&format!("not a TimeStampReq in DER: {e}")))?;
    if request.version != 1 {
        return Err(bad("the version must be 1"));
    }
    if request.extensions.is_some() {
        return Err(bad("extensions are not taken"));
    }
    check_policy(request.req_policy)?;
    Ok(Query {
        imprint: request.message_imprint,
        nonce: request.nonce,
        certificate: request.cert_req,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct QueryJson {
    artifact_hash: String,
    hash_algorithm: String,
    #[serde(default)]
    certificates: bool,
    nonce: Option<u64>,
    #[serde(rename = "tsaPolicyOID")]
    policy: Option<String>,
}

fn from_json(body: &[u8]) -> Result<Query, RekorError> {
    let json: QueryJson = serde_json::from_slice(body).map_err(|e| bad(&e.to_string()))?;
    let oid = match json.hash_algorithm.to_ascii_lowercase().as_str() {
        "sha256" => SHA256,
        "sha384" => SHA384,
        "sha512" => SHA512,
        _ => return Err(unknown_hash()),
    };
    let digest = STANDARD
        .decode(&json.artifact_hash)
        .map_err(|_| bad("artifactHash is not base64"))?;
    let policy = json.policy.filter(|policy| !policy.is_empty());
    let policy = policy.map(|policy| ObjectIdentifier::new(&policy));
    check_policy(policy.transpose().map_err(|_| other_policy())?)?;
    let made = |e: der::Error| bad(&e.to_string());
    let nonce = json.nonce.map(|nonce| Uint::new(&nonce.to_be_bytes()));
    Ok(Query {
        imprint: MessageImprint {
            hash_algorithm: AlgorithmIdentifierOwned {
                oid,
                parameters: None,
            },
            hashed_message: OctetString::new(digest).map_err(made)?,
        },
        nonce: nonce.transpose().map_err(made)?.map(Int::from),
        certificate: json.certificates,
    })
}

/// A known hash, without parameters or with NULL, and a digest of its length.
fn check_imprint(imprint: &MessageImprint) -> Result<(), RekorError> {
    let len = match imprint.hash_algorithm.oid {
        SHA256 => 32,
        SHA384 => 48,
        SHA512 => 64,
        _ => return Err(unknown_hash()),
    };
    let parameters = imprint.hash_algorithm.parameters.as_ref();
    if parameters.is_some_and(|any| any.to_der().ok().as_deref() != Some(&[5, 0])) {
        return Err(bad("the hash has parameters"));
    }
    if imprint.hashed_message.as_bytes().len() != len {
        return Err(bad(&format!("a digest of this hash has {len} bytes")));
    }
    Ok(())
}

fn check_policy(asked: Option<ObjectIdentifier>) -> Result<(), RekorError> {
    match asked {
        Some(policy) if policy != POLICY => Err(other_policy()),
        _ => Ok(()),
    }
}

fn unknown_hash() -> RekorError {
    bad("unknown hash: expected SHA-256, SHA-384 or SHA-512")
}

fn other_policy() -> RekorError {
    bad(&format!("the policy must be {POLICY}, or none"))
}

pub(super) fn bad(why: &str) -> RekorError {
    RekorError::Timestamp(why.chars().take(300).collect())
}
