//! A client's own limits: they are its configuration, and no policy can widen them (I1).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use siegel_attest::Profile;
use siegel_ident::{Budget, Delta, NanoRho, Seconds};

use crate::{AccessPolicy, NotAllowed};

/// What a client puts up with, whatever a policy says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientLimits {
    /// Largest total ρ of a policy, in nano-zCDP.
    pub max_rho_nano: NanoRho,
    /// Largest total δ₀ of a policy.
    pub max_delta0: Delta,
    /// Longest life of a key, in seconds.
    pub max_key_ttl: Seconds,
    /// The pipelines it takes part in, by exact name. None: none.
    pub pipelines: BTreeSet<String>,
    /// The profiles it accepts. None: none.
    pub profiles: BTreeSet<Profile>,
}

impl ClientLimits {
    /// Limits for one pipeline.
    pub fn for_pipeline(
        pipeline: &str,
        profile: Profile,
        max: Budget,
        max_key_ttl: Seconds,
    ) -> Self {
        Self {
            max_rho_nano: max.rho_nano,
            max_delta0: max.delta0,
            max_key_ttl,
            pipelines: BTreeSet::from([pipeline.to_owned()]),
            profiles: BTreeSet::from([profile]),
        }
    }
}

impl AccessPolicy {
    /// The policy is inside a client's limits; a limit may be reached, not passed.
    pub fn within(&self, limits: &ClientLimits) -> Result<(), NotAllowed> {
        let total = self.privacy.total;
        if !limits.profiles.contains(&self.profile) {
            return Err(NotAllowed::LimitProfile {
                profile: self.profile,
            });
        }
        if !limits.pipelines.contains(&self.pipeline) {
            return Err(NotAllowed::LimitPipeline {
                pipeline: self.pipeline.clone(),
            });
        }
        if total.rho_nano > limits.max_rho_nano {
            return Err(NotAllowed::LimitRho {
                found: total.rho_nano,
                limit: limits.max_rho_nano,
            });
        }
        if total.delta0 > limits.max_delta0 {
            return Err(NotAllowed::LimitDelta0 {
                found: total.delta0,
                limit: limits.max_delta0,
            });
        }
        if self.key_ttl > limits.max_key_ttl {
            return Err(NotAllowed::LimitKeyTtl {
                found: self.key_ttl,
                limit: limits.max_key_ttl,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample;

    /// I1. Each limit is met exactly, and refused one step beyond. Catches a limit that is not
    /// looked at, or compared the wrong way round.
    #[test]
    fn i1_each_limit_refuses_one_step_beyond() {
        let policy = sample();
        let total = policy.privacy.total;
        let exact = ClientLimits::for_pipeline(
            "org.example.words",
            Profile::Simulation,
            total,
            policy.key_ttl,
        );
        assert_eq!(policy.within(&exact), Ok(()));
        let refusal = |change: &dyn Fn(&mut ClientLimits)| {
            let mut limits = exact.clone();
            change(&mut limits);
            policy.within(&limits).unwrap_err().code()
        };
        assert_eq!(refusal(&|l| l.max_rho_nano.0 -= 1), "limit-rho");
        assert_eq!(refusal(&|l| l.max_key_ttl.0 -= 1), "limit-key-ttl");
        assert_eq!(refusal(&|l| l.pipelines.clear()), "limit-pipeline");
        assert_eq!(refusal(&|l| l.profiles.clear()), "limit-profile");
        assert_eq!(
            refusal(&|l| l.profiles = BTreeSet::from([Profile::Production])),
            "limit-profile"
        );
        assert_eq!(
            refusal(&|l| l.pipelines = BTreeSet::from(["org.example.word".into()])),
            "limit-pipeline"
        );
        let mut with_delta0 = policy.clone();
        with_delta0.privacy.total.delta0 = Delta(1);
        assert_eq!(
            with_delta0.within(&exact).unwrap_err().code(),
            "limit-delta0"
        );
    }

    #[test]
    fn i1_limits_refuse_unknown_keys() {
        let limits = ClientLimits::for_pipeline("a", Profile::Production, Budget::ZERO, Seconds(1));
        let text = serde_json::to_string(&limits).unwrap();
        assert_eq!(serde_json::from_str::<ClientLimits>(&text).unwrap(), limits);
        assert!(serde_json::from_str::<ClientLimits>(&text.replacen('{', "{\"x\":1,", 1)).is_err());
        assert!(
            serde_json::from_str::<ClientLimits>(&text.replacen("max_delta0", "y", 1)).is_err()
        );
    }
}
