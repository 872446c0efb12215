//! The handshake as a state machine: frames and quotes go in, frames and wishes come out.

use std::sync::Arc;

use rand_core::CryptoRng;
use siegel_attest::{CHALLENGE_LEN, REPORT_DATA_LEN, Role};
use siegel_ident::{ClusterId, Seconds, Timestamp};
use snow::HandshakeState;

use self::channel::{Channel, write};
use crate::expect::Side;
use crate::hello::Hello;
use crate::{Expect, Identity, Peer, Purpose, Session, SessionError, noise};

mod channel;
mod steps;

/// How long after our Hello the peer's proof may come.
pub const CHALLENGE_LIFETIME: Seconds = Seconds(60);

/// What a side brings to a handshake.
pub struct Setup {
    /// Our keys and role.
    pub identity: Arc<Identity>,
    /// A KMS node: its cluster, once founded. A workload: the cluster it must find at the other
    /// end, if it has met it before. Between root and worker: not used.
    pub deployment: Option<ClusterId>,
    /// Between root and worker: what the session is for. The dialling side names it in the clear,
    /// both bind it into the channel. With a KMS node: `None`.
    pub purpose: Option<Purpose>,
    /// Whom we expect.
    pub expect: Expect,
}

/// Send `send` in this order, then do what `next` says.
pub struct Step {
    /// Frames for the peer.
    pub send: Vec<Vec<u8>>,
    /// What the handshake needs then.
    pub next: Next,
}

/// What a handshake needs.
pub enum Next {
    /// The peer's next frame: [`Handshake::on_frame`].
    Frame,
    /// Evidence with this report data from the platform: [`Handshake::on_quote`].
    Quote([u8; REPORT_DATA_LEN]),
    /// Nothing: the session is ready.
    Done(Box<Session>),
}

/// One handshake. All its randomness is drawn at the start; the first error ends it.
pub struct Handshake {
    setup: Setup,
    side: Side,
    own: Hello,
    hello_sent: Timestamp,
    /// The latest time seen: a clock that is set back makes no challenge younger.
    latest: Timestamp,
    state: State,
}

enum State {
    /// Responder: waits for message 1. Initiator: waits for message 2.
    Noise(Box<HandshakeState>),
    /// Responder: has sent message 2, waits for message 3.
    NoiseEnd(Box<HandshakeState>),
    /// Initiator: waits for a quote before it proves itself.
    QuoteFirst(Channel),
    /// Waits for the peer's proof, or for the rest of it.
    Proof(Channel),
    /// Responder: has checked the initiator's proof, waits for its own quote.
    QuoteLast(Channel, Box<Peer>),
    /// Done, or broken.
    Over,
}

impl Handshake {
    /// Starts dialling; the second value is the first frame to send.
    ///
    /// # Errors
    /// [`SessionError::Setup`] if our role does not dial with this expectation,
    /// [`SessionError::Purpose`] if the purpose does not go with it.
    pub fn initiator(
        setup: Setup,
        now: Timestamp,
        rng: &mut impl CryptoRng,
    ) -> Result<(Self, Vec<u8>), SessionError> {
        let (mut this, mut noise) = Self::start(setup, Side::Initiator, now, rng)?;
        let frame = write(&mut noise, 1, &[])?;
        this.state = State::Noise(Box::new(noise));
        Ok((this, frame))
    }

    /// Starts accepting; waits for the first frame.
    ///
    /// # Errors
    /// [`SessionError::Setup`] if our role does not accept with this expectation,
    /// [`SessionError::Purpose`] if the purpose that was named does not go with it.
    pub fn responder(
        setup: Setup,
        now: Timestamp,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, SessionError> {
        let (mut this, noise) = Self::start(setup, Side::Responder, now, rng)?;
        this.state = State::Noise(Box::new(noise));
        Ok(this)
    }

    fn start(
        setup: Setup,
        side: Side,
        now: Timestamp,
        rng: &mut impl CryptoRng,
    ) -> Result<(Self, HandshakeState), SessionError> {
        let identity = &setup.identity;
        setup.expect.check_setup(identity.role(), side)?;
        setup.expect.check_purpose(setup.purpose.as_ref())?;
        let mut challenge = [0u8; CHALLENGE_LEN];
        rng.fill_bytes(&mut challenge);
        let own = Hello {
            role: identity.role(),
            deployment: setup
                .deployment
                .filter(|_| identity.role() == Role::KmsPeer),
            signing_key: *identity.signing_key(),
            kem_key: identity.kem_key().to_vec(),
            challenge,
        };
        let noise = noise::start(side, setup.purpose.as_ref(), rng)?;
        Ok((
            Self {
                setup,
                side,
                own,
                hello_sent: now,
                latest: now,
                state: State::Over,
            },
            noise,
        ))
    }

    /// Takes the peer's next frame.
    ///
    /// # Errors
    /// Any [`SessionError`]; the handshake is then over.
    pub fn on_frame(&mut self, now: Timestamp, frame: &[u8]) -> Result<Step, SessionError> {
        self.latest = self.latest.max(now);
        let now = self.latest;
        match (std::mem::replace(&mut self.state, State::Over), self.side) {
            (State::Noise(noise), Side::Responder) => self.answer_first(now, *noise, frame),
            (State::Noise(noise), Side::Initiator) => self.answer_hello(now, *noise, frame),
            (State::NoiseEnd(noise), _) => self.finish_noise(*noise, frame),
            (State::Proof(channel), _) => self.check_proof(now, channel, frame),
            (State::Over, _) => Err(SessionError::Broken),
            (State::QuoteFirst(_) | State::QuoteLast(..), _) => {
                Err(SessionError::OutOfTurn { got: "frame" })
            }
        }
    }

    /// Takes the evidence that [`Next::Quote`] asked for.
    ///
    /// # Errors
    /// Any [`SessionError`]; the handshake is then over.
    pub fn on_quote(&mut self, evidence: Vec<u8>) -> Result<Step, SessionError> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::QuoteFirst(mut channel) => {
                let send = self.prove(&mut channel, evidence)?;
                self.state = State::Proof(channel);
                Ok(Step {
                    send,
                    next: Next::Frame,
                })
            }
            State::QuoteLast(mut channel, peer) => {
                let send = self.prove(&mut channel, evidence)?;
                Ok(self.done(send, channel, *peer))
            }
            State::Over => Err(SessionError::Broken),
            _ => Err(SessionError::OutOfTurn { got: "quote" }),
        }
    }
}

#[cfg(test)]
mod tests;
