//! Keys for workloads: derived from the run's and the epochs' secrets, sealed to the per-boot key of
//! the workload that was appraised (I3). The run secret itself never leaves the KMS.

use prost::Message as _;
use siegel_attest::Profile;
use siegel_ident::{EpochId, PolicyDigest, RunId, Secret, Timestamp};
use siegel_ledger::{EpochView, Workload, Wrapped};
use siegel_platform::{OsRng, Platform};
use siegel_seal::grant::{GrantRole, grant_info};
use siegel_seal::kdf::{EpochLabel, EpochPurpose, RunPurpose, epoch_key, run_key};
use siegel_seal::sealed_box::seal_box;
use siegel_seal::{KemPrivate, KemPublic, Suite, derive_kem};
use siegel_wire::v1::{EpochKey, RootKeys, WorkerKeys};
use zeroize::{Zeroize as _, Zeroizing};

use crate::cluster::{Cluster, RunSecret};
use crate::refusal::Refused;

/// Ciphertext of an epoch's secret, copied out of the ledger.
pub(crate) struct EpochSecret {
    pub(crate) epoch: EpochId,
    pub(crate) policy: PolicyDigest,
    wrapped: Wrapped,
}

impl EpochSecret {
    pub(crate) fn of(view: &EpochView<'_>) -> Self {
        Self {
            epoch: view.epoch,
            policy: view.policy,
            wrapped: view.secret.clone(),
        }
    }
}

impl Cluster {
    /// The KEM key pair of one (epoch, policy, suite).
    pub(crate) fn epoch_kem(
        &self,
        epoch: &EpochSecret,
        suite: Suite,
    ) -> Result<(KemPrivate, KemPublic), Refused> {
        let secret = self
            .epoch_secret(epoch.policy, &epoch.wrapped)
            .map_err(|error| Refused::internal("epoch secret", error))?;
        let profile: Profile = self.genesis().config.profile;
        let label = EpochLabel {
            profile: profile.as_str(),
            cluster: self.id(),
            epoch: epoch.epoch,
            policy: epoch.policy,
            purpose: EpochPurpose::Upload,
            suite,
        };
        Ok(derive_kem(suite, &epoch_key(&secret, &label)))
    }

    /// The KEM key pair of a run's releases (suite 2). The private half stays here.
    pub(crate) fn release_kem(&self, run: &RunSecret) -> Result<(KemPrivate, KemPublic), Refused> {
        let secret = self.open_run(run)?;
        Ok(derive_kem(
            Suite::XWing,
            &run_key(&secret, RunPurpose::Release),
        ))
    }

    /// Noise and checkpoint keys for the root.
    pub(crate) fn root_grant(
        &self,
        run: RunId,
        secret: &RunSecret,
        root: &Workload,
        rng: &mut OsRng,
    ) -> Result<Vec<u8>, Refused> {
        let secret = self.open_run(secret)?;
        let mut keys = RootKeys {
            noise: run_key(&secret, RunPurpose::Noise).expose().to_vec(),
            checkpoint: run_key(&secret, RunPurpose::Checkpoint).expose().to_vec(),
        };
        let plaintext = Zeroizing::new(keys.encode_to_vec());
        keys.noise.zeroize();
        keys.checkpoint.zeroize();
        seal_grant(run, GrantRole::Root, root, &plaintext, rng)
    }

    /// Index key and the epochs' KEM keys for a worker.
    pub(crate) fn worker_grant(
        &self,
        run: RunId,
        secret: &RunSecret,
        epochs: &[EpochSecret],
        suites: &[Suite],
        worker: &Workload,
        rng: &mut OsRng,
    ) -> Result<Vec<u8>, Refused> {
        let secret = self.open_run(secret)?;
        let index = run_key(&secret, RunPurpose::Index).expose().to_vec();
        let mut keys = WorkerKeys {
            index,
            epochs: Vec::with_capacity(epochs.len() * suites.len()),
        };
        for epoch in epochs {
            for suite in suites {
                let (private, _) = self.epoch_kem(epoch, *suite)?;
                keys.epochs.push(EpochKey {
                    epoch: epoch.epoch.0,
                    kem_private: private.expose_bytes().to_vec(),
                    suite: suite.number().into(),
                });
            }
        }
        let plaintext = Zeroizing::new(keys.encode_to_vec());
        keys.index.zeroize();
        keys.epochs
            .iter_mut()
            .for_each(|key| key.kem_private.zeroize());
        seal_grant(run, GrantRole::Worker, worker, &plaintext, rng)
    }

    fn open_run(&self, run: &RunSecret) -> Result<Secret<32>, Refused> {
        let secret = self
            .run_secret(run)
            .map_err(|error| Refused::internal("run secret", error))?;
        secret.ok_or_else(|| {
            Refused::new(
                "run-expired",
                "I9",
                "run_id",
                "the keys of this run are erased",
            )
        })
    }
}

/// I9: a process that was paused between agreement and answer must not answer after expiry. The
/// replicated clock was checked at apply; this looks at the host's once more, right before sending.
pub(crate) fn still_before(expires: Timestamp, platform: &Platform) -> Result<(), Refused> {
    if platform.now() < expires {
        return Ok(());
    }
    let message = format!("the keys asked for expired at {expires}");
    Err(Refused::new("keys-expired", "I9", "clock", message))
}

fn seal_grant(
    run: RunId,
    role: GrantRole,
    to: &Workload,
    plaintext: &[u8],
    rng: &mut OsRng,
) -> Result<Vec<u8>, Refused> {
    let kem = KemPublic::parse(&to.kem_key)
        .map_err(|error| Refused::new("bad-kem-key", "I3", "evidence", error))?;
    // A box under suite 1 would open to a recorder with a quantum computer.
    if kem.suite() != Suite::XWing {
        let message = "the per-boot KEM key must be of suite 2 (X-Wing)";
        return Err(Refused::new("bad-kem-key", "I3", "evidence", message));
    }
    let info = grant_info(run, role, &to.signing_key);
    seal_box(rng, &kem, &info, plaintext).map_err(|error| Refused::internal("grant", error))
}
