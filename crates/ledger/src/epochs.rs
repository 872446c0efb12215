//! OpenEpoch: keys for a limited time (I9).

use siegel_ident::{EpochId, PolicyDigest};

use crate::limits::MAX_WRAPPED;
use crate::receipt::Fact;
use crate::refusal::bounded;
use crate::state::Epoch;
use crate::{Done, Effect, Ledger, Refusal, Wrapped};

impl Ledger {
    /// Opens an epoch for the policy's key TTL, at most until the policy or its endorsements end. While the youngest
    /// live epoch of the policy has more than half of its life left, that one is named instead: two
    /// nodes that ask at once get one epoch, and no policy ever has more than two live ones (I14).
    pub(crate) fn open_epoch(
        &mut self,
        digest: PolicyDigest,
        secret: &Wrapped,
        effects: &mut Vec<Effect>,
    ) -> Result<Done, Refusal> {
        bounded("secret", secret.as_bytes().len(), MAX_WRAPPED)?;
        let policy = self.current_policy(digest)?;
        let opened = self.state.clock;
        let expires = opened.plus(policy.policy.key_ttl).min(policy.ends());
        if let Some((id, live)) = self.youngest_epoch(digest)
            && (live.expires.since(opened).0 > live.expires.since(live.opened).0 / 2
                || live.expires == expires)
        {
            return Ok(Done::EpochOpened {
                epoch: id,
                expires: live.expires,
            });
        }
        let epoch = self.state.last_epoch.next();
        let draft = self.draft(Fact::EpochOpened {
            epoch,
            policy: digest,
            expires,
        })?;
        self.state.last_epoch = epoch;
        let record = Epoch {
            policy: digest,
            opened,
            expires,
            secret: secret.clone(),
        };
        self.state.epochs.insert(epoch, record);
        self.record(draft, effects);
        Ok(Done::EpochOpened { epoch, expires })
    }

    /// The live epoch of a policy that opened last.
    pub(crate) fn youngest_epoch(&self, policy: PolicyDigest) -> Option<(EpochId, &Epoch)> {
        let mut of_policy = self
            .state
            .epochs
            .iter()
            .rev()
            .filter(|(_, e)| e.policy == policy);
        of_policy.next().map(|(id, epoch)| (*id, epoch))
    }
}
