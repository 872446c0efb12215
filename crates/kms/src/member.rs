//! One KMS process: in no cluster first, then a member of one cluster for the rest of its life (I10).

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use siegel_attest::{ClusterConfig, Role};
use siegel_ident::{ConfigDigest, NodeId};
use siegel_ledger::Members;
use siegel_link::Net;
use siegel_platform::{BoxFuture, Platform};
use siegel_seal::{KemPrivate, Suite, generate_kem};
use siegel_session::{Expect, Identity, Setup};
use siegel_wire::v1::Credential;
use tokio::sync::oneshot;

use crate::KmsError;
use crate::cluster::Cluster;
use crate::directory::Directory;
use crate::founding::{self, FoundingError};
use crate::links::Links;
use crate::machine::Machine;
use crate::receipts::Receipts;
use crate::refusal::Refused;
use crate::replica::{self, Replica, Start};
use crate::welcome::Admitted;

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

/// What a process has once it belongs to a cluster.
pub(crate) struct Member {
    pub(crate) cluster: Cluster,
    pub(crate) directory: Arc<Directory>,
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

    /// The own place, by placement.
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
            purpose: None,
            expect: expect(self.config.clone()),
        }
    }

    /// A founder of the cluster: its id is its place's number.
    pub(crate) fn founded_with(
        self: &Arc<Self>,
        cluster: Cluster,
        founders: &founding::Members,
    ) -> Result<(), KmsError> {
        let members = founders.to_ledger();
        let voters = members.iter().map(|member| member.id).collect();
        let id = self.node();
        tracing::info!(cluster = %cluster.id(), node = %id, "founded");
        let machine = machine(&cluster, members.clone())?;
        self.become_member(
            cluster,
            members,
            None,
            Start {
                id,
                voters,
                machine,
            },
        )
    }

    /// A new member in a dead one's place. It knows nothing yet but who the others are.
    pub(crate) fn admitted(self: &Arc<Self>, admitted: Admitted) -> Result<(), KmsError> {
        let Admitted {
            cluster,
            members,
            id,
            credential,
        } = admitted;
        tracing::info!(cluster = %cluster.id(), place = %self.node(), member = %id, "admitted");
        let machine = machine(&cluster, Members::default())?;
        let voters = Vec::new();
        let start = Start {
            id,
            voters,
            machine,
        };
        self.become_member(cluster, members, Some(credential), start)
    }

    /// Becomes a member, once and for all, and starts the replica.
    fn become_member(
        self: &Arc<Self>,
        cluster: Cluster,
        members: Members,
        credential: Option<Credential>,
        start: Start,
    ) -> Result<(), KmsError> {
        let mut birth = self.birth.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(member) = self.founded() {
            return Err(FoundingError::Founded(member.cluster.id()).into());
        }
        let directory = Arc::new(Directory::new(members));
        let links = Links::new(self, start.id, credential);
        let (replica, life) =
            replica::start(self.platform.clone(), start, directory.clone(), links)?;
        let member = Member {
            cluster,
            directory,
            replica,
            receipts: Receipts::default(),
        };
        if self.member.set(Arc::new(member)).is_err() {
            return Err(KmsError::ReplicaStopped(self.node()));
        }
        if let Some(birth) = birth.take()
            && birth.send(Box::pin(life)).is_err()
        {
            return Err(KmsError::ReplicaStopped(self.node()));
        }
        Ok(())
    }
}

fn machine(cluster: &Cluster, founders: Members) -> Result<Machine, FoundingError> {
    Machine::new(cluster.genesis_bytes(), founders)
        .map_err(|error| FoundingError::Ledger(error.to_string()))
}
