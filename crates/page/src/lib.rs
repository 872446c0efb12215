//! One self-contained page about one audit, for people.
//!
//! [`render`] turns a report into HTML that needs nothing else: no script, no font, no picture from
//! anywhere. What a log says is a stranger's text (I14): it is cut to a length, control characters are
//! taken out, and every template escapes. `OVERVIEW.md` says what stands where.

mod budget;
mod chart;
mod findings;
mod head;
mod invariants;
mod policies;
mod proofs;
mod runs;
mod text;

use askama::Template;
use siegel_audit::AuditReport;

/// Says in the page's head what made it.
const GENERATOR: &str = "siegel-audit-page/v1";
/// How a page begins, up to where it names its generator.
const BEGINNING: &str = concat!(
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
    "<meta name=\"generator\" content=\"siegel-audit-page/v1\">\n"
);

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The template could not be written out.
    #[error("cannot write the page: {0}")]
    Template(#[from] askama::Error),
}

/// The page about a report. `source` is where the log was read, as the reader would name it to `siegel
/// audit`: a URL or a folder.
///
/// # Errors
/// [`PageError`].
pub fn render(report: &AuditReport, source: &str) -> Result<String, PageError> {
    let page = Page {
        generator: GENERATOR,
        head: head::Head::of(report),
        findings: findings::groups(report),
        invariants: findings::invariants(report),
        policies: policies::views(report),
        policies_in_all: report.policies.len(),
        budgets: budget::views(report),
        runs: runs::views(report),
        runs_in_all: report.runs.len(),
        proofs: proofs::Proofs::of(report, source),
    };
    Ok(page.render()?)
}

/// True if these bytes begin as a page that [`render`] made: whoever rewrites a page replaces nothing
/// else.
pub fn is_page(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGINNING.as_bytes())
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    generator: &'static str,
    head: head::Head,
    findings: Vec<findings::Group>,
    invariants: Vec<(&'static str, &'static str)>,
    policies: Vec<policies::PolicyView>,
    policies_in_all: usize,
    budgets: Vec<budget::BudgetView>,
    runs: Vec<runs::RunView>,
    runs_in_all: usize,
    proofs: proofs::Proofs,
}

#[cfg(test)]
mod tests;
