//! `siegel verify bundle`, `siegel verify-bundle`: a Sigstore bundle about a file.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;
use siegel_ident::{Digest, Timestamp};
use siegel_sigstore::{
    Artifact, BundleError, MAX_BUNDLE, MAX_ROOT, PUBLIC_GOOD, STAGING, Signer, verify_bundle,
    verify_policy_proof,
};
use siegel_translog::{SpkiKey, predicate};

use super::{Outcome, print};
use crate::audit_cmd::read_anchors;
use crate::failure::{Exit, Failure};
use crate::policy_cmd::{clock, files};

/// Largest artifact of a policy proof, in bytes.
const MAX_ARTIFACT: usize = 1 << 20;

/// Verify a Sigstore bundle about a file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel verify bundle --bundle a.sigstore.json --certificate-identity me@example.org \\
      --certificate-oidc-issuer https://accounts.google.com a.txt
  siegel verify bundle --bundle a.sigstore.json --key signer.pub \\
      --trusted-root trusted_root.json sha256:a0cfc712…(64 hex digits)
  siegel verify bundle --bundle policy.proof.json --anchors anchors.json policy.json

Who must have signed is yours to say: a certificate identity with its issuer, or a P-256 key. Without
--trusted-root the logs and authorities of the public-good instance are trusted, as they were when
this program was built. Offline, always.

With --anchors the bundle is a proof of Siegel's own: the log's name and key are yours, the statement
is about exactly this file, and a signer is pinned with --key. Our verifier and sigstore-verify both
run, and must agree on what both judge: witnesses, age, kind of statement and spelling only ours does.

--now is the time for our checks; sigstore-verify goes by this machine's clock.
Exit 2: wrong use, unreadable file, unusable trusted root or key. Exit 3: not verified.")]
pub struct BundleArgs {
    /// The bundle (v0.1 to v0.3)
    #[arg(long, value_name = "FILE")]
    pub bundle: PathBuf,

    /// Whose certificate: its subject alternative name, exactly
    #[arg(long, value_name = "IDENTITY", requires = "certificate_oidc_issuer")]
    pub certificate_identity: Option<String>,

    /// Who vouched for that identity, exactly
    #[arg(long, value_name = "URL", requires = "certificate_identity")]
    pub certificate_oidc_issuer: Option<String>,

    /// Whose signature: a P-256 public key (PEM)
    #[arg(long, value_name = "FILE", conflicts_with = "certificate_identity")]
    pub key: Option<PathBuf>,

    /// Logs and authorities that you trust (Sigstore trusted root, JSON)
    #[arg(long, value_name = "FILE")]
    pub trusted_root: Option<PathBuf>,

    /// Trust the staging instance instead of public good; --trusted-root comes first
    #[arg(long)]
    pub staging: bool,

    /// Your trust anchors (JSON), as for `siegel audit`: the bundle is a proof of Siegel's own
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["certificate_identity", "trusted_root", "staging"]
    )]
    pub anchors: Option<PathBuf>,

    /// With --anchors: what the statement says the file is
    #[arg(long, value_enum, default_value_t = What::Policy, requires = "anchors")]
    pub what: What,

    /// The file that the bundle is about, or its SHA-256
    #[arg(value_name = "FILE|sha256:HEX")]
    pub artifact: String,
}

/// The kinds of things that Siegel logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// An access policy
    Policy,
    /// A cluster's genesis
    Genesis,
    /// A receipt's unsigned body
    Receipt,
    /// A program bundle
    Program,
    /// An endorsement
    Endorsement,
    /// A key offer
    KeyOffer,
}

impl What {
    fn predicate_type(self) -> &'static str {
        match self {
            Self::Policy => predicate::POLICY,
            Self::Genesis => predicate::GENESIS,
            Self::Receipt => predicate::RECEIPT,
            Self::Program => predicate::PROGRAM,
            Self::Endorsement => predicate::ENDORSEMENT,
            Self::KeyOffer => predicate::KEY_OFFER,
        }
    }
}

/// A verified bundle.
#[derive(Debug, Serialize)]
pub struct VerifiedBundle {
    schema: &'static str,
    /// Always true: what is not verified is a failure.
    verified: bool,
    /// SHA-256 of the file.
    sha256: Digest,
    /// base64(SHA-256(SPKI)) of the key that signed.
    signer: String,
    /// Name of the log.
    log: String,
    /// Zero-based index in the log.
    log_index: u64,
    /// Entries under the checkpoint; absent if the log only promised.
    #[serde(skip_serializing_if = "Option::is_none")]
    tree_size: Option<u64>,
    /// Times, in unix seconds, that the log or timestamp authorities vouch for.
    times: Vec<Timestamp>,
}

/// Runs the command and prints its result. `now` is the global `--now`.
pub fn bundle(args: &BundleArgs, json: bool, now: Option<u64>) -> Result<Exit, Failure> {
    let bundle = files::read(&args.bundle, "bundle", MAX_BUNDLE)?;
    let key = args.key.as_deref().map(read_key).transpose()?;
    let now = clock(now)?;
    let verified = match &args.anchors {
        Some(anchors) => proof(args, &bundle, key.as_ref(), anchors, now),
        None => general(args, &bundle, key.as_ref(), now),
    }?;
    print(&verified, json)
}

fn general(
    args: &BundleArgs,
    bundle: &[u8],
    key: Option<&SpkiKey>,
    now: Timestamp,
) -> Result<VerifiedBundle, Failure> {
    let identity = args.certificate_identity.as_deref();
    let signer = match (identity, args.certificate_oidc_issuer.as_deref(), key) {
        (Some(identity), Some(issuer), None) => Signer::Certificate { identity, issuer },
        (None, None, Some(key)) => Signer::Key(key),
        _ => {
            return Err(Failure::usage(
                "no-signer",
                "command line",
                "who must have signed it is not said",
                "give --key FILE, or --certificate-identity with --certificate-oidc-issuer",
            ));
        }
    };
    let root = match (&args.trusted_root, args.staging) {
        (Some(path), _) => files::read_text(path, "trusted root", MAX_ROOT)?,
        (None, true) => STAGING.to_owned(),
        (None, false) => PUBLIC_GOOD.to_owned(),
    };
    let artifact = Artifact::Digest(digest(&args.artifact)?);
    let found =
        verify_bundle(bundle, &artifact, &signer, &root, now).map_err(|why| refused(&why, args))?;
    Ok(VerifiedBundle {
        schema: "siegel/verified-bundle/v1",
        verified: true,
        sha256: found.artifact,
        signer: found.key.hint(),
        log: found.log,
        log_index: found.log_index,
        tree_size: found.tree_size,
        times: found.times,
    })
}

fn proof(
    args: &BundleArgs,
    bundle: &[u8],
    key: Option<&SpkiKey>,
    anchors: &Path,
    now: Timestamp,
) -> Result<VerifiedBundle, Failure> {
    let anchors = read_anchors(anchors)?.log;
    let artifact = files::read_any(Path::new(&args.artifact), "artifact", MAX_ARTIFACT)?;
    let predicate_type = args.what.predicate_type();
    let found = verify_policy_proof(bundle, &artifact, predicate_type, key, &anchors, now)
        .map_err(|why| refused(&why, args))?;
    Ok(VerifiedBundle {
        schema: "siegel/verified-bundle/v1",
        verified: true,
        sha256: found.artifact,
        signer: found.signer.hint(),
        log: anchors.origin,
        log_index: found.log_index,
        tree_size: Some(found.tree_size),
        times: found.witnessed_at.into_iter().collect(),
    })
}

/// The bundle is not verified: exit 3. An unusable trusted root says nothing about it: exit 2.
fn refused(why: &BundleError, args: &BundleArgs) -> Failure {
    let at = match (why, &args.trusted_root) {
        (BundleError::TrustedRoot(_), Some(root)) => root.display().to_string(),
        (BundleError::TrustedRoot(_), None) => "the built-in trusted root".into(),
        _ => args.bundle.display().to_string(),
    };
    let (exit, invariant, help) = match why {
        BundleError::TrustedRoot(_) => (Exit::Usage, "", "is this a Sigstore trusted root?"),
        BundleError::OtherArtifact { .. } | BundleError::OtherEntry { .. } => {
            (Exit::NotTrustworthy, "I2", "is it the bundle of this file?")
        }
        BundleError::UnknownLog(_) => (
            Exit::NotTrustworthy,
            "I1",
            "if you trust its log, give that log's --trusted-root",
        ),
        BundleError::Disagreement { .. } => (
            Exit::NotTrustworthy,
            "I1",
            "one of the two verifiers has a fault, or somebody probes for one: keep the bundle and report it",
        ),
        _ => (Exit::NotTrustworthy, "I1", "do not use the file"),
    };
    Failure::new(exit, why.check(), &at, why, help).under(invariant)
}

fn read_key(path: &Path) -> Result<SpkiKey, Failure> {
    siegel_rekor::read_public_key(path).map_err(|why| {
        let at = path.display().to_string();
        Failure::usage("bad-key", &at, why, "--key takes a P-256 public key in PEM")
    })
}

/// SHA-256 of the file, or the one that is given. What is a path on disk is a path.
fn digest(artifact: &str) -> Result<Digest, Failure> {
    let path = Path::new(artifact);
    if let Some(hex) = artifact.strip_prefix("sha256:")
        && let Ok(digest) = hex.to_ascii_lowercase().parse()
        && !path.exists()
    {
        return Ok(digest);
    }
    let cannot = |why: std::io::Error| {
        let failure = files::cannot_read(path, "artifact", &why);
        let help = "give the file, or sha256: and its digest (64 hex digits)";
        Failure::usage("cannot-read", artifact, failure.message, help)
    };
    let mut file = File::open(path).map_err(cannot)?;
    let mut hash = ring::digest::Context::new(&ring::digest::SHA256);
    let mut block = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut block).map_err(cannot)?;
        if read == 0 {
            break;
        }
        hash.update(block.get(..read).unwrap_or_default());
    }
    Digest::try_from_slice(hash.finish().as_ref())
        .ok_or_else(|| Failure::failed("hash", artifact, "SHA-256 has another length", ""))
}

impl Outcome for VerifiedBundle {
    fn text(&self) -> String {
        let of = self
            .tree_size
            .map_or("promised by the log".to_owned(), |size| {
                format!("of {size}")
            });
        let mut lines = vec![
            format!("verified: sha256 {}", self.sha256),
            format!("signed by the key {}", self.signer),
            format!("log {}: entry {}, {of}", self.log, self.log_index),
        ];
        let times = self.times.iter();
        lines.extend(times.map(|time| format!("at {}", siegel_policy::Utc(*time))));
        lines.join("\n")
    }
}
