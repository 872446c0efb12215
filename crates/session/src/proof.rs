//! What each side signs and quotes, and how the other checks it.

use ring::signature::{ED25519, UnparsedPublicKey};
use siegel_attest::{Binding, ClusterConfig, Context, Role};
use siegel_ident::{ClusterId, Digest, Timestamp, Transcript};

use crate::expect::Side;
use crate::hello::{Auth, Hello};
use crate::{Authenticated, Expect, Identity, Peer, PeerKeys, Pending, SessionError};

/// Both Hellos on one channel, seen from one side.
pub(crate) struct Proof<'a> {
    pub(crate) side: Side,
    /// Noise handshake hash: covers both Hellos and all ephemeral keys.
    pub(crate) channel: Digest,
    pub(crate) own: &'a Hello,
    pub(crate) peer: &'a Hello,
    /// The cluster that both are talking in; `None` between nodes before founding, or vouched.
    pub(crate) cluster: Option<ClusterId>,
}

impl Proof<'_> {
    /// What our own evidence must bind: the peer's challenge, our keys.
    pub(crate) fn own_binding(&self, identity: &Identity) -> Binding {
        Binding {
            role: self.own.role,
            deployment: match self.own.role {
                Role::KmsPeer => self.own.deployment,
                _ => self.cluster,
            },
            signing_key: self.own.signing_key.to_vec(),
            kem_key: self.own.kem_key.clone(),
            config: identity.config(),
            challenge: self.peer.challenge.to_vec(),
            checkpoint: None,
        }
    }

    /// Our proof, over this channel, in our direction, for the peer's challenge.
    pub(crate) fn make(&self, identity: &Identity, evidence: Vec<u8>) -> Auth {
        let signed = self.signed_by(self.side, self.own, self.peer);
        Auth {
            evidence,
            signature: identity.sign(&signed),
        }
    }

    /// Checks the peer's proof.
    pub(crate) fn check(
        &self,
        auth: Auth,
        expect: &Expect,
        now: Timestamp,
    ) -> Result<Peer, SessionError> {
        let role = self.peer.role;
        let signed = self.signed_by(self.side.other(), self.peer, self.own);
        UnparsedPublicKey::new(&ED25519, &self.peer.signing_key)
            .verify(&signed, &auth.signature)
            .map_err(|_| SessionError::Signature { role })?;
        let keys = PeerKeys {
            signing_key: self.peer.signing_key,
            kem_key: self.peer.kem_key.clone(),
        };
        let authenticated = match expect {
            Expect::Vouched { keys: vouched, .. } => {
                if !auth.evidence.is_empty() {
                    return Err(SessionError::Evidence {
                        role,
                        problem: "not expected here",
                    });
                }
                if !vouched.contains(&keys) {
                    return Err(SessionError::NotVouched { role });
                }
                Authenticated::Vouched
            }
            Expect::Kms(_) | Expect::KmsOrWorkload(_) if auth.evidence.is_empty() => {
                return Err(SessionError::Evidence {
                    role,
                    problem: "missing",
                });
            }
            Expect::Kms(cluster) => self.appraise_node(&auth.evidence, cluster, now)?,
            Expect::KmsOrWorkload(cluster) if role == Role::KmsPeer => {
                self.appraise_node(&auth.evidence, cluster, now)?
            }
            Expect::KmsOrWorkload(_) => Authenticated::Pending(Pending {
                evidence: auth.evidence,
                role,
                keys: keys.clone(),
                deployment: self.cluster.ok_or(SessionError::NotFounded)?,
                challenge: self.own.challenge,
            }),
        };
        let deployment = match role {
            Role::KmsPeer => self.peer.deployment,
            _ => self.cluster,
        };
        Ok(Peer {
            role,
            keys,
            deployment,
            authenticated,
        })
    }

    /// Label, channel, own key, peer key, direction, peer's challenge: the channel stops replay
    /// and relay; both keys and the direction stop reflection; the challenge dates it (I3).
    fn signed_by(&self, side: Side, signer: &Hello, other: &Hello) -> Vec<u8> {
        Transcript::new("siegel/session/v1")
            .field(self.channel.as_bytes())
            .field(&signer.signing_key)
            .field(&other.signing_key)
            .field(side.as_str().as_bytes())
            .field(&other.challenge)
            .into_bytes()
    }

    /// A KMS node is judged by the static configuration alone: it must run one of its binaries
    /// with the very same configuration.
    fn appraise_node(
        &self,
        evidence: &[u8],
        cluster: &ClusterConfig,
        now: Timestamp,
    ) -> Result<Authenticated, SessionError> {
        let binding = Binding {
            role: Role::KmsPeer,
            deployment: self.peer.deployment,
            signing_key: self.peer.signing_key.to_vec(),
            kem_key: self.peer.kem_key.clone(),
            config: cluster.digest()?,
            challenge: self.own.challenge.to_vec(),
            checkpoint: None,
        };
        let ctx = Context {
            now,
            profile: cluster.profile,
            genesis_profile: cluster.profile,
            anchors: &cluster.anchors(),
        };
        let appraisal = siegel_attest::appraise(evidence, &binding, &cluster.peers, &ctx)?;
        Ok(Authenticated::Appraised(appraisal))
    }
}
