//! A plan against its policy: whatever the policy does not name is refused (I3).

use siegel_policy::{AccessPolicy, ColumnKind, Mechanism};

use crate::{HistogramSpec, Plan, ProgramError};

impl HistogramSpec {
    /// Column, mechanism, bound and cost are within the policy. A worker asks this of what a root
    /// sends; a dry run asks it of every intrinsic.
    pub fn check_policy(&self, policy: &AccessPolicy) -> Result<(), ProgramError> {
        let fail = |what: String| Err(ProgramError::NotAllowed(what));
        let named =
            |c: &siegel_policy::Column| c.name == self.column && c.kind == ColumnKind::Words;
        if !policy.input.columns.iter().any(named) {
            return fail(format!("it has no column {:?} of words", self.column));
        }
        if !policy
            .privacy
            .mechanisms
            .contains(&Mechanism::DiscreteGaussian)
        {
            return fail("it does not list the mechanism discrete-gaussian".to_owned());
        }
        let (asked, most) = (self.max_per_user, policy.bounds.max_items_per_user);
        if asked > most {
            return fail(format!(
                "max_per_user is {asked}, its bounds.max_items_per_user {most}"
            ));
        }
        if !self.cost().within(policy.privacy.total) {
            return fail("the histogram costs more than the pipeline's whole budget".to_owned());
        }
        Ok(())
    }
}

impl Plan {
    /// Every intrinsic is within the policy, and so is the total. Whether the pipeline still has
    /// that much left, the ledger decides (I6).
    pub fn check_policy(&self, policy: &AccessPolicy) -> Result<(), ProgramError> {
        let all = self.steps.iter().flat_map(|step| &step.intrinsics);
        all.into_iter()
            .try_for_each(|spec| spec.check_policy(policy))?;
        if !self.total.within(policy.privacy.total) {
            let (asked, total) = (self.total.rho_nano, policy.privacy.total.rho_nano);
            let what = format!("the run costs rho = {asked}, the pipeline's total is {total}");
            return Err(ProgramError::NotAllowed(what));
        }
        Ok(())
    }
}
