//! What a new member is given: the pure part. The leader seals, the joiner checks that all of it is
//! one cluster's, of its own configuration, and meant for it (I10).

use siegel_attest::{ClusterConfig, Genesis};
use siegel_ident::json::{from_canonical, to_canonical};
use siegel_ident::lp::Reader;
use siegel_ident::{ClusterId, NodeId, Secret, SecretBytes, Transcript};
use siegel_ledger::Members;
use siegel_platform::OsRng;
use siegel_seal::sealed_box::{open_box, seal_box};
use siegel_seal::{KemPrivate, KemPublic, SealError};
use siegel_wire::v1;
use zeroize::Zeroizing;

use crate::cluster::Cluster;
use crate::founding::{MAX_GENESIS, MAX_PKCS8};
use crate::joining::JoinError;

const VERSION: u8 = 1;
const MAX_MEMBERS: usize = 64 * 1024;

/// What goes to the process that the log has admitted under `id`.
pub(crate) struct Welcome<'a> {
    pub(crate) cluster: &'a Cluster,
    /// The members, this one among them, as they were when its admission was applied.
    pub(crate) members: &'a Members,
    pub(crate) id: NodeId,
    /// Signing keys of the two ends of the session.
    pub(crate) leader: &'a [u8; 32],
    pub(crate) joiner: &'a [u8; 32],
}

impl Welcome<'_> {
    /// version u8 ‖ wrapping key 32 ‖ LP(cluster key PKCS#8) ‖ id u64 ‖ LP(members), sealed to the
    /// joiner's per-boot key: a recorder of the session never gets them (I13 inside, suite 2 outside).
    pub(crate) fn seal(&self, to: &KemPublic, rng: &mut OsRng) -> Result<Vec<u8>, SealError> {
        let (wrapping, pkcs8) = self.cluster.secrets();
        let members = to_canonical(self.members).unwrap_or_default();
        let mut out = Zeroizing::new(Vec::with_capacity(
            64 + MAX_PKCS8 + pkcs8.len() + members.len(),
        ));
        out.push(VERSION);
        out.extend_from_slice(wrapping.expose());
        out.extend_from_slice(&(pkcs8.len() as u32).to_be_bytes());
        out.extend_from_slice(pkcs8.expose());
        out.extend_from_slice(&self.id.0.to_be_bytes());
        out.extend_from_slice(&(members.len() as u32).to_be_bytes());
        out.extend_from_slice(&members);
        let info = info(self.cluster.id(), self.leader, self.joiner);
        seal_box(rng, to, &info, &out)
    }
}

/// The box opens only for this cluster, from this leader, at this joiner.
fn info(cluster: ClusterId, leader: &[u8; 32], joiner: &[u8; 32]) -> Transcript {
    Transcript::new("siegel/kms/welcome/v1")
        .field(cluster.as_bytes())
        .field(leader)
        .field(joiner)
}

/// What a joining process knows about itself and the session.
pub(crate) struct Newcomer<'a> {
    pub(crate) config: &'a ClusterConfig,
    pub(crate) place: NodeId,
    pub(crate) signing_key: &'a [u8; 32],
    pub(crate) kem: &'a KemPrivate,
    /// The cluster that it asked, and that both ends' evidence binds.
    pub(crate) cluster: ClusterId,
    /// The key that the leader proved on the session.
    pub(crate) leader: &'a [u8; 32],
}

/// A process that the log has admitted.
pub(crate) struct Admitted {
    pub(crate) cluster: Cluster,
    pub(crate) members: Members,
    pub(crate) id: NodeId,
    pub(crate) credential: v1::Credential,
}

/// The genesis of a founded cluster: of the own configuration, and of the cluster that its sender's
/// evidence binds.
pub(crate) fn check_genesis(
    genesis: &[u8],
    config: &ClusterConfig,
    cluster: ClusterId,
) -> Result<(), JoinError> {
    if genesis.len() > MAX_GENESIS {
        return Err(JoinError::TooLong(genesis.len()));
    }
    let found = ClusterId::of(genesis);
    if found != cluster {
        let expected = cluster;
        return Err(JoinError::OtherCluster { found, expected });
    }
    match Genesis::parse(genesis)?.config == *config {
        true => Ok(()),
        false => Err(JoinError::OtherConfig),
    }
}

impl Newcomer<'_> {
    /// Checks the leader's welcome and becomes a member by it.
    pub(crate) fn accept(&self, welcome: &v1::Welcome) -> Result<Admitted, JoinError> {
        check_genesis(&welcome.genesis, self.config, self.cluster)?;
        let info = info(self.cluster, self.leader, self.signing_key);
        let opened = open_box(self.kem, &info, &welcome.sealed_secrets)?;
        let mut reader = Reader::new(opened.expose());
        let version = reader.u8("version")?;
        if version != VERSION {
            return Err(JoinError::Version(version));
        }
        let wrapping = Secret::new(*Zeroizing::new(reader.array::<32>("wrapping_key")?));
        let pkcs8 = SecretBytes::new(reader.bytes("cluster_key", MAX_PKCS8)?.to_vec());
        let id = NodeId(reader.u64("id")?);
        let members = reader.bytes("members", MAX_MEMBERS)?;
        let members: Members = from_canonical(members, MAX_MEMBERS)
            .map_err(|error| JoinError::Members(error.to_string()))?;
        reader.finish()?;
        let cluster = Cluster::new(welcome.genesis.clone(), wrapping, pkcs8)
            .map_err(|error| JoinError::Cluster(error.to_string()))?;
        let credential = welcome.credential.clone().unwrap_or_default();
        self.check(&cluster, &members, id, &credential)?;
        Ok(Admitted {
            cluster,
            members,
            id,
            credential,
        })
    }

    fn check(
        &self,
        cluster: &Cluster,
        members: &Members,
        id: NodeId,
        credential: &v1::Credential,
    ) -> Result<(), JoinError> {
        let refuse = |why: &str| Err(JoinError::Members(why.to_owned()));
        let own = members.joining().map(|joining| &joining.member);
        let is_own = own.is_some_and(|own| {
            (own.id, own.place, &own.signing_key) == (id, self.place, self.signing_key)
        });
        if !is_own || id.0 == 0 {
            return refuse("the admission is not of this process at its place");
        }
        if !members.iter().any(|m| m.signing_key == *self.leader) {
            return refuse("the leader is not one of them");
        }
        let named = (credential.member_id, credential.place) == (id.0, self.place.0);
        let signature = &credential.signature;
        if !named || !cluster.admitted(id, self.place, self.signing_key, signature) {
            return refuse("the credential is not for this process");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
