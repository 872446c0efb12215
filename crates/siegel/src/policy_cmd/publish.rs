//! `siegel policy publish`: into the log, and the exact bytes into its archive (I1).

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use siegel_ident::{PolicyDigest, Timestamp, hex_serde};
use siegel_policy::{Finding, Policy, Severity, lint};
use siegel_rekor::{LogClient, PolicySigner, RekorError};
use siegel_translog::{Bundle, LogAnchors, Statement, predicate, verify_logged};

use super::{Outcome, files, general};
use crate::failure::{Exit, Failure};

/// Put a compiled policy into a transparency log, and its bytes into the archive.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel policy publish policy.json --log http://127.0.0.1:8090 --key publisher.pem
  siegel policy publish policy.json --log http://127.0.0.1:8090 --key publisher.pem \\
      --log-key 3b6a27bc…(64 hex digits) --out policy.sigstore.json
  siegel policy publish policy.json --log http://127.0.0.1:8090 --key signing.pem \\
      --certificate signing.crt --tsa https://timestamp.example.org

Writes two files: the strict proof that key service and devices take, and a general Sigstore v0.3 bundle
for other clients, with an RFC 3161 time stamp if there is an authority.

A policy with an error finding is not published (exit 3). Publishing again gives the same entry only
with the same signature; each publishing signs anew.")]
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

    /// The log's Ed25519 key: the proof is then verified as a client would
    #[arg(long, value_name = "HEX")]
    pub log_key: Option<String>,

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
    /// True if the proof was verified under `--log-key`.
    pub verified: bool,
    findings: Vec<Finding>,
}

/// Signs, logs and archives the policy; verifies the proof if it can; writes it.
pub async fn publish(args: &PublishArgs, now: Timestamp) -> Result<Published, Failure> {
    let policy = files::good_policy(&args.file)?;
    let mut findings = lint(&policy);
    refuse_errors(args, &findings)?;
    let anchors = anchors(args, &policy)?;
    let signer = PolicySigner::load_or_create(&args.key).map_err(|why| {
        let help = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256";
        Failure::usage("bad-key", &args.key.display().to_string(), why, help)
    })?;
    let certificate = general::certificate(args, &signer.key())?;
    let log = LogClient::new(&args.log).map_err(|why| {
        Failure::usage("bad-log", &args.log, why, "name an http:// or https:// URL")
    })?;
    let tsa = general::authority(args)?;
    let path = |given: &Option<PathBuf>, extension: &str| {
        let given = given.clone();
        given.unwrap_or_else(|| args.file.with_extension(extension))
    };
    let (proof, out) = (
        path(&args.proof, "proof.json"),
        path(&args.out, "sigstore.json"),
    );
    // An entry in a log is for ever: what could stop us afterwards is looked at before.
    files::absent(&[&proof, &out], args.force)?;
    let failed = |why: RekorError| Failure::failed("log", &args.log, why, "is the log running?");
    same_log(&log, &policy, &args.log).await?;
    let statement = Statement::about(&policy.name, policy.bytes(), predicate::POLICY);
    let envelope = signer.sign(&statement).map_err(failed)?;
    let bundle = log
        .publish(&envelope, &signer.key(), policy.bytes())
        .await
        .map_err(failed)?;
    let log_index = match &anchors {
        Some(anchors) => {
            let signer = signer.key();
            verify_logged(
                &bundle,
                policy.bytes(),
                predicate::POLICY,
                Some(&signer),
                anchors,
                now,
            )
            .map(|entry| entry.log_index)
        }
        None => {
            findings.push(Finding::new(
                Severity::Warning,
                "proof-not-verified",
                "I1",
                "give the log's key with --log-key to have the proof verified here",
            ));
            Bundle::parse(&bundle).map(|bundle| bundle.entry.log_index)
        }
    };
    let log_index = log_index.map_err(|why| {
        let help = "the log's answer proves nothing: keep it, and do not use this log";
        Failure::new(Exit::NotTrustworthy, "bad-proof", &args.log, why, help).under("I1")
    })?;
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
        verified: anchors.is_some(),
        findings,
    })
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

/// The log under the name that the policy demands.
fn anchors(args: &PublishArgs, policy: &Policy) -> Result<Option<LogAnchors>, Failure> {
    let Some(text) = &args.log_key else {
        return Ok(None);
    };
    let key = hex_serde::decode_lower(text).ok_or_else(|| {
        Failure::usage(
            "bad-log-key",
            "--log-key",
            "expected 64 lower-case hex digits",
            "",
        )
    })?;
    Ok(Some(LogAnchors::unwitnessed(&policy.log.origin, key)))
}

impl Outcome for Published {
    fn text(&self) -> String {
        let verified = if self.verified {
            "verified"
        } else {
            "not verified here"
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
