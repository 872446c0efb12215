//! A simulation with nodes: what two ends of a session need.

use std::sync::{Arc, LazyLock};

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use siegel_attest::simulated::Attester;
use siegel_attest::{
    ClusterConfig, Context, Profile, ReferenceValue, Role, TrustAnchors, root_config, worker_config,
};
use siegel_ident::{
    ClusterId, ConfigDigest, Fencing, Measurement, PolicyDigest, ProgramDigest, RunId, Secret,
    Timestamp, WitnessQuorum,
};
use siegel_session::{
    Expect, Handshake, Identity, Next, Pending, Purpose, Session, SessionError, Setup,
};

/// The clock of both ends.
pub const NOW: Timestamp = Timestamp(1_800_000_000);
/// The cluster of all.
pub const CLUSTER: ClusterId = ClusterId::from_bytes([0xC1; 32]);

static ATTESTER: LazyLock<Attester> =
    LazyLock::new(|| Attester::new(&Secret::new([9; 32])).expect("32 bytes"));

static CONFIG: LazyLock<Arc<ClusterConfig>> = LazyLock::new(|| {
    Arc::new(ClusterConfig {
        schema: ClusterConfig::SCHEMA.into(),
        profile: Profile::Simulation,
        simulation_root: Some(ATTESTER.public_key()),
        peers: vec![reference(Role::KmsPeer)],
        min_voters: 3,
        log_origin: "log".into(),
        log_key: [0; 32],
        witnesses: WitnessQuorum::none(),
        seed: None,
    })
});

fn reference(role: Role) -> ReferenceValue {
    ReferenceValue::simulated(measurement(role))
}

fn measurement(role: Role) -> Measurement {
    Measurement::from_bytes([role as u8; 32])
}

fn config(role: Role) -> ConfigDigest {
    let kms = CONFIG.digest().expect("it is valid");
    match role {
        Role::KmsPeer | Role::KmsBundle => kms,
        Role::Root => root_config(kms, ProgramDigest::from_bytes([0x50; 32])),
        Role::Worker => worker_config(kms),
    }
}

/// Randomness from a seed.
pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// A process's identity.
pub fn identity(role: Role, seed: u64) -> Arc<Identity> {
    let kem_key = vec![0, 2, seed as u8, role as u8];
    let made = Identity::new(&mut rng(seed), role, kem_key, config(role));
    Arc::new(made.expect("a role of sessions"))
}

/// What the launcher attests of this process.
pub fn evidence(identity: &Identity, report_data: [u8; 64]) -> Vec<u8> {
    let measurement = measurement(identity.role());
    ATTESTER.attest(measurement, identity.config(), report_data, NOW)
}

/// Whether a KMS would let this workload in.
pub fn admits(pending: &Pending) -> bool {
    let anchors = TrustAnchors {
        simulation_root: Some(ATTESTER.public_key()),
        ..TrustAnchors::default()
    };
    let ctx = Context {
        now: NOW,
        profile: Profile::Simulation,
        genesis_profile: Profile::Simulation,
        anchors: &anchors,
    };
    let role = pending.role();
    pending
        .appraise(config(role), &[reference(role)], &ctx)
        .is_ok()
}

/// One end of a handshake.
pub struct End {
    identity: Arc<Identity>,
    handshake: Handshake,
    /// Once the handshake is done.
    pub session: Option<Session>,
    /// After the first error.
    pub broken: bool,
}

impl End {
    /// A node that dials, and its first frame.
    pub fn dial(identity: &Arc<Identity>, expect: Expect, seed: u64) -> (Self, Vec<u8>) {
        let made = Handshake::initiator(setup(identity, expect), NOW, &mut rng(seed));
        let (handshake, first) = made.expect("roles that talk");
        (Self::new(identity, handshake), first)
    }

    /// A node that accepts.
    pub fn accept(identity: &Arc<Identity>, expect: Expect, seed: u64) -> Self {
        let made = Handshake::responder(setup(identity, expect), NOW, &mut rng(seed));
        Self::new(identity, made.expect("roles that talk"))
    }

    fn new(identity: &Arc<Identity>, handshake: Handshake) -> Self {
        Self {
            identity: identity.clone(),
            handshake,
            session: None,
            broken: false,
        }
    }

    /// Feeds a frame of the handshake; returns what is to be sent. The first error is the last word.
    pub fn feed(&mut self, frame: &[u8]) -> Vec<Vec<u8>> {
        assert!(self.session.is_none(), "the handshake is done");
        let fed = self.try_feed(frame);
        if self.broken {
            assert!(matches!(fed, Err(SessionError::Broken)));
        }
        self.broken = fed.is_err();
        fed.unwrap_or_default()
    }

    fn try_feed(&mut self, frame: &[u8]) -> Result<Vec<Vec<u8>>, SessionError> {
        let mut step = self.handshake.on_frame(NOW, frame)?;
        let mut send = Vec::new();
        loop {
            send.append(&mut step.send);
            match step.next {
                Next::Frame => return Ok(send),
                Next::Done(session) => {
                    self.session = Some(*session);
                    return Ok(send);
                }
                Next::Quote(data) => {
                    step = self.handshake.on_quote(evidence(&self.identity, data))?;
                }
            }
        }
    }
}

/// What root and worker talk about.
const PURPOSE: Purpose = Purpose {
    run: RunId::from_bytes([7; 16]),
    policy: PolicyDigest::from_bytes([8; 32]),
    fencing: Fencing(9),
};

fn setup(identity: &Arc<Identity>, expect: Expect) -> Setup {
    Setup {
        identity: identity.clone(),
        deployment: (identity.role() == Role::KmsPeer).then_some(CLUSTER),
        purpose: matches!(expect, Expect::Vouched { .. }).then_some(PURPOSE),
        expect,
    }
}

/// A KMS node expects another.
pub fn kms() -> Expect {
    Expect::Kms(CONFIG.clone())
}

/// A KMS node accepts.
pub fn kms_or_workload() -> Expect {
    Expect::KmsOrWorkload(CONFIG.clone())
}

/// The KMS vouched for this one.
pub fn vouched(identity: &Identity) -> Expect {
    Expect::Vouched {
        role: identity.role(),
        keys: vec![identity.keys()],
    }
}
