//! `siegel reproduce`: are the binaries that a policy lets in what their source gives?
//!
//! [`lookup`] reads what is stated (log, archive, or a release's file), [`rebuild`] builds it again,
//! [`causes`] says why bytes differ, [`report`] tells. [`tcb`] counts the code.

mod causes;
mod expected;
mod flavour;
mod lookup;
mod machine;
mod measured;
mod rebuild;
mod release;
mod report;
mod tcb;
#[cfg(test)]
mod testing;
mod worktree;

use std::path::PathBuf;
use std::time::Instant;

use clap::{ArgGroup, Args};
use siegel_attest::Profile;
use siegel_ident::Digest;

use crate::failure::{Exit, Failure};
use crate::policy_cmd;
use crate::say::{say, say_line};
use crate::simulate::progress::Progress;
pub use flavour::Flavour;
use lookup::{Looked, Source};
use rebuild::{Heard, Options};
use report::Report;
use tcb::TcbError;

/// The measured binaries.
const BINARIES: [&str; 3] = ["siegel-kms", "siegel-root", "siegel-worker"];

/// Arguments of `siegel reproduce`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("what").required(true).args(["policy", "digest", "release", "tcb"]),
    after_help = "\
Examples:
  siegel reproduce --policy siegel-runs/1f0c9a2b7d3e4f50/policy.json
  siegel reproduce --policy policy.json --here      # this working tree instead of the commit
  siegel reproduce --policy policy.json --no-build  # which source files and flags differ, at once
  siegel reproduce --digest SHA256 --log http://127.0.0.1:8090 --anchors anchors.json
  siegel reproduce --release 0.1.0 --flavour simulation
  siegel reproduce --tcb --heaviest
The anchors are yours, as with siegel audit. Without --log and --anchors, the folder `log` and the
file `anchors.json` beside the policy are taken, as siegel simulate leaves them.

Exit 0: the same bytes. Exit 3: other bytes, or nobody says how to build them. Exit 4: this machine
cannot build, or this repository does not have the commit."
)]
pub struct ReproduceArgs {
    /// What this compiled policy lets in
    #[arg(long, value_name = "FILE.json")]
    policy: Option<PathBuf>,
    /// The policy, or the endorsed binary, with this SHA-256
    #[arg(long, value_name = "SHA256", conflicts_with = "policy")]
    digest: Option<Digest>,
    /// A release of this repository, by reproducible-build/expected/VERSION.json
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["policy", "digest"])]
    release: Option<String>,
    /// Count crates, lines and `unsafe` of each measured binary
    #[arg(long, conflicts_with_all = ["policy", "digest", "release"])]
    tcb: bool,
    /// With --tcb: the ten heaviest crates of each binary too
    #[arg(long, requires = "tcb")]
    heaviest: bool,
    /// With --release or --tcb: as it ships, or with the simulator [default: production]
    #[arg(long, value_enum, conflicts_with_all = ["policy", "digest"])]
    flavour: Option<Flavour>,
    /// The log [default: the folder `log` beside FILE]
    #[arg(long, value_name = "URL|FOLDER", conflicts_with_all = ["release", "tcb"])]
    log: Option<String>,
    /// Your trust anchors [default: anchors.json beside FILE]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["release", "tcb"])]
    anchors: Option<PathBuf>,
    /// Build this working tree as it stands, not the stated commit
    #[arg(long, conflicts_with = "tcb")]
    here: bool,
    /// Compare source and recipe only: exit 0 then says nothing about the bytes
    #[arg(long, conflicts_with = "tcb")]
    no_build: bool,
    /// Leave the commit's files in target/reproduce
    #[arg(long, conflicts_with_all = ["tcb", "here", "no_build"])]
    keep: bool,
    /// Build without network: the locked crates must be there
    #[arg(long)]
    offline: bool,
    /// For maintainers: write the release's file from the records in these --out folders
    #[arg(long, value_name = "DIR", num_args = 1..=2, requires = "release", hide = true)]
    write_from: Vec<PathBuf>,
}

/// Runs the command and prints its result.
pub async fn reproduce(args: ReproduceArgs, json: bool, now: Option<u64>) -> Result<Exit, Failure> {
    let checkout = checkout()?;
    let flavour = args.flavour.unwrap_or(Flavour::Production);
    if args.tcb {
        return count(&args, &checkout, flavour, json);
    }
    if let (Some(version), false) = (&args.release, args.write_from.is_empty()) {
        let path = release::write(&checkout, version, &args.write_from)?;
        say_line(&path.display().to_string())?;
        return Ok(Exit::Ok);
    }
    let started = Instant::now();
    let looked = look(&args, &checkout, flavour.profile(), now).await?;
    let options = Options {
        checkout,
        here: args.here,
        offline: args.offline,
        keep: args.keep,
        no_build: args.no_build,
    };
    let mut report = repeat(looked, options).await?;
    report.release = args.release;
    report.timing.total_s = started.elapsed().as_secs_f64();
    if json {
        say_line(&pretty(&report)?)?;
    } else {
        say(&report.text())?;
    }
    Ok(report.exit())
}

/// What is stated, by whomever.
async fn look(
    args: &ReproduceArgs,
    checkout: &std::path::Path,
    flavour: Profile,
    now: Option<u64>,
) -> Result<Looked, Failure> {
    if let Some(version) = &args.release {
        let expected = Some(release::expected(checkout, version, flavour)?);
        return Ok(Looked {
            expected,
            ..Looked::default()
        });
    }
    let now = policy_cmd::clock(now)?;
    let policy = args.policy.as_deref();
    // First, so that a wrong file is named before the log is.
    let read = policy.map(policy_cmd::files::good_policy).transpose()?;
    let source = Source::open(args.log.as_deref(), args.anchors.as_deref(), policy)?;
    match (read, args.digest) {
        (Some(policy), _) => source.policy(&policy, now).await,
        (None, Some(digest)) => source.digest(digest, now).await,
        (None, None) => Ok(Looked::default()),
    }
}

/// Builds, with progress on standard error, if what is stated can be repeated at all.
async fn repeat(mut looked: Looked, options: Options) -> Result<Report, Failure> {
    let here = options.here;
    let Some(expected) = looked.expected.clone() else {
        return Ok(Report::of(looked, None, here));
    };
    if let Some(finding) = rebuild::not_reproducible(&expected.build, here) {
        looked.findings.push(finding);
        return Ok(Report::of(looked, None, here));
    }
    if !options.no_build {
        machine::check(&options.checkout, !here)?;
    }
    let work = tokio::task::spawn_blocking(move || {
        let mut progress = Progress::new();
        let tell = progress.teller();
        let rebuilt = rebuild::rebuild(&expected, &options, &mut |heard| match heard {
            Heard::Difference(cause) => tell(&cause.message),
            Heard::Line(line) if line.starts_with("building ") => progress.phase(line),
            Heard::Line(line) => progress.note(line),
        });
        progress.finish();
        rebuilt
    });
    let rebuilt = work
        .await
        .map_err(|why| Failure::failed("build", "build", why, ""))?;
    Ok(Report::of(looked, Some(rebuilt?), here))
}

fn count(
    args: &ReproduceArgs,
    checkout: &std::path::Path,
    flavour: Flavour,
    json: bool,
) -> Result<Exit, Failure> {
    let tcb = tcb::tcb(checkout, flavour, args.offline).map_err(tcb_failure)?;
    if json {
        say_line(&pretty(&tcb)?)?;
    } else {
        say(&tcb::text(&tcb, args.heaviest))?;
    }
    Ok(Exit::Ok)
}

fn pretty(value: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map_err(|why| Failure::failed("json", "reproduce", why, ""))
}

fn tcb_failure(why: TcbError) -> Failure {
    match &why {
        TcbError::NoCargo(_) => {
            let help = "install Rust (https://rustup.rs), then try again";
            Failure::new(Exit::MachineCannot, "no-cargo", "cargo", &why, help)
        }
        TcbError::Cargo { .. } => {
            let help = "is there network? `cargo fetch --locked` gets the crates";
            Failure::failed("cargo", "cargo", &why, help)
        }
        _ => Failure::failed("tcb", "source", &why, "is the checkout whole?"),
    }
}

/// The checkout that the command stands in, else the one that the executable was built in.
fn checkout() -> Result<PathBuf, Failure> {
    let here = std::env::current_dir().ok();
    let executable = std::env::current_exe().ok();
    let found = [here, executable]
        .iter()
        .flatten()
        .find_map(|start| siegel_recipe::checkout_of(start));
    found.ok_or_else(|| {
        let message = "there is no checkout of Siegel here";
        let help = "clone the repository and run this inside it";
        Failure::new(
            Exit::MachineCannot,
            "no-checkout",
            "checkout",
            message,
            help,
        )
    })
}
