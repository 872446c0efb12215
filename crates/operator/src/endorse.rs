//! Publishing what an endorser says.

use siegel_endorse::{Endorsement, Subject};
use siegel_ident::Digest;
use siegel_keys::EndorsementProof;
use siegel_rekor::PolicySigner;
use siegel_translog::predicate;

use crate::{Operator, OperatorError, Published};

impl Operator {
    /// Publishes an endorsement under an endorser's key, which is not the operator's own. What the
    /// endorsement names by digest (source manifest, recipe) must be among `files`: it goes into the
    /// archive before the entry is in the log, so that whoever rebuilds finds it.
    ///
    /// # Errors
    /// [`OperatorError::Document`] for a document that would not parse, or a file that is not there;
    /// any [`OperatorError`] of the log.
    pub async fn publish_endorsement(
        &self,
        endorser: &PolicySigner,
        endorsement: &Endorsement,
        files: &[&[u8]],
    ) -> Result<Published, OperatorError> {
        let wrong = |why: &dyn std::fmt::Display| OperatorError::document("endorsement", why);
        let bytes = endorsement.to_bytes().map_err(|why| wrong(&why))?;
        let at_hand = |(what, digest): (&str, Digest)| {
            let found = files.iter().find(|file| Digest::of(file) == digest);
            found.ok_or_else(|| {
                let why =
                    format!("its {what} {digest} is not at hand; nobody could rebuild without it");
                wrong(&why)
            })
        };
        let named = named(endorsement).into_iter().map(at_hand);
        for file in named.collect::<Result<Vec<_>, _>>()? {
            let errand = "archiving what an endorsement names";
            let stored = self.log.archive_put(file).await;
            stored.map_err(|source| OperatorError::Log { errand, source })?;
        }
        let (name, kind) = (&endorsement.name, predicate::ENDORSEMENT);
        self.publish_by(endorser, name, kind, bytes).await
    }
}

/// What an endorsement names by digest, and must be in the archive.
fn named(endorsement: &Endorsement) -> Vec<(&'static str, Digest)> {
    let Subject::Binaries(binaries) = &endorsement.subject else {
        // A program is published by itself.
        return Vec::new();
    };
    let Some(build) = &binaries.build else {
        return Vec::new();
    };
    let recipe = build.recipe.map(|digest| ("recipe", digest));
    [("source manifest", build.source)]
        .into_iter()
        .chain(recipe)
        .collect()
}

impl Published {
    /// As the key service takes an endorsement.
    pub(crate) fn proof(&self) -> EndorsementProof {
        EndorsementProof {
            document: self.bytes.clone(),
            bundle: self.bundle.clone(),
        }
    }
}
