//! A log entry with its proof, as the log answers it and as a bundle carries it.

use serde::{Deserialize, Serialize};
use siegel_ident::Digest;
use siegel_ident::json::{self, JsonError};

use crate::encoding::{base64_bytes, base64_digest, base64_digests, decimal_u64};
use crate::error::{ProofError, bounded};
use crate::hashedrekord::{KIND, MAX_BODY, VERSION};

/// Longest answer of a log that is read, in bytes.
pub const MAX_ENTRY: usize = 32 * 1024;
/// Most hashes in an inclusion proof: one per level of a 64-bit tree.
pub const MAX_PATH: usize = 64;

/// `TransparencyLogEntry` of a Rekor v2 log. Parsed, not verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlogEntry {
    /// Index of the entry in the log.
    pub log_index: u64,
    /// The log's 32-byte id.
    pub log_id: Digest,
    /// The proof of inclusion.
    pub proof: InclusionProof,
    /// The body whose leaf hash the tree holds.
    pub canonicalized_body: Vec<u8>,
}

/// An inclusion proof and the checkpoint that it leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InclusionProof {
    checkpoint: CheckpointJson,
    /// Siblings, lowest first.
    #[serde(with = "base64_digests")]
    pub hashes: Vec<Digest>,
    /// Index of the leaf.
    #[serde(with = "decimal_u64")]
    pub log_index: u64,
    /// Root of the tree.
    #[serde(with = "base64_digest")]
    pub root_hash: Digest,
    /// Number of leaves of the tree.
    #[serde(with = "decimal_u64")]
    pub tree_size: u64,
}

impl InclusionProof {
    /// A proof for `checkpoint`, a signed note of exactly that size and root.
    pub fn new(
        log_index: u64,
        tree_size: u64,
        root_hash: Digest,
        hashes: Vec<Digest>,
        checkpoint: String,
    ) -> Self {
        let checkpoint = CheckpointJson {
            envelope: checkpoint,
        };
        Self {
            checkpoint,
            hashes,
            log_index,
            root_hash,
            tree_size,
        }
    }

    /// The signed note.
    pub fn checkpoint(&self) -> &str {
        &self.checkpoint.envelope
    }
}

impl TlogEntry {
    /// Reads the answer of a log: protobuf JSON in any member order, with the members that an
    /// `EmitUnpopulated` server adds, and no others.
    ///
    /// # Errors
    /// [`ProofError`]: shape, bounds, another kind or version, a signed timestamp or integration
    /// time (Rekor v2 has neither).
    pub fn parse_answer(bytes: &[u8]) -> Result<Self, ProofError> {
        bounded("log entry answer", bytes, MAX_ENTRY)?;
        let json: TlogEntryJson = serde_json::from_slice(bytes)
            .map_err(|e| ProofError::json("log entry answer")(JsonError::Shape(e)))?;
        json.try_into()
    }

    /// Writes it as a Rekor v2 server does, with the unpopulated members.
    ///
    /// # Errors
    /// [`ProofError::Json`] cannot occur for this shape, but the writer may say so.
    pub fn to_answer(&self) -> Result<Vec<u8>, ProofError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer {
            #[serde(flatten)]
            entry: TlogEntryJson,
            integrated_time: &'static str,
            inclusion_promise: Option<()>,
        }
        let entry = TlogEntryJson::from(self);
        json::to_canonical(&Answer {
            entry,
            integrated_time: "0",
            inclusion_promise: None,
        })
        .map_err(ProofError::json("log entry answer"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointJson {
    envelope: String,
}

/// The entry as JSON. The optional members are read only to be refused.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TlogEntryJson {
    #[serde(with = "base64_bytes")]
    canonicalized_body: Vec<u8>,
    #[serde(default, skip_serializing)]
    inclusion_promise: Option<serde_json::Value>,
    inclusion_proof: InclusionProof,
    #[serde(default, skip_serializing)]
    integrated_time: Option<String>,
    kind_version: KindVersionJson,
    log_id: LogIdJson,
    #[serde(with = "decimal_u64")]
    log_index: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KindVersionJson {
    kind: String,
    version: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LogIdJson {
    #[serde(with = "base64_digest")]
    key_id: Digest,
}

impl From<&TlogEntry> for TlogEntryJson {
    fn from(entry: &TlogEntry) -> Self {
        Self {
            canonicalized_body: entry.canonicalized_body.clone(),
            inclusion_promise: None,
            inclusion_proof: entry.proof.clone(),
            integrated_time: None,
            kind_version: KindVersionJson {
                kind: KIND.to_owned(),
                version: VERSION.to_owned(),
            },
            log_id: LogIdJson {
                key_id: entry.log_id,
            },
            log_index: entry.log_index,
        }
    }
}

impl TryFrom<TlogEntryJson> for TlogEntry {
    type Error = ProofError;

    fn try_from(json: TlogEntryJson) -> Result<Self, ProofError> {
        if json.kind_version.kind != KIND {
            return Err(ProofError::field(
                "kindVersion.kind",
                KIND,
                &json.kind_version.kind,
            ));
        }
        if json.kind_version.version != VERSION {
            let found = &json.kind_version.version;
            return Err(ProofError::field("kindVersion.version", VERSION, found));
        }
        if json.inclusion_promise.is_some() {
            return Err(ProofError::field("inclusionPromise", "null", "a promise"));
        }
        if let Some(time) = json.integrated_time.filter(|time| time != "0") {
            return Err(ProofError::field("integratedTime", "0", &time));
        }
        bounded("log entry", &json.canonicalized_body, MAX_BODY)?;
        if json.inclusion_proof.hashes.len() > MAX_PATH {
            let (len, max) = (json.inclusion_proof.hashes.len(), MAX_PATH);
            return Err(ProofError::TooLong {
                what: "inclusion proof (hashes)",
                len,
                max,
            });
        }
        Ok(Self {
            log_index: json.log_index,
            log_id: json.log_id.key_id,
            proof: json.inclusion_proof,
            canonicalized_body: json.canonicalized_body,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestLog;

    /// Catches: members of Rekor v1 that nobody verifies, taken from a log's answer.
    #[test]
    fn an_answer_has_no_unverified_members() {
        let entry = TestLog::new("log.example.test", [1; 32]).append(vec![7; 30]);
        let good = String::from_utf8(entry.to_answer().unwrap()).unwrap();
        assert_eq!(TlogEntry::parse_answer(good.as_bytes()).unwrap(), entry);
        let long = "A".repeat(MAX_ENTRY);
        let hash = siegel_ident::Digest::of(b"").as_bytes().to_vec();
        let path = vec![format!("\"{}\"", crate::encoding::b64(&hash)); MAX_PATH + 1].join(",");
        for (from, to) in [
            (
                "\"inclusionPromise\":null",
                "\"inclusionPromise\":{\"signedEntryTimestamp\":\"AA==\"}",
            ),
            (
                "\"integratedTime\":\"0\"",
                "\"integratedTime\":\"1700000000\"",
            ),
            ("\"kind\":\"hashedrekord\"", "\"kind\":\"dsse\""),
            ("\"version\":\"0.0.2\"", "\"version\":\"0.0.1\""),
            ("{\"canon", "{\"extra\":1,\"canon"),
            ("\"logIndex\":\"0\"", "\"logIndex\":\"00\""),
            ("\"hashes\":[]", &format!("\"hashes\":[{path}]")),
            (
                "\"canonicalizedBody\":\"",
                &format!("\"canonicalizedBody\":\"{long}"),
            ),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good, "{from}");
            assert!(TlogEntry::parse_answer(bad.as_bytes()).is_err(), "{from}");
        }
    }
}
