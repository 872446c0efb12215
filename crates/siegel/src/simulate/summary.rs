//! The result in words.

use std::fmt::Write as _;

use comfy_table::{Table, presets};
use siegel_policy::Severity;

use super::report::{HistogramTruth, Report, SimulatorOnly, TrainingTruth};

/// A training of fewer rounds is a trial.
const FEW: u64 = 20;
/// Outputs that are listed one by one: the last ones.
const SHOWN: usize = 1;

/// The summary that a person reads.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, report);
    // The table pads its lines.
    let lines = out.lines().map(str::trim_end);
    lines.fold(String::with_capacity(out.len()), |text, line| {
        text + line + "\n"
    })
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
    row("rounds", report.rounds.to_string());
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
    match &report.metrics.simulator_only {
        Some(SimulatorOnly::Histogram(truth)) => row("simulator only", histogram(truth)),
        Some(SimulatorOnly::Training(truth)) => row("simulator only", training(truth)),
        None => {}
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
    let restarts: u64 = report
        .processes
        .iter()
        .map(|process| process.restarts)
        .sum();
    if !report.deaths.is_empty() {
        let lines: Vec<&str> = report.deaths.iter().map(|d| d.line.as_str()).collect();
        let restarts = format!("restarts: {restarts}");
        row("deaths", [lines.join("\n"), restarts].join("\n"));
    }
    writeln!(out, "{table}")?;

    writeln!(out, "\noutputs")?;
    let earlier = report.outputs.len().saturating_sub(SHOWN);
    if earlier > 0 {
        writeln!(
            out,
            "  {earlier} of earlier rounds, in the sub-folder rounds"
        )?;
    }
    for output in report.outputs.iter().skip(earlier) {
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

fn histogram(truth: &HistogramTruth) -> String {
    format!(
        "{:.1} % of (client, word) pairs lost to the per-user bound; noisy total {} for {} (± {:.0})",
        100.0 * truth.share_lost_to_bounding,
        truth.noisy_total,
        truth.pairs_after_bound,
        truth.noisy_total_std_error
    )
}

fn training(truth: &TrainingTruth) -> String {
    let few = match truth.by_round.last() {
        Some(last) if last.round < FEW => "; fewer than 20 rounds: hardly trained",
        _ => "",
    };
    format!(
        "{:.1} % of {} characters guessed right, of {} clients that never upload (always the most \
         frequent symbol: {:.1} %){few}",
        100.0 * truth.accuracy,
        truth.characters,
        truth.users,
        100.0 * truth.unigram
    )
}

#[cfg(test)]
mod tests {
    use super::super::report::sample;
    use super::*;

    // Catches twenty models listed one by one, and a summary that leaves out how good the last is.
    #[test]
    fn the_last_model_and_how_well_it_guesses() {
        let text = text(&sample());
        for words in [
            "36.1 % of 55000 characters",
            "176 clients that never upload",
            "18.5 %",
            "1 of earlier rounds",
            "/runs/0102/next-char.safetensors",
            "ε = 8, δ = 0.0001",
        ] {
            assert!(text.contains(words), "{words:?} is not in\n{text}");
        }
        assert!(
            !text.contains("next-char-0019") && !text.contains("hardly trained"),
            "{text}"
        );
    }
}
