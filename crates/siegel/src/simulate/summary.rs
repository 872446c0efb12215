//! The result in words.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};
use siegel_policy::Severity;

use super::report::{HistogramTruth, ProcessPart, Report, SimulatorOnly, Timing, TrainingTruth};

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
    // Who runs somebody else's log, and its witnesses, is not known here.
    let (label, also) = match report.own_log {
        true => (
            " · SIMULATED WITNESSES",
            "also runs the witnesses of its log and has",
        ),
        false => ("", "has also"),
    };
    writeln!(
        out,
        "\nINSECURE SIMULATION{label} · SIMULATED ENDORSER · run {}",
        report.run_id
    )?;
    writeln!(
        out,
        "The launcher on this machine stands in for the TEE, and whoever runs this {also} endorsed its \
         binaries and program."
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
    if !report.binaries.is_empty() {
        let all = report.binaries.iter().all(|binary| binary.reproducible);
        let words = match all {
            true => "built by the recipe from a commit: `siegel reproduce` can repeat it",
            false => "not reproducible from a commit and the recipe",
        };
        row("binaries", format!("{}, {words}", report.binaries.len()));
    }
    match &report.metrics.simulator_only {
        Some(SimulatorOnly::Histogram(truth)) => row("simulator only", histogram(truth)),
        Some(SimulatorOnly::Training(truth)) => row("simulator only", training(truth)),
        None => {}
    }
    row("time", time(&report.timing));
    row("memory, peak", memory(&report.processes));
    if !report.deaths.is_empty() {
        let lines: Vec<&str> = report.deaths.iter().map(|d| d.line.as_str()).collect();
        row("deaths", lines.join("\n"));
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

fn time(timing: &Timing) -> String {
    format!(
        "start {:.1} s, publish {:.1} s, upload {:.1} s ({:.0} clients/s), run {:.1} s, audit {:.1} s; \
         all {:.1} s",
        timing.start_s,
        timing.publish_s,
        timing.upload_s,
        timing.uploads_per_s,
        timing.run_s,
        timing.audit_s,
        timing.total_s
    )
}

/// A line for each process; restarts only where there are some.
fn memory(processes: &[ProcessPart]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    for process in processes {
        let mib = process.peak_rss_bytes as f64 / (1024.0 * 1024.0);
        let restarts = match process.restarts {
            0 => String::new(),
            1 => "1 restart".into(),
            n => format!("{n} restarts"),
        };
        table.add_row([process.name.clone(), format!("{mib:.0} MiB"), restarts]);
    }
    if let Some(mib) = table.column_mut(1) {
        mib.set_cell_alignment(CellAlignment::Right);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.to_string()
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
    use super::super::report::{BinaryPart, sample};
    use super::*;

    // Catches a binary of nobody-knows-what that passes for reproducible beside one that is.
    #[test]
    fn one_binary_that_cannot_be_repeated_is_said() {
        let mut report = sample();
        let (role, sha256) = ("kms".into(), "ff66".into());
        report.binaries.push(BinaryPart {
            role,
            sha256,
            reproducible: false,
        });
        assert!(text(&report).contains("2, not reproducible"));
    }

    // Catches witnesses of somebody else's log that are said to be this run's (I1).
    #[test]
    fn i1_only_its_own_witnesses_are_simulated() {
        let mut report = sample();
        let both = ["SIMULATED WITNESSES", "runs the witnesses"];
        let own = text(&report);
        assert!(both.iter().all(|words| own.contains(words)), "{own}");
        report.own_log = false;
        let other = text(&report);
        assert!(!both.iter().any(|words| other.contains(words)), "{other}");
        assert!(other.contains("INSECURE SIMULATION · SIMULATED ENDORSER"));
    }

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
            "SIMULATED ENDORSER",
            "1, built by the recipe",
            "start 1.0 s, publish 0.5 s, upload 10.0 s (148 clients/s), run 61.2 s, audit 0.2 s; all",
            "siegel     90 MiB\n",
            "worker-1  121 MiB  2 restarts\n",
        ] {
            assert!(text.contains(words), "{words:?} is not in\n{text}");
        }
        assert!(
            !text.contains("next-char-0019") && !text.contains("hardly trained"),
            "{text}"
        );
    }
}
