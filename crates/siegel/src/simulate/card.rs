//! The model card: what a trained model is, and what it promises, for whoever gets the file.

use std::fmt::Write as _;

use siegel_program::{ClippedSumSpec, Intrinsic, ProgramError};

use super::report::Report;

/// File name of the card.
pub(super) const FILE: &str = "MODEL_CARD.md";

/// What the report does not say.
pub(super) struct Facts<'a> {
    /// The training of one round; all rounds have the same.
    pub(super) spec: &'a ClippedSumSpec,
    /// Digest of the program.
    pub(super) program: String,
    /// What the clients were, as on the command line.
    pub(super) data: &'a str,
}

/// The card, as Markdown.
pub(super) fn card(report: &Report, facts: &Facts<'_>) -> Result<String, ProgramError> {
    let noise = Noise::of(facts.spec)?;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, report, facts, &noise);
    Ok(out)
}

/// Noise of one round on each parameter of the sum.
struct Noise {
    /// Standard deviation in lattice units.
    lattice: f64,
    /// In units of the parameters.
    real: f64,
    /// Standard deviation over sensitivity.
    multiplier: f64,
}

impl Noise {
    fn of(spec: &ClippedSumSpec) -> Result<Self, ProgramError> {
        let lattice = Intrinsic::ClippedSum(spec.clone()).standard_error()?;
        Ok(Self {
            lattice,
            real: lattice * spec.unit()?,
            multiplier: lattice / spec.scale as f64,
        })
    }
}

fn write(out: &mut String, report: &Report, facts: &Facts<'_>, noise: &Noise) -> std::fmt::Result {
    let (privacy, spec) = (&report.privacy, facts.spec);
    let real = |micro: u64| micro as f64 / 1e6;
    writeln!(out, "# Model card: {}\n", report.program)?;
    let log = match report.own_log {
        true => ",\nand nobody else has seen the log",
        false => "",
    };
    writeln!(
        out,
        "**INSECURE SIMULATION.** Nothing protected the uploads: the launcher on one machine stood in \
         for the TEE{log}.\n"
    )?;
    if !privacy.valid {
        writeln!(
            out,
            "**PRIVACY STATEMENT VOID.** The run had `--seed`: anybody can compute the noise and take \
             it off.\n"
        )?;
    }
    writeln!(out, "## Privacy\n")?;
    let mut row = |name: &str, value: String| writeln!(out, "- {name}: {value}");
    row(
        "policy",
        format!(
            "`{}`, pipeline `{}`",
            report.policy.sha256, report.policy.pipeline
        ),
    )?;
    row("program", format!("`{}`", facts.program))?;
    row(
        "guarantee",
        format!(
            "ε = {}, δ = {}, over all {} rounds together",
            privacy.epsilon, privacy.delta, report.rounds
        ),
    )?;
    row(
        "accounting",
        format!(
            "zCDP, ρ = {} of {} spent",
            privacy.budget_spent, privacy.budget_total
        ),
    )?;
    row(
        "unit",
        format!("one {}, everything that it ever uploads", privacy.unit),
    )?;
    row(
        "adjacency",
        format!("{}: a user's contributions become zero", privacy.adjacency),
    )?;
    row(
        "clip",
        format!(
            "a user's update of one round has L2 norm at most {}; at most {} {} of a user count",
            real(spec.clip_micro),
            spec.max_items_per_user,
            if spec.alphabet.is_some() {
                "characters"
            } else {
                "rows"
            }
        ),
    )?;
    row(
        "noise",
        format!(
            "discrete Gaussian on each parameter of the sum, every round: standard deviation {:.4} \
             ({:.1} lattice units of sensitivity {}; noise multiplier {:.4})",
            noise.real, noise.lattice, spec.scale, noise.multiplier
        ),
    )?;
    writeln!(out, "\n## Training\n")?;
    let mut row = |name: &str, value: String| writeln!(out, "- {name}: {value}");
    row("data", data(facts.data))?;
    row(
        "users",
        format!(
            "{} uploaded, each in every round",
            report.uploads.accepted + report.uploads.duplicates
        ),
    )?;
    row("rounds", report.rounds.to_string())?;
    row(
        "on each user's data",
        format!(
            "SGD, epochs {}, batch {}, rate {}; the program says what the server does with the noisy \
             sum",
            spec.epochs,
            spec.batch,
            real(spec.rate_micro)
        ),
    )?;
    if let Some(alphabet) = &spec.alphabet {
        row("alphabet", format!("`{alphabet}` of the program"))?;
    }
    writeln!(out, "\n## Parameters\n\n| tensor | shape |\n|---|---|")?;
    for tensor in spec.model.tensors() {
        let dims: Vec<String> = tensor.shape.iter().map(usize::to_string).collect();
        writeln!(out, "| `{}` | {} |", tensor.name, dims.join(" × "))?;
    }
    writeln!(out, "\n{} in all, `f32`.", spec.dimension())?;
    if let Some(output) = report.outputs.last() {
        writeln!(out, "File: SHA-256 `{}`.", output.sha256)?;
    }
    if let Some(truth) = report.metrics.training() {
        writeln!(
            out,
            "\n## How well it guesses\n\n\
             {:.1} % of {} characters of {} users that never uploaded; always guessing the most \
             frequent symbol\nof the users that did: {:.1} %. Only a simulator can know this: the \
             figure has no noise and is not private\ntowards those users.",
            100.0 * truth.accuracy,
            truth.characters,
            truth.users,
            100.0 * truth.unigram
        )?;
    }
    Ok(())
}

fn data(named: &str) -> String {
    match named {
        "synthetic" => "synthetic: made up by the simulator".into(),
        "shakespeare" => "the speaking roles of William Shakespeare's plays".into(),
        file => format!("the file `{file}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rehearse;
    use super::super::report::sample;
    use super::super::shipped::choose;
    use super::*;

    fn written(change: impl FnOnce(&mut Report)) -> String {
        let chosen = choose("next-char", None).unwrap();
        let plan = rehearse::plan(&chosen, 20, 1_485).unwrap();
        let facts = Facts {
            spec: rehearse::training(&plan).unwrap(),
            program: chosen.bundle.digest().to_string(),
            data: "shakespeare",
        };
        let mut report = sample();
        change(&mut report);
        card(&report, &facts).unwrap()
    }

    // I11: catches a card that leaves out what its model cannot be judged without.
    #[test]
    fn i11_the_card_says_what_it_promises_and_that_it_is_a_simulation() {
        let card = written(|_| ());
        for words in [
            "INSECURE SIMULATION",
            "ε = 8, δ = 0.0001, over all 20 rounds together",
            "policy: `aa11`, pipeline `org.example.next-char`",
            "one installation",
            "zero-out",
            "L2 norm at most 1; at most 512 characters",
            // σ² = S²/2ρ: with ρ = 1.4776/20 it is 2.6013 S.
            "noise multiplier 2.601",
            "1485 uploaded, each in every round",
            "speaking roles",
            "| `embedding` | 63 × 8 |",
            "3639 in all",
            "36.1 % of 55000 characters of 176 users",
            "most frequent symbol\nof the users that did: 18.5 %",
            "SHA-256 `bb22`",
        ] {
            assert!(card.contains(words), "{words:?} is not in\n{card}");
        }
        assert!(!card.contains("VOID"), "{card}");
    }

    #[test]
    fn i11_a_seed_voids_the_statement() {
        let card = written(|report| report.privacy.valid = false);
        assert!(card.contains("PRIVACY STATEMENT VOID"), "{card}");
    }

    #[test]
    fn without_held_out_users_nothing_is_said_of_them() {
        let card = written(|report| report.metrics.simulator_only = None);
        assert!(!card.contains("guesses"), "{card}");
    }
}
