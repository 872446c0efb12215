//! One KMS process: unfounded first, then a member of one cluster for the rest of its life (I10).

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use siegel_attest::{ClusterConfig, Role};
use siegel_ident::{ConfigDigest, NodeId};
use siegel_link::Net;
use siegel_platform::{BoxFuture, Platform};
use siegel_seal::{KemPrivate, Suite, generate_kem};
use siegel_session::{Expect, Identity, Setup};
use tokio::sync::oneshot;

use crate::KmsError;
use crate::cluster::Cluster;
use crate::founding::{FoundingError, Members};
use crate::machine::Machine;
use crate::receipts::Receipts;
use crate::refusal::Refused;
use crate::replica::{self, Replica};
use crate::{links, serve};

/// What a process has from its start on.
pub(crate) struct Process {
    pub(crate) platform: Platform,
    pub(crate) net: Net,
    pub(crate) config: Arc<ClusterConfig>,
    pub(crate) identity: Arc<Identity>,
    /// Private half of the per-boot X-Wing key; secrets on sessions are sealed to it.
    pub(crate) kem: KemPrivate,
    member: OnceLock<Arc<Member>>,
    /// Taken by the one founding that succeeds.
    birth: Mutex<Option<oneshot::Sender<BoxFuture<'static, KmsError>>>>,
}

/// What a process has once its cluster is founded.
pub(crate) struct Member {
    pub(crate) cluster: Cluster,
    pub(crate) members: Members,
    pub(crate) replica: Replica,
    pub(crate) receipts: Receipts,
}

impl Process {
    /// Draws the per-boot keys. The second value becomes the member's life once it is founded.
    pub(crate) fn new(
        platform: Platform,
        net: Net,
        config: ClusterConfig,
    ) -> Result<(Arc<Self>, oneshot::Receiver<BoxFuture<'static, KmsError>>), KmsError> {
        let rng = &mut platform.rng();
        let (kem, kem_public) = generate_kem(Suite::XWing, rng);
        let digest: ConfigDigest = config.digest()?;
        let identity = Identity::new(rng, Role::KmsPeer, kem_public.to_bytes(), digest)
            .map_err(|error| KmsError::Keys(error.to_string()))?;
        let (birth, life) = oneshot::channel();
        let process = Self {
            platform,
            net,
            config: Arc::new(config),
            identity: Arc::new(identity),
            kem,
            member: OnceLock::new(),
            birth: Mutex::new(Some(birth)),
        };
        Ok((Arc::new(process), life))
    }

    /// The own node number, by placement.
    pub(crate) fn node(&self) -> NodeId {
        self.platform.start.node
    }

    pub(crate) fn founded(&self) -> Option<&Arc<Member>> {
        self.member.get()
    }

    /// The member that this process is, or a refusal to try later.
    pub(crate) fn member(&self) -> Result<&Arc<Member>, Refused> {
        self.founded().ok_or_else(Refused::not_founded)
    }

    /// How this process meets others.
    pub(crate) fn setup(&self, expect: fn(Arc<ClusterConfig>) -> Expect) -> Setup {
        Setup {
            identity: self.identity.clone(),
            deployment: self.founded().map(|member| member.cluster.id()),
            run: None,
            expect: expect(self.config.clone()),
        }
    }

    /// Becomes a member, once and for all, and starts the replica.
    pub(crate) fn join(
        self: &Arc<Self>,
        cluster: Cluster,
        members: Members,
    ) -> Result<(), KmsError> {
        let mut birth = self.birth.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(member) = self.founded() {
            return Err(FoundingError::Founded(member.cluster.id()).into());
        }
        let machine = Machine::new(cluster.genesis_bytes())
            .map_err(|error| FoundingError::Ledger(error.to_string()))?;
        let voters = members.ids().collect();
        let (links, peers) = links::start(self, &members);
        let (replica, life) =
            replica::start(self.platform.clone(), self.node(), voters, machine, peers)?;
        tracing::info!(cluster = %cluster.id(), node = %self.node(), "founded");
        let member = Member {
            cluster,
            members,
            replica,
            receipts: Receipts::default(),
        };
        if self.member.set(Arc::new(member)).is_err() {
            return Err(KmsError::ReplicaStopped(self.node()));
        }
        if let Some(birth) = birth.take() {
            // Dropping `links` ends their tasks: they live as long as the replica.
            let whole = Box::pin(serve::with_links(links, life));
            if birth.send(whole).is_err() {
                return Err(KmsError::ReplicaStopped(self.node()));
            }
        }
        Ok(())
    }
}
