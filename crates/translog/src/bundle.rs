//! Sigstore bundle v0.3: envelope, key hint and one log entry in one JSON document.

use serde::{Deserialize, Serialize};
use siegel_ident::json::{self, JsonError};

use crate::dsse::{Envelope, EnvelopeJson};
use crate::error::{ProofError, bounded};
use crate::key::SpkiKey;
use crate::tlog_entry::{TlogEntry, TlogEntryJson};

/// The only media type that is read or written.
pub const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// Longest bundle that is read, in bytes.
pub const MAX_BUNDLE: usize = 64 * 1024;

/// A bundle with a managed key, parsed, not verified: see [`crate::verify_logged`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The signed statement.
    pub envelope: Envelope,
    /// Names the signer: base64(SHA-256(SPKI DER)).
    pub hint: String,
    /// The one log entry.
    pub entry: TlogEntry,
}

impl Bundle {
    /// Joins what was signed with what the log answered.
    pub fn new(envelope: Envelope, key: &SpkiKey, entry: TlogEntry) -> Self {
        Self {
            envelope,
            hint: key.hint(),
            entry,
        }
    }

    /// Writes canonical JSON.
    ///
    /// # Errors
    /// [`ProofError::Json`] cannot occur for this shape, but the writer may say so.
    pub fn to_json(&self) -> Result<Vec<u8>, ProofError> {
        json::to_canonical(&BundleJson {
            dsse_envelope: EnvelopeJson::from(&self.envelope),
            media_type: MEDIA_TYPE.to_owned(),
            verification_material: MaterialJson {
                public_key: HintJson {
                    hint: self.hint.clone(),
                },
                tlog_entries: vec![TlogEntryJson::from(&self.entry)],
            },
        })
        .map_err(ProofError::json("bundle"))
    }

    /// Reads canonical JSON: one bundle has one spelling, so no byte of it is unchecked.
    ///
    /// # Errors
    /// [`ProofError`]: too long, unknown or missing fields, not canonical, another media type,
    /// not exactly one log entry, not exactly one signature. Certificates and timestamps count as
    /// unknown fields: nothing here verifies them yet.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProofError> {
        json::from_canonical::<BundleJson>(bytes, MAX_BUNDLE)
            .map_err(ProofError::json("bundle"))?
            .try_into()
    }

    /// As [`Self::parse`], but takes any spelling of the same JSON, as other tools write it.
    /// Write it again with [`Self::to_json`] to get the form that [`crate::verify_logged`] takes.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_any_spelling(bytes: &[u8]) -> Result<Self, ProofError> {
        bounded("bundle", bytes, MAX_BUNDLE)?;
        serde_json::from_slice::<BundleJson>(bytes)
            .map_err(|e| ProofError::json("bundle")(JsonError::Shape(e)))?
            .try_into()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BundleJson {
    dsse_envelope: EnvelopeJson,
    media_type: String,
    verification_material: MaterialJson,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MaterialJson {
    public_key: HintJson,
    tlog_entries: Vec<TlogEntryJson>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HintJson {
    hint: String,
}

impl TryFrom<BundleJson> for Bundle {
    type Error = ProofError;

    fn try_from(json: BundleJson) -> Result<Self, ProofError> {
        if json.media_type != MEDIA_TYPE {
            return Err(ProofError::field("mediaType", MEDIA_TYPE, &json.media_type));
        }
        let material = json.verification_material;
        let at = "verificationMaterial.tlogEntries";
        let [entry] = <[TlogEntryJson; 1]>::try_from(material.tlog_entries).map_err(|list| {
            ProofError::NotOne {
                at,
                found: list.len(),
            }
        })?;
        Ok(Self {
            envelope: json.dsse_envelope.try_into()?,
            hint: material.public_key.hint,
            entry: entry.try_into()?,
        })
    }
}
