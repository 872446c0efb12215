//! The ledger and its one way to change.

use siegel_attest::{DocumentError, Genesis, Profile};
use siegel_ident::{ClusterId, ConfigDigest};
use siegel_translog::{LogAnchors, ProofError, SpkiKey};

use crate::limits::MAX_INTEGER;
use crate::state::State;
use crate::{Applied, Done, Effect, Entry, Event, Members, Outcome, Refusal};

/// The state of one cluster.
pub struct Ledger {
    pub(crate) genesis: Genesis,
    pub(crate) cluster: ClusterId,
    pub(crate) config: ConfigDigest,
    pub(crate) cluster_key: SpkiKey,
    pub(crate) state: State,
}

/// Why there is no ledger for a genesis or a snapshot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenesisError {
    /// It does not parse.
    #[error("{0}")]
    Document(#[from] DocumentError),
    /// Its cluster key is none.
    #[error("genesis: cluster key: {0}")]
    ClusterKey(#[from] ProofError),
    /// A simulated genesis in a build without the simulator (I11).
    #[error("genesis has profile \"simulation\", but this build is for production only (I11)")]
    SimulationNotBuilt,
    /// A snapshot that is not one.
    #[error("snapshot does not parse: {0}; are all nodes of the cluster the same build?")]
    Snapshot(#[from] serde_json::Error),
    /// A snapshot of another cluster.
    #[error("snapshot is of cluster {found}, this one is {expected}")]
    OtherCluster {
        /// In the snapshot.
        found: ClusterId,
        /// Of the genesis.
        expected: ClusterId,
    },
}

impl Ledger {
    /// The empty ledger of a cluster whose members are not known here: to look at, or to restore.
    ///
    /// # Errors
    /// A genesis that does not parse, or a simulated one in a production build (I11).
    pub fn new(genesis: &[u8]) -> Result<Self, GenesisError> {
        Self::founded(genesis, Members::default())
    }

    /// The empty ledger of a new cluster. All its members start with the same `members`.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn founded(genesis: &[u8], members: Members) -> Result<Self, GenesisError> {
        let cluster = ClusterId::of(genesis);
        let genesis = Genesis::parse(genesis)?;
        is_built(genesis.config.profile, cfg!(feature = "simulation"))?;
        let config = genesis.config.digest()?;
        let cluster_key = SpkiKey::from_point(&genesis.cluster_key)?;
        Ok(Self {
            genesis,
            cluster,
            config,
            cluster_key,
            state: State::new(cluster, members),
        })
    }

    /// Applies the next committed entry. It never fails: a refusal is an outcome, and a refused
    /// entry changes nothing but the clock, what that lets expire, and the table of requests.
    pub fn apply(&mut self, entry: &Entry) -> Applied {
        let mut effects = Vec::new();
        let outcome = self.answer(entry, &mut effects);
        Applied { outcome, effects }
    }

    fn answer(&mut self, entry: &Entry, effects: &mut Vec<Effect>) -> Outcome {
        if entry.now.0 > MAX_INTEGER {
            return Outcome::Refused(Refusal::OutOfBounds {
                field: "now".to_owned(),
                value: entry.now.0,
                max: MAX_INTEGER,
            });
        }
        // The clock only goes forward, and what is over is erased before anything else is looked
        // at: a node that was paused erases before it serves (I9).
        self.state.clock = self.state.clock.max(entry.now);
        self.expire(effects);

        if entry.event.only_reads() {
            return self.dispatch(&entry.event, effects).into();
        }
        let body = entry.event.request_digest();
        if let Some(answer) = self.state.requests.seen(entry.request_id, body) {
            return self.repeat(answer);
        }
        let outcome = Outcome::from(self.dispatch(&entry.event, effects));
        self.state
            .requests
            .remember(entry.request_id, body, outcome.clone());
        outcome
    }

    fn dispatch(&mut self, event: &Event, effects: &mut Vec<Effect>) -> Result<Done, Refusal> {
        match event {
            Event::RegisterPolicy {
                policy,
                bundle,
                endorsements,
            } => self.register_policy(policy, bundle, endorsements, effects),
            Event::OpenEpoch { policy, secret } => self.open_epoch(*policy, secret, effects),
            Event::RegisterRun { claim, fresh } => {
                self.register_run(claim, fresh.as_ref(), effects)
            }
            Event::TakeRun { run, root } => self.take_run(*run, root, effects),
            Event::Authorize { run, worker } => self.authorize(*run, worker),
            Event::CommitStep { commit, by } => self.commit_step(commit, by, effects),
            Event::RenewLease { run, by } => self.renew_lease(*run, by),
            Event::OpenRelease { run, step, bundle } => self.open_release(*run, *step, bundle),
            Event::CancelRun { run } => self.cancel_run(*run, effects),
            Event::AbandonRun { run, fencing, by } => self.abandon_run(*run, *fencing, by, effects),
            Event::FinishRun { run, fencing, by } => self.finish_run(*run, *fencing, by, effects),
            Event::Admit {
                joiner,
                leaves,
                over,
            } => self.admit(joiner, *leaves, *over),
            Event::Withdraw { member } => self.withdraw(*member),
            Event::Tick {} => Ok(Done::Ticked {
                clock: self.state.clock,
            }),
        }
    }

    /// The answer to a retry. An answer that lets the shell hand out keys is given again only while
    /// that is still true: else a retry after the deadline would be a key after expiry (I9).
    fn repeat(&self, answer: Outcome) -> Outcome {
        let still = match &answer {
            Outcome::Done(Done::EpochOpened { epoch, .. }) => self.live_epoch(*epoch).map(|_| ()),
            Outcome::Done(Done::RunTaken { run, fencing }) => {
                self.live_run(*run).and_then(|run| run.fenced(*fencing))
            }
            Outcome::Done(Done::WorkerAuthorized { run }) => self.live_run(*run).map(|_| ()),
            Outcome::Done(Done::Admitted { member }) if self.state.members.is_gone(*member) => {
                Err(Refusal::NoAdmission { member: *member })
            }
            _ => Ok(()),
        };
        match still {
            Ok(()) => answer,
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    /// The genesis' log. A policy that asks for more witnesses than the genesis is refused when it
    /// registers, so that these anchors are always enough (I1).
    pub(crate) fn log_anchors(&self) -> LogAnchors {
        let config = &self.genesis.config;
        LogAnchors {
            origin: config.log_origin.clone(),
            key: config.log_key,
            witnesses: config.witnesses.clone(),
        }
    }
}

/// A production build takes no simulated genesis (I11).
fn is_built(profile: Profile, simulation: bool) -> Result<(), GenesisError> {
    match profile {
        Profile::Simulation if !simulation => Err(GenesisError::SimulationNotBuilt),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // I11: catches a production build that runs a simulated cluster.
    #[test]
    fn i11_production_build_takes_no_simulated_genesis() {
        assert!(is_built(Profile::Production, false).is_ok());
        assert!(is_built(Profile::Simulation, true).is_ok());
        let refused = is_built(Profile::Simulation, false);
        assert!(matches!(refused, Err(GenesisError::SimulationNotBuilt)));
    }
}
