//! Our own checks of a general bundle: signature, artifact, and everything about the log.

use serde::Deserialize;
use siegel_ident::{Digest, Timestamp};
use siegel_translog::SpkiKey;
use siegel_translog::merkle::{leaf_hash, verify_inclusion};

use crate::artifact::{Artifact, Signer};
use crate::body::{Verifier, check_body};
use crate::bundle::{Bundle, Content, Entry, Material, Proof, Version};
use crate::certificate::Certificate;
use crate::encoding::from_b64;
use crate::error::BundleError;
use crate::note::verify_note;
use crate::promise::verify_promise;
use crate::signature::p256_over_digest;
use crate::token::Token;
use crate::trusted_root::{Authority, Log, TrustedRoot};

/// The only payload type of an envelope that says which artifact it is about.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// What a verified bundle says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Name of the log.
    pub log: String,
    /// Index of the entry in the log.
    pub log_index: u64,
    /// Number of entries that the checkpoint covers; `None` for a v0.1 bundle with a promise alone.
    pub tree_size: Option<u64>,
    /// SHA-256 of the artifact.
    pub artifact: Digest,
    /// The signer's key.
    pub key: SpkiKey,
    /// Times that the log or timestamp authorities vouch for.
    pub times: Vec<Timestamp>,
}

/// Verifies all but what the second opinion is for: certificate chains and names, and the CMS
/// signatures of tokens. In order:
///
/// 1. the bundle's form: known fields, one log entry, one signature;
/// 2. the signer's key, pinned or of the certificate, and P-256;
/// 3. the artifact, and the signature over it or over the envelope;
/// 4. the entry's body, rebuilt and compared byte for byte;
/// 5. the log: known by id, its promise, its checkpoint under its name and key, index and inclusion;
/// 6. times: not after `now`, inside the validity of certificate, log key and timestamp authority.
///
/// # Errors
/// [`BundleError`] names the first check that failed.
pub fn verify_strict(
    bundle: &[u8],
    artifact: &Artifact<'_>,
    signer: &Signer<'_>,
    root: &TrustedRoot,
    now: Timestamp,
) -> Result<Verified, BundleError> {
    let bundle = Bundle::parse(bundle)?;
    let certificate = match &bundle.material {
        Material::Certificate(der) => Some(Certificate::parse(der)?),
        Material::Key { .. } => None,
    };
    let key = signer_key(&bundle.material, certificate.as_ref(), signer)?;
    let signed = check_content(&bundle.content, artifact, &key)?;
    let verifier = match &bundle.material {
        Material::Certificate(der) => Verifier::Certificate(der),
        Material::Key { .. } => Verifier::Key(&key),
    };
    let entry = &bundle.entry;
    check_body(&entry.body, entry.kind, &bundle.content, &signed, verifier)?;

    let log = root.log(&entry.log_id)?;
    let tree_size = check_inclusion(entry, bundle.version, &log)?;
    let times = check_times(&bundle, certificate.as_ref(), &log, root, now)?;
    Ok(Verified {
        log: log.name,
        log_index: entry.log_index,
        tree_size,
        artifact: artifact.digest(),
        key,
        times,
    })
}

fn signer_key(
    material: &Material,
    certificate: Option<&Certificate<'_>>,
    signer: &Signer<'_>,
) -> Result<SpkiKey, BundleError> {
    match (material, certificate, signer) {
        (Material::Certificate(_), Some(certificate), Signer::Certificate { .. }) => {
            certificate.key()
        }
        (Material::Key { hint }, None, Signer::Key(key)) => {
            // A hint may be any text. One that is a digest is the key's, or the bundle is about
            // another key.
            let is_digest = from_b64(hint).is_some_and(|bytes| bytes.len() == Digest::LEN);
            if is_digest && *hint != key.hint() {
                let at = "verificationMaterial.publicKey.hint";
                return Err(BundleError::field(at, &key.hint(), hint));
            }
            Ok(**key)
        }
        (Material::Certificate(_), _, _) => Err(BundleError::Signer(
            "the bundle has a certificate, but a key was asked for",
        )),
        (Material::Key { .. }, _, _) => Err(BundleError::Signer(
            "the bundle has a managed key, but an identity was asked for",
        )),
    }
}

/// Checks signature and artifact; returns SHA-256 of what was signed.
fn check_content(
    content: &Content,
    artifact: &Artifact<'_>,
    key: &SpkiKey,
) -> Result<Digest, BundleError> {
    let about = artifact.digest();
    match content {
        Content::Message { digest, signature } => {
            if let Some(stated) = digest.filter(|stated| *stated != about) {
                return Err(BundleError::OtherArtifact {
                    stated: stated.to_string(),
                    artifact: about,
                });
            }
            match p256_over_digest(key.point(), about.as_bytes(), signature) {
                true => Ok(about),
                false => Err(BundleError::Signature("artifact")),
            }
        }
        Content::Envelope {
            payload_type,
            payload,
            signature,
        } => {
            if payload_type != PAYLOAD_TYPE {
                let at = "dsseEnvelope.payloadType";
                return Err(BundleError::field(at, PAYLOAD_TYPE, payload_type));
            }
            let pae = siegel_translog::dsse::pae(payload);
            key.verify(&pae, signature)
                .map_err(|_| BundleError::Signature("envelope"))?;
            check_subject(payload, about)?;
            Ok(Digest::of(&pae))
        }
    }
}

#[derive(Deserialize)]
struct StatementJson {
    #[serde(rename = "_type")]
    type_: String,
    subject: Vec<SubjectJson>,
}

#[derive(Deserialize)]
struct SubjectJson {
    digest: SubjectDigestJson,
}

#[derive(Deserialize)]
struct SubjectDigestJson {
    sha256: Option<String>,
}

fn check_subject(payload: &[u8], artifact: Digest) -> Result<(), BundleError> {
    let statement: StatementJson =
        serde_json::from_slice(payload).map_err(BundleError::json("in-toto statement"))?;
    let types = [
        "https://in-toto.io/Statement/v1",
        "https://in-toto.io/Statement/v0.1",
    ];
    if !types.contains(&statement.type_.as_str()) {
        let at = "statement._type";
        return Err(BundleError::field(
            at,
            "Statement v1 or v0.1",
            &statement.type_,
        ));
    }
    let stated = statement
        .subject
        .into_iter()
        .filter_map(|s| s.digest.sha256);
    let stated: Vec<String> = stated.collect();
    match stated.contains(&artifact.to_string()) {
        true => Ok(()),
        false => Err(BundleError::OtherArtifact {
            stated: stated.join(", ").chars().take(200).collect(),
            artifact,
        }),
    }
}

/// Checks promise and proof, whichever there must be; returns the size of the tree.
fn check_inclusion(entry: &Entry, version: Version, log: &Log) -> Result<Option<u64>, BundleError> {
    if entry.kind.is_v2() && entry.promise.is_some() {
        return Err(BundleError::field("inclusionPromise", "none", "a promise"));
    }
    match (&entry.promise, entry.integrated_time) {
        (Some(promise), Some(time)) => {
            verify_promise(promise, &entry.body, time, entry.log_index, log)?;
        }
        (Some(_), None) => return Err(BundleError::Missing("integratedTime")),
        (None, Some(time)) => {
            let expected = "none, since nothing signs it";
            return Err(BundleError::field(
                "integratedTime",
                expected,
                &time.to_string(),
            ));
        }
        (None, None) if version == Version::V01 => {
            return Err(BundleError::Missing("inclusionPromise"));
        }
        (None, None) => {}
    }
    match &entry.proof {
        Some(proof) => check_proof(entry, proof, log).map(Some),
        None if version == Version::V01 => Ok(None),
        None => Err(BundleError::Missing("inclusionProof")),
    }
}

fn check_proof(entry: &Entry, proof: &Proof, log: &Log) -> Result<u64, BundleError> {
    let is_v2 = entry.kind.is_v2();
    let checkpoint = verify_note(&proof.checkpoint, log, is_v2)?;
    let same = |at, expected: String, found: String| match expected == found {
        true => Ok(()),
        false => Err(BundleError::field(at, &expected, &found)),
    };
    let (index, size) = (proof.log_index.to_string(), checkpoint.size.to_string());
    // Rekor v1 counts over all its shards, the proof inside one. Where that shard begins is not in
    // the bundle; that it begins at 0 or later is all that can be said. A promise signs the index.
    if is_v2 || entry.log_index < proof.log_index {
        same("logIndex", index, entry.log_index.to_string())?;
    }
    same("inclusionProof.treeSize", size, proof.tree_size.to_string())?;
    same(
        "inclusionProof.rootHash",
        checkpoint.root.to_string(),
        proof.root_hash.to_string(),
    )?;
    let leaf = leaf_hash(&entry.body);
    verify_inclusion(
        &leaf,
        proof.log_index,
        checkpoint.size,
        &proof.hashes,
        &checkpoint.root,
    )
    .map_err(BundleError::Inclusion)?;
    Ok(checkpoint.size)
}

fn check_times(
    bundle: &Bundle,
    certificate: Option<&Certificate<'_>>,
    log: &Log,
    root: &TrustedRoot,
    now: Timestamp,
) -> Result<Vec<Timestamp>, BundleError> {
    let outside = |what, time, validity| BundleError::Time {
        what,
        time,
        validity,
    };
    let promised = "the log's time of integration";
    let stamped = "the time of the timestamp token";
    let mut times = Vec::new();
    // Verified by now: a time without a promise was refused.
    times.extend(
        bundle
            .entry
            .integrated_time
            .map(|t| (promised, Timestamp(t))),
    );
    for (at, der) in bundle.tokens.iter().enumerate() {
        if bundle.tokens.iter().take(at).any(|earlier| earlier == der) {
            return Err(BundleError::Token("the same token twice"));
        }
        let token = Token::parse(der)?;
        token.check_imprint(bundle.content.signature())?;
        if !of_trusted_authority(&token, root) {
            let validity = "the validity of every timestamp authority that may have made it";
            return Err(outside(stamped, token.time, validity));
        }
        times.push((stamped, token.time));
    }
    for (what, time) in &times {
        if *time > now {
            return Err(outside(what, *time, "what can be: it is in the future"));
        }
        if !log.valid.covers(*time) {
            return Err(outside(what, *time, "the validity of the log's key"));
        }
        if certificate.is_some_and(|certificate| !certificate.covers(*time)) {
            return Err(outside(what, *time, "the validity of the certificate"));
        }
    }
    if times.is_empty() && certificate.is_some() {
        return Err(BundleError::NoTime);
    }
    if !log.valid.has_started(now) {
        return Err(outside(
            "the time of verification",
            now,
            "the validity of the log's key",
        ));
    }
    Ok(times.into_iter().map(|(_, time)| time).collect())
}

fn of_trusted_authority(token: &Token<'_>, root: &TrustedRoot) -> bool {
    root.authorities.iter().any(|Authority { chain, valid }| {
        let leaf = chain.first().and_then(|der| Certificate::parse(der).ok());
        leaf.is_some_and(|leaf| {
            token.may_be_of(&leaf, chain) && leaf.covers(token.time) && valid.covers(token.time)
        })
    })
}
