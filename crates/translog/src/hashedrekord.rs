//! The one entry kind of Rekor v2: `hashedrekord 0.0.2`, digest and signature and verifier.

use serde::Deserialize;
use siegel_ident::Digest;
use siegel_ident::json::JsonError;

use crate::dsse::{Envelope, MAX_SIGNATURE};
use crate::encoding::{b64, base64_bytes, base64_digest, from_b64};
use crate::error::{ProofError, bounded};
use crate::key::SpkiKey;
use crate::merkle::leaf_hash;

/// Entry kind.
pub const KIND: &str = "hashedrekord";
/// Entry version.
pub const VERSION: &str = "0.0.2";
/// Longest canonical body that is read, in bytes (tiles allow 65,535).
pub const MAX_BODY: usize = 12 * 1024;
/// Longest certificate in an entry, DER, in bytes.
pub const MAX_CERTIFICATE: usize = 8 * 1024;
const KEY_DETAILS: &str = "PKIX_ECDSA_P256_SHA_256";
const DATA_ALGORITHM: &str = "SHA2_256";

// The text of a canonical body around its three values.
const BEFORE_DIGEST: &str = r#"{"apiVersion":"0.0.2","kind":"hashedrekord","spec":{"hashedRekordV002":{"data":{"algorithm":"SHA2_256","digest":""#;
const BEFORE_SIGNATURE: &str = r#""},"signature":{"content":""#;
const BEFORE_KEY: &str =
    r#"","verifier":{"keyDetails":"PKIX_ECDSA_P256_SHA_256","publicKey":{"rawBytes":""#;
const AFTER_KEY: &str = r#""}}}}}}"#;
/// Of a digest in base64.
const DIGEST_LEN: usize = 44;

/// A log entry: the holder of the verifier's key signed bytes with SHA-256 `digest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashedRekord {
    /// SHA-256 of the signed bytes (for DSSE: of the PAE).
    pub digest: Digest,
    /// ASN.1 DER ECDSA signature.
    pub signature: Vec<u8>,
    /// What the signature is verified with.
    pub verifier: Verifier,
}

/// What an entry names as its signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verifier {
    /// A managed P-256 key. Policy proofs take nothing else.
    Key(SpkiKey),
    /// An X.509 certificate in DER with a P-256 key. It is carried here, never read: the log that
    /// takes the entry reads it, and so do verifiers of general Sigstore bundles.
    Certificate(Vec<u8>),
}

impl Verifier {
    /// The managed key.
    ///
    /// # Errors
    /// [`ProofError::Key`] for a certificate: who vouches for it is not known here (I1).
    pub fn key(&self) -> Result<&SpkiKey, ProofError> {
        match self {
            Self::Key(key) => Ok(key),
            Self::Certificate(_) => Err(ProofError::Key(
                "expected a managed key; the entry names a certificate",
            )),
        }
    }

    /// The one member of `verifier` beside `keyDetails`. It sorts behind it in both cases.
    fn json(&self) -> String {
        let (name, der) = match self {
            Self::Key(key) => ("publicKey", b64(&key.spki_der())),
            Self::Certificate(der) => ("x509Certificate", b64(der)),
        };
        format!("\"{name}\":{{\"rawBytes\":\"{der}\"}}")
    }
}

impl HashedRekord {
    /// The entry of a DSSE envelope under a managed key.
    pub fn of(envelope: &Envelope, key: &SpkiKey) -> Self {
        Self::of_verifier(envelope, Verifier::Key(*key))
    }

    /// The entry of a DSSE envelope.
    pub fn of_verifier(envelope: &Envelope, verifier: Verifier) -> Self {
        Self {
            digest: envelope.pae_digest(),
            signature: envelope.signature.clone(),
            verifier,
        }
    }

    /// The canonical body (RFC 8785): what the log hashes. The values are base64 and constants,
    /// so none needs an escape, and the members stand in their sorted order.
    pub fn canonical_body(&self) -> Vec<u8> {
        format!(
            "{{\"apiVersion\":\"{VERSION}\",\"kind\":\"{KIND}\",\"spec\":{{\"hashedRekordV002\":\
             {{\"data\":{{\"algorithm\":\"{DATA_ALGORITHM}\",\"digest\":\"{}\"}},\"signature\":\
             {{\"content\":\"{}\",\"verifier\":{{\"keyDetails\":\"{KEY_DETAILS}\",{}}}}}}}}}}}",
            b64(self.digest.as_bytes()),
            b64(&self.signature),
            self.verifier.json(),
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
    /// [`ProofError`] unless rebuilding it from the three values gives the same bytes (I2).
    pub fn parse(body: &[u8]) -> Result<Self, ProofError> {
        bounded("log entry", body, MAX_BODY)?;
        if let Some(record) = Self::split(body) {
            return Ok(record);
        }
        let json: BodyJson = serde_json::from_slice(body)
            .map_err(|e| ProofError::json("log entry")(JsonError::Shape(e)))?;
        let spec = json.spec.hashed_rekord_v002;
        let record = Self::from_parts(spec.data, spec.signature)?;
        same_entry(&record.canonical_body(), body)?;
        Ok(record)
    }

    /// Reads a body under a managed key by the text between its three values, which are base64: of that
    /// there is one spelling, so the body is what [`Self::canonical_body`] writes for them (I2). `None`
    /// for everything else, good or bad.
    fn split(body: &[u8]) -> Option<Self> {
        let body = body.strip_prefix(BEFORE_DIGEST.as_bytes())?;
        let (digest, body) = body.split_at_checked(DIGEST_LEN)?;
        let body = body.strip_prefix(BEFORE_SIGNATURE.as_bytes())?;
        let end = body.iter().position(|byte| *byte == b'"')?;
        let (signature, body) = body.split_at_checked(end)?;
        let key = body.strip_prefix(BEFORE_KEY.as_bytes())?;
        let key = key.strip_suffix(AFTER_KEY.as_bytes())?;
        let signature = from_b64(signature)?;
        (signature.len() <= MAX_SIGNATURE).then_some(Self {
            digest: Digest::try_from_slice(&from_b64(digest)?)?,
            signature,
            verifier: Verifier::Key(SpkiKey::from_spki_der(&from_b64(key)?).ok()?),
        })
    }

    /// The body of `POST /api/v2/log/entries`.
    pub fn request_json(&self) -> Vec<u8> {
        format!(
            "{{\"hashedRekordRequestV002\":{{\"digest\":\"{}\",\"signature\":{{\"content\":\"{}\",\
             \"verifier\":{{\"keyDetails\":\"{KEY_DETAILS}\",{}}}}}}}}}",
            b64(self.digest.as_bytes()),
            b64(&self.signature),
            self.verifier.json(),
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
            verifier: signature.verifier.try_into()?,
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
    public_key: Option<RawJson>,
    #[serde(rename = "x509Certificate")]
    certificate: Option<RawJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawJson {
    #[serde(with = "base64_bytes")]
    raw_bytes: Vec<u8>,
}

impl TryFrom<VerifierJson> for Verifier {
    type Error = ProofError;

    fn try_from(json: VerifierJson) -> Result<Self, ProofError> {
        match (json.public_key, json.certificate) {
            (Some(key), None) => Ok(Self::Key(SpkiKey::from_spki_der(&key.raw_bytes)?)),
            (None, Some(certificate)) => {
                let what = "certificate in the log entry";
                bounded(what, &certificate.raw_bytes, MAX_CERTIFICATE)?;
                Ok(Self::Certificate(certificate.raw_bytes))
            }
            _ => Err(ProofError::Key("expected a public key or a certificate")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> [HashedRekord; 2] {
        let mut point = [9; 65];
        point[0] = 4;
        let key = SpkiKey::from_point(&point).unwrap();
        [
            Verifier::Key(key),
            Verifier::Certificate(vec![0x30; MAX_CERTIFICATE]),
        ]
        .map(|verifier| HashedRekord {
            digest: Digest::of(b"x"),
            signature: vec![0xff; MAX_SIGNATURE],
            verifier,
        })
    }

    /// Catches: a body writer that is not RFC 8785; bounds that do not fit each other.
    #[test]
    fn the_body_is_canonical_json() {
        for record in records() {
            let body = record.canonical_body();
            let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(siegel_ident::json::to_canonical(&value).unwrap(), body);
            assert_eq!(HashedRekord::parse(&body).unwrap(), record);
            // What the short way reads is what the long way would; it is taken under a key.
            let short = HashedRekord::split(&body);
            assert_eq!(
                short,
                record.verifier.key().is_ok().then_some(record.clone())
            );
            assert!(body.len() < MAX_BODY);
            let request: serde_json::Value =
                serde_json::from_slice(&record.request_json()).unwrap();
            let inner = &request["hashedRekordRequestV002"];
            let logged = &value["spec"]["hashedRekordV002"];
            assert_eq!(inner["digest"], logged["data"]["digest"]);
            assert_eq!(inner["signature"], logged["signature"]);
        }
    }

    /// I2: one spelling per entry. Catches: members that the parser overlooks.
    #[test]
    fn no_other_spelling_parses() {
        for mut record in records() {
            if let Verifier::Certificate(der) = &mut record.verifier {
                der.truncate(100);
            }
            let body = record.canonical_body();
            for at in 0..body.len() {
                let mut other = body.clone();
                other[at] ^= 1;
                // A flip inside a value may give another entry, never this one.
                let read = HashedRekord::parse(&other);
                assert!(!read.as_ref().is_ok_and(|r| *r == record), "byte {at}");
                // And what is read writes these very bytes, whichever way it was read.
                assert!(
                    read.is_ok_and(|r| r.canonical_body() == other)
                        || HashedRekord::split(&other).is_none()
                );
            }
            let text = String::from_utf8(body).unwrap();
            for (from, to) in [
                ("0.0.2", "0.0.1"),
                ("SHA2_256\",", "SHA2_512\","),
                ("P256", "P384"),
                (
                    "\"publicKey\"",
                    "\"x509Certificate\":{\"rawBytes\":\"AA==\"},\"publicKey\"",
                ),
                (
                    "\"x509Certificate\"",
                    "\"publicKey\":{\"rawBytes\":\"AA==\"},\"x509Certificate\"",
                ),
                ("{\"rawBytes\"", "{\"a\":0,\"rawBytes\""),
            ] {
                let other = text.replacen(from, to, 1);
                let same = other == text;
                assert_eq!(
                    HashedRekord::parse(other.as_bytes()).is_ok(),
                    same,
                    "{from}"
                );
            }
            assert!(HashedRekord::parse(format!("{text} ").as_bytes()).is_err());
        }
    }

    /// I1. Catches: a certificate that counts as a managed key; one without a bound.
    #[test]
    fn a_certificate_is_no_managed_key() {
        let [key, certificate] = records();
        assert!(key.verifier.key().is_ok());
        assert!(certificate.verifier.key().is_err());
        let longer = HashedRekord {
            verifier: Verifier::Certificate(vec![0x30; MAX_CERTIFICATE + 1]),
            ..key
        };
        let parsed = HashedRekord::parse(&longer.canonical_body());
        assert!(
            matches!(parsed, Err(ProofError::TooLong { .. })),
            "{parsed:?}"
        );
    }
}
