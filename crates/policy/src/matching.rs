//! What the enforcers ask a policy: is this allowed? Whatever is not named is not (I3).

use siegel_attest::{ClusterConfig, Profile, ReferenceValue, Role};
use siegel_ident::{ClusterId, ConfigDigest, ProgramDigest, Timestamp};

use crate::{AccessPolicy, NotAllowed};

impl AccessPolicy {
    /// The reference values of a role.
    pub fn allowed(&self, role: Role) -> &[ReferenceValue] {
        match role {
            Role::KmsPeer | Role::KmsBundle => &self.kms.reference_values,
            Role::Root => &self.roles.root.reference_values,
            Role::Worker => &self.roles.worker.reference_values,
        }
    }

    /// The program is one that the policy names.
    pub fn check_program(&self, program: &ProgramDigest) -> Result<(), NotAllowed> {
        match self.programs.contains(program) {
            true => Ok(()),
            false => Err(NotAllowed::Program { program: *program }),
        }
    }

    /// `not_before ≤ now < not_after`.
    pub fn check_window(&self, now: Timestamp) -> Result<(), NotAllowed> {
        let (not_before, not_after) = (self.not_before, self.not_after);
        if not_before <= now && now < not_after {
            return Ok(());
        }
        Err(NotAllowed::Window {
            not_before,
            not_after,
            now,
        })
    }

    /// The KEM suite is listed.
    pub fn check_suite(&self, suite: u16) -> Result<(), NotAllowed> {
        if self.suites.contains(&suite) {
            Ok(())
        } else {
            Err(NotAllowed::Suite { suite })
        }
    }

    /// A run over this many uploads is large enough.
    pub fn check_blobs(&self, found: u64) -> Result<(), NotAllowed> {
        match found >= self.min_blobs {
            true => Ok(()),
            false => Err(NotAllowed::TooFewBlobs {
                found,
                min: self.min_blobs,
            }),
        }
    }

    /// The very cluster that the policy names, of the same profile, with a configuration whose
    /// whole set of peers the policy accepts, and on the policy's log. Client and KMS both ask.
    pub fn check_cluster(
        &self,
        id: ClusterId,
        digest: ConfigDigest,
        config: &ClusterConfig,
    ) -> Result<(), NotAllowed> {
        if id != self.kms.cluster_id {
            return Err(NotAllowed::Cluster {
                found: id,
                expected: self.kms.cluster_id,
            });
        }
        if digest != self.kms.config {
            return Err(NotAllowed::ClusterConfig {
                found: digest,
                expected: self.kms.config,
            });
        }
        if config.profile != self.profile {
            return Err(NotAllowed::ClusterProfile {
                found: config.profile,
                expected: self.profile,
            });
        }
        // A guest that genesis admits and the policy does not would hold this policy's keys.
        if !config
            .peers
            .iter()
            .all(|peer| self.kms.reference_values.contains(peer))
        {
            return Err(NotAllowed::Peers);
        }
        self.check_log(&config.log_origin, config.witnesses.required)
    }

    /// The log that is looked at is the policy's, under at least as many witnesses.
    pub fn check_log(&self, origin: &str, witnesses: u32) -> Result<(), NotAllowed> {
        if origin != self.log.origin {
            return Err(NotAllowed::LogOrigin {
                found: origin.to_owned(),
                expected: self.log.origin.clone(),
            });
        }
        match witnesses >= self.log.witnesses {
            true => Ok(()),
            false => Err(NotAllowed::Witnesses {
                found: witnesses,
                expected: self.log.witnesses,
            }),
        }
    }

    /// True if nothing under this policy is worth trusting outside a simulation (I11).
    pub fn is_simulation(&self) -> bool {
        self.profile == Profile::Simulation
    }

    /// True if nobody but the log's operator vouches for the log (I1).
    pub fn is_unwitnessed(&self) -> bool {
        self.log.witnesses == 0
    }

    /// True if the witnesses of its log are those of a simulation: one person runs all of it.
    pub fn has_simulated_witnesses(&self) -> bool {
        self.is_simulation() && !self.is_unwitnessed()
    }
}

#[cfg(test)]
mod tests;
