//! Receipts with what proves them, from files.

use std::path::{Path, PathBuf};

use siegel_audit::AuditAnchors;
use siegel_ident::{ClusterId, Timestamp};
use siegel_participation::{LoggedReceipt, ParticipationError, VerifiedReceipt};

use crate::audit_cmd::read_anchors;
use crate::failure::{Exit, Failure};
use crate::policy_cmd::files;

/// Sub-folder of a run's folder that has these files.
pub const FOLDER: &str = "registration";
/// The cluster's genesis.
pub const GENESIS: &str = "genesis.json";
/// The receipt's body.
pub const RECEIPT: &str = "receipt.json";
/// Its log bundle.
pub const PROOF: &str = "receipt.proof.json";
/// The sorted digests of a run's uploads, 32 bytes each.
pub const INPUTS: &str = "inputs.bin";

/// Largest receipt, genesis or bundle, in bytes.
const DOCUMENT_MAX: usize = 64 * 1024;

/// Receipt, proof and genesis. Proof and genesis lie beside the receipt if nothing else is said.
pub fn read_receipt(
    receipt: &Path,
    proof: Option<&Path>,
    genesis: Option<&Path>,
) -> Result<LoggedReceipt, Failure> {
    let beside = |given: Option<&Path>, name: &str| -> PathBuf {
        given.map_or_else(|| receipt.with_file_name(name), Path::to_path_buf)
    };
    let read = |path: &Path, what: &str| files::read(path, what, DOCUMENT_MAX);
    let body = read(receipt, "receipt")?;
    let bundle = read(&beside(proof, PROOF), "receipt's proof")?;
    let genesis = read(&beside(genesis, GENESIS), "genesis")?;
    LoggedReceipt::new(&genesis, &body, &bundle).map_err(|why| refused(&why, receipt))
}

/// The verifier's anchors, the clusters in them, and the labels that go before every answer.
pub struct Anchors {
    anchors: AuditAnchors,
    clusters: Vec<ClusterId>,
}

impl Anchors {
    /// From the file that is given, else from the run's folder.
    pub fn read(given: Option<&Path>, run: Option<&Path>) -> Result<Self, Failure> {
        let path = match (given, run) {
            (Some(path), _) => path.to_path_buf(),
            (None, Some(run)) => run.join("anchors.json"),
            (None, None) => {
                let message = "only the folder of a run has anchors of its own";
                let help = "give yours: --anchors FILE";
                return Err(Failure::usage("no-anchors", "--anchors", message, help));
            }
        };
        let anchors = read_anchors(&path)?;
        let clusters = anchors.clusters.iter().map(|cluster| cluster.id).collect();
        Ok(Self { anchors, clusters })
    }

    /// For the checks of the pure crate.
    pub fn parts(&self) -> (&siegel_translog::LogAnchors, &[ClusterId]) {
        (&self.anchors.log, &self.clusters)
    }

    /// Verifies a receipt.
    pub fn verify(
        &self,
        receipt: &LoggedReceipt,
        at: &Path,
        now: Timestamp,
    ) -> Result<VerifiedReceipt, Failure> {
        let (log, clusters) = self.parts();
        let verified = receipt.verify(log, clusters, now);
        verified.map_err(|why| refused(&why, at))
    }

    /// What must be said before anything else (I1, I11).
    pub fn warnings(&self, receipt: &VerifiedReceipt) -> Vec<String> {
        let unwitnessed = self.anchors.log.witnesses.is_none();
        let all = [
            (
                receipt.simulation,
                "INSECURE SIMULATION: no hardware protects this cluster's keys",
            ),
            (
                receipt.simulation && !unwitnessed,
                "SIMULATED WITNESSES: whoever runs the simulation runs the witnesses of its log",
            ),
            (
                unwitnessed,
                "UNWITNESSED: only the log's operator vouches that everyone sees the same log",
            ),
            (
                self.clusters.is_empty(),
                "your anchors name no cluster: anyone can make one, and this receipt is some cluster's",
            ),
        ];
        let said = all.into_iter().filter(|(holds, _)| *holds);
        said.map(|(_, warning)| warning.to_owned()).collect()
    }
}

/// The folder of a run is there, and the run has come far enough to have these files.
pub fn run_folder(run: &Path) -> Result<(), Failure> {
    let message = match run.metadata() {
        Ok(found) if !found.is_dir() => "this is not the folder of a run, but a file",
        Ok(_) if run.join(FOLDER).is_dir() => return Ok(()),
        Ok(_) => "this folder has no sub-folder registration, as that of a finished run has",
        Err(_) => "there is no such folder",
    };
    let at = run.display().to_string();
    let help = "name the folder that `siegel simulate` has written";
    Err(Failure::usage("no-run", &at, message, help))
}

/// Evidence that does not hold: exit 3.
pub fn refused(why: &ParticipationError, at: &Path) -> Failure {
    use ParticipationError as E;
    let (code, invariant) = match why {
        E::UnknownCluster(_) => ("unknown-cluster", "I1"),
        E::OtherLog { .. } => ("other-log", "I1"),
        E::Proof(_) => ("receipt-not-proved", "I1"),
        E::OtherCluster { .. } => ("other-cluster", "I2"),
        E::NotARegistration => ("not-a-registration", ""),
        E::Receipt(_) | E::Genesis(_) | E::Json(_) | E::Schema { .. } | E::NotText(_) => {
            ("malformed", "I2")
        }
        _ => ("participation-not-proved", "I2"),
    };
    let help = "this proves nothing, neither the one nor the other";
    let at = at.display().to_string();
    Failure::new(Exit::NotTrustworthy, code, &at, why, help).under(invariant)
}
