//! A peer without manners, for tests: Noise by hand, claims and proofs of its own making. It holds
//! whatever keys and evidence it was given; what it lacks is another side's signing key.

#![allow(clippy::unwrap_used)]

use rand_core::CryptoRng;
use siegel_attest::{CHALLENGE_LEN, Role};
use siegel_ident::{ClusterId, Digest};
use snow::HandshakeState;

use crate::expect::Side;
use crate::frames::{FRAME_MAX, halves};
use crate::hello::{Auth, Hello};
use crate::proof::Proof;
use crate::{Identity, Opener, PeerKeys, Purpose, Sealer, noise};

/// A Noise handshake whose payloads are whatever the caller says.
pub struct Noise(HandshakeState);

/// A Noise channel, both directions, with nobody proved.
pub struct Channel {
    /// Seals what goes out.
    pub sealer: Sealer,
    /// Opens what comes in; takes messages as long as a proof.
    pub opener: Opener,
    /// The handshake hash.
    pub hash: Digest,
}

impl Noise {
    /// The dialling end.
    pub fn dialling(purpose: Option<&Purpose>, rng: &mut impl CryptoRng) -> Self {
        Self(noise::start(Side::Initiator, purpose, rng).unwrap())
    }

    /// The accepting end.
    pub fn accepting(purpose: Option<&Purpose>, rng: &mut impl CryptoRng) -> Self {
        Self(noise::start(Side::Responder, purpose, rng).unwrap())
    }

    /// The next handshake message.
    pub fn write(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; FRAME_MAX];
        let written = self.0.write_message(payload, &mut frame).unwrap();
        frame.truncate(written);
        frame
    }

    /// The payload of the other side's next handshake message.
    pub fn read(&mut self, frame: &[u8]) -> Vec<u8> {
        let mut payload = vec![0; FRAME_MAX];
        let read = self.0.read_message(frame, &mut payload).unwrap();
        payload.truncate(read);
        payload
    }

    /// After the third message.
    pub fn finish(self) -> Channel {
        let hash = Digest::try_from_slice(self.0.get_handshake_hash()).unwrap();
        let (sealer, opener) = halves(self.0.into_stateless_transport_mode().unwrap());
        Channel {
            sealer,
            opener,
            hash,
        }
    }
}

/// What a side says of itself in its Hello, true or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its role.
    pub role: Role,
    /// A KMS node's cluster.
    pub deployment: Option<ClusterId>,
    /// Its keys.
    pub keys: PeerKeys,
    /// What the other side is to answer.
    pub challenge: [u8; CHALLENGE_LEN],
}

impl Claim {
    /// As in a handshake.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.hello().to_bytes()
    }

    /// Another side's.
    pub fn parse(bytes: &[u8]) -> Self {
        let hello = Hello::parse(bytes).unwrap();
        Self {
            role: hello.role,
            deployment: hello.deployment,
            keys: PeerKeys {
                signing_key: hello.signing_key,
                kem_key: hello.kem_key,
            },
            challenge: hello.challenge,
        }
    }

    fn hello(&self) -> Hello {
        Hello {
            role: self.role,
            deployment: self.deployment,
            signing_key: self.keys.signing_key,
            kem_key: self.keys.kem_key.clone(),
            challenge: self.challenge,
        }
    }
}

/// A proof with this evidence, signed by `identity` over this channel, whatever it claims to be.
/// `dials` is the direction that is signed.
pub fn prove(
    identity: &Identity,
    dials: bool,
    channel: Digest,
    own: &Claim,
    peer: &Claim,
    evidence: Vec<u8>,
) -> Vec<u8> {
    let side = if dials {
        Side::Initiator
    } else {
        Side::Responder
    };
    let proof = Proof {
        side,
        channel,
        own: &own.hello(),
        peer: &peer.hello(),
        cluster: None,
    };
    proof.make(identity, evidence).to_bytes()
}

/// The evidence in somebody's proof.
pub fn evidence_of(proof: &[u8]) -> Vec<u8> {
    Auth::parse(proof).unwrap().evidence
}
