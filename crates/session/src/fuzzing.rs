//! A peer that masters Noise and says what it is told to: hostile bytes behind the encryption, where a network gets none
//! (I14). For fuzzing.

use std::sync::Arc;

use rand_core::CryptoRng;
use siegel_attest::{CHALLENGE_LEN, Role};
use siegel_ident::{ClusterId, Digest};
use snow::{HandshakeState, StatelessTransportState};

use crate::expect::Side;
use crate::frames::{FRAME_MAX, Sealer, halves};
use crate::hello::{Auth, Hello};
use crate::proof::Proof;
use crate::{Identity, SessionError, noise};

/// The peer.
pub struct Rogue {
    side: Side,
    identity: Arc<Identity>,
    own: Hello,
    peer: Option<Hello>,
    /// One is for honest frames, the other for frames of any content: both have the same keys.
    noise: Option<[HandshakeState; 2]>,
    channel: Option<Channel>,
}

struct Channel {
    hash: Digest,
    sealer: Sealer,
    raw: StatelessTransportState,
    next: u64,
}

impl Rogue {
    /// Dials if `initiator`, and accepts otherwise; names `deployment` in its honest Hello.
    ///
    /// # Errors
    /// [`SessionError`] if the keys cannot be made.
    pub fn new(
        initiator: bool,
        identity: Arc<Identity>,
        deployment: Option<ClusterId>,
        rng: &(impl CryptoRng + Clone),
    ) -> Result<Self, SessionError> {
        let side = match initiator {
            true => Side::Initiator,
            false => Side::Responder,
        };
        let start = || noise::start(side, None, &mut rng.clone());
        let own = Hello {
            role: identity.role(),
            deployment: deployment.filter(|_| identity.role() == Role::KmsPeer),
            signing_key: *identity.signing_key(),
            kem_key: identity.kem_key().to_vec(),
            challenge: [0xC4; CHALLENGE_LEN],
        };
        Ok(Self {
            side,
            identity,
            own,
            peer: None,
            noise: Some([start()?, start()?]),
            channel: None,
        })
    }

    /// What it would honestly say of itself.
    pub fn hello(&self) -> Vec<u8> {
        self.own.to_bytes()
    }

    /// Its next message of the Noise handshake, with this payload. `None` if none is due, or the payload is too long.
    pub fn write(&mut self, payload: &[u8]) -> Option<Vec<u8>> {
        let mut frame = vec![0; FRAME_MAX];
        let mut len = 0;
        for noise in self.noise.as_mut()? {
            len = noise.write_message(payload, &mut frame).ok()?;
        }
        frame.truncate(len);
        self.finish();
        Some(frame)
    }

    /// Takes the other side's message of the Noise handshake.
    pub fn read(&mut self, frame: &[u8]) -> Option<()> {
        let mut payload = vec![0; FRAME_MAX];
        let mut len = 0;
        for noise in self.noise.as_mut()? {
            len = noise.read_message(frame, &mut payload).ok()?;
        }
        payload.truncate(len);
        self.peer = Hello::parse(&payload).ok();
        self.finish();
        Some(())
    }

    fn finish(&mut self) {
        let done =
            |noise: &[HandshakeState; 2]| noise.iter().all(|one| one.is_handshake_finished());
        if let Some([one, other]) = self.noise.take_if(|noise| done(noise)) {
            let hash = Digest::try_from_slice(one.get_handshake_hash());
            let one = one.into_stateless_transport_mode().ok();
            let raw = other.into_stateless_transport_mode().ok();
            self.channel = hash.zip(one).zip(raw).map(|((hash, one), raw)| Channel {
                hash,
                sealer: halves(one).0,
                raw,
                next: 0,
            });
        }
    }

    fn proof(&self) -> Option<Proof<'_>> {
        Some(Proof {
            side: self.side,
            channel: self.channel.as_ref()?.hash,
            own: &self.own,
            peer: self.peer.as_ref()?,
            cluster: self.own.deployment.or(self.peer.as_ref()?.deployment),
        })
    }

    /// What its evidence has to bind.
    pub fn report_data(&self) -> Option<[u8; 64]> {
        self.proof()?.own_binding(&self.identity).report_data().ok()
    }

    /// An honest proof with this evidence, not sealed yet.
    pub fn proof_bytes(&self, evidence: Vec<u8>) -> Option<Vec<u8>> {
        Some(self.proof()?.make(&self.identity, evidence).to_bytes())
    }

    /// A message in honest frames. None can follow a frame that [`Rogue::seal`] made.
    pub fn send(&mut self, message: &[u8]) -> Option<Vec<Vec<u8>>> {
        let channel = self.channel.as_mut()?;
        let frames = channel.sealer.seal(message).ok()?;
        channel.next += frames.len() as u64;
        Some(frames)
    }

    /// A frame with this plaintext, whatever it means. `None` if it is too long.
    pub fn seal(&mut self, plaintext: &[u8]) -> Option<Vec<u8>> {
        let channel = self.channel.as_mut()?;
        let mut frame = vec![0; FRAME_MAX];
        let written = channel
            .raw
            .write_message(channel.next, plaintext, &mut frame);
        frame.truncate(written.ok()?);
        channel.next += 1;
        Some(frame)
    }
}

/// A Hello or a proof that is read is written again to the same bytes. Returns whether one was read.
pub fn messages(bytes: &[u8]) -> bool {
    let hello = Hello::parse(bytes).map(|hello| hello.to_bytes());
    let auth = Auth::parse(bytes).map(|auth| auth.to_bytes());
    let read = [hello, auth].map(|written| {
        written.is_ok_and(|written| {
            assert_eq!(written, bytes);
            true
        })
    });
    read.contains(&true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use crate::{Opened, Session};

    /// Dials or accepts honestly; the session of the other side.
    fn honest(initiator: bool) -> (Rogue, Session) {
        let (one, other) = (node(Role::KmsPeer, 1), node(Role::KmsPeer, 2));
        let identity = one.identity.clone();
        let mut rogue = Rogue::new(initiator, identity, Some(CLUSTER), &rng(3)).unwrap();
        let mut frames = Vec::new();
        let mut victim = match initiator {
            true => {
                frames.push(rogue.write(&[]).unwrap());
                End::accept(&other, other.setup(kms_or_workload()), 4)
            }
            false => {
                let (end, first) = End::dial(&other, other.setup(kms()), 4);
                rogue.read(&first).unwrap();
                frames.push(rogue.write(&rogue.hello()).unwrap());
                end
            }
        };
        let answers = victim.feed(&frames.remove(0)).unwrap();
        rogue.read(&answers[0]).unwrap();
        if initiator {
            let hello = rogue.hello();
            victim.feed(&rogue.write(&hello).unwrap()).unwrap();
        }
        let evidence = one.quote(rogue.report_data().unwrap());
        let proof = rogue.proof_bytes(evidence).unwrap();
        assert!(messages(&proof) && messages(&rogue.hello()) && !messages(b"x"));
        for frame in rogue.send(&proof).unwrap() {
            victim.feed(&frame).unwrap();
        }
        (rogue, victim.session.unwrap())
    }

    /// Without this, a fuzzer would end at the first check.
    #[test]
    fn an_honest_rogue_is_let_in() {
        for initiator in [true, false] {
            let (mut rogue, mut session) = honest(initiator);
            let frames = rogue.send(b"message").unwrap();
            let opened = session.open(&frames[0]).unwrap();
            assert!(opened == Opened::Message(b"message".to_vec()));
            // No chunk has this tag (I14).
            let frame = rogue.seal(&[9, 9]).unwrap();
            assert!(matches!(
                session.open(&frame),
                Err(SessionError::Frame {
                    what: "no valid chunk",
                    ..
                })
            ));
        }
    }
}
