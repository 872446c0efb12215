//! Budgets: what is spent of how much, over time.

use siegel_audit::{AccountReport, AuditReport, PipelineReport};
use siegel_ident::Budget;
use siegel_policy::Utc;

use crate::chart::Chart;
use crate::text::{clean, short};

/// More budgets than this are only counted.
const MAX: usize = 200;
/// More changes than this are drawn, but not listed; the newest are.
const MAX_ROWS: usize = 20;

pub(crate) struct BudgetView {
    /// Unique on the page.
    pub(crate) number: usize,
    pub(crate) pipeline: String,
    pub(crate) cluster: String,
    pub(crate) sentence: String,
    pub(crate) chart: Option<Chart>,
    pub(crate) rows: Vec<Change>,
    pub(crate) more: usize,
}

/// One change of the account.
pub(crate) struct Change {
    pub(crate) at: String,
    pub(crate) what: String,
    pub(crate) spent: String,
    pub(crate) total: String,
}

pub(crate) fn views(report: &AuditReport) -> Vec<BudgetView> {
    let budgets = report.budgets.iter().take(MAX).enumerate();
    budgets
        .map(|(number, budget)| view(number, budget))
        .collect()
}

fn view(number: usize, budget: &PipelineReport) -> BudgetView {
    let history = &budget.history;
    let more = history.len().saturating_sub(MAX_ROWS);
    let mut rows = Vec::new();
    for (at, point) in history.iter().enumerate().skip(more) {
        let before = at.checked_sub(1).and_then(|before| history.get(before));
        rows.push(change(before, point));
    }
    BudgetView {
        number,
        pipeline: clean(&budget.pipeline),
        cluster: short(&budget.cluster.digest()),
        sentence: sentence(budget.spent, budget.total),
        chart: Chart::of(history),
        rows,
        more,
    }
}

fn sentence(spent: Budget, total: Budget) -> String {
    let (used, all) = (spent.rho_nano, total.rho_nano);
    let share = match all.0 {
        0 => String::new(),
        _ => format!(" ({:.1} %)", 100.0 * used.as_f64() / all.as_f64()),
    };
    let delta = match (spent.delta0.0, total.delta0.0) {
        (0, 0) => String::new(),
        (used, all) => format!("; δ₀: {used} of {all} units of 2⁻⁶⁴"),
    };
    format!("ρ = {used} of {all} is spent{share}{delta}.")
}

fn change(before: Option<&AccountReport>, point: &AccountReport) -> Change {
    let spent_before = before.map_or(Budget::ZERO, |before| before.spent);
    let what = match point.run {
        None => "a policy set the total".to_owned(),
        Some(run) if point.spent.rho_nano < spent_before.rho_nano => {
            format!("run {run} was cancelled: its cost came back")
        }
        Some(run) => format!("run {run} was paid for"),
    };
    Change {
        at: Utc(point.at).to_string(),
        what,
        spent: point.spent.rho_nano.to_string(),
        total: point.total.rho_nano.to_string(),
    }
}
