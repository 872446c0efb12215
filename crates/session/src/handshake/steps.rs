//! The steps of a handshake, in the order in which they happen.

use siegel_attest::{REPORT_DATA_LEN, Role};
use siegel_ident::{ClusterId, Timestamp};
use snow::HandshakeState;

use super::channel::{Channel, done, read, write};
use super::{CHALLENGE_LIFETIME, Handshake, Next, State, Step};
use crate::expect::Side;
use crate::hello::{Auth, CARRIED_MAX, Hello};
use crate::proof::Proof;
use crate::{Opened, Peer, SessionError};

impl Handshake {
    /// Responder, message 1 → message 2 with our Hello.
    pub(super) fn answer_first(
        &mut self,
        now: Timestamp,
        mut noise: HandshakeState,
        frame: &[u8],
    ) -> Result<Step, SessionError> {
        if !read(&mut noise, 1, frame)?.is_empty() {
            return Err(SessionError::Field { field: "payload" });
        }
        self.hello_sent = now;
        let send = vec![write(&mut noise, 2, &self.own.to_bytes())?];
        self.state = State::NoiseEnd(Box::new(noise));
        Ok(Step {
            send,
            next: Next::Frame,
        })
    }

    /// Initiator, message 2 with the peer's Hello → message 3 with ours, then our proof.
    pub(super) fn answer_hello(
        &mut self,
        now: Timestamp,
        mut noise: HandshakeState,
        frame: &[u8],
    ) -> Result<Step, SessionError> {
        let peer = Hello::parse(&read(&mut noise, 2, frame)?)?;
        let cluster = self.admit(&peer)?;
        self.hello_sent = now;
        let mut send = vec![write(&mut noise, 3, &self.own.to_bytes())?];
        let mut channel = Channel::new(noise, peer, cluster)?;
        let next = if self.setup.expect.attested() {
            let report_data = self.report_data(&channel)?;
            self.state = State::QuoteFirst(channel);
            Next::Quote(report_data)
        } else {
            send.append(&mut self.prove(&mut channel, Vec::new())?);
            self.state = State::Proof(channel);
            Next::Frame
        };
        Ok(Step { send, next })
    }

    /// Responder, message 3 with the peer's Hello → wait for its proof. The initiator proves
    /// itself first. A workload's evidence is only kept then, so whoever calls itself one can make us ask the platform
    /// for a quote.
    pub(super) fn finish_noise(
        &mut self,
        mut noise: HandshakeState,
        frame: &[u8],
    ) -> Result<Step, SessionError> {
        let peer = Hello::parse(&read(&mut noise, 3, frame)?)?;
        let cluster = self.admit(&peer)?;
        self.state = State::Proof(Channel::new(noise, peer, cluster)?);
        Ok(Step {
            send: Vec::new(),
            next: Next::Frame,
        })
    }

    /// The peer's proof, which may take several frames; the responder then gives its own.
    pub(super) fn check_proof(
        &mut self,
        now: Timestamp,
        mut channel: Channel,
        frame: &[u8],
    ) -> Result<Step, SessionError> {
        let age = now.since(self.hello_sent);
        if age >= CHALLENGE_LIFETIME {
            return Err(SessionError::Stale {
                age,
                max: CHALLENGE_LIFETIME,
            });
        }
        let bytes = match channel.opener.open(frame)? {
            Opened::Message(bytes) => bytes,
            Opened::Part => {
                self.state = State::Proof(channel);
                return Ok(Step {
                    send: Vec::new(),
                    next: Next::Frame,
                });
            }
            Opened::Closed => return Err(SessionError::Field { field: "proof" }),
        };
        let auth = Auth::parse(&bytes)?;
        let peer = self.proof(&channel).check(auth, &self.setup.expect, now)?;
        match self.side {
            Side::Initiator => Ok(self.done(Vec::new(), channel, peer)),
            Side::Responder if self.setup.expect.attested() => {
                let report_data = self.report_data(&channel)?;
                self.state = State::QuoteLast(channel, Box::new(peer));
                Ok(Step {
                    send: Vec::new(),
                    next: Next::Quote(report_data),
                })
            }
            Side::Responder => {
                let send = self.prove(&mut channel, Vec::new())?;
                Ok(self.done(send, channel, peer))
            }
        }
    }

    pub(super) fn done(&self, send: Vec<Vec<u8>>, channel: Channel, peer: Peer) -> Step {
        done(send, channel, peer, self.hello_sent, self.latest)
    }

    /// Role, reflection and cluster, before anything is signed or quoted for this peer. Returns
    /// the cluster that the two talk in.
    pub(super) fn admit(&self, peer: &Hello) -> Result<Option<ClusterId>, SessionError> {
        self.setup.expect.check_peer(self.own.role, peer.role)?;
        if peer.signing_key == self.own.signing_key {
            return Err(SessionError::Reflection);
        }
        if !self.setup.expect.attested() {
            return Ok(None);
        }
        if let (Some(expected), Some(found)) = (self.setup.deployment, peer.deployment)
            && expected != found
        {
            return Err(SessionError::Cluster { found, expected });
        }
        // Two nodes may meet before founding. A workload needs a founded node, and believes only
        // the node's own word, which the node's evidence will bind.
        match (self.own.role, peer.role) {
            (Role::KmsPeer, Role::KmsPeer) => Ok(self.own.deployment.or(peer.deployment)),
            (Role::KmsPeer, _) => self
                .own
                .deployment
                .ok_or(SessionError::NotFounded)
                .map(Some),
            _ => peer.deployment.ok_or(SessionError::NotFounded).map(Some),
        }
    }

    fn report_data(&self, channel: &Channel) -> Result<[u8; REPORT_DATA_LEN], SessionError> {
        Ok(self
            .proof(channel)
            .own_binding(&self.setup.identity)
            .report_data()?)
    }

    /// Our proof as frames. Evidence that the peer would refuse unread is not sent.
    pub(super) fn prove(
        &self,
        channel: &mut Channel,
        evidence: Vec<u8>,
    ) -> Result<Vec<Vec<u8>>, SessionError> {
        if evidence.len() > CARRIED_MAX {
            return Err(SessionError::MessageTooLong {
                len: evidence.len(),
                max: CARRIED_MAX,
            });
        }
        let auth = self.proof(channel).make(&self.setup.identity, evidence);
        channel.sealer.seal(&auth.to_bytes())
    }

    pub(super) fn proof<'a>(&'a self, channel: &'a Channel) -> Proof<'a> {
        Proof {
            side: self.side,
            channel: channel.hash,
            own: &self.own,
            peer: &channel.peer,
            cluster: channel.cluster,
        }
    }
}
