//! `siegel verify …`: proofs that stand by themselves, checked offline.
//!
//! Each command is a module with its arguments and one function that returns what it found; printing
//! and exit codes are here.

pub mod bundle;
mod evidence;
mod participation;
mod receipt;
pub mod registration;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::failure::{Exit, Failure};
use crate::say::say_line;

/// Verify proofs: Sigstore bundles, evidence of TEEs, receipts, participation.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel verify bundle --bundle a.sigstore.json --key signer.pub a.txt
  siegel verify bundle --bundle policy.proof.json --anchors anchors.json policy.json
  siegel verify evidence report.bin --certificates chain.pem --policy reference.toml --explain
  siegel verify receipt siegel-runs/1f0c9a2b7d3e4f50
  siegel verify participation --run siegel-runs/1f0c9a2b7d3e4f50 --blob SHA256

Exit 3: not verified.")]
pub struct VerifyArgs {
    #[command(subcommand)]
    command: VerifyCommand,
}

#[derive(Debug, Subcommand)]
enum VerifyCommand {
    /// Verify a Sigstore bundle about a file: of anybody, or a proof of Siegel's own
    Bundle(bundle::BundleArgs),
    /// Appraise evidence of a TEE against reference values: AMD SEV-SNP, Intel TDX and SGX, AWS Nitro
    Evidence(evidence::EvidenceArgs),
    /// Verify one receipt of a key cluster, and say what it states
    Receipt(receipt::ReceiptArgs),
    /// Prove whether an upload was an input of a run
    Participation(participation::ParticipationArgs),
}

/// Runs the command and prints its result. `now` is the global `--now`.
pub fn verify(args: &VerifyArgs, json: bool, now: Option<u64>) -> Result<Exit, Failure> {
    match &args.command {
        VerifyCommand::Bundle(args) => bundle::bundle(args, json, now),
        VerifyCommand::Evidence(args) => evidence::evidence(args, json, now),
        VerifyCommand::Receipt(args) => receipt::receipt(args, json, now),
        VerifyCommand::Participation(args) => participation::participation(args, json, now),
    }
}

/// What was verified. There is no outcome for what was not: that is a [`Failure`] with exit 3.
trait Outcome: Serialize {
    /// For people.
    fn text(&self) -> String;
}

fn print(outcome: &impl Outcome, json: bool) -> Result<Exit, Failure> {
    if json {
        let text = serde_json::to_string_pretty(outcome)
            .map_err(|why| Failure::failed("json", "verify", why, ""))?;
        say_line(&text)?;
    } else {
        say_line(&outcome.text())?;
    }
    Ok(Exit::Ok)
}
