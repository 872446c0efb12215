//! The result in words.

use std::fmt::Write as _;

use comfy_table::{Table, presets};
use siegel_policy::Severity;

use super::report::Report;

/// The summary that a person reads.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, report);
    out
}

fn write(out: &mut String, report: &Report) -> std::fmt::Result {
    let privacy = &report.privacy;
    writeln!(
        out,
        "\nINSECURE SIMULATION · UNWITNESSED · run {}",
        report.run_id
    )?;
    writeln!(
        out,
        "The launcher on this machine stands in for the TEE, and nobody else has seen the log."
    )?;
    if !privacy.valid {
        writeln!(
            out,
            "PRIVACY STATEMENT VOID: with --seed anybody can compute the noise and take it off."
        )?;
    }
    writeln!(out)?;
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let seconds = |value: f64| format!("{value:.1} s");
    let uploads = &report.uploads;
    let mut row = |name: &str, value: String| {
        table.add_row([name.to_owned(), value]);
    };
    row("program", report.program.clone());
    row(
        "clients",
        format!(
            "{} ({} uploads accepted, {} duplicates, {} refused, {:.1} MiB sealed)",
            report.clients,
            uploads.accepted,
            uploads.duplicates,
            uploads.refused,
            uploads.bytes as f64 / (1024.0 * 1024.0)
        ),
    );
    row(
        "privacy",
        format!(
            "ε = {}, δ = {} per {} ({} adjacency); ρ = {}",
            privacy.epsilon, privacy.delta, privacy.unit, privacy.adjacency, privacy.rho
        ),
    );
    row(
        "budget",
        format!(
            "ρ {} of {} spent",
            privacy.budget_spent, privacy.budget_total
        ),
    );
    row(
        "policy",
        format!(
            "{} (log index {})",
            report.policy.sha256, report.policy.log_index
        ),
    );
    row(
        "cluster",
        format!("{} ({} nodes)", report.kms.cluster_id, report.kms.nodes),
    );
    if let Some(truth) = &report.metrics.simulator_only {
        row(
            "simulator only",
            format!(
                "{:.1} % of (client, word) pairs lost to the per-user bound; noisy total {} for {} (± {:.0})",
                100.0 * truth.share_lost_to_bounding,
                truth.noisy_total,
                truth.pairs_after_bound,
                truth.noisy_total_std_error
            ),
        );
    }
    row(
        "time",
        format!(
            "upload {} ({:.0} clients/s), run {}, all {}",
            seconds(report.timing.upload_s),
            report.timing.uploads_per_s,
            seconds(report.timing.run_s),
            seconds(report.timing.total_s)
        ),
    );
    let peak = report
        .processes
        .iter()
        .map(|process| process.peak_rss_bytes)
        .max()
        .unwrap_or(0);
    row(
        "memory",
        format!(
            "largest process {:.0} MiB of {} processes",
            peak as f64 / (1024.0 * 1024.0),
            report.processes.len()
        ),
    );
    writeln!(out, "{table}")?;

    writeln!(out, "\noutputs")?;
    for output in &report.outputs {
        writeln!(out, "  {}", output.path)?;
        writeln!(
            out,
            "    sha256 {}  receipt at log index {}",
            output.sha256, output.receipt
        )?;
    }
    writeln!(
        out,
        "  everything else (logs, policy, plot, report.json): {}",
        report.run_dir
    )?;

    writeln!(out, "\naudit")?;
    for finding in report
        .audit
        .findings
        .iter()
        .filter(|f| f.severity != Severity::Info)
    {
        writeln!(out, "  {finding}")?;
    }
    writeln!(out, "\nverdict: {}", report.verdict)
}
