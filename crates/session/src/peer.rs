//! Who is at the other end.

use siegel_attest::{Appraisal, Binding, CHALLENGE_LEN, Context, ReferenceValue, Refusal, Role};
use siegel_ident::{ClusterId, ConfigDigest};

use crate::PeerKeys;

/// An authenticated peer. Its fields are private: only a finished handshake makes one (I3).
#[derive(Clone, Debug)]
pub struct Peer {
    pub(crate) role: Role,
    pub(crate) keys: PeerKeys,
    pub(crate) deployment: Option<ClusterId>,
    pub(crate) authenticated: Authenticated,
}

/// How the peer was authenticated.
#[derive(Clone, Debug)]
pub enum Authenticated {
    /// Its evidence was appraised during the handshake.
    Appraised(Appraisal),
    /// The KMS vouched for its keys.
    Vouched,
    /// It holds the keys that its evidence binds, but nothing is known about it until
    /// [`Pending::appraise`] says so. Grant it nothing before.
    Pending(Pending),
}

impl Peer {
    /// Its role. Of a pending peer: what it claims.
    pub fn role(&self) -> Role {
        self.role
    }
    /// Its public signing key (Ed25519). It signed this channel with it.
    pub fn signing_key(&self) -> &[u8; 32] {
        &self.keys.signing_key
    }
    /// Its public KEM key: suite ‖ key. Secrets for it are sealed to this.
    pub fn kem_key(&self) -> &[u8] {
        &self.keys.kem_key
    }
    /// Both public keys.
    pub fn keys(&self) -> &PeerKeys {
        &self.keys
    }
    /// The cluster it belongs to (a KMS node) or asks (a workload at a KMS node).
    pub fn deployment(&self) -> Option<ClusterId> {
        self.deployment
    }
    /// How it was authenticated.
    pub fn authenticated(&self) -> &Authenticated {
        &self.authenticated
    }
    /// The appraisal, if there is one already.
    pub fn appraisal(&self) -> Option<&Appraisal> {
        match &self.authenticated {
            Authenticated::Appraised(appraisal) => Some(appraisal),
            _ => None,
        }
    }
    /// The evidence to appraise, if it was left for later.
    pub fn pending(&self) -> Option<&Pending> {
        match &self.authenticated {
            Authenticated::Pending(pending) => Some(pending),
            _ => None,
        }
    }
}

/// Evidence of a workload whose signature over the channel was good, kept until a request names
/// the policy by which it is to be appraised.
#[derive(Clone, Debug)]
pub struct Pending {
    pub(crate) evidence: Vec<u8>,
    pub(crate) role: Role,
    pub(crate) keys: PeerKeys,
    pub(crate) deployment: ClusterId,
    pub(crate) challenge: [u8; CHALLENGE_LEN],
}

impl Pending {
    /// Appraises the evidence for the configuration that the *verifier* expects, made with
    /// [`siegel_attest::root_config`] or [`siegel_attest::worker_config`]; the peer has no say.
    ///
    /// # Errors
    /// What [`siegel_attest::appraise`] refuses.
    pub fn appraise(
        &self,
        config: ConfigDigest,
        allowed: &[ReferenceValue],
        ctx: &Context<'_>,
    ) -> Result<Appraisal, Refusal> {
        siegel_attest::appraise(&self.evidence, &self.binding(config), allowed, ctx)
    }

    /// What the evidence must bind if the workload was started with `config`.
    pub fn binding(&self, config: ConfigDigest) -> Binding {
        Binding {
            role: self.role,
            deployment: Some(self.deployment),
            signing_key: self.keys.signing_key.to_vec(),
            kem_key: self.keys.kem_key.clone(),
            config,
            challenge: self.challenge.to_vec(),
            checkpoint: None,
        }
    }

    /// The evidence itself, for replicas that appraise it again.
    pub fn evidence(&self) -> &[u8] {
        &self.evidence
    }

    /// The role it claims.
    pub fn role(&self) -> Role {
        self.role
    }
}
