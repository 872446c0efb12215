//! The door of measured workloads: attested sessions to the nodes of the key service.

mod sessions;

use std::sync::Mutex as SyncMutex;

use siegel_attest::ClusterConfig;
use siegel_ident::{
    Budget, ClusterId, Digest, EpochId, Fencing, InputRoot, ObjectDigest, PolicyDigest,
    ProgramDigest, RequestId, RunId, Step, Timestamp,
};
use siegel_link::Net;
use siegel_platform::Platform;
use siegel_session::PeerKeys;
use siegel_wire::v1::kms_request::Body as Ask;
use siegel_wire::v1::kms_response::Body as Answer;
use tokio::time::Instant;

use crate::grant::bad;
use crate::nodes::Picker;
use crate::{
    BootKeys, KeysError, KmsNode, Lease, Patience, RootGrant, WorkerGrant, convert, request_id,
    retry,
};
use sessions::Sessions;

/// What a root registers a run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterRun {
    /// Under which policy.
    pub policy: PolicyDigest,
    /// Which program.
    pub program: ProgramDigest,
    /// Canonical JSON of `siegel_policy::RunParameters`: plan digest and allotment.
    pub parameters: Vec<u8>,
    /// The epochs whose uploads are read, strictly ascending.
    pub epochs: Vec<EpochId>,
    /// No key after this.
    pub deadline: Timestamp,
    /// Merkle root over the sorted blob digests.
    pub input_root: InputRoot,
    /// How many blobs.
    pub blob_count: u64,
    /// SHA-256 of the stored list of blob digests (depot kind INPUTS).
    pub inputs: Digest,
}

/// One step, committed by compare-and-set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitStep {
    /// Of which run.
    pub run: RunId,
    /// Of this incarnation of the root.
    pub fencing: Fencing,
    /// The step after the last committed one.
    pub step: Step,
    /// Compare: what the last committed step left.
    pub previous: Digest,
    /// Set: the sealed checkpoint.
    pub next: ObjectDigest,
    /// Digest and header of the sealed release, if the step has one.
    pub release: Option<(ObjectDigest, Vec<u8>)>,
    /// Exactly what the allotment has for the step.
    pub cost: Budget,
}

/// A workload's client of the key service. Share it in an `Arc`; requests may run side by side.
///
/// Each node is appraised by this process against its own measured cluster configuration, and all
/// must belong to the cluster that was met first.
pub struct WorkloadKms {
    platform: Platform,
    keys: BootKeys,
    picker: SyncMutex<Picker>,
    patience: Patience,
    sessions: Sessions,
}

impl WorkloadKms {
    /// A client over these nodes. Dials nobody yet.
    ///
    /// # Errors
    /// [`KeysError::Nodes`] for an empty list or one that names a node twice.
    pub fn new(
        platform: Platform,
        net: &Net,
        nodes: &[KmsNode],
        config: ClusterConfig,
        keys: BootKeys,
    ) -> Result<Self, KeysError> {
        let picker = Picker::new(nodes.iter().map(|node| node.id).collect())?;
        let sessions = Sessions::new(net, nodes, config);
        let patience = Patience::default();
        Ok(Self {
            platform,
            keys,
            picker: SyncMutex::new(picker),
            patience,
            sessions,
        })
    }

    /// With other time limits.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// This process's keys.
    pub fn keys(&self) -> &BootKeys {
        &self.keys
    }

    /// A fresh request id.
    pub fn request_id(&self) -> RequestId {
        request_id(&mut self.platform.rng())
    }

    /// The cluster, once a session to it has been made.
    pub fn cluster(&self) -> Option<ClusterId> {
        self.sessions.cluster()
    }

    /// Root: registers a run. Its whole cost is debited before any key is released (I6).
    pub async fn register_run(
        &self,
        request: RequestId,
        run: &RegisterRun,
    ) -> Result<RootGrant, KeysError> {
        self.run_grant(request, convert::register_run(run)).await
    }

    /// Root: takes over a run; earlier incarnations can no longer commit.
    pub async fn take_run(&self, request: RequestId, run: RunId) -> Result<RootGrant, KeysError> {
        let grant = self.run_grant(request, convert::take_run(run)).await?;
        if grant.run == run {
            Ok(grant)
        } else {
            Err(bad("run id"))
        }
    }

    /// Worker: asks to take part in a run.
    pub async fn authorize(
        &self,
        request: RequestId,
        run: RunId,
    ) -> Result<WorkerGrant, KeysError> {
        // Of the first attempt: the service may have counted the lease from there (I9).
        let sent = Instant::now();
        match self.ask(request, convert::authorize(run)).await? {
            Answer::WorkerGrant(wire) => {
                let lease = Lease::new(sent, wire.lease_seconds);
                let cluster = self.cluster().ok_or(KeysError::NoCluster)?;
                let grant = WorkerGrant::open(wire, run, cluster, lease, &self.keys)?;
                let config = self.sessions.config();
                let digest = config
                    .digest()
                    .map_err(siegel_session::SessionError::from)?;
                grant.policy.check_cluster(cluster, digest, config)?;
                Ok(grant)
            }
            _ => Err(bad("answer to Authorize")),
        }
    }

    /// Root: the workers of the run, by the keys that the service vouches for.
    pub async fn run_peers(&self, run: RunId) -> Result<Vec<PeerKeys>, KeysError> {
        match self.ask(self.request_id(), convert::run_peers(run)).await? {
            Answer::PeerKeys(wire) => convert::peer_keys(wire),
            _ => Err(bad("answer to RunPeers")),
        }
    }

    /// Root: commits a step. Returns the unsigned body of its receipt.
    pub async fn commit_step(
        &self,
        request: RequestId,
        commit: &CommitStep,
    ) -> Result<Vec<u8>, KeysError> {
        match self.ask(request, convert::commit_step(commit)?).await? {
            Answer::StepDone(done) => Ok(done.receipt),
            _ => Err(bad("answer to CommitStep")),
        }
    }

    /// Worker: goes on for a while. The lease counts from before the request was sent (I9).
    pub async fn renew_lease(&self, run: RunId) -> Result<Lease, KeysError> {
        let sent = Instant::now();
        match self
            .ask(self.request_id(), convert::renew_lease(run))
            .await?
        {
            Answer::Lease(lease) => Ok(Lease::new(sent, lease.lease_seconds)),
            _ => Err(bad("answer to RenewLease")),
        }
    }

    /// Root: ends a run whose steps are all committed; its keys are erased.
    pub async fn finish_run(
        &self,
        request: RequestId,
        run: RunId,
        fencing: Fencing,
    ) -> Result<(), KeysError> {
        match self.ask(request, convert::finish_run(run, fencing)).await? {
            Answer::Finished(_) => Ok(()),
            _ => Err(bad("answer to FinishRun")),
        }
    }

    async fn run_grant(&self, request: RequestId, body: Ask) -> Result<RootGrant, KeysError> {
        match self.ask(request, body).await? {
            Answer::RunGrant(wire) => RootGrant::open(wire, &self.keys),
            _ => Err(bad("run grant")),
        }
    }

    async fn ask(&self, id: RequestId, body: Ask) -> Result<Answer, KeysError> {
        let request = convert::request(id, body);
        retry::ask(&self.picker, self.patience, |node| {
            self.sessions.call(
                &self.platform,
                &self.keys,
                node,
                &request,
                self.patience.attempt,
            )
        })
        .await
    }
}
