//! `siegel policy publish`: into the log, and the exact bytes into its archive (I1).

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use siegel_ident::{PolicyDigest, Timestamp};
use siegel_policy::{Finding, Policy, Severity, Utc, lint};
use siegel_rekor::{LogClient, PolicySigner, RekorError};
use siegel_translog::{Bundle, LogAnchors, Statement, predicate};

use super::{Outcome, files, general, pinned};
use crate::failure::{Exit, Failure};

/// How long witnesses are waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// What an interrupt leaves behind.
pub(super) const INTERRUPTED: &str = "the policy may be in the log already, or not. Run the same command again: one more entry \
                                      about the same policy does no harm";

/// Put a compiled policy into a transparency log, and its bytes into the archive.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel policy publish policy.json --log http://127.0.0.1:8090 --key publisher.pem
  siegel policy publish policy.json --log http://127.0.0.1:8090 --key publisher.pem \\
      --log-key 3b6a27bc…(64 hex digits) --out policy.sigstore.json
  siegel policy publish policy.json --log http://127.0.0.1:8090 --key signing.pem \\
      --certificate signing.crt --tsa https://timestamp.example.org
  siegel policy publish policy.json --log https://rekor.example.org --key publisher.pem \\
      --anchors anchors.json --archive https://archive.example.org

With --anchors the proof is verified before any file is written, with the witnesses that your anchors
require: those that have not seen the entry yet are waited for, up to 20 seconds.

The archive gets the policy and the signed bytes before the log gets the entry: if the archive fails, nothing
was logged. Whatever failed: the same command can be run again.

Writes two files: the strict proof that key service and devices take, and a general Sigstore v0.3 bundle
for other clients, with an RFC 3161 time stamp if there is an authority.

A policy with an error finding is not published (exit 3). Each publishing signs anew, so that publishing
again makes one more entry about the same policy, which does no harm. Exit 1: log, archive, witnesses or
authority failed, or it was interrupted. Exit 3: what the log answered proves nothing, or it is another log.")]
pub struct PublishArgs {
    /// The compiled policy (canonical JSON)
    #[arg(value_name = "FILE.json")]
    pub file: PathBuf,

    /// The log
    #[arg(long, value_name = "URL")]
    pub log: String,

    /// The publisher's P-256 key (PKCS#8 PEM); made if it is not there
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,

    /// Your trust anchors of the log (JSON, as for `siegel audit`): name, key, witnesses. The proof is then
    /// verified as key service and devices will
    #[arg(long, value_name = "FILE")]
    pub anchors: Option<PathBuf>,

    /// Only the log's Ed25519 key, for a log without witnesses, in place of --anchors
    #[arg(long, value_name = "HEX")]
    pub log_key: Option<String>,

    /// Archive at this URL (PUT and GET of archive/SHA256 below it), for a log that has no archive beside it
    #[arg(long, value_name = "URL")]
    pub archive: Option<String>,

    /// A time stamp authority (default: the one at the log's own URL, if there is one)
    #[arg(long, value_name = "URL")]
    pub tsa: Option<String>,

    /// The signing key's certificate (PEM): the general bundle then names it in place of the key, and
    /// has a log entry of its own, which Siegel's audit does not read, and reports
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,

    /// Where the general Sigstore bundle goes (default: FILE.sigstore.json)
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Where the strict proof goes (default: FILE.proof.json)
    #[arg(long, value_name = "FILE")]
    pub proof: Option<PathBuf>,

    /// Replace existing files
    #[arg(long)]
    pub force: bool,
}

/// A published policy.
#[derive(Debug, Serialize)]
pub struct Published {
    schema: &'static str,
    /// SHA-256 of the policy.
    pub sha256: PolicyDigest,
    /// Zero-based index in the log.
    pub log_index: u64,
    /// The proof that key service and devices take: a strict Sigstore v0.3 bundle.
    pub proof: PathBuf,
    /// The general Sigstore v0.3 bundle.
    pub bundle: PathBuf,
    /// True if the general bundle has a time stamp.
    pub timestamped: bool,
    /// True if the proof was verified, under `--anchors` or `--log-key`.
    pub verified: bool,
    /// The time that the witnesses vouch for, if the anchors require some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witnessed_at: Option<Timestamp>,
    findings: Vec<Finding>,
}

/// Signs, archives and logs the policy; verifies the proof if it can; writes it.
pub async fn publish(args: &PublishArgs, now: Timestamp) -> Result<Published, Failure> {
    publish_within(args, now, PATIENCE).await
}

/// The same; witnesses are waited for so long.
pub(super) async fn publish_within(
    args: &PublishArgs,
    now: Timestamp,
    patience: Duration,
) -> Result<Published, Failure> {
    let policy = files::good_policy(&args.file)?;
    let mut findings = lint(&policy);
    refuse_errors(args, &findings)?;
    let anchors = pinned::anchors(args, &policy)?;
    findings.extend(pinned::unchecked(anchors.as_ref(), &policy));
    let path = |given: &Option<PathBuf>, extension: &str| {
        let given = given.clone();
        given.unwrap_or_else(|| args.file.with_extension(extension))
    };
    let (proof, out) = (
        path(&args.proof, "proof.json"),
        path(&args.out, "sigstore.json"),
    );
    // An entry in a log is for ever: what could stop us afterwards is looked at before.
    files::writable(&[&proof, &out], args.force)?;
    let log = client(args, anchors.as_ref())?;
    let tsa = general::authority(args)?;
    let signer = PolicySigner::load_or_create(&args.key).map_err(|why| {
        let help = "--key takes a P-256 private key: openssl genpkey -algorithm EC -pkeyopt \
                    ec_paramgen_curve:P-256";
        Failure::usage("bad-key", &args.key.display().to_string(), why, help)
    })?;
    let certificate = general::certificate(args, &signer.key())?;
    same_log(&log, &policy, &args.log).await?;
    let mut bundle = submit(&log, &policy, &signer).await?;
    let mut witnessed_at = None;
    let verified = anchors.is_some();
    let log_index = match anchors {
        Some(anchors) => {
            let about = (&policy, &signer.key());
            let found = pinned::witnessed(anchors, &log, bundle, about, now, patience);
            let (proved, entry) = found.await?;
            (bundle, witnessed_at) = (proved, entry.witnessed_at);
            entry.log_index
        }
        None => {
            let parsed = Bundle::parse(&bundle);
            let parsed = parsed.map_err(|why| pinned::bad_proof(&args.log, why))?;
            parsed.entry.log_index
        }
    };
    files::write(&proof, &bundle, args.force)?;
    let general = general::bundle(args, &log, &tsa, &bundle, certificate).await?;
    files::write(&out, &general.bytes, args.force)?;
    findings.extend(general.finding);
    Ok(Published {
        schema: "siegel/policy-publish/v1",
        sha256: policy.digest(),
        log_index,
        proof,
        bundle: out,
        timestamped: general.timestamped,
        verified,
        witnessed_at,
        findings,
    })
}

fn client(args: &PublishArgs, anchors: Option<&LogAnchors>) -> Result<LogClient, Failure> {
    let url = "name an http:// or https:// URL";
    let log = LogClient::new(&args.log);
    let mut log = log.map_err(|why| Failure::usage("bad-log", &args.log, why, url))?;
    if let Some(archive) = &args.archive {
        let with = log.with_archive(archive);
        log = with.map_err(|why| Failure::usage("bad-archive", archive, why, url))?;
    }
    // A Rekor answers 409 to an entry that it has; its proof is then computed for this log.
    Ok(match anchors {
        Some(anchors) => log.with_log_id(anchors.log_id()),
        None => log,
    })
}

/// Archives, then logs: no entry is ever without its bytes (I17). Each half says what it leaves behind.
async fn submit(
    log: &LogClient,
    policy: &Policy,
    signer: &PolicySigner,
) -> Result<Vec<u8>, Failure> {
    let statement = Statement::about(&policy.name, policy.bytes(), predicate::POLICY);
    let failed = |why: RekorError, help: &str| Failure::failed("log", log.url(), why, help);
    let envelope = signer.sign(&statement).map_err(|why| failed(why, ""))?;
    let archived = log.archive(&envelope, &signer.key(), policy.bytes()).await;
    archived.map_err(|why| {
        let help = "nothing was logged: the archive comes first. Is there an archive at this URL? If the log has \
                    none beside it, name one with --archive, and run it again";
        Failure::failed("archive", log.archive_url(), why, help)
    })?;
    let help = "the archive has the policy and the signed bytes; the log may have the entry or not. Run the same \
                command again";
    let entry = log.submit(&envelope, &signer.key()).await;
    let entry = entry.map_err(|why| failed(why, help))?;
    let bundle = Bundle::new(envelope, &signer.key(), entry).to_json();
    bundle.map_err(|why| pinned::bad_proof(log.url(), why))
}

/// The log at the URL calls itself what the policy demands. Whether it is that log, its key shows.
async fn same_log(log: &LogClient, policy: &Policy, at: &str) -> Result<(), Failure> {
    let failed = |why: RekorError| Failure::failed("log", at, why, "is the log running?");
    let note = log.checkpoint().await.map_err(failed)?;
    let found = note.lines().next().unwrap_or_default();
    if found == policy.log.origin {
        return Ok(());
    }
    let found: String = found.chars().take(100).collect();
    let expected = &policy.log.origin;
    let message = format!("this log calls itself {found:?}, the policy must stand in {expected:?}");
    let help = "nothing was sent; publish it to its own log, or build it for this one";
    Err(Failure::new(Exit::NotTrustworthy, "other-log", at, message, help).under("I1"))
}

fn refuse_errors(args: &PublishArgs, findings: &[Finding]) -> Result<(), Failure> {
    let Some(error) = findings
        .iter()
        .find(|finding| finding.severity == Severity::Error)
    else {
        return Ok(());
    };
    let at = args.file.display().to_string();
    let help = "siegel policy check lists all findings";
    let failure = Failure::new(Exit::NotTrustworthy, &error.id, &at, &error.message, help);
    Err(failure.under(error.invariant.as_deref().unwrap_or_default()))
}

impl Outcome for Published {
    fn text(&self) -> String {
        let verified = match (self.verified, self.witnessed_at) {
            (true, Some(at)) => format!("verified, witnessed {}", Utc(at)),
            (true, None) => "verified, without witnesses".to_owned(),
            (false, _) => "not verified here".to_owned(),
        };
        let stamped = match self.timestamped {
            true => "with a time stamp",
            false => "without a time stamp",
        };
        format!(
            "policy {}\n  is entry {} of the log; proof ({verified}) in {}\n  \
             Sigstore bundle ({stamped}) in {}\n",
            self.sha256,
            self.log_index,
            self.proof.display(),
            self.bundle.display()
        )
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }
}
