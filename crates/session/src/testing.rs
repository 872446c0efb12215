//! A small world for the tests: a simulation with nodes, and a driver for two handshakes.

use std::sync::Arc;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use siegel_attest::simulated::Attester;
use siegel_attest::{ClusterConfig, Profile, ReferenceValue, Role, root_config, worker_config};
use siegel_ident::{
    ClusterId, ConfigDigest, Fencing, Measurement, PolicyDigest, ProgramDigest, RunId, Secret,
    Timestamp,
};

use crate::{Expect, Handshake, Identity, Next, Purpose, Session, SessionError, Setup, Step};

pub(crate) const NOW: Timestamp = Timestamp(1_800_000_000);
pub(crate) const CLUSTER: ClusterId = ClusterId::from_bytes([0xC1; 32]);
pub(crate) const PROGRAM: ProgramDigest = ProgramDigest::from_bytes([0x50; 32]);

/// A process: its identity, and what the launcher measured of it.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) identity: Arc<Identity>,
    pub(crate) measurement: Measurement,
    /// What stands in for the TEE.
    pub(crate) quote: fn(&Self, [u8; 64]) -> Vec<u8>,
    /// Evidence from elsewhere, for a TEE that lies.
    pub(crate) stored: Option<Vec<u8>>,
}

pub(crate) fn attester() -> Attester {
    Attester::new(&Secret::new([9; 32])).unwrap()
}

pub(crate) fn measurement(role: Role) -> Measurement {
    Measurement::from_bytes(
        [match role {
            Role::KmsPeer | Role::KmsBundle => 1,
            Role::Root => 2,
            Role::Worker => 3,
        }; 32],
    )
}

pub(crate) fn cluster() -> Arc<ClusterConfig> {
    Arc::new(ClusterConfig {
        schema: ClusterConfig::SCHEMA.into(),
        profile: Profile::Simulation,
        simulation_root: Some(attester().public_key()),
        peers: vec![reference(Role::KmsPeer)],
        min_voters: 3,
        log_origin: "log".into(),
        log_key: [0; 32],
        witnesses: siegel_ident::WitnessQuorum::none(),
        seed: None,
    })
}

pub(crate) fn reference(role: Role) -> ReferenceValue {
    ReferenceValue::simulated(measurement(role))
}

pub(crate) fn config(role: Role) -> ConfigDigest {
    let kms = cluster().digest().unwrap();
    match role {
        Role::KmsPeer | Role::KmsBundle => kms,
        Role::Root => root_config(kms, PROGRAM),
        Role::Worker => worker_config(kms),
    }
}

pub(crate) fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

pub(crate) fn node(role: Role, seed: u64) -> Node {
    let kem_key = vec![0, 2, seed as u8, role as u8];
    let identity = Identity::new(&mut rng(seed), role, kem_key, config(role)).unwrap();
    Node {
        identity: Arc::new(identity),
        measurement: measurement(role),
        quote: Node::simulated,
        stored: None,
    }
}

impl Node {
    /// A setup of a founded world; between root and worker, for run 7.
    pub(crate) fn setup(&self, expect: Expect) -> Setup {
        let founded = self.identity.role() == Role::KmsPeer;
        Setup {
            identity: self.identity.clone(),
            deployment: founded.then_some(CLUSTER),
            purpose: (!expect.attested()).then(|| purpose(7)),
            expect,
        }
    }

    /// What the launcher answers to a quote request of this process.
    pub(crate) fn quote(&self, report_data: [u8; 64]) -> Vec<u8> {
        (self.quote)(self, report_data)
    }

    fn simulated(&self, report_data: [u8; 64]) -> Vec<u8> {
        attester().attest(self.measurement, self.identity.config(), report_data, NOW)
    }
}

pub(crate) fn kms() -> Expect {
    Expect::Kms(cluster())
}

pub(crate) fn kms_or_workload() -> Expect {
    Expect::KmsOrWorkload(cluster())
}

pub(crate) fn vouched(node: &Node) -> Expect {
    Expect::Vouched {
        role: node.identity.role(),
        keys: vec![node.identity.keys()],
    }
}

pub(crate) fn purpose(byte: u8) -> Purpose {
    Purpose {
        run: RunId::from_bytes([byte; 16]),
        policy: PolicyDigest::from_bytes([byte; 32]),
        fencing: Fencing(byte.into()),
    }
}

/// One end of a handshake under test.
pub(crate) struct End {
    pub(crate) node: Node,
    pub(crate) handshake: Handshake,
    pub(crate) now: Timestamp,
    pub(crate) session: Option<Session>,
}

impl End {
    pub(crate) fn dial(node: &Node, setup: Setup, seed: u64) -> (Self, Vec<u8>) {
        let (handshake, first) = Handshake::initiator(setup, NOW, &mut rng(seed)).unwrap();
        (
            Self {
                node: node.clone(),
                handshake,
                now: NOW,
                session: None,
            },
            first,
        )
    }

    pub(crate) fn accept(node: &Node, setup: Setup, seed: u64) -> Self {
        let handshake = Handshake::responder(setup, NOW, &mut rng(seed)).unwrap();
        Self {
            node: node.clone(),
            handshake,
            now: NOW,
            session: None,
        }
    }

    /// Feeds a frame and answers quote requests; returns what is to be sent.
    pub(crate) fn feed(&mut self, frame: &[u8]) -> Result<Vec<Vec<u8>>, SessionError> {
        let step = self.handshake.on_frame(self.now, frame)?;
        self.follow(step)
    }

    fn follow(&mut self, mut step: Step) -> Result<Vec<Vec<u8>>, SessionError> {
        let mut send = Vec::new();
        loop {
            send.append(&mut step.send);
            match step.next {
                Next::Frame => return Ok(send),
                Next::Done(session) => {
                    self.session = Some(*session);
                    return Ok(send);
                }
                Next::Quote(data) => step = self.handshake.on_quote(self.node.quote(data))?,
            }
        }
    }
}

/// Delivers frames until both sides are quiet. `network` may change each frame on its way; it is
/// told how many have passed.
pub(crate) fn shake(
    dialler: &mut End,
    first: Vec<u8>,
    acceptor: &mut End,
    mut network: impl FnMut(usize, Vec<u8>) -> Vec<Vec<u8>>,
) -> Result<(), SessionError> {
    let mut passed = 0;
    let mut to_acceptor = vec![first];
    while !to_acceptor.is_empty() {
        let mut to_dialler = Vec::new();
        for frame in to_acceptor.drain(..) {
            for frame in network(passed, frame) {
                to_dialler.extend(acceptor.feed(&frame)?);
            }
            passed += 1;
        }
        for frame in to_dialler {
            for frame in network(passed, frame) {
                to_acceptor.extend(dialler.feed(&frame)?);
            }
            passed += 1;
        }
    }
    Ok(())
}

/// An honest handshake.
pub(crate) fn honest(
    dialler: &Node,
    dials: Setup,
    acceptor: &Node,
    accepts: Setup,
) -> Result<(Session, Session), SessionError> {
    let (mut a, first) = End::dial(dialler, dials, 100);
    let mut b = End::accept(acceptor, accepts, 200);
    shake(&mut a, first, &mut b, |_, frame| vec![frame])?;
    Ok((a.session.unwrap(), b.session.unwrap()))
}

/// A session between two KMS nodes: dialling side first.
pub(crate) fn sessions() -> (Session, Session) {
    let (a, b) = (node(Role::KmsPeer, 1), node(Role::KmsPeer, 2));
    honest(&a, a.setup(kms()), &b, b.setup(kms_or_workload())).unwrap()
}
