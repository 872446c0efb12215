//! `siegel policy build|check|show|publish|measure`: write, judge, explain and publish access policies, and
//! compute reference values for them.
//!
//! Each command is a function that returns what it found ([`build::Built`], [`check::Checked`], …);
//! printing and exit codes are here.

pub mod build;
pub mod check;
mod endorsed;
pub mod files;
mod general;
pub mod measure;
mod pinned;
pub mod publish;
pub mod reference;
pub mod show;
#[cfg(test)]
mod tests;

use clap::{Args, Subcommand};
use serde::Serialize;
use siegel_ident::Timestamp;
use siegel_policy::Finding;

use crate::failure::{Exit, Failure};
use crate::interrupt::or_interrupted;
use crate::say::{say, say_line};

/// Write, check, explain and publish access policies; compute reference values.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel policy build policies/word-histogram.toml --cluster genesis.json \\
      --binaries target/release --program word-histogram.json --endorser endorser.pem \\
      --out policy.json
  siegel policy check policy.json
  siegel policy show policy.json
  siegel policy publish policy.json --log http://127.0.0.1:8090 --key publisher.pem
  siegel policy measure sev-snp --firmware OVMF.fd --vcpus 4 --vcpu-type EPYC-Genoa

Exit 3: verified, and not trustworthy (an error finding).")]
pub struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Fill in digests, window and rho, and compile TOML to canonical JSON
    Build(build::BuildArgs),
    /// Judge a compiled policy: findings, and exit 3 on an error
    Check(check::CheckArgs),
    /// Explain a compiled policy in plain words, and who has endorsed what until when
    Show(show::ShowArgs),
    /// Put a compiled policy into a transparency log, and its bytes into the archive
    Publish(publish::PublishArgs),
    /// Compute what a confidential virtual machine will report, from its files
    Measure(measure::MeasureArgs),
}

/// Runs the command and prints its result. `now` is the global `--now`.
pub async fn policy(args: PolicyArgs, json: bool, now: Option<u64>) -> Result<Exit, Failure> {
    let now = clock(now)?;
    match args.command {
        PolicyCommand::Build(args) => print(&build::build(&args, now)?, json),
        PolicyCommand::Check(args) => print(&check::check(&args, now)?, json),
        PolicyCommand::Show(args) => print(&show::show(&args, now).await?, json),
        PolicyCommand::Publish(args) => {
            let work = publish::publish(&args, now);
            let published = or_interrupted("policy publish", publish::INTERRUPTED, work).await?;
            print(&published, json)
        }
        PolicyCommand::Measure(args) => print(&measure::measure(&args)?, json),
    }
}

/// What a command found.
pub trait Outcome: Serialize {
    /// For people: the part before the findings.
    fn text(&self) -> String;
    /// The findings, worst first.
    fn findings(&self) -> &[Finding];
}

fn print(outcome: &impl Outcome, json: bool) -> Result<Exit, Failure> {
    if json {
        let text = serde_json::to_string_pretty(outcome)
            .map_err(|why| Failure::failed("json", "policy", why, ""))?;
        say_line(&text)?;
    } else {
        say(&outcome.text())?;
        for finding in outcome.findings() {
            say_line(&finding.to_string())?;
        }
    }
    Ok(exit_of(outcome.findings()))
}

/// 3 with an error finding, else 0.
fn exit_of(findings: &[Finding]) -> Exit {
    if Finding::any_error(findings) {
        Exit::NotTrustworthy
    } else {
        Exit::Ok
    }
}

/// The latest time that canonical JSON can hold: 2^53 - 1.
const LATEST: u64 = (1 << 53) - 1;

/// The time to judge at: `--now`, else this machine's clock.
pub fn clock(now: Option<u64>) -> Result<Timestamp, Failure> {
    if let Some(seconds) = now {
        if seconds > LATEST {
            let message = format!("no time after {LATEST} can be written down exactly");
            let help = "give unix seconds, as `date +%s` prints them";
            return Err(Failure::usage("bad-time", "--now", message, help));
        }
        return Ok(Timestamp(seconds));
    }
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map(|since| Timestamp(since.as_secs()))
        .map_err(|_| {
            let message = "this machine's clock is before 1970";
            Failure::failed("clock", "--now", message, "set it, or give --now SECONDS")
        })
}
