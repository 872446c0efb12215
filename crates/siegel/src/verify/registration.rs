//! Receipts with what proves them, from files.

use std::path::{Path, PathBuf};

use siegel_audit::AuditAnchors;
use siegel_ident::{ClusterId, Timestamp};
use siegel_participation::{LoggedReceipt, ParticipationError, VerifiedReceipt};
use siegel_translog::ProofError;

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

/// Where receipt, proof and genesis are.
pub struct Files {
    receipt: PathBuf,
    proof: PathBuf,
    genesis: PathBuf,
}

impl Files {
    /// The file that an error is about; `None` if it is about none of these.
    pub fn of(&self, why: &ParticipationError) -> Option<PathBuf> {
        use ParticipationError as E;
        match why {
            E::NotText("genesis") | E::Genesis(_) | E::UnknownCluster(_) | E::OtherLog { .. } => {
                Some(&self.genesis)
            }
            E::NotText("receipt") | E::Receipt(_) | E::NotARegistration => Some(&self.receipt),
            // The proof is about other bytes than the receipt's.
            E::Proof(ProofError::OtherBytes { .. }) => Some(&self.receipt),
            // The point in the genesis.
            E::Proof(ProofError::Key(_)) => Some(&self.genesis),
            E::NotText(_) | E::Proof(_) => Some(&self.proof),
            // One of the two: their digests cannot say which.
            E::OtherCluster { .. } => {
                let (receipt, genesis) = (self.receipt.display(), self.genesis.display());
                return Some(PathBuf::from(format!("{genesis} or {receipt}")));
            }
            _ => None,
        }
        .cloned()
    }
}

/// Receipt, proof and genesis. Proof and genesis lie beside the receipt if nothing else is said.
pub fn read_receipt(
    receipt: &Path,
    proof: Option<&Path>,
    genesis: Option<&Path>,
) -> Result<(LoggedReceipt, Files), Failure> {
    let beside = |given: Option<&Path>, name: &str| -> PathBuf {
        given.map_or_else(|| receipt.with_file_name(name), Path::to_path_buf)
    };
    let read = |path: &Path, what: &str| files::read(path, what, DOCUMENT_MAX);
    let files = Files {
        receipt: receipt.to_owned(),
        proof: beside(proof, PROOF),
        genesis: beside(genesis, GENESIS),
    };
    let body = read(receipt, "receipt")?;
    let bundle = read(&files.proof, "receipt's proof")?;
    let genesis = read(&files.genesis, "genesis")?;
    match LoggedReceipt::new(&genesis, &body, &bundle) {
        Ok(logged) => Ok((logged, files)),
        Err(why) => Err(refused(&why, &files.of(&why).unwrap_or(files.receipt))),
    }
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
        files: &Files,
        now: Timestamp,
    ) -> Result<VerifiedReceipt, Failure> {
        let (log, clusters) = self.parts();
        let verified = receipt.verify(log, clusters, now);
        verified.map_err(|why| {
            let at = files.of(&why);
            refused(&why, at.as_deref().unwrap_or(&files.receipt))
        })
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
                "SIMULATED WITNESSES: whoever runs the simulation runs the witnesses of its log, if that is its own",
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
