//! Any Sigstore bundle, v0.1 to v0.3: read into types, nothing verified.

use siegel_ident::Digest;

use crate::error::{BundleError, bounded};
use crate::wire::{
    BundleJson, ChainJson, EntryJson, EnvelopeJson, HintJson, KindJson, MessageJson, ProofJson,
    RawJson,
};

/// Longest bundle that is read, in bytes. Those of real logs have about 10 KiB.
pub const MAX_BUNDLE: usize = 1 << 20;
/// Most certificates in a chain.
const MAX_CHAIN: usize = 8;
/// Most timestamp tokens.
const MAX_TOKENS: usize = 8;
/// Most hashes in an inclusion proof: one per level of a 64-bit tree.
const MAX_PATH: usize = 64;
/// Longest entry body, in bytes: what an entry bundle of a tiled log can hold.
const MAX_BODY: usize = 65_535;

/// A bundle, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Media type version.
    pub version: Version,
    /// What was signed, and the signature.
    pub content: Content,
    /// Who signed it.
    pub material: Material,
    /// The one log entry.
    pub entry: Entry,
    /// RFC 3161 timestamp tokens, DER.
    pub tokens: Vec<Vec<u8>>,
}

/// The version of the bundle's media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 0.1: the log's promise is enough.
    V01,
    /// 0.2: an inclusion proof must be there.
    V02,
    /// 0.3: one certificate instead of a chain.
    V03,
}

/// What was signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The artifact itself.
    Message {
        /// SHA-256 of the artifact, as the bundle states it.
        digest: Option<Digest>,
        /// The signature.
        signature: Vec<u8>,
    },
    /// A statement in a DSSE envelope.
    Envelope {
        /// Type of the payload.
        payload_type: String,
        /// The exact bytes of the statement.
        payload: Vec<u8>,
        /// The one signature, over the PAE.
        signature: Vec<u8>,
    },
}

impl Content {
    /// The signature.
    pub fn signature(&self) -> &[u8] {
        match self {
            Self::Message { signature, .. } | Self::Envelope { signature, .. } => signature,
        }
    }
}

/// Who signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Material {
    /// A certificate (DER); intermediates after it are left to the second opinion.
    Certificate(Vec<u8>),
    /// A managed key, by a hint.
    Key {
        /// What the bundle says of the key; often base64(SHA-256(SPKI DER)).
        hint: String,
    },
}

/// A log entry of any supported kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Index in the log; for Rekor v1 over all its shards.
    pub log_index: u64,
    /// The log's 32-byte id.
    pub log_id: Digest,
    /// Kind and version.
    pub kind: Kind,
    /// When Rekor v1 says it took it in, in unix seconds.
    pub integrated_time: Option<u64>,
    /// Rekor v1's signed entry timestamp.
    pub promise: Option<Vec<u8>>,
    /// The inclusion proof.
    pub proof: Option<Proof>,
    /// The body whose leaf hash the tree holds.
    pub body: Vec<u8>,
}

/// Kind and version of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rekor v2.
    HashedRekord002,
    /// Rekor v1.
    HashedRekord001,
    /// Rekor v1.
    Dsse001,
    /// Rekor v1.
    Intoto002,
}

impl Kind {
    /// True for an entry of Rekor v2, which has neither promise nor time.
    pub fn is_v2(self) -> bool {
        self == Self::HashedRekord002
    }
}

/// An inclusion proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Index of the leaf in its tree.
    pub log_index: u64,
    /// Number of leaves of the tree.
    pub tree_size: u64,
    /// Root of the tree.
    pub root_hash: Digest,
    /// Siblings, lowest first.
    pub hashes: Vec<Digest>,
    /// The signed note.
    pub checkpoint: String,
}

impl Bundle {
    /// Reads a bundle.
    ///
    /// # Errors
    /// [`BundleError`]: too long, not JSON of a bundle's shape (unknown and doubled fields count),
    /// an unknown media type or entry kind, not exactly one log entry, not exactly one signature.
    pub fn parse(bytes: &[u8]) -> Result<Self, BundleError> {
        bounded("bundle", bytes.len(), MAX_BUNDLE)?;
        let json: BundleJson =
            serde_json::from_slice(bytes).map_err(BundleError::json("bundle"))?;
        let version = version(&json.media_type)?;
        let material = json.verification_material;
        let tokens = material.timestamp_verification_data.unwrap_or_default();
        let tokens = tokens.rfc3161_timestamps.unwrap_or_default();
        bounded("timestampVerificationData", tokens.len(), MAX_TOKENS)?;
        let at = "verificationMaterial.tlogEntries";
        let entry = one(at, material.tlog_entries)?;
        Ok(Self {
            version,
            content: content(json.message_signature, json.dsse_envelope)?,
            material: signer(
                version,
                material.certificate,
                material.x509_certificate_chain,
                material.public_key,
            )?,
            entry: entry.try_into()?,
            tokens: tokens
                .into_iter()
                .map(|token| token.signed_timestamp.0)
                .collect(),
        })
    }
}

fn version(media_type: &str) -> Result<Version, BundleError> {
    Ok(match media_type {
        "application/vnd.dev.sigstore.bundle+json;version=0.1" => Version::V01,
        "application/vnd.dev.sigstore.bundle+json;version=0.2" => Version::V02,
        "application/vnd.dev.sigstore.bundle+json;version=0.3"
        | "application/vnd.dev.sigstore.bundle.v0.3+json" => Version::V03,
        other => {
            let expected = "application/vnd.dev.sigstore.bundle.v0.3+json, or an older one";
            return Err(BundleError::field("mediaType", expected, other));
        }
    })
}

fn content(
    message: Option<MessageJson>,
    envelope: Option<EnvelopeJson>,
) -> Result<Content, BundleError> {
    match (message, envelope) {
        (Some(message), None) => {
            if let Some(digest) = &message.message_digest
                && digest.algorithm != "SHA2_256"
            {
                let at = "messageSignature.messageDigest.algorithm";
                return Err(BundleError::field(at, "SHA2_256", &digest.algorithm));
            }
            Ok(Content::Message {
                digest: message.message_digest.map(|digest| digest.digest.0),
                signature: message.signature.0,
            })
        }
        (None, Some(envelope)) => Ok(Content::Envelope {
            payload_type: envelope.payload_type,
            payload: envelope.payload.0,
            signature: one("dsseEnvelope.signatures", envelope.signatures)?.sig.0,
        }),
        (message, _) => Err(BundleError::NotOne {
            at: "messageSignature or dsseEnvelope",
            found: usize::from(message.is_some()) * 2,
        }),
    }
}

fn signer(
    version: Version,
    certificate: Option<RawJson>,
    chain: Option<ChainJson>,
    key: Option<HintJson>,
) -> Result<Material, BundleError> {
    match (certificate, chain, key) {
        (Some(certificate), None, None) => Ok(Material::Certificate(certificate.raw_bytes.0)),
        (None, None, Some(key)) => Ok(Material::Key { hint: key.hint }),
        (None, Some(chain), None) if version < Version::V03 => {
            bounded("x509CertificateChain", chain.certificates.len(), MAX_CHAIN)?;
            let first = chain.certificates.into_iter().next();
            let first =
                first.ok_or(BundleError::Missing("x509CertificateChain.certificates[0]"))?;
            Ok(Material::Certificate(first.raw_bytes.0))
        }
        (None, None, None) => Err(BundleError::Missing("certificate or public key")),
        _ => Err(BundleError::Signer(
            "expected one of certificate, publicKey and, before v0.3, x509CertificateChain",
        )),
    }
}

fn one<T>(at: &'static str, list: Vec<T>) -> Result<T, BundleError> {
    let found = list.len();
    match <[T; 1]>::try_from(list) {
        Ok([item]) => Ok(item),
        Err(_) => Err(BundleError::NotOne { at, found }),
    }
}

impl TryFrom<EntryJson> for Entry {
    type Error = BundleError;

    fn try_from(json: EntryJson) -> Result<Self, BundleError> {
        let KindJson { kind, version } = json.kind_version;
        let kind = match (kind.as_str(), version.as_str()) {
            ("hashedrekord", "0.0.2") => Kind::HashedRekord002,
            ("hashedrekord", "0.0.1") => Kind::HashedRekord001,
            ("dsse", "0.0.1") => Kind::Dsse001,
            ("intoto", "0.0.2") => Kind::Intoto002,
            _ => {
                let expected = "hashedrekord 0.0.2 or 0.0.1, dsse 0.0.1 or intoto 0.0.2";
                let found = format!("{kind} {version}");
                return Err(BundleError::field("kindVersion", expected, &found));
            }
        };
        let body = json.canonicalized_body.0;
        bounded("canonicalizedBody", body.len(), MAX_BODY)?;
        Ok(Self {
            log_index: json.log_index.0,
            log_id: json.log_id.key_id.0,
            kind,
            integrated_time: json.integrated_time.map(|t| t.0).filter(|t| *t != 0),
            promise: json.inclusion_promise.map(|p| p.signed_entry_timestamp.0),
            proof: json.inclusion_proof.map(Proof::try_from).transpose()?,
            body,
        })
    }
}

impl TryFrom<ProofJson> for Proof {
    type Error = BundleError;

    fn try_from(json: ProofJson) -> Result<Self, BundleError> {
        bounded("inclusionProof.hashes", json.hashes.len(), MAX_PATH)?;
        let checkpoint = json.checkpoint.map(|note| note.envelope);
        Ok(Self {
            log_index: json.log_index.0,
            tree_size: json.tree_size.0,
            root_hash: json.root_hash.0,
            hashes: json.hashes.into_iter().map(|hash| hash.0).collect(),
            checkpoint: checkpoint.ok_or(BundleError::Missing("inclusionProof.checkpoint"))?,
        })
    }
}
