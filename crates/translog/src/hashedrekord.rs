//! The one entry kind of Rekor v2: `hashedrekord 0.0.2`, digest and signature and key.

use serde::Deserialize;
use siegel_ident::Digest;
use siegel_ident::json::JsonError;

use crate::dsse::{Envelope, MAX_SIGNATURE};
use crate::encoding::{b64, base64_bytes, base64_digest};
use crate::error::{ProofError, bounded};
use crate::key::SpkiKey;
use crate::merkle::leaf_hash;

/// Entry kind.
pub const KIND: &str = "hashedrekord";
/// Entry version.
pub const VERSION: &str = "0.0.2";
/// Longest canonical body that is read, in bytes (tiles allow 65,535).
pub const MAX_BODY: usize = 4096;
const KEY_DETAILS: &str = "PKIX_ECDSA_P256_SHA_256";
const DATA_ALGORITHM: &str = "SHA2_256";

/// A log entry: the signer of `key` signed bytes with SHA-256 `digest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashedRekord {
    /// SHA-256 of the signed bytes (for DSSE: of the PAE).
    pub digest: Digest,
    /// ASN.1 DER ECDSA signature.
    pub signature: Vec<u8>,
    /// The signer.
    pub key: SpkiKey,
}

impl HashedRekord {
    /// The entry of a DSSE envelope.
    pub fn of(envelope: &Envelope, key: &SpkiKey) -> Self {
        Self {
            digest: envelope.pae_digest(),
            signature: envelope.signature.clone(),
            key: *key,
        }
    }

    /// The canonical body (RFC 8785): what the log hashes. The values are base64 and constants,
    /// so none needs an escape, and the members stand in their sorted order.
    pub fn canonical_body(&self) -> Vec<u8> {
        format!(
            "{{\"apiVersion\":\"{VERSION}\",\"kind\":\"{KIND}\",\"spec\":{{\"hashedRekordV002\":\
             {{\"data\":{{\"algorithm\":\"{DATA_ALGORITHM}\",\"digest\":\"{}\"}},\"signature\":\
             {{\"content\":\"{}\",\"verifier\":{{\"keyDetails\":\"{KEY_DETAILS}\",\"publicKey\":\
             {{\"rawBytes\":\"{}\"}}}}}}}}}}}}",
            b64(self.digest.as_bytes()),
            b64(&self.signature),
            b64(&self.key.spki_der()),
        )
        .into_bytes()
    }

    /// The RFC 6962 leaf hash of the body.
    pub fn leaf(&self) -> Digest {
        leaf_hash(&self.canonical_body())
    }

    /// Reads a canonical body.
    ///
    /// # Errors
    /// [`ProofError`] unless rebuilding it from the three values gives the same bytes.
    pub fn parse(body: &[u8]) -> Result<Self, ProofError> {
        bounded("log entry", body, MAX_BODY)?;
        let json: BodyJson = serde_json::from_slice(body)
            .map_err(|e| ProofError::json("log entry")(JsonError::Shape(e)))?;
        let spec = json.spec.hashed_rekord_v002;
        let record = Self::from_parts(spec.data, spec.signature)?;
        same_entry(&record.canonical_body(), body)?;
        Ok(record)
    }

    /// The body of `POST /api/v2/log/entries`.
    pub fn request_json(&self) -> Vec<u8> {
        format!(
            "{{\"hashedRekordRequestV002\":{{\"digest\":\"{}\",\"signature\":{{\"content\":\"{}\",\
             \"verifier\":{{\"keyDetails\":\"{KEY_DETAILS}\",\"publicKey\":{{\"rawBytes\":\"{}\"\
             }}}}}}}}}}",
            b64(self.digest.as_bytes()),
            b64(&self.signature),
            b64(&self.key.spki_der()),
        )
        .into_bytes()
    }

    fn from_parts(data: DataJson, signature: SignatureJson) -> Result<Self, ProofError> {
        bounded(
            "signature in the log entry",
            &signature.content,
            MAX_SIGNATURE,
        )?;
        Ok(Self {
            digest: data.digest,
            signature: signature.content,
            key: SpkiKey::from_spki_der(&signature.verifier.public_key.raw_bytes)?,
        })
    }
}

/// Compares entry bodies byte for byte: this pins kind, version, key details, digest, signature
/// and key at once, whatever a parser might overlook.
pub(crate) fn same_entry(rebuilt: &[u8], logged: &[u8]) -> Result<(), ProofError> {
    if rebuilt == logged {
        return Ok(());
    }
    let at = rebuilt
        .iter()
        .zip(logged)
        .take_while(|(a, b)| a == b)
        .count();
    Err(ProofError::OtherEntry { at })
}

// Only the varying members are read; the comparison above checks all the others.
#[derive(Deserialize)]
struct BodyJson {
    spec: SpecJson,
}

#[derive(Deserialize)]
struct SpecJson {
    #[serde(rename = "hashedRekordV002")]
    hashed_rekord_v002: RecordJson,
}

#[derive(Deserialize)]
struct RecordJson {
    data: DataJson,
    signature: SignatureJson,
}

#[derive(Deserialize)]
struct DataJson {
    #[serde(with = "base64_digest")]
    digest: Digest,
}

#[derive(Deserialize)]
struct SignatureJson {
    #[serde(with = "base64_bytes")]
    content: Vec<u8>,
    verifier: VerifierJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VerifierJson {
    public_key: RawKeyJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawKeyJson {
    #[serde(with = "base64_bytes")]
    raw_bytes: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> HashedRekord {
        let mut point = [9; 65];
        point[0] = 4;
        let key = SpkiKey::from_point(&point).unwrap();
        HashedRekord {
            digest: Digest::of(b"x"),
            signature: vec![0xff; 70],
            key,
        }
    }

    /// Catches: a body writer that is not RFC 8785.
    #[test]
    fn the_body_is_canonical_json() {
        let body = record().canonical_body();
        let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(siegel_ident::json::to_canonical(&value).unwrap(), body);
        assert_eq!(HashedRekord::parse(&body).unwrap(), record());
        assert!(body.len() < MAX_BODY / 2);
    }

    #[test]
    fn no_other_spelling_parses() {
        let body = record().canonical_body();
        for at in 0..body.len() {
            let mut other = body.clone();
            other[at] ^= 1;
            // A flip inside a value may give another entry, never this one.
            assert!(
                !HashedRekord::parse(&other).is_ok_and(|r| r == record()),
                "byte {at}"
            );
        }
        let text = String::from_utf8(body).unwrap();
        for (from, to) in [
            ("0.0.2", "0.0.1"),
            ("SHA2_256\",", "SHA2_512\","),
            ("P256", "P384"),
        ] {
            assert!(
                HashedRekord::parse(text.replacen(from, to, 1).as_bytes()).is_err(),
                "{from}"
            );
        }
        assert!(HashedRekord::parse(format!("{text} ").as_bytes()).is_err());
    }
}
