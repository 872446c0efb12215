//! Policy proofs, by both verifiers: the strict one of clients and key service, and the second
//! opinion. They must agree wherever both judge (`asked.rs`).

use siegel_ident::Timestamp;
use siegel_translog::{HashedRekord, LogAnchors, LoggedEntry, ProofError, SpkiKey, verify_logged};

use crate::artifact::{Artifact, Signer};
use crate::asked::{Asked, asked};
use crate::encoding::b64;
use crate::error::BundleError;
use crate::second::second_opinion;

/// Verifies that a statement of `predicate_type` about exactly `artifact` is in the log of `anchors`
/// (I1), as [`verify_logged`] does, and asks the second opinion too.
///
/// # Errors
/// [`BundleError::Proof`] if ours refuses; [`BundleError::Disagreement`] if the other refuses what
/// ours accepts, or accepts what ours refuses by a check that both make.
pub fn verify_policy_proof(
    bundle: &[u8],
    artifact: &[u8],
    predicate_type: &str,
    signer: Option<&SpkiKey>,
    anchors: &LogAnchors,
    now: Timestamp,
) -> Result<LoggedEntry, BundleError> {
    let ours = verify_logged(bundle, artifact, predicate_type, signer, anchors, now);
    let theirs = match signer.copied().or_else(|| stated_signer(bundle)) {
        Some(key) => second_opinion(
            bundle,
            &Artifact::Bytes(artifact),
            &Signer::Key(&key),
            &trusted_root(anchors),
        ),
        None => Err("the entry names no P-256 key".to_owned()),
    };
    judged(ours, theirs, stated_signer(bundle).is_some())
}

/// One verdict of two. `spelled` is for [`asked`].
pub(crate) fn judged<T>(
    ours: Result<T, ProofError>,
    theirs: Result<(), String>,
    spelled: bool,
) -> Result<T, BundleError> {
    let (ours, theirs) = match (ours, theirs) {
        (Ok(entry), Ok(())) => return Ok(entry),
        (Ok(_), Err(why)) => ("accepts".to_owned(), format!("refuses ({why})")),
        (Err(why), Ok(())) if asked(&why, spelled) == Asked::OfBoth => {
            (format!("refuses ({why})"), "accepts".to_owned())
        }
        (Err(why), _) => return Err(BundleError::Proof(why)),
    };
    Err(BundleError::Disagreement { ours, theirs })
}

/// The key in the entry, where none is pinned.
fn stated_signer(bundle: &[u8]) -> Option<SpkiKey> {
    let bundle = crate::bundle::Bundle::parse(bundle).ok()?;
    let record = HashedRekord::parse(&bundle.entry.body).ok()?;
    record.verifier.key().ok().copied()
}

/// A Sigstore trusted root that knows the log of `anchors`, and nothing else.
pub fn trusted_root(anchors: &LogAnchors) -> String {
    let spki = [
        &[0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0][..],
        &anchors.key,
    ]
    .concat();
    serde_json::json!({
        "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
        "tlogs": [{
            "baseUrl": format!("https://{}", anchors.origin),
            "hashAlgorithm": "SHA2_256",
            "publicKey": {
                "rawBytes": b64(&spki),
                "keyDetails": "PKIX_ED25519",
                "validFor": { "start": "1970-01-01T00:00:00Z" },
            },
            "logId": { "keyId": b64(anchors.log_id().as_bytes()) },
        }],
        "certificateAuthorities": [],
        "ctlogs": [],
        "timestampAuthorities": [],
    })
    .to_string()
}
