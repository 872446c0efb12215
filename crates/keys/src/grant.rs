//! What the key service grants to a workload.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message as _;
use siegel_ident::{
    ClusterId, Digest, EpochId, Fencing, InputRoot, ProgramDigest, RunId, Secret, Step,
};
use siegel_policy::{Policy, RunParameters};
use siegel_seal::grant::{GrantRole, grant_info};
use siegel_seal::{KemPrivate, KemPublic, Suite, sealed_box};
use siegel_session::PeerKeys;
use siegel_wire::v1;
use zeroize::Zeroize as _;

use crate::{BootKeys, KeysError, Lease, RegisterRun, convert};

/// A root's part in a run. Holds secrets: no `Debug`.
pub struct RootGrant {
    /// The run.
    pub run: RunId,
    /// Only the largest fencing number of a run may commit.
    pub fencing: Fencing,
    /// Seeds the noise of every step.
    pub noise: Secret<32>,
    /// Wraps checkpoints.
    pub checkpoint: Secret<32>,
    /// Releases are sealed to this; only the key service holds the other half.
    pub release_key: KemPublic,
    /// The last committed step.
    pub step: Step,
    /// What it left: the digest of its checkpoint, or of the registration's receipt.
    pub previous: Digest,
    /// What it started from; `None` before the first step.
    pub before: Option<Digest>,
    /// What the run was registered with: not the asker's word, the ledger's.
    pub registered: RegisterRun,
}

/// A worker's part in a run. Holds secrets: no `Debug`. Drop it when its lease has ended (I9).
pub struct WorkerGrant {
    /// The run.
    pub run: RunId,
    /// The cluster that granted it.
    pub cluster: ClusterId,
    /// Hashes privacy ids.
    pub index: Secret<32>,
    /// The epochs of the run, ascending.
    pub epochs: Vec<EpochId>,
    /// The one root that may ask, by its per-boot keys.
    pub root: PeerKeys,
    /// Of that root's incarnation.
    pub fencing: Fencing,
    /// The policy, from its exact bytes.
    pub policy: Policy,
    /// The program that runs.
    pub program: ProgramDigest,
    /// Plan digest and allotment.
    pub parameters: RunParameters,
    /// Merkle root over the sorted blob digests.
    pub input_root: InputRoot,
    /// How many blobs.
    pub blob_count: u64,
    /// SHA-256 of the stored list of blob digests (depot kind INPUTS); the list is checked against
    /// `input_root` and `blob_count`.
    pub inputs: Digest,
    /// How long blocks may be started.
    pub lease: Lease,
    epoch_keys: BTreeMap<(EpochId, Suite), KemPrivate>,
}

impl RootGrant {
    pub(crate) fn open(wire: v1::RunGrant, keys: &BootKeys) -> Result<Self, KeysError> {
        let run = RunId::try_from_slice(&wire.run_id).ok_or(bad("run id"))?;
        let opened = open(keys, run, GrantRole::Root, &wire.sealed_keys)?;
        let mut sealed = v1::RootKeys::decode(opened.expose()).map_err(|_| bad("root keys"))?;
        let noise = take_secret(&mut sealed.noise);
        let checkpoint = take_secret(&mut sealed.checkpoint);
        let before = match (wire.step, wire.before.as_slice()) {
            (0, []) => None,
            (0, _) => return Err(bad("step before the first")),
            (_, before) => Some(Digest::try_from_slice(before).ok_or(bad("step before"))?),
        };
        let registered = wire.registered.ok_or(bad("registration"))?;
        Ok(Self {
            run,
            fencing: Fencing(wire.fencing),
            noise: noise.ok_or(bad("noise key"))?,
            checkpoint: checkpoint.ok_or(bad("checkpoint key"))?,
            release_key: x_wing(&wire.release_key, "release key")?,
            step: Step(wire.step),
            previous: Digest::try_from_slice(&wire.previous).ok_or(bad("previous digest"))?,
            before,
            registered: convert::registered(registered)?,
        })
    }
}

impl WorkerGrant {
    pub(crate) fn open(
        wire: v1::WorkerGrant,
        run: RunId,
        cluster: ClusterId,
        lease: Lease,
        keys: &BootKeys,
    ) -> Result<Self, KeysError> {
        let opened = open(keys, run, GrantRole::Worker, &wire.sealed_keys)?;
        let mut sealed = v1::WorkerKeys::decode(opened.expose()).map_err(|_| bad("worker keys"))?;
        let index = take_secret(&mut sealed.index);
        // All of them first, so that an early return leaves no key behind in the wire message.
        let opened: Vec<_> = sealed.epochs.iter_mut().map(epoch_key).collect();
        let count = opened.len();
        let epoch_keys = opened.into_iter().collect::<Result<BTreeMap<_, _>, _>>()?;
        let epochs: Vec<EpochId> = wire.epochs.iter().copied().map(EpochId).collect();
        let with_keys: BTreeSet<EpochId> = epoch_keys.keys().map(|(epoch, _)| *epoch).collect();
        if epoch_keys.len() != count || !epochs.iter().eq(with_keys.iter()) {
            return Err(bad("list of epochs"));
        }
        let policy = siegel_policy::AccessPolicy::parse(&wire.policy)?;
        let program = ProgramDigest::try_from_slice(&wire.program_digest);
        let program = program.ok_or(bad("program digest"))?;
        policy.check_program(&program)?;
        for (_, suite) in epoch_keys.keys() {
            policy.check_suite(suite.number())?;
        }
        let root = PeerKeys {
            signing_key: wire
                .root_signing_key
                .try_into()
                .map_err(|_| bad("root signing key"))?,
            kem_key: x_wing(&wire.root_kem_key, "root KEM key")?.to_bytes(),
        };
        Ok(Self {
            run,
            cluster,
            index: index.ok_or(bad("index key"))?,
            epochs,
            root,
            fencing: Fencing(wire.fencing),
            policy,
            program,
            parameters: RunParameters::parse(&wire.parameters)?,
            input_root: InputRoot::try_from_slice(&wire.input_root).ok_or(bad("input root"))?,
            blob_count: wire.blob_count,
            inputs: Digest::try_from_slice(&wire.inputs).ok_or(bad("list of inputs"))?,
            lease,
            epoch_keys,
        })
    }

    /// The key that opens uploads of one epoch and suite.
    pub fn epoch_key(&self, epoch: EpochId, suite: Suite) -> Option<&KemPrivate> {
        self.epoch_keys.get(&(epoch, suite))
    }
}

fn open(
    keys: &BootKeys,
    run: RunId,
    role: GrantRole,
    sealed: &[u8],
) -> Result<siegel_ident::SecretBytes, KeysError> {
    let info = grant_info(run, role, keys.identity().signing_key());
    Ok(sealed_box::open_box(keys.kem(), &info, sealed)?)
}

fn epoch_key(wire: &mut v1::EpochKey) -> Result<((EpochId, Suite), KemPrivate), KeysError> {
    let suite = u16::try_from(wire.suite).ok().and_then(Suite::from_number);
    let key = take_secret(&mut wire.kem_private).ok_or(bad("epoch key"))?;
    let suite = suite.ok_or(bad("suite of an epoch key"))?;
    Ok((
        (EpochId(wire.epoch), suite),
        KemPrivate::from_bytes(suite, key),
    ))
}

/// Moves a secret out of a wire message, whose own copy is zeroised (I13).
fn take_secret(bytes: &mut Vec<u8>) -> Option<Secret<32>> {
    let secret = Secret::try_from_slice(bytes);
    bytes.zeroize();
    secret
}

fn x_wing(bytes: &[u8], what: &'static str) -> Result<KemPublic, KeysError> {
    let key = KemPublic::parse(bytes).map_err(|_| bad(what))?;
    if key.suite() == Suite::XWing {
        Ok(key)
    } else {
        Err(bad(what))
    }
}

pub(crate) const fn bad(what: &'static str) -> KeysError {
    KeysError::BadReply { what }
}
