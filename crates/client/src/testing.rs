//! A small honest world: a log, a cluster, a policy, a key; each test breaks one thing.

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use siegel_attest::hardware::TrustRoots;
use siegel_attest::simulated::Attester;
use siegel_attest::{ClusterConfig, Genesis, KeyBundle, Profile, TrustAnchors};
use siegel_endorse::{Endorsement, testing as endorse};
use siegel_ident::{
    Budget, Delta, Digest, EpochId, Measurement, NanoRho, Seconds, Secret, Timestamp,
};
use siegel_policy::testing::{measured, sample};
use siegel_policy::{AccessPolicy, ClientLimits};
use siegel_seal::{KemPrivate, Suite, derive_kem};
use siegel_translog::testing::{TestLog, TestSigner, TestWitness};
use siegel_translog::{MirrorQuorum, predicate};

use crate::{ClientConfig, ClientRefusal, EndorsementProof, Offer, VerifiedPolicy, verify};

/// The clock of every test: a day into the policy.
pub(crate) const NOW: Timestamp = Timestamp(1_800_086_400);

/// Changes to an honest world, made before anything is hashed or signed.
pub(crate) struct Plan {
    pub(crate) policy: fn(&mut AccessPolicy),
    pub(crate) endorse: fn(&mut Vec<Endorsement>),
    pub(crate) genesis: fn(&mut Genesis),
    pub(crate) bundle: fn(&mut KeyBundle),
    pub(crate) measurement: Measurement,
    pub(crate) quoted_at: Timestamp,
    /// Operators of the witnesses 1, 2, …; all are required.
    pub(crate) witnesses: &'static [&'static str],
    pub(crate) witnessed_at: Timestamp,
}

/// The oldest cosignature that counts.
pub(crate) const MAX_AGE: Seconds = Seconds(3_600);

impl Default for Plan {
    fn default() -> Self {
        let (policy, endorse) = (|_: &mut _| (), |_: &mut _| ());
        let (genesis, bundle) = (|_: &mut _| (), |_: &mut _| ());
        let measurement = measured(3).measurement().unwrap();
        Self {
            policy,
            endorse,
            genesis,
            bundle,
            measurement,
            quoted_at: NOW,
            witnesses: &[],
            witnessed_at: NOW,
        }
    }
}

/// Everything a client would fetch, and what it would have configured.
pub(crate) struct World {
    pub(crate) log: TestLog,
    pub(crate) signer: TestSigner,
    pub(crate) endorser: TestSigner,
    pub(crate) cluster: Cluster,
    pub(crate) config: ClientConfig,
    pub(crate) policy: Vec<u8>,
    pub(crate) policy_bundle: Vec<u8>,
    pub(crate) endorsements: Vec<EndorsementProof>,
    pub(crate) genesis: Vec<u8>,
    pub(crate) genesis_bundle: Vec<u8>,
    pub(crate) key_bundle: Vec<u8>,
    pub(crate) signature: Vec<u8>,
    pub(crate) evidence: Vec<u8>,
    pub(crate) checkpoint: String,
    pub(crate) archived: Vec<String>,
}

/// The key service.
pub(crate) struct Cluster {
    key: EcdsaKeyPair,
    attester: Attester,
    pub(crate) private: KemPrivate,
}

impl World {
    pub(crate) fn honest() -> Self {
        Self::with(Plan::default())
    }

    pub(crate) fn with(plan: Plan) -> Self {
        let mut log = TestLog::new("log.example.test", [3; 32]);
        if !plan.witnesses.is_empty() {
            log = log.witnessed(witnesses(plan.witnesses), MAX_AGE);
            log.set_time(plan.witnessed_at);
        }
        let signer = TestSigner::generate().unwrap();
        let endorser = TestSigner::generate().unwrap();
        let cluster = Cluster::new();
        let genesis = cluster.genesis(&log, plan.genesis);
        let genesis_bytes = genesis.to_bytes().unwrap();

        let mut policy = sample();
        policy.log.origin = "log.example.test".into();
        policy.kms.cluster_id = genesis.cluster_id().unwrap();
        policy.kms.config = genesis.config.digest().unwrap();
        policy.endorsers = vec![endorser.key().digest()];
        (plan.policy)(&mut policy);
        let policy_bytes = policy.to_bytes().unwrap();
        let mut said = endorse::of_policy(&policy, policy.not_before, policy.not_after);
        (plan.endorse)(&mut said);

        let publish = |log: &mut TestLog, name, bytes: &[u8], kind| {
            log.publish(&signer, name, bytes, kind).unwrap()
        };
        let genesis_bundle = publish(&mut log, "genesis", &genesis_bytes, predicate::GENESIS);
        let endorsements = said.iter().map(|one| endorsed(&mut log, &endorser, one));
        let endorsements = endorsements.collect();
        let policy_bundle = publish(&mut log, "policy", &policy_bytes, predicate::POLICY);
        let checkpoint = log.checkpoint();

        let (private, public) = derive_kem(Suite::X25519, &Secret::new([8; 32]));
        let mut bundle = KeyBundle {
            schema: KeyBundle::SCHEMA.into(),
            cluster_id: genesis.cluster_id().unwrap(),
            policy: siegel_ident::PolicyDigest::of(&policy_bytes),
            epoch: EpochId(1),
            suite: public.suite().number(),
            kem_key: public.key().to_vec(),
            not_before: Timestamp(NOW.0 - 3600),
            expires: Timestamp(NOW.0 + 3600),
            checkpoint: Digest::of(checkpoint.as_bytes()),
        };
        (plan.bundle)(&mut bundle);
        let key_bundle = bundle.to_bytes().unwrap();
        let config = ClientConfig {
            log: log.anchors(),
            mirrors: MirrorQuorum::none(),
            trust: TrustAnchors {
                vendors: TrustRoots::default(),
                simulation_root: Some(cluster.attester.public_key()),
            },
            endorsers: vec![endorser.key().digest()],
            limits: ClientLimits::for_pipeline(
                "org.example.words",
                Profile::Simulation,
                policy.privacy.total,
                policy.key_ttl,
            ),
            device_cap: Budget {
                rho_nano: NanoRho(1 << 40),
                delta0: Delta(0),
            },
        };
        Self {
            signature: cluster.sign(&key_bundle),
            evidence: cluster.evidence(&bundle, &genesis, plan.measurement, plan.quoted_at),
            cluster: Cluster { private, ..cluster },
            policy: policy_bytes,
            genesis: genesis_bytes,
            log,
            signer,
            endorser,
            config,
            policy_bundle,
            endorsements,
            genesis_bundle,
            key_bundle,
            checkpoint,
            archived: Vec::new(),
        }
    }

    pub(crate) fn offer(&self) -> Offer<'_> {
        Offer {
            policy: &self.policy,
            policy_bundle: &self.policy_bundle,
            endorsements: &self.endorsements,
            genesis: &self.genesis,
            genesis_bundle: &self.genesis_bundle,
            key_bundle: &self.key_bundle,
            key_bundle_signature: &self.signature,
            evidence: &self.evidence,
            checkpoint: &self.checkpoint,
            archived: &self.archived,
        }
    }

    pub(crate) fn verify(&self) -> Result<VerifiedPolicy, ClientRefusal> {
        verify(&self.config, &self.offer(), NOW)
    }

    /// The code of the refusal; "ok" if there is none.
    pub(crate) fn outcome(&self) -> &'static str {
        self.verify().err().map_or("ok", |refusal| refusal.code())
    }
}

/// Witnesses of these operators.
pub(crate) fn witnesses(operators: &[&str]) -> Vec<TestWitness> {
    let each = (1..).zip(operators);
    each.map(|(n, operator)| TestWitness::new(n).of_operator(operator))
        .collect()
}

/// An endorsement in the log, signed by this key.
pub(crate) fn endorsed(log: &mut TestLog, by: &TestSigner, said: &Endorsement) -> EndorsementProof {
    let document = said.to_bytes().unwrap();
    let bundle = log
        .publish(by, &said.name, &document, predicate::ENDORSEMENT)
        .unwrap();
    EndorsementProof { document, bundle }
}

impl Cluster {
    fn new() -> Self {
        let (rng, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &rng).unwrap();
        Self {
            key: EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &rng).unwrap(),
            attester: Attester::new(&Secret::new([4; 32])).unwrap(),
            private: derive_kem(Suite::X25519, &Secret::new([8; 32])).0,
        }
    }

    fn genesis(&self, log: &TestLog, change: fn(&mut Genesis)) -> Genesis {
        let mut genesis = Genesis {
            schema: Genesis::SCHEMA.into(),
            random: [5; 32],
            cluster_key: self.key.public_key().as_ref().try_into().unwrap(),
            config: ClusterConfig {
                schema: ClusterConfig::SCHEMA.into(),
                profile: Profile::Simulation,
                simulation_root: Some(self.attester.public_key()),
                peers: vec![measured(3)],
                min_voters: 2,
                log_origin: log.origin().into(),
                log_key: log.key(),
                witnesses: log.anchors().witnesses,
                seed: None,
            },
        };
        change(&mut genesis);
        genesis
    }

    pub(crate) fn sign(&self, key_bundle: &[u8]) -> Vec<u8> {
        let message = KeyBundle::signing_bytes(key_bundle);
        self.key
            .sign(&SystemRandom::new(), &message)
            .unwrap()
            .as_ref()
            .to_vec()
    }

    pub(crate) fn evidence(
        &self,
        bundle: &KeyBundle,
        genesis: &Genesis,
        measurement: Measurement,
        at: Timestamp,
    ) -> Vec<u8> {
        let binding = bundle.binding(genesis).unwrap();
        self.attester.attest(
            measurement,
            binding.config,
            binding.report_data().unwrap(),
            at,
        )
    }
}
