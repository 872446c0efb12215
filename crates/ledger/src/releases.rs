//! OpenRelease: public before readable (I17).

use siegel_ident::{RunId, Step};
use siegel_policy::Recipient;
use siegel_translog::{predicate, verify_logged};

use crate::limits::MAX_BUNDLE;
use crate::refusal::{bounded, detail};
use crate::{Done, Ledger, Refusal};

impl Ledger {
    /// Lets the shell unwrap the DEK of one committed release, once its receipt is proved to be in
    /// the log, signed by the cluster key. It may be asked again until the first of the run's epochs
    /// expires (I9), also when the run is over.
    pub(crate) fn open_release(
        &self,
        id: RunId,
        step: Step,
        bundle: &[u8],
    ) -> Result<Done, Refusal> {
        bounded("bundle", bundle.len(), MAX_BUNDLE)?;
        let run = self.kept_run(id)?;
        let policy = self.known_policy(run.policy)?;
        if !policy.recipients.contains(&Recipient::Public) {
            return Err(Refusal::NotPublic { run: id });
        }
        let committed = run
            .committed(step)
            .filter(|committed| committed.commit.release.is_some())
            .ok_or(Refusal::NoRelease { run: id, step })?;
        let seq = committed.receipt;
        let body = self
            .state
            .chain
            .body(seq)
            .ok_or(Refusal::ReceiptForgotten { seq })?;
        verify_logged(
            bundle,
            body,
            predicate::RECEIPT,
            Some(&self.cluster_key),
            &self.log_anchors(),
            self.state.clock,
        )
        .map_err(|e| Refusal::ReceiptNotLogged { detail: detail(&e) })?;
        Ok(Done::ReleaseOpened { run: id, step })
    }
}
