//! DSSE envelopes with one signature.
//!
//! What is signed is the pre-authentication encoding (PAE): payload type and payload with their
//! lengths. Its digest is what the log holds, so the archive keeps the PAE under that digest and
//! an auditor gets from an entry to the statement.

use serde::{Deserialize, Serialize};
use siegel_ident::{Digest, json};

use crate::encoding::base64_bytes;
use crate::error::{ProofError, bounded};
use crate::key::SpkiKey;

/// The only payload type that is read or written.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// Longest payload (a statement, never the artifact), in bytes.
pub const MAX_PAYLOAD: usize = 8 * 1024;
/// Longest envelope in JSON, in bytes.
pub const MAX_ENVELOPE: usize = 16 * 1024;
/// Longest DER signature over P-256, in bytes.
pub const MAX_SIGNATURE: usize = 72;

/// A payload of type [`PAYLOAD_TYPE`] and one P-256 signature over its PAE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The exact bytes of the statement.
    pub payload: Vec<u8>,
    /// ASN.1 DER ECDSA signature over [`Self::pae`].
    pub signature: Vec<u8>,
}

impl Envelope {
    /// What is signed.
    pub fn pae(&self) -> Vec<u8> {
        pae(&self.payload)
    }

    /// SHA-256 of what is signed: the digest in the log entry.
    pub fn pae_digest(&self) -> Digest {
        Digest::of(&self.pae())
    }

    /// Checks the signature.
    ///
    /// # Errors
    /// [`ProofError::Signature`] if it does not verify under `key`.
    pub fn verify(&self, key: &SpkiKey) -> Result<(), ProofError> {
        key.verify(&self.pae(), &self.signature)
    }

    /// Writes canonical JSON.
    ///
    /// # Errors
    /// [`ProofError::Json`] cannot occur for this shape, but the writer may say so.
    pub fn to_json(&self) -> Result<Vec<u8>, ProofError> {
        json::to_canonical(&EnvelopeJson::from(self)).map_err(ProofError::json("DSSE envelope"))
    }

    /// Reads canonical JSON.
    ///
    /// # Errors
    /// [`ProofError`]: too long, unknown fields, another payload type, a key id, or not exactly
    /// one signature.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProofError> {
        json::from_canonical::<EnvelopeJson>(bytes, MAX_ENVELOPE)
            .map_err(ProofError::json("DSSE envelope"))?
            .try_into()
    }
}

/// `DSSEv1 <len> <type> <len> <payload>` for the in-toto payload type.
pub fn pae(payload: &[u8]) -> Vec<u8> {
    let head = format!(
        "DSSEv1 {} {PAYLOAD_TYPE} {} ",
        PAYLOAD_TYPE.len(),
        payload.len()
    );
    [head.as_bytes(), payload].concat()
}

/// Reads the payload back out of a PAE.
///
/// # Errors
/// [`ProofError::Pae`] unless it is exactly what [`pae`] writes for that payload.
pub fn payload_of_pae(bytes: &[u8]) -> Result<&[u8], ProofError> {
    let head = format!("DSSEv1 {} {PAYLOAD_TYPE} ", PAYLOAD_TYPE.len());
    let rest = bytes.strip_prefix(head.as_bytes()).ok_or(ProofError::Pae(
        "expected version DSSEv1 and the in-toto payload type",
    ))?;
    let space = rest.iter().position(|b| *b == b' ').unwrap_or(rest.len());
    let payload = rest.get(space + 1..).ok_or(ProofError::Pae("no payload"))?;
    bounded("DSSE payload", payload, MAX_PAYLOAD)?;
    if pae(payload) != bytes {
        return Err(ProofError::Pae(
            "the stated payload length is not the length",
        ));
    }
    Ok(payload)
}

/// The envelope as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EnvelopeJson {
    #[serde(with = "base64_bytes")]
    payload: Vec<u8>,
    payload_type: String,
    signatures: Vec<SignatureJson>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignatureJson {
    /// Unauthenticated, so it must be empty; other tools write it so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    keyid: String,
    #[serde(with = "base64_bytes")]
    sig: Vec<u8>,
}

impl From<&Envelope> for EnvelopeJson {
    fn from(envelope: &Envelope) -> Self {
        let signature = SignatureJson {
            keyid: String::new(),
            sig: envelope.signature.clone(),
        };
        Self {
            payload: envelope.payload.clone(),
            payload_type: PAYLOAD_TYPE.to_owned(),
            signatures: vec![signature],
        }
    }
}

impl TryFrom<EnvelopeJson> for Envelope {
    type Error = ProofError;

    fn try_from(json: EnvelopeJson) -> Result<Self, ProofError> {
        if json.payload_type != PAYLOAD_TYPE {
            let at = "dsseEnvelope.payloadType";
            return Err(ProofError::field(at, PAYLOAD_TYPE, &json.payload_type));
        }
        bounded("DSSE payload", &json.payload, MAX_PAYLOAD)?;
        let [signature] =
            <[SignatureJson; 1]>::try_from(json.signatures).map_err(|list| ProofError::NotOne {
                at: "dsseEnvelope.signatures",
                found: list.len(),
            })?;
        bounded("DSSE signature", &signature.sig, MAX_SIGNATURE)?;
        if !signature.keyid.is_empty() {
            let at = "dsseEnvelope.signatures[0].keyid";
            return Err(ProofError::field(at, "", &signature.keyid));
        }
        Ok(Self {
            payload: json.payload,
            signature: signature.sig,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pae_has_the_form_of_the_specification_and_reads_back() {
        let bytes = pae(b"hello world");
        assert_eq!(
            bytes,
            b"DSSEv1 28 application/vnd.in-toto+json 11 hello world"
        );
        assert_eq!(payload_of_pae(&bytes).unwrap(), b"hello world");
        for bad in [
            &b"DSSEv1 28 application/vnd.in-toto+json 10 hello world"[..],
            b"DSSEv1 28 application/vnd.in-toto+json 011 hello world",
            b"DSSEv1 28 application/vnd.in-toto+json 11hello",
            b"DSSEv2 28 application/vnd.in-toto+json 11 hello world",
            b"DSSEv1 9 text/html 11 hello world",
            b"",
        ] {
            assert!(
                payload_of_pae(bad).is_err(),
                "{}",
                String::from_utf8_lossy(bad)
            );
        }
    }

    /// Catches: a second signature that nobody checks, a key id that steers a reader.
    #[test]
    fn exactly_one_signature_and_no_key_id() {
        let envelope = Envelope {
            payload: b"{}".to_vec(),
            signature: vec![1],
        };
        let good = String::from_utf8(envelope.to_json().unwrap()).unwrap();
        assert_eq!(Envelope::parse(good.as_bytes()).unwrap(), envelope);
        let sig = "{\"sig\":\"AQ==\"}";
        for (from, to) in [
            (sig, String::new()),
            (sig, format!("{sig},{sig}")),
            (sig, "{\"keyid\":\"k\",\"sig\":\"AQ==\"}".into()),
            (sig, "{\"keyid\":\"\",\"sig\":\"AQ==\"}".into()),
            ("AQ==", "AR==".into()),
            ("in-toto", "out-toto".into()),
            ("{\"payload\"", "{\"a\":1,\"payload\"".into()),
        ] {
            let bad = good.replacen(from, &to, 1);
            assert_ne!(bad, good);
            assert!(Envelope::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
