//! A pipeline's budget, recomputed from what its receipts say happened (I6).

use siegel_ident::{Budget, BudgetError, PolicyDigest, RunId, Timestamp};

use crate::report::AccountReport;

/// The running account of a pipeline at a cluster.
pub(crate) struct Account {
    /// The current policy.
    pub(crate) current: PolicyDigest,
    /// What there is in all.
    pub(crate) total: Budget,
    /// What was debited, refunds taken off.
    pub(crate) spent: Budget,
    /// How it stood after each receipt that changed it.
    pub(crate) history: Vec<AccountReport>,
}

impl Account {
    /// Debits a run.
    ///
    /// # Errors
    /// The part that is short; the debit is booked all the same, since it happened.
    pub(crate) fn debit(&mut self, cost: Budget) -> Result<(), BudgetError> {
        let spent = self.spent.plus(cost)?;
        self.spent = spent;
        self.total.pay(spent).map(|_| ())
    }

    /// Gives a run's cost back.
    ///
    /// # Errors
    /// More than was ever debited.
    pub(crate) fn refund(&mut self, cost: Budget) -> Result<(), BudgetError> {
        self.spent = self.spent.pay(cost)?;
        Ok(())
    }

    /// Keeps how it stands now.
    pub(crate) fn note(&mut self, at: Timestamp, run: Option<RunId>) {
        let (spent, total) = (self.spent, self.total);
        self.history.push(AccountReport {
            at,
            run,
            spent,
            total,
        });
    }
}
