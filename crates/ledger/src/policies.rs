//! RegisterPolicy: which policy a pipeline has.

use std::collections::BTreeSet;

use siegel_ident::{Budget, PolicyDigest};
use siegel_policy::AccessPolicy;
use siegel_translog::{predicate, verify_logged};

use crate::limits::{MAX_BUNDLE, MAX_POLICIES};
use crate::receipt::Fact;
use crate::refusal::{bounded, detail};
use crate::state::{Pipeline, PolicyRecord};
use crate::{Done, Effect, EndorsementProof, Ledger, Refusal};

impl Ledger {
    /// Makes a logged policy the current one of its pipeline. A policy that is registered already is
    /// left as it is, its end included: who has fresh endorsements publishes a successor.
    pub(crate) fn register_policy(
        &mut self,
        bytes: &[u8],
        bundle: &[u8],
        endorsements: &[EndorsementProof],
        effects: &mut Vec<Effect>,
    ) -> Result<Done, Refusal> {
        bounded("bundle", bundle.len(), MAX_BUNDLE)?;
        EndorsementProof::check_bounds(endorsements)?;
        let digest = PolicyDigest::of(bytes);
        if self.state.policies.contains_key(&digest) {
            return Ok(Done::PolicyRegistered { policy: digest });
        }
        if self.state.policies.len() >= MAX_POLICIES {
            return Err(Refusal::Full {
                what: "policies".to_owned(),
                max: MAX_POLICIES as u64,
            });
        }
        let policy =
            AccessPolicy::parse(bytes).map_err(|e| Refusal::BadPolicy { detail: detail(&e) })?;
        self.is_for_this_cluster(&policy)?;
        self.in_window(&policy)?;
        let spent = self.follows(&policy)?;
        let proof = verify_logged(
            bundle,
            bytes,
            predicate::POLICY,
            None,
            &self.log_anchors(),
            self.state.clock,
        )
        .map_err(|e| Refusal::BadProof { detail: detail(&e) })?;
        let endorsed_until = self.endorsed_until(&policy, endorsements)?;

        let total = policy.privacy.total;
        let draft = self.draft(Fact::PolicyRegistered {
            policy: digest,
            pipeline: policy.pipeline.clone(),
            predecessor: policy.predecessor,
            log_index: proof.log_index,
            total,
            spent,
            endorsed_until,
        })?;
        let pipeline = Pipeline {
            current: digest,
            total,
            spent,
        };
        self.state
            .pipelines
            .insert(policy.pipeline.clone(), pipeline);
        self.state.policies.insert(
            digest,
            PolicyRecord {
                policy,
                log_index: proof.log_index,
                endorsed_until,
            },
        );
        self.record(draft, effects);
        Ok(Done::PolicyRegistered { policy: digest })
    }

    /// The policy must mean this cluster and nothing else: its id, its configuration, exactly the
    /// binaries that may be members (else a member could hold keys that the policy does not grant
    /// it, I3), its log, and its profile (I11).
    fn is_for_this_cluster(&self, policy: &AccessPolicy) -> Result<(), Refusal> {
        let config = &self.genesis.config;
        if policy.profile != config.profile {
            let (found, expected) = (policy.profile, config.profile);
            return Err(Refusal::ProfileMismatch { found, expected });
        }
        policy
            .check_cluster(self.cluster, self.config, config)
            .map_err(|e| Refusal::PolicyMismatch { detail: detail(&e) })?;
        let named: BTreeSet<_> = policy.kms.reference_values.iter().collect();
        let members: BTreeSet<_> = config.peers.iter().collect();
        if named == members {
            return Ok(());
        }
        let detail = "kms.reference_values names a binary that can never be a member".to_owned();
        Err(Refusal::PolicyMismatch { detail })
    }

    /// The policy must follow the pipeline's current one and may lower its total, never raise it;
    /// what was spent stays spent (I6). Returns what was spent.
    fn follows(&self, policy: &AccessPolicy) -> Result<Budget, Refusal> {
        let pipeline = self.state.pipelines.get(&policy.pipeline);
        let expected = pipeline.map(|pipeline| pipeline.current);
        if policy.predecessor != expected {
            return Err(Refusal::WrongPredecessor {
                found: policy.predecessor,
                expected,
            });
        }
        let Some(pipeline) = pipeline else {
            return Ok(Budget::ZERO);
        };
        let asked = policy.privacy.total;
        if !asked.within(pipeline.total) {
            return Err(Refusal::BudgetRaised {
                current: pipeline.total,
                asked,
            });
        }
        Ok(pipeline.spent)
    }
}
