//! Proofs and checkpoints as those will look at them to whom they are carried.
//!
//! A log publishes without a witness that is away: only a verifier can enforce a quorum. So the
//! operator looks before it carries, and asks again. The same entry again is the same entry with a
//! proof for the log's checkpoint of now: that is how an old proof becomes fresh, too.

use std::time::Duration;

use siegel_ident::{Seconds, Timestamp};
use siegel_rekor::{Now, RekorError};
use siegel_translog::{Bundle, HashedRekord, LogAnchors, ProofError};
use tokio::time::Instant;

use crate::operator::PATIENCE;
use crate::{Operator, OperatorError, Published};

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(200);

/// How the verifiers of a deployment look at its log.
pub(crate) struct LogView {
    pub(crate) anchors: LogAnchors,
    pub(crate) now: Now,
}

/// How good a note's cosignatures are.
enum Witnessed {
    /// Good, and for a while.
    Fresh,
    /// Good, but older than half of what verifiers accept.
    Aging,
    /// Too few, or too old.
    Lacking(ProofError),
}

impl LogView {
    fn look(&self, note: &str) -> Result<Witnessed, ProofError> {
        let now = (self.now)();
        match self.anchors.verify_witnessed(note, now) {
            Ok((_, Some(time))) if self.aging(time, now) => Ok(Witnessed::Aging),
            Ok(_) => Ok(Witnessed::Fresh),
            Err(lacking @ ProofError::Witnesses { .. }) => Ok(Witnessed::Lacking(lacking)),
            Err(other) => Err(other),
        }
    }

    fn aging(&self, time: Timestamp, now: Timestamp) -> bool {
        let half = Seconds(self.anchors.witnesses.max_age.0 / 2);
        now.since(time) > half
    }
}

impl Operator {
    /// The log's checkpoint, with the witnesses that its verifiers require.
    ///
    /// # Errors
    /// [`OperatorError::Unwitnessed`] if they are away for long; [`OperatorError::Log`].
    pub async fn checkpoint(&self) -> Result<String, OperatorError> {
        let errand = "fetching the checkpoint";
        let failed = |source| OperatorError::Log { errand, source };
        let give_up = Instant::now() + PATIENCE;
        loop {
            let note = self.log.checkpoint().await.map_err(failed)?;
            if self.good_enough(errand, &note, give_up)? {
                return Ok(note);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// What was published, with a proof that its verifiers will take for a while: the same one if it
    /// is not older than half of what they accept.
    ///
    /// # Errors
    /// As [`Self::checkpoint`].
    pub async fn refreshed(&self, published: &Published) -> Result<Published, OperatorError> {
        let errand = "refreshing a proof";
        Ok(Published {
            bundle: self.fresh(errand, published.bundle.clone()).await?,
            ..published.clone()
        })
    }

    /// The same for a bundle.
    pub(crate) async fn fresh(
        &self,
        errand: &'static str,
        bundle: Vec<u8>,
    ) -> Result<Vec<u8>, OperatorError> {
        let failed = |source| OperatorError::Log { errand, source };
        let proof = |source| failed(RekorError::Proof(source));
        let (mut bundle, give_up) = (bundle, Instant::now() + PATIENCE);
        let mut pause = Duration::ZERO;
        loop {
            let parsed = Bundle::parse(&bundle).map_err(proof)?;
            if self.good_enough(errand, parsed.entry.proof.checkpoint(), give_up)? {
                return Ok(bundle);
            }
            tokio::time::sleep(pause).await;
            pause = PAUSE;
            let logged = HashedRekord::parse(&parsed.entry.canonicalized_body).map_err(proof)?;
            let key = logged.verifier.key().map_err(proof)?;
            let entry = self.log.submit(&parsed.envelope, key).await;
            let again = Bundle::new(parsed.envelope, key, entry.map_err(failed)?);
            bundle = again.to_json().map_err(proof)?;
        }
    }

    /// False if the log should be asked again.
    fn good_enough(
        &self,
        errand: &'static str,
        note: &str,
        give_up: Instant,
    ) -> Result<bool, OperatorError> {
        let Some(view) = &self.view else {
            return Ok(true);
        };
        let late = Instant::now() >= give_up;
        let failed = |source| OperatorError::Log { errand, source };
        match view.look(note).map_err(|why| failed(why.into()))? {
            Witnessed::Fresh => Ok(true),
            // It holds: better than nothing.
            Witnessed::Aging => Ok(late),
            Witnessed::Lacking(source) if late => Err(OperatorError::Unwitnessed {
                errand,
                source,
                waited_s: PATIENCE.as_secs(),
            }),
            Witnessed::Lacking(_) => Ok(false),
        }
    }
}
