//! General Sigstore bundles, for other people's tools: a token of a time stamp authority beside the
//! log entry, and a certificate in place of a managed key.
//!
//! Only written here. What Siegel itself decides by is [`crate::Bundle`], which has neither: the
//! strict check parses no CMS and no X.509 (I16).

use serde::Serialize;
use siegel_ident::json;

use crate::bundle::MEDIA_TYPE;
use crate::dsse::{Envelope, EnvelopeJson};
use crate::encoding::b64;
use crate::error::ProofError;
use crate::hashedrekord::Verifier;
use crate::tlog_entry::{TlogEntry, TlogEntryJson};

/// A Sigstore bundle v0.3 with all that other verifiers may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneralBundle {
    /// The signed statement.
    pub envelope: Envelope,
    /// What the log entry names: a managed key goes in as its hint, a certificate whole.
    pub verifier: Verifier,
    /// The one log entry.
    pub entry: TlogEntry,
    /// RFC 3161 replies over the envelope's signature bytes, in DER.
    pub timestamps: Vec<Vec<u8>>,
}

impl GeneralBundle {
    /// Writes canonical JSON.
    ///
    /// # Errors
    /// [`ProofError::Json`] cannot occur for this shape, but the writer may say so.
    pub fn to_json(&self) -> Result<Vec<u8>, ProofError> {
        let (mut certificate, mut public_key) = (None, None);
        match &self.verifier {
            Verifier::Key(key) => public_key = Some(HintJson { hint: key.hint() }),
            Verifier::Certificate(der) => {
                certificate = Some(RawJson {
                    raw_bytes: b64(der),
                })
            }
        }
        let token = |reply: &Vec<u8>| TokenJson {
            signed_timestamp: b64(reply),
        };
        let tokens: Vec<_> = self.timestamps.iter().map(token).collect();
        let timestamps = (!tokens.is_empty()).then_some(TimestampsJson {
            rfc3161_timestamps: tokens,
        });
        json::to_canonical(&BundleJson {
            dsse_envelope: EnvelopeJson::from(&self.envelope),
            media_type: MEDIA_TYPE,
            verification_material: MaterialJson {
                certificate,
                public_key,
                timestamp_verification_data: timestamps,
                tlog_entries: [TlogEntryJson::from(&self.entry)],
            },
        })
        .map_err(ProofError::json("bundle"))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BundleJson {
    dsse_envelope: EnvelopeJson,
    media_type: &'static str,
    verification_material: MaterialJson,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MaterialJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    public_key: Option<HintJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp_verification_data: Option<TimestampsJson>,
    tlog_entries: [TlogEntryJson; 1],
}

#[derive(Serialize)]
struct HintJson {
    hint: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RawJson {
    raw_bytes: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TimestampsJson {
    rfc3161_timestamps: Vec<TokenJson>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TokenJson {
    signed_timestamp: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestLog, TestSigner};
    use crate::{Bundle, HashedRekord, Statement, predicate};

    fn signed() -> (TestSigner, Envelope) {
        let signer = TestSigner::generate().unwrap();
        let statement = Statement::about("policy/demo", b"x", predicate::POLICY);
        let envelope = signer.sign(statement.to_bytes().unwrap()).unwrap();
        (signer, envelope)
    }

    /// Catches: two writers of one shape that drift apart.
    #[test]
    fn without_a_token_it_is_the_strict_bundle() {
        let (signer, envelope) = signed();
        let verifier = Verifier::Key(signer.key());
        let record = HashedRekord::of(&envelope, &signer.key());
        let entry = TestLog::new("log.example.test", [1; 32]).append(record.canonical_body());
        let strict = Bundle::new(envelope.clone(), &signer.key(), entry.clone());
        let mut general = GeneralBundle {
            envelope,
            verifier,
            entry,
            timestamps: Vec::new(),
        };
        assert_eq!(general.to_json().unwrap(), strict.to_json().unwrap());
        general.timestamps.push(vec![1, 2, 3]);
        let written = general.to_json().unwrap();
        assert!(
            Bundle::parse(&written).is_err(),
            "no strict reader takes a token"
        );
        let json: serde_json::Value = serde_json::from_slice(&written).unwrap();
        let material = &json["verificationMaterial"];
        let tokens = &material["timestampVerificationData"]["rfc3161Timestamps"];
        assert_eq!(tokens[0]["signedTimestamp"], "AQID");
    }

    #[test]
    fn a_certificate_stands_in_place_of_the_hint() {
        let (_, envelope) = signed();
        let verifier = Verifier::Certificate(vec![0x30, 0]);
        let record = HashedRekord::of_verifier(&envelope, verifier.clone());
        let entry = TestLog::new("log.example.test", [1; 32]).append(record.canonical_body());
        let general = GeneralBundle {
            envelope,
            verifier,
            entry,
            timestamps: Vec::new(),
        };
        let written = general.to_json().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&written).unwrap();
        let material = &json["verificationMaterial"];
        assert_eq!(material["certificate"]["rawBytes"], "MAA=");
        assert!(material.get("publicKey").is_none());
        assert!(
            Bundle::parse(&written).is_err(),
            "no strict reader takes a certificate"
        );
    }
}
