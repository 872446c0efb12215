//! The JSON of bundles, v0.1 to v0.3. Unknown and doubled fields are refused.

use serde::Deserialize;

use crate::encoding::{Base64, Base64Digest, Number};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BundleJson {
    pub(crate) media_type: String,
    pub(crate) verification_material: MaterialJson,
    pub(crate) message_signature: Option<MessageJson>,
    pub(crate) dsse_envelope: Option<EnvelopeJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MessageJson {
    pub(crate) message_digest: Option<MessageDigestJson>,
    pub(crate) signature: Base64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessageDigestJson {
    pub(crate) algorithm: String,
    pub(crate) digest: Base64Digest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EnvelopeJson {
    pub(crate) payload: Base64,
    pub(crate) payload_type: String,
    pub(crate) signatures: Vec<SignatureJson>,
}

/// The key id is unauthenticated and decides nothing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignatureJson {
    #[serde(default, rename = "keyid")]
    _keyid: Option<String>,
    pub(crate) sig: Base64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MaterialJson {
    pub(crate) certificate: Option<RawJson>,
    pub(crate) x509_certificate_chain: Option<ChainJson>,
    pub(crate) public_key: Option<HintJson>,
    #[serde(default)]
    pub(crate) tlog_entries: Vec<EntryJson>,
    pub(crate) timestamp_verification_data: Option<TokensJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RawJson {
    pub(crate) raw_bytes: Base64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChainJson {
    pub(crate) certificates: Vec<RawJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HintJson {
    #[serde(default)]
    pub(crate) hint: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TokensJson {
    pub(crate) rfc3161_timestamps: Option<Vec<TokenJson>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TokenJson {
    pub(crate) signed_timestamp: Base64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EntryJson {
    #[serde(default)]
    pub(crate) log_index: Number,
    pub(crate) log_id: LogIdJson,
    pub(crate) kind_version: KindJson,
    pub(crate) integrated_time: Option<Number>,
    pub(crate) inclusion_promise: Option<PromiseJson>,
    pub(crate) inclusion_proof: Option<ProofJson>,
    pub(crate) canonicalized_body: Base64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LogIdJson {
    pub(crate) key_id: Base64Digest,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KindJson {
    pub(crate) kind: String,
    pub(crate) version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PromiseJson {
    pub(crate) signed_entry_timestamp: Base64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProofJson {
    #[serde(default)]
    pub(crate) log_index: Number,
    pub(crate) root_hash: Base64Digest,
    pub(crate) tree_size: Number,
    #[serde(default)]
    pub(crate) hashes: Vec<Base64Digest>,
    pub(crate) checkpoint: Option<NoteJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteJson {
    pub(crate) envelope: String,
}
