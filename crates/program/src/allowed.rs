//! A plan against its policy: whatever the policy does not name is refused (I3).

use siegel_policy::{AccessPolicy, ColumnKind, Mechanism};

use crate::{Intrinsic, Plan, ProgramError};

impl Intrinsic {
    /// Column, mechanism, bound and cost are within the policy. A worker asks this of what a root
    /// sends; a dry run asks it of every intrinsic.
    pub fn check_policy(&self, policy: &AccessPolicy) -> Result<(), ProgramError> {
        let fail = |what: String| Err(ProgramError::NotAllowed(what));
        let (kind, name, items) = match self {
            Self::Histogram(spec) => (ColumnKind::Words, "words", spec.max_per_user),
            Self::ClippedSum(spec) if spec.alphabet.is_some() => {
                (ColumnKind::Text, "text", spec.max_items_per_user)
            }
            Self::ClippedSum(spec) => (ColumnKind::Floats, "floats", spec.max_items_per_user),
        };
        let named = |c: &siegel_policy::Column| c.name == self.column() && c.kind == kind;
        if !policy.input.columns.iter().any(named) {
            return fail(format!("it has no column {:?} of {name}", self.column()));
        }
        if !policy
            .privacy
            .mechanisms
            .contains(&Mechanism::DiscreteGaussian)
        {
            return fail("it does not list the mechanism discrete-gaussian".to_owned());
        }
        let most = policy.bounds.max_items_per_user;
        if items > most {
            return fail(format!(
                "{items} items of a user would count, its bounds.max_items_per_user is {most}"
            ));
        }
        if !self.cost().within(policy.privacy.total) {
            return fail("an intrinsic costs more than the pipeline's whole budget".to_owned());
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
            .try_for_each(|intrinsic| intrinsic.check_policy(policy))?;
        if !self.total.within(policy.privacy.total) {
            let (asked, total) = (self.total.rho_nano, policy.privacy.total.rho_nano);
            let what = format!("the run costs rho = {asked}, the pipeline's total is {total}");
            return Err(ProgramError::NotAllowed(what));
        }
        Ok(())
    }
}
