//! How a cluster is born: the pure part. The founder makes genesis and secrets, each peer checks
//! what it is sent. Who may take part was decided before, by appraisal on the session (I3).

use std::collections::BTreeMap;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use siegel_attest::{CLUSTER_KEY_LEN, ClusterConfig, DocumentError, Genesis};
use siegel_ident::lp::{LpError, Reader};
use siegel_ident::{ClusterId, NodeId, Secret, SecretBytes, Transcript};
use siegel_platform::OsRng;
use siegel_seal::sealed_box::{open_box, seal_box};
use siegel_seal::{KemPrivate, KemPublic, OpenError, SealError};
use siegel_wire::v1::Found;
use zeroize::Zeroizing;

use crate::cluster::{Cluster, fresh_secret};

/// Longest genesis document that is read.
pub(crate) const MAX_GENESIS: usize = 64 * 1024;
pub(crate) const MAX_PKCS8: usize = 512;
const VERSION: u8 = 1;

/// Why there is no cluster. A half-born one is given up: all processes are started anew.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FoundingError {
    /// The genesis does not parse.
    #[error("genesis: {0}")]
    Document(#[from] DocumentError),
    /// The genesis holds another configuration than this process was started with.
    #[error("the founder's configuration is not the one that this node was started with (I10)")]
    OtherConfig,
    /// Longer than any genesis.
    #[error("genesis of {0} bytes is too long")]
    TooLong(usize),
    /// The sealed secrets do not open.
    #[error("the founder's secrets do not open: {0}")]
    Open(#[from] OpenError),
    /// The secrets could not be sealed.
    #[error("secrets cannot be sealed: {0}")]
    Seal(#[from] SealError),
    /// The secrets are not what a founder sends.
    #[error("the founder's secrets are malformed: {0}")]
    Shape(#[from] LpError),
    /// A version of the message that this build does not know.
    #[error("the founder's secrets have version {0}, expected {VERSION}")]
    Version(u8),
    /// The cluster key is not usable.
    #[error("cluster key: {0}")]
    ClusterKey(&'static str),
    /// The list of members contradicts itself, the configuration or this node's placement.
    #[error("members: {0}")]
    Members(String),
    /// This process is a member of a cluster already.
    #[error("this node belongs to cluster {0} already and joins no other (I10)")]
    Founded(ClusterId),
    /// This process founds a cluster itself, or was started to join one.
    #[error("this node is not one to be invited: it founds a cluster, or joins one")]
    NotInvited,
    /// The session holds no appraisal: nobody is let in without one (I3).
    #[error("the other node was not appraised (I3)")]
    NotAppraised,
    /// There is no ledger for this genesis.
    #[error("ledger: {0}")]
    Ledger(String),
    /// A peer could not be reached, or was refused.
    #[error("node {node}: {cause}")]
    Peer {
        /// Which one.
        node: NodeId,
        /// What happened.
        cause: String,
    },
}

/// The founders by number, each with the per-boot signing key by which its sessions are recognised.
/// They become the ledger's first table of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Members(BTreeMap<NodeId, [u8; 32]>);

impl Members {
    /// Checks numbers, keys and how many there must be.
    pub(crate) fn new(
        members: impl IntoIterator<Item = (NodeId, [u8; 32])>,
        config: &ClusterConfig,
    ) -> Result<Self, FoundingError> {
        let refuse = |why: &str| Err(FoundingError::Members(why.to_owned()));
        let (mut by_id, mut keys) = (BTreeMap::new(), std::collections::BTreeSet::new());
        for (id, key) in members {
            if id.0 == 0 || by_id.insert(id, key).is_some() {
                return refuse("a node number is zero or occurs twice");
            }
            // One process with two votes would be a quorum by itself.
            if !keys.insert(key) {
                return refuse("two node numbers lead to one process");
            }
        }
        if by_id.len() < config.min_voters as usize {
            return refuse("there are fewer nodes than min_voters of the configuration");
        }
        if by_id.len() > ClusterConfig::PEERS_MAX {
            return refuse("there are too many nodes");
        }
        Ok(Self(by_id))
    }

    /// What all of them start their ledgers with.
    pub(crate) fn to_ledger(&self) -> siegel_ledger::Members {
        siegel_ledger::Members::founded(self.0.iter().map(|(id, key)| (*id, *key)))
    }

    /// Whose sessions carry this key.
    fn id_of(&self, signing_key: &[u8; 32]) -> Option<NodeId> {
        self.0
            .iter()
            .find(|(_, key)| *key == signing_key)
            .map(|(id, _)| *id)
    }
}

/// A new cluster in the founder's hands.
pub(crate) struct Birth {
    genesis: Vec<u8>,
    wrapping: Secret<32>,
    pkcs8: SecretBytes,
    members: Members,
}

impl Birth {
    /// Draws everything that is random about a cluster.
    pub(crate) fn new(
        config: &ClusterConfig,
        members: Members,
        rng: &mut OsRng,
    ) -> Result<Self, FoundingError> {
        use rand_core::Rng as _;
        let system = SystemRandom::new();
        // `ring` does not zeroise the document that it returns (I13).
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &system)
            .map_err(|_| FoundingError::ClusterKey("it cannot be made"))?;
        let pkcs8 = SecretBytes::new(pkcs8.as_ref().to_vec());
        let pair = crate::cluster::read_key(pkcs8.expose())?;
        let cluster_key = <[u8; CLUSTER_KEY_LEN]>::try_from(pair.public_key().as_ref())
            .map_err(|_| FoundingError::ClusterKey("it is not an uncompressed point"))?;
        let mut random = [0u8; 32];
        rng.fill_bytes(&mut random);
        let schema = Genesis::SCHEMA.to_owned();
        let genesis = Genesis {
            schema,
            random,
            cluster_key,
            config: config.clone(),
        }
        .to_bytes()?;
        Ok(Self {
            genesis,
            wrapping: fresh_secret(rng),
            pkcs8,
            members,
        })
    }

    /// The message to one member.
    pub(crate) fn found(
        &self,
        to: &[u8; 32],
        to_kem: &KemPublic,
        founder: &[u8; 32],
        rng: &mut OsRng,
    ) -> Result<Found, FoundingError> {
        let info = found_info(&self.genesis, founder, to);
        let sealed_secrets = seal_box(rng, to_kem, &info, &self.secrets())?;
        Ok(Found {
            genesis: self.genesis.clone(),
            sealed_secrets,
        })
    }

    /// The founder's own membership.
    pub(crate) fn into_parts(self) -> Result<(Cluster, Members), FoundingError> {
        Ok((
            Cluster::new(self.genesis, self.wrapping, self.pkcs8)?,
            self.members,
        ))
    }

    /// version u8 ‖ wrapping key 32 ‖ LP(cluster key PKCS#8) ‖ count u32 ‖ (id u64 ‖ key 32)*.
    /// One buffer that is large enough from the start, so that no copy stays behind (I13).
    fn secrets(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::with_capacity(
            64 + MAX_PKCS8 + self.members.0.len() * 40,
        ));
        out.push(VERSION);
        out.extend_from_slice(self.wrapping.expose());
        out.extend_from_slice(&(self.pkcs8.len() as u32).to_be_bytes());
        out.extend_from_slice(self.pkcs8.expose());
        out.extend_from_slice(&(self.members.0.len() as u32).to_be_bytes());
        for (id, key) in &self.members.0 {
            out.extend_from_slice(&id.0.to_be_bytes());
            out.extend_from_slice(key);
        }
        out
    }
}

/// What a node that is asked to join knows about itself and the founder's session.
pub(crate) struct Invited<'a> {
    /// The configuration that it was started with.
    pub(crate) config: &'a ClusterConfig,
    /// Its number, by placement.
    pub(crate) node: NodeId,
    /// Its per-boot keys.
    pub(crate) signing_key: &'a [u8; 32],
    pub(crate) kem: &'a KemPrivate,
    /// The key that the founder proved on the session.
    pub(crate) founder: &'a [u8; 32],
}

impl Invited<'_> {
    /// Checks the founder's message and becomes a member by it.
    pub(crate) fn accept(&self, found: &Found) -> Result<(Cluster, Members), FoundingError> {
        if found.genesis.len() > MAX_GENESIS {
            return Err(FoundingError::TooLong(found.genesis.len()));
        }
        if Genesis::parse(&found.genesis)?.config != *self.config {
            return Err(FoundingError::OtherConfig);
        }
        let info = found_info(&found.genesis, self.founder, self.signing_key);
        let opened = open_box(self.kem, &info, &found.sealed_secrets)?;
        let mut reader = Reader::new(opened.expose());
        let version = reader.u8("version")?;
        if version != VERSION {
            return Err(FoundingError::Version(version));
        }
        let wrapping = Secret::new(*Zeroizing::new(reader.array::<32>("wrapping_key")?));
        let pkcs8 = SecretBytes::new(reader.bytes("cluster_key", MAX_PKCS8)?.to_vec());
        let count = reader
            .u32("members")?
            .min(ClusterConfig::PEERS_MAX as u32 + 1);
        let members: Vec<_> = (0..count)
            .map(|_| {
                Ok((
                    NodeId(reader.u64("member.id")?),
                    reader.array("member.key")?,
                ))
            })
            .collect::<Result<_, LpError>>()?;
        reader.finish()?;
        let members = Members::new(members, self.config)?;
        self.check_members(&members)?;
        Ok((
            Cluster::new(found.genesis.clone(), wrapping, pkcs8)?,
            members,
        ))
    }

    fn check_members(&self, members: &Members) -> Result<(), FoundingError> {
        if members.id_of(self.signing_key) != Some(self.node) {
            let why = format!(
                "the founder does not know this process as node {}",
                self.node
            );
            return Err(FoundingError::Members(why));
        }
        match members.id_of(self.founder) {
            Some(_) => Ok(()),
            None => Err(FoundingError::Members(
                "the founder is not one of them".into(),
            )),
        }
    }
}

/// The box opens only for this genesis, from this founder, at this peer.
fn found_info(genesis: &[u8], founder: &[u8; 32], to: &[u8; 32]) -> Transcript {
    Transcript::new("siegel/kms/found/v1")
        .field(ClusterId::of(genesis).as_bytes())
        .field(founder)
        .field(to)
}

#[cfg(test)]
mod tests;
