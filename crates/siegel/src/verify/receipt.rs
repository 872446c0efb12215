//! `siegel verify receipt`: one receipt of a key cluster, offline.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use siegel_ident::{ReceiptDigest, Timestamp};
use siegel_ledger::{Fact, Receipt};
use siegel_policy::Utc;

use super::registration::{Anchors, FOLDER, RECEIPT, read_receipt, run_folder};
use super::{Outcome, print};
use crate::failure::{Exit, Failure};
use crate::policy_cmd::{clock, files};

/// Verify one receipt of a key cluster, offline, and say in words what it states.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel verify receipt siegel-runs/1f0c9a2b7d3e4f50
  siegel verify receipt receipt.json --anchors anchors.json
  siegel verify receipt r.json --proof r.proof.json --genesis g.json --anchors anchors.json --json

Checked: the genesis makes a cluster in your anchors, its key signed the receipt, and the log in your
anchors has it. Exit 2: wrong use, or a file that cannot be read. Exit 3: not verified.

A proof is of the moment in which it was made, and it is too old when its witnesses' cosignatures are older
than your anchors allow (max_age). --now SECONDS judges it as of an earlier time. To make it fresh, send
the same entry to the log again (POST /api/v2/log/entries): it answers with a proof of now.")]
pub struct ReceiptArgs {
    /// The receipt's body (canonical JSON), or the folder of a run: the receipt of its registration
    #[arg(value_name = "FILE|RUN")]
    pub receipt: PathBuf,

    /// The receipt's log bundle [default: receipt.proof.json beside it]
    #[arg(long, value_name = "FILE")]
    pub proof: Option<PathBuf>,

    /// The cluster's genesis [default: genesis.json beside the receipt]
    #[arg(long, value_name = "FILE")]
    pub genesis: Option<PathBuf>,

    /// Your trust anchors (JSON), as for `siegel audit` [default: those in the folder of a run]
    #[arg(long, value_name = "FILE")]
    pub anchors: Option<PathBuf>,
}

/// A verified receipt.
#[derive(Debug, Serialize)]
struct Verified {
    schema: &'static str,
    /// Always true: what is not verified is a failure.
    verified: bool,
    warnings: Vec<String>,
    sha256: ReceiptDigest,
    receipt: Receipt,
    log: String,
    log_index: u64,
    tree_size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    witnessed_at: Option<Timestamp>,
}

/// Runs the command. `now` is the global `--now`.
pub fn receipt(args: &ReceiptArgs, json: bool, now: Option<u64>) -> Result<Exit, Failure> {
    let run = args.receipt.is_dir().then_some(args.receipt.as_path());
    let path = match run {
        Some(run) => {
            run_folder(run)?;
            run.join(FOLDER).join(RECEIPT)
        }
        None => args.receipt.clone(),
    };
    // Before the anchors: what is not there has none.
    if let Err(why) = path.metadata() {
        return Err(files::cannot_read(&path, "receipt", &why));
    }
    let anchors = Anchors::read(args.anchors.as_deref(), run)?;
    let (logged, files) = read_receipt(&path, args.proof.as_deref(), args.genesis.as_deref())?;
    let verified = anchors.verify(&logged, &files, clock(now)?)?;
    let outcome = Verified {
        schema: "siegel/verified-receipt/v1",
        verified: true,
        warnings: anchors.warnings(&verified),
        sha256: verified.entry.artifact.into(),
        log: anchors.parts().0.origin.clone(),
        log_index: verified.entry.log_index,
        tree_size: verified.entry.tree_size,
        witnessed_at: verified.entry.witnessed_at,
        receipt: verified.receipt,
    };
    print(&outcome, json)
}

impl Outcome for Verified {
    fn text(&self) -> String {
        let mut text = self.warnings.join("\n");
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        let Receipt {
            cluster, seq, at, ..
        } = &self.receipt;
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "VERIFIED\nreceipt {seq} of cluster {cluster}, written {}:\n{}\n\nsha256 {}\nentry {} of the \
             log {:?}, proved under a checkpoint of {} entries",
            Utc(*at),
            words(&self.receipt.fact),
            self.sha256,
            self.log_index,
            self.log,
            self.tree_size,
        );
        if let Some(at) = self.witnessed_at {
            let _ = write!(text, ", witnessed {}", Utc(at));
        }
        text
    }
}

/// What happened.
fn words(fact: &Fact) -> String {
    match fact {
        Fact::PolicyRegistered {
            policy,
            pipeline,
            total,
            ..
        } => format!(
            "policy {policy} is in force for pipeline {pipeline:?}, with a budget of ρ = {} in all",
            total.rho_nano
        ),
        Fact::EpochOpened {
            epoch,
            policy,
            expires,
        } => format!(
            "key epoch {epoch} was opened for policy {policy}; its keys are erased {}",
            Utc(*expires)
        ),
        Fact::RunRegistered {
            run,
            policy,
            blob_count,
            steps,
            cost,
            spent,
            input_root,
            ..
        } => format!(
            "run {run} over {blob_count} uploads was registered under policy {policy}; planned steps: {steps}, for \
             ρ = {}, which makes {} spent; Merkle root of its uploads {input_root}",
            cost.rho_nano, spent.rho_nano
        ),
        Fact::RunTaken { run, fencing } => {
            format!("a root got the keys of run {run} (number {fencing}): no refund from here on")
        }
        Fact::StepCommitted {
            run, step, release, ..
        } => match release {
            Some(release) => {
                format!("step {step} of run {run} has its one result, the sealed release {release}")
            }
            None => format!("step {step} of run {run} has its one result; it releases nothing"),
        },
        Fact::RunCancelled { run, refund, .. } => format!(
            "run {run} was taken back before it had keys; ρ = {} came back",
            refund.rho_nano
        ),
        Fact::RunAbandoned { run, step } => {
            format!("run {run} ended early, after step {step}; nothing came back")
        }
        Fact::RunFinished { run, step } => format!("run {run} finished with step {step}"),
        Fact::RunExpired { run, step } => {
            format!("run {run} expired after step {step}; nothing came back")
        }
        Fact::EpochExpired { epoch, runs } => format!(
            "the keys of epoch {epoch} are erased, and with them those of {} runs",
            runs.len()
        ),
    }
}
