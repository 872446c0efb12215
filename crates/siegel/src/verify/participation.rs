//! `siegel verify participation`: was an upload an input of a run? Either answer, proved.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use serde::Serialize;
use siegel_ident::{BlobDigest, ClusterId, Digest, InputRoot, PolicyDigest, RunId, Timestamp};
use siegel_participation::{MAX_BLOBS, Participation, ParticipationError};
use siegel_policy::Utc;

use super::registration::{
    Anchors, FOLDER, Files, INPUTS, RECEIPT, read_receipt, refused, run_folder,
};
use super::{Outcome, print};
use crate::failure::{Exit, Failure};
use crate::policy_cmd::{clock, files};

/// Largest document with a proof, in bytes.
const PROOF_MAX: usize = 256 * 1024;

/// Prove whether an upload was an input of a run.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("source").required(true))]
#[command(after_help = "\
Examples:
  siegel verify participation --run siegel-runs/1f0c9a2b7d3e4f50 --blob SHA256
  siegel verify participation --run siegel-runs/1f0c9a2b7d3e4f50 --blob SHA256 --write mine.json
  siegel verify participation --proof mine.json --anchors anchors.json
  siegel verify participation --receipt receipt.json --inputs inputs.bin --blob SHA256 \\
      --anchors anchors.json

A device knows the digest of what it uploads. The folder of a simulation lists ten such digests in
registration/uploads.txt. Exit 0: proved, either way. Exit 3: the evidence does not hold, which says
neither the one nor the other.

The receipt's proof is of the moment in which it was made; `siegel verify receipt --help` says how to make it
fresh, or to judge it as of then. With --run, all files are those of the folder; to give others,
name each with --receipt, --inputs, --receipt-proof and --genesis.")]
pub struct ParticipationArgs {
    /// The upload: SHA-256 of the sealed bytes
    #[arg(long, value_name = "SHA256", required_unless_present = "proof")]
    pub blob: Option<Digest>,

    /// The folder of a run: it has receipt, list of inputs, and anchors
    #[arg(long, value_name = "FOLDER", group = "source")]
    pub run: Option<PathBuf>,

    /// The receipt of the run's registration (canonical JSON)
    #[arg(long, value_name = "FILE", group = "source", requires = "inputs")]
    pub receipt: Option<PathBuf>,

    /// A proof made with --write
    #[arg(long, value_name = "FILE", group = "source")]
    pub proof: Option<PathBuf>,

    /// With --receipt: its log bundle [default: receipt.proof.json beside the receipt]
    #[arg(long, value_name = "FILE", requires = "receipt", conflicts_with_all = ["run", "proof"])]
    pub receipt_proof: Option<PathBuf>,

    /// With --receipt: the cluster's genesis [default: genesis.json beside the receipt]
    #[arg(long, value_name = "FILE", requires = "receipt", conflicts_with_all = ["run", "proof"])]
    pub genesis: Option<PathBuf>,

    /// With --receipt: the run's list of inputs, as the depot stores it: sorted digests of 32 bytes each
    #[arg(long, value_name = "FILE", requires = "receipt", conflicts_with_all = ["run", "proof"])]
    pub inputs: Option<PathBuf>,

    /// Your trust anchors (JSON), as for `siegel audit` [default: those in the folder of a run]
    #[arg(long, value_name = "FILE")]
    pub anchors: Option<PathBuf>,

    /// Write the proof to a new file, to be kept or handed on
    #[arg(long, value_name = "FILE", conflicts_with = "proof")]
    pub write: Option<PathBuf>,
}

/// The proved answer.
#[derive(Debug, Serialize)]
struct Answer {
    schema: &'static str,
    /// True if the run read the upload.
    participated: bool,
    warnings: Vec<String>,
    blob: BlobDigest,
    run: RunId,
    policy: PolicyDigest,
    cluster: ClusterId,
    /// How many uploads the run read.
    blob_count: u64,
    input_root: InputRoot,
    registered_at: Timestamp,
    log: String,
    log_index: u64,
    tree_size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    witnessed_at: Option<Timestamp>,
}

/// Runs the command. `now` is the global `--now`.
pub fn participation(
    args: &ParticipationArgs,
    json: bool,
    now: Option<u64>,
) -> Result<Exit, Failure> {
    if let Some(run) = &args.run {
        run_folder(run)?;
    }
    let anchors = Anchors::read(args.anchors.as_deref(), args.run.as_deref())?;
    let (document, at, of_receipt) = document(args)?;
    let blob = document.blob;
    if let Some(asked) = args.blob.map(BlobDigest::from)
        && asked != blob
    {
        let why = ParticipationError::OtherBlob { asked, found: blob };
        return Err(refused(&why, &at));
    }
    let (log, clusters) = anchors.parts();
    let answer = document.verify(log, clusters, clock(now)?);
    let answer = answer.map_err(|why| {
        let of_receipt = of_receipt.and_then(|files| files.of(&why));
        refused(&why, of_receipt.as_ref().unwrap_or(&at))
    })?;
    if let Some(path) = &args.write {
        let bytes = document.to_bytes().map_err(|why| refused(&why, &at))?;
        files::write_new(path, &bytes)?;
    }
    let receipt = &answer.receipt;
    let outcome = Answer {
        schema: "siegel/verified-participation/v1",
        participated: answer.participated,
        warnings: anchors.warnings(receipt),
        blob,
        run: answer.run,
        policy: answer.policy,
        cluster: receipt.receipt.cluster,
        blob_count: answer.blob_count,
        input_root: answer.input_root,
        registered_at: receipt.receipt.at,
        log: log.origin.clone(),
        log_index: receipt.entry.log_index,
        tree_size: receipt.entry.tree_size,
        witnessed_at: receipt.entry.witnessed_at,
    };
    print(&outcome, json)
}

/// The proof, read or made; the file that an error is about, and those of the receipt if it was made of some.
fn document(args: &ParticipationArgs) -> Result<(Participation, PathBuf, Option<Files>), Failure> {
    if let Some(path) = &args.proof {
        let bytes = files::read(path, "proof", PROOF_MAX)?;
        let document = Participation::parse(&bytes).map_err(|why| refused(&why, path))?;
        return Ok((document, path.clone(), None));
    }
    let (receipt, inputs) = match (&args.run, &args.receipt, &args.inputs) {
        (Some(run), ..) => (
            run.join(FOLDER).join(RECEIPT),
            run.join(FOLDER).join(INPUTS),
        ),
        (None, Some(receipt), Some(inputs)) => (receipt.clone(), inputs.clone()),
        _ => return Err(missing("--run, --proof, or --receipt with --inputs")),
    };
    let Some(blob) = args.blob else {
        return Err(missing("--blob"));
    };
    let (proof, genesis) = (args.receipt_proof.as_deref(), args.genesis.as_deref());
    let (logged, files) = read_receipt(&receipt, proof, genesis)?;
    let list = read_list(&inputs)?;
    let document = Participation::new(blob.into(), logged, &list);
    let document = document.map_err(|why| refused(&why, &inputs))?;
    Ok((document, inputs, Some(files)))
}

fn read_list(path: &Path) -> Result<Vec<u8>, Failure> {
    files::read_any(path, "list of inputs", MAX_BLOBS as usize * Digest::LEN)
}

fn missing(option: &str) -> Failure {
    let help = "see `siegel verify participation --help`";
    Failure::usage(
        "missing",
        "command line",
        format!("{option} is missing"),
        help,
    )
}

impl Outcome for Answer {
    fn text(&self) -> String {
        let mut lines = self.warnings.clone();
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let (verdict, was) = match self.participated {
            true => ("PARTICIPATED", "is one"),
            false => ("DID NOT PARTICIPATE", "is none"),
        };
        lines.push(verdict.to_owned());
        lines.push(format!(
            "upload {} {was} of the {} inputs of run {}, registered {} under policy {}",
            self.blob,
            self.blob_count,
            self.run,
            Utc(self.registered_at),
            self.policy
        ));
        lines.push(String::new());
        lines.push(meaning(self.participated).to_owned());
        lines.push(String::new());
        lines.push(format!("cluster {}", self.cluster));
        lines.push(format!("Merkle root of the inputs {}", self.input_root));
        lines.push(format!(
            "receipt: entry {} of the log {:?}, proved under a checkpoint of {} entries",
            self.log_index, self.log, self.tree_size
        ));
        if let Some(at) = self.witnessed_at {
            lines.push(format!("witnessed {}", Utc(at)));
        }
        lines.join("\n")
    }
}

fn meaning(participated: bool) -> &'static str {
    match participated {
        true => {
            "What this means: the run's workers read exactly the registered list, and this upload is on it. \
             Whether it opened, and how much of it counted within the bound of its user, nobody outside \
             learns. The operator can leave an upload out, but not take it in and deny it."
        }
        false => {
            "What this means: the run's workers read exactly the registered list, sorted, and this upload is \
             not on it. So it had no part in this run's results. It may be on the list of another run: \
             `siegel audit` lists all runs of a log."
        }
    }
}
