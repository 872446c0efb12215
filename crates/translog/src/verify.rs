//! The strict offline check: exactly these bytes stand in exactly that log (I1, I2).

use serde::{Deserialize, Serialize};
use siegel_ident::{Digest, NamedKey, Seconds, Timestamp, WitnessQuorum};

use crate::bundle::Bundle;
use crate::checkpoint::{Checkpoint, check_origin, log_id};
use crate::cosignature;
use crate::error::ProofError;
use crate::hashedrekord::{HashedRekord, same_entry};
use crate::intoto::Statement;
use crate::key::SpkiKey;
use crate::merkle::verify_inclusion;
use crate::note::Note;

/// The log that the verifier trusts. It comes from the verifier's own configuration (a client's
/// anchors, a cluster's genesis), never from the thing that is checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogAnchors {
    /// Name of the log, as in its checkpoints.
    pub origin: String,
    /// Ed25519 key of the log, 32 bytes (hex in JSON).
    #[serde(with = "siegel_ident::hex_serde")]
    pub key: [u8; 32],
    /// Who must have cosigned the checkpoint, and how recently. With none the log is UNWITNESSED.
    pub witnesses: WitnessQuorum,
}

impl LogAnchors {
    /// Anchors of a log without witnesses.
    pub fn unwitnessed(origin: &str, key: [u8; 32]) -> Self {
        Self {
            origin: origin.to_owned(),
            key,
            witnesses: WitnessQuorum::none(),
        }
    }

    /// Checks that these anchors can be enforced.
    ///
    /// # Errors
    /// [`ProofError::Quorum`] for a quorum that cannot be met, or that the log itself could fill;
    /// [`ProofError::CheckpointForm`] for a name that no log can have.
    pub fn check(&self) -> Result<(), ProofError> {
        check_origin(&self.origin)?;
        self.witnesses.check()?;
        let own = |w: &NamedKey| w.name == self.origin || w.key == self.key;
        match self.witnesses.witnesses.iter().any(own) {
            true => Err(ProofError::Anchors("a log is no witness of itself (I1)")),
            false => Ok(()),
        }
    }

    /// The same anchors with so much more patience, up to the most that a quorum may have: for who
    /// judges afterwards.
    #[must_use]
    pub fn aged(&self, more: Seconds) -> Self {
        let mut aged = self.clone();
        let age = Seconds(self.witnesses.max_age.0.saturating_add(more.0));
        aged.witnesses.max_age = age.min(WitnessQuorum::MAX_AGE);
        aged
    }

    /// The log's 32-byte id.
    pub fn log_id(&self) -> Digest {
        log_id(&self.origin, &self.key)
    }

    /// Reads and verifies a checkpoint of this log, with its witnesses, at the verifier's clock.
    ///
    /// # Errors
    /// As [`Self::check`], [`Checkpoint::verify_note`] and [`cosignature::check_quorum`].
    pub fn verify_checkpoint(&self, note: &str, now: Timestamp) -> Result<Checkpoint, ProofError> {
        self.verify_witnessed(note, now)
            .map(|(checkpoint, _)| checkpoint)
    }

    /// The same, with the time that a quorum of witnesses vouches for, if one is required: the log
    /// had this state at the latest then, and the present is no earlier.
    ///
    /// # Errors
    /// The same.
    pub fn verify_witnessed(
        &self,
        note: &str,
        now: Timestamp,
    ) -> Result<(Checkpoint, Option<Timestamp>), ProofError> {
        self.check()?;
        let note = Note::parse(note)?;
        let checkpoint = Checkpoint::verify_parsed(&note, &self.origin, &self.key)?;
        let witnessed = cosignature::check_quorum(&note, &self.witnesses, now)?;
        Ok((checkpoint, witnessed))
    }
}

/// What a verified proof says. Only [`verify_logged`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedEntry {
    /// Zero-based index in the log.
    pub log_index: u64,
    /// Number of entries that the checkpoint covers.
    pub tree_size: u64,
    /// SHA-256 of the signed checkpoint note.
    pub checkpoint_digest: Digest,
    /// Merkle root of the checkpoint.
    pub root: Digest,
    /// Time that a quorum of witnesses vouches for, if the anchors require one.
    pub witnessed_at: Option<Timestamp>,
    /// Who signed the statement.
    pub signer: SpkiKey,
    /// SHA-256 of the artifact: what the statement is about.
    pub artifact: Digest,
}

/// Verifies that a statement of `predicate_type` about exactly the bytes `artifact`, signed by
/// `signer` if one is pinned, is in the log of `anchors`. Offline; the checks in order:
///
/// 1. anchors that can be enforced;
/// 2. canonical bundle, bounded, no unknown fields, one log entry, one signature;
/// 3. signer = pinned signer, `publicKey.hint` = its hash, signature over the PAE;
/// 4. statement v1 with one subject = SHA-256(artifact) and the asked predicate type;
/// 5. the log entry, rebuilt from (SHA-256(PAE), signature, key), is the logged one byte for byte;
/// 6. log id, and the checkpoint: pinned origin, signer name = origin, key id, signature, and as
///    many fresh cosignatures of pinned witnesses as the anchors require, at the clock `now`;
/// 7. `logIndex` = `inclusionProof.logIndex` < size; size and root are the checkpoint's;
/// 8. the inclusion proof.
///
/// Freshness comes from the witnesses: without them a checkpoint carries no time. An old proof is
/// made fresh by submitting the same entry again: the log answers with one for its checkpoint of now.
///
/// # Errors
/// [`ProofError`] names the first check that failed.
pub fn verify_logged(
    bundle: &[u8],
    artifact: &[u8],
    predicate_type: &str,
    signer: Option<&SpkiKey>,
    anchors: &LogAnchors,
    now: Timestamp,
) -> Result<LoggedEntry, ProofError> {
    anchors.check()?;
    let bundle = Bundle::parse(bundle)?;
    let signer = verify_signer(&bundle, signer)?;
    let artifact = verify_statement(&bundle, artifact, predicate_type)?;

    let rebuilt = HashedRekord::of(&bundle.envelope, &signer);
    same_entry(&rebuilt.canonical_body(), &bundle.entry.canonicalized_body)?;

    let (checkpoint, witnessed_at) = verify_inclusion_in(&bundle, &rebuilt.leaf(), anchors, now)?;
    Ok(LoggedEntry {
        log_index: bundle.entry.log_index,
        tree_size: checkpoint.size,
        checkpoint_digest: Digest::of(bundle.entry.proof.checkpoint().as_bytes()),
        root: checkpoint.root,
        witnessed_at,
        signer,
        artifact,
    })
}

fn verify_signer(bundle: &Bundle, pinned: Option<&SpkiKey>) -> Result<SpkiKey, ProofError> {
    // A certificate has no voice here: only managed keys are pinned (I1).
    let stated = *HashedRekord::parse(&bundle.entry.canonicalized_body)?
        .verifier
        .key()?;
    let signer = pinned.copied().unwrap_or(stated);
    if signer != stated {
        return Err(ProofError::WrongSigner {
            expected: signer.hint(),
            found: stated.hint(),
        });
    }
    if bundle.hint != signer.hint() {
        let at = "verificationMaterial.publicKey.hint";
        return Err(ProofError::field(at, &signer.hint(), &bundle.hint));
    }
    bundle.envelope.verify(&signer)?;
    Ok(signer)
}

fn verify_statement(
    bundle: &Bundle,
    artifact: &[u8],
    predicate_type: &str,
) -> Result<Digest, ProofError> {
    let statement = Statement::parse(&bundle.envelope.payload)?;
    if statement.predicate_type != predicate_type {
        let at = "statement.predicateType";
        return Err(ProofError::field(
            at,
            predicate_type,
            &statement.predicate_type,
        ));
    }
    let artifact = Digest::of(artifact);
    if statement.digest != artifact {
        return Err(ProofError::OtherBytes {
            stated: statement.digest,
            artifact,
        });
    }
    Ok(artifact)
}

fn verify_inclusion_in(
    bundle: &Bundle,
    leaf: &Digest,
    anchors: &LogAnchors,
    now: Timestamp,
) -> Result<(Checkpoint, Option<Timestamp>), ProofError> {
    let (entry, proof) = (&bundle.entry, &bundle.entry.proof);
    let same = |at, expected: String, found: String| {
        if expected == found {
            Ok(())
        } else {
            Err(ProofError::field(at, &expected, &found))
        }
    };
    same(
        "logId.keyId",
        anchors.log_id().to_string(),
        entry.log_id.to_string(),
    )?;
    let (checkpoint, witnessed_at) = anchors.verify_witnessed(proof.checkpoint(), now)?;
    same(
        "logIndex",
        proof.log_index.to_string(),
        entry.log_index.to_string(),
    )?;
    same(
        "inclusionProof.treeSize",
        checkpoint.size.to_string(),
        proof.tree_size.to_string(),
    )?;
    same(
        "inclusionProof.rootHash",
        checkpoint.root.to_string(),
        proof.root_hash.to_string(),
    )?;
    verify_inclusion(
        leaf,
        proof.log_index,
        checkpoint.size,
        &proof.hashes,
        &checkpoint.root,
    )
    .map_err(|source| ProofError::Merkle {
        what: "inclusion",
        source,
    })?;
    Ok((checkpoint, witnessed_at))
}

#[cfg(test)]
mod tests;
