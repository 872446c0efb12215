//! Proofs and checkpoints as those will look at them to whom they are carried.
//!
//! A log publishes without a witness that is away: only a verifier can enforce a quorum. So the
//! operator looks before it carries, and asks again. The same entry again is the same entry with a
//! proof for the log's checkpoint of now: that is how an old proof becomes fresh, too.

use std::time::Duration;

use siegel_ident::{Seconds, Timestamp, WitnessQuorum};
use siegel_rekor::{LogClient, Now, RekorError};
use siegel_translog::note::Note;
use siegel_translog::{Bundle, HashedRekord, LogAnchors, ProofError, cosignature};
use tokio::time::Instant;

use crate::operator::PATIENCE;
use crate::{Operator, OperatorError, Published};

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(200);

/// A log as its verifiers look at it, and how long their witnesses are waited for.
#[derive(Clone)]
pub struct LogView {
    anchors: LogAnchors,
    now: Now,
    patience: Duration,
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
    /// The view of whoever has these anchors. Witnesses are waited for as long as a part that is away.
    pub fn new(anchors: LogAnchors, now: Now) -> Self {
        Self {
            anchors,
            now,
            patience: PATIENCE,
        }
    }

    /// Waits this long for the witnesses.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// A bundle with the same entry, and a proof that these verifiers take for a while: the one that is
    /// given, if it is good enough. Its entry is sent to the log until its witnesses have seen it.
    ///
    /// # Errors
    /// [`OperatorError::Unwitnessed`] if they are away for long; [`OperatorError::Log`].
    pub async fn fresh(
        &self,
        log: &LogClient,
        errand: &'static str,
        bundle: Vec<u8>,
    ) -> Result<Vec<u8>, OperatorError> {
        let failed = |source| OperatorError::Log { errand, source };
        let proof = |source| failed(RekorError::Proof(source));
        let (mut bundle, give_up) = (bundle, Instant::now() + self.patience);
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
            let entry = log.submit(&parsed.envelope, key).await;
            let again = Bundle::new(parsed.envelope, key, entry.map_err(failed)?);
            bundle = again.to_json().map_err(proof)?;
        }
    }

    async fn checkpoint(
        &self,
        log: &LogClient,
        errand: &'static str,
    ) -> Result<String, OperatorError> {
        let give_up = Instant::now() + self.patience;
        loop {
            let note = log.checkpoint().await;
            let note = note.map_err(|source| OperatorError::Log { errand, source })?;
            if self.good_enough(errand, &note, give_up)? {
                return Ok(note);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// False if the log should be asked again.
    fn good_enough(
        &self,
        errand: &'static str,
        note: &str,
        give_up: Instant,
    ) -> Result<bool, OperatorError> {
        let late = Instant::now() >= give_up;
        let failed = |source| OperatorError::Log { errand, source };
        match self.look(note).map_err(|why| failed(why.into()))? {
            Witnessed::Fresh => Ok(true),
            // It holds: better than nothing.
            Witnessed::Aging => Ok(late),
            Witnessed::Lacking(source) if late => Err(OperatorError::Unwitnessed {
                errand,
                source: Box::new(source),
                waited_s: self.patience.as_secs(),
                missing: self.missing(note),
            }),
            Witnessed::Lacking(_) => Ok(false),
        }
    }

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

    /// The pinned witnesses whose cosignature is absent, too old, or ahead of this clock.
    fn missing(&self, note: &str) -> String {
        let (quorum, now) = (&self.anchors.witnesses, (self.now)());
        let Ok(note) = Note::parse(note) else {
            return String::new();
        };
        let away = quorum.witnesses.iter().filter(|witness| {
            let alone = WitnessQuorum {
                witnesses: vec![(*witness).clone()],
                required: 1,
                ..quorum.clone()
            };
            cosignature::check_quorum(&note, &alone, now).is_err()
        });
        let names: Vec<&str> = away.map(|witness| witness.name.as_str()).collect();
        names.join(", ")
    }
}

impl Operator {
    /// Looks at what the log answers as its verifiers will: a proof or checkpoint without the witnesses
    /// that these anchors require is asked for again, for as long as a part that is away is waited
    /// for. Without this the operator carries whatever it gets.
    #[must_use]
    pub fn with_log_anchors(mut self, anchors: LogAnchors, now: Now) -> Self {
        self.view = Some(LogView::new(anchors, now));
        self
    }

    /// The log's checkpoint, with the witnesses that its verifiers require.
    ///
    /// # Errors
    /// [`OperatorError::Unwitnessed`] if they are away for long; [`OperatorError::Log`].
    pub async fn checkpoint(&self) -> Result<String, OperatorError> {
        let errand = "fetching the checkpoint";
        let failed = |source| OperatorError::Log { errand, source };
        match &self.view {
            Some(view) => view.checkpoint(&self.log, errand).await,
            None => self.log.checkpoint().await.map_err(failed),
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
        match &self.view {
            Some(view) => view.fresh(&self.log, errand, bundle).await,
            None => Ok(bundle),
        }
    }
}
