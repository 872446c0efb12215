//! `siegel verify evidence`: what a TEE says about itself, appraised offline.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use siegel_attest::hardware::{
    self, Authentic, Endorsements, Evidence, Expected, Hex, Kind, Outcome as Asked, Rejection,
    Rule, TrustRoots,
};
use siegel_ident::{Timestamp, hex_serde};

use super::{Outcome, print};
use crate::failure::{Exit, Failure};
use crate::policy_cmd::{clock, files, reference};

mod input;
mod show;

/// Most bytes of a file with evidence: it may be in hexadecimal. The evidence in it has a bound of its own.
const FILE_MAX: usize = 2 * hardware::EVIDENCE_MAX + 16;

/// Appraise evidence of a TEE.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel verify evidence report.bin --certificates vcek.der --certificates ask_ark.pem
  siegel verify evidence td.quote --collateral collateral.json --policy reference.toml --explain
  siegel verify evidence nitro.cbor --policy reference.toml --now 1766670000

Without --policy only authenticity is asked: the vendor's hardware made this evidence, whatever it says.
With --policy every field is held against a reference value, and all checks must pass.

The vendors' roots are pinned in this program. Everything else comes with the evidence: nothing is
fetched. --now is the time to verify at; public collateral expires within a month.

Exit 2: wrong use, unreadable file, reference values that do not parse. Exit 3: refused.")]
pub struct EvidenceArgs {
    /// The evidence: SNP report, TDX or SGX quote, Nitro document; as bytes or in hexadecimal
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Reference values (TOML): which evidence is accepted
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// What kind it is, if its first bytes do not say
    #[arg(long, value_enum)]
    kind: Option<KindArg>,

    /// SNP: certificates, PEM or DER; the VCEK or VLEK first, then the chain (may be given again)
    #[arg(long, value_name = "FILE")]
    certificates: Vec<PathBuf>,

    /// SNP: the root's revocation list, DER
    #[arg(long, value_name = "FILE")]
    crl: Vec<PathBuf>,

    /// TDX and SGX: collateral, JSON
    #[arg(long, value_name = "FILE")]
    collateral: Option<PathBuf>,

    /// TDX: event log (CCEL) that must replay to the quote's registers
    #[arg(long, value_name = "FILE", requires = "policy")]
    event_log: Option<PathBuf>,

    /// The report data that must be bound, 64 bytes
    #[arg(long, value_name = "HEX", requires = "policy")]
    report_data: Option<String>,

    /// The configuration digest that must stand in HOST_DATA or MRCONFIGID, 32 bytes
    #[arg(long, value_name = "HEX", requires = "policy")]
    config: Option<String>,

    /// Print every check with its outcome
    #[arg(long)]
    explain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindArg {
    SevSnp,
    Tdx,
    Sgx,
    AwsNitro,
}

impl From<KindArg> for Kind {
    fn from(kind: KindArg) -> Self {
        match kind {
            KindArg::SevSnp => Self::SevSnp,
            KindArg::Tdx => Self::Tdx,
            KindArg::Sgx => Self::Sgx,
            KindArg::AwsNitro => Self::AwsNitro,
        }
    }
}

/// What came out, accepted or not.
#[derive(Debug, Serialize)]
struct Verdict {
    schema: &'static str,
    /// `accepted` by the policy, `refused`, or `authentic` where no policy was given.
    verdict: &'static str,
    kind: Kind,
    /// Bytes around the evidence in the file, which nobody vouches for.
    #[serde(skip_serializing_if = "is_zero")]
    around: usize,
    /// The first check that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<hardware::Check>,
    /// The end of the earliest window of certificates and collateral, and of the ages that a policy demands; unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_until: Option<Timestamp>,
    /// Every check that was asked.
    checks: Vec<Asked>,
    /// What the evidence says; only where it is authentic.
    claims: serde_json::Map<String, serde_json::Value>,
    #[serde(skip)]
    explain: bool,
}

fn is_zero(around: &usize) -> bool {
    *around == 0
}

/// Runs the command and prints its result. `now` is the global `--now`.
pub fn evidence(args: &EvidenceArgs, json: bool, now: Option<u64>) -> Result<Exit, Failure> {
    let now = clock(now)?;
    let file = files::read(&args.file, "evidence", FILE_MAX)?;
    let input = input::open(&file, args)?;
    input::fits(input.evidence.kind, args)?;
    let endorsements = input::endorsements(args)?;
    let policy = args.policy.as_deref().map(reference::read).transpose()?;
    let expected = input::expected(args)?;
    let roots = TrustRoots::vendors();

    let authentic = hardware::verify(&input.evidence, &endorsements, &roots, now);
    let verdict = match (authentic, &policy) {
        (Err(why), _) => Verdict::refused(&input, None, why, args),
        (Ok(found), None) => Verdict::authentic(&input, &found, args),
        (Ok(found), Some(references)) => {
            match hardware::appraise(
                &input.evidence,
                &endorsements,
                &roots,
                references,
                &expected,
                now,
            ) {
                Ok(appraisal) => Verdict {
                    verdict: "accepted",
                    valid_until: Some(appraisal.valid_until()),
                    checks: appraisal.outcomes().to_vec(),
                    ..Verdict::authentic(&input, &found, args)
                },
                Err(why) => Verdict::refused(&input, Some(&found), why, args),
            }
        }
    };
    let exit = match verdict.verdict {
        "refused" => Exit::NotTrustworthy,
        _ => Exit::Ok,
    };
    print(&verdict, json)?;
    Ok(exit)
}

impl Verdict {
    fn authentic(input: &input::Input, found: &Authentic, args: &EvidenceArgs) -> Self {
        let claims = found
            .claims()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into()));
        Self {
            schema: "siegel/evidence-verdict/v1",
            verdict: "authentic",
            kind: input.evidence.kind,
            around: input.around,
            failed: None,
            valid_until: Some(found.valid_until()),
            checks: Vec::new(),
            claims: claims.collect(),
            explain: args.explain,
        }
    }

    fn refused(
        input: &input::Input,
        found: Option<&Authentic>,
        why: Rejection,
        args: &EvidenceArgs,
    ) -> Self {
        let failed = Some(why.check);
        let checks = why.outcomes;
        match found {
            Some(found) => Self {
                verdict: "refused",
                failed,
                checks,
                ..Self::authentic(input, found, args)
            },
            None => Self {
                schema: "siegel/evidence-verdict/v1",
                verdict: "refused",
                kind: input.evidence.kind,
                around: input.around,
                failed,
                valid_until: None,
                checks,
                claims: serde_json::Map::new(),
                explain: args.explain,
            },
        }
    }
}
