//! The command line of Siegel.

// In a binary nothing is reachable from outside; `pub` here says what a module offers its siblings.
#![allow(unreachable_pub)]

mod audit_cmd;
mod failure;
mod interrupt;
mod policy_cmd;
mod reproduce;
mod say;
mod serve;
mod simulate;
mod verify;

use clap::{Parser, Subcommand};

use crate::failure::{Exit, Failure};

/// Verifiable confidential aggregation: simulate it, audit it, reproduce it.
#[derive(Debug, Parser)]
#[command(
    name = "siegel",
    version,
    propagate_version = true,
    max_term_width = 100
)]
struct Cli {
    /// One JSON object on stdout; progress goes to stderr
    #[arg(long, global = true)]
    json: bool,

    /// The time to verify at, in unix seconds (default: this machine's clock)
    #[arg(long, global = true, value_name = "SECONDS")]
    now: Option<u64>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Simulate federated uploads through the real path
    Simulate(simulate::SimulateArgs),
    /// Build, check, show and publish access policies
    Policy(policy_cmd::PolicyArgs),
    /// Replay a log and its receipts into one verdict
    Audit(audit_cmd::AuditArgs),
    /// Build the endorsed binaries again and compare them; count what is in them
    ///
    /// Looks up in the log who endorsed the binaries that a policy lets in, and how they were built. Gets
    /// that commit from this repository into target/reproduce, builds it by its recipe, and says MATCH
    /// or MISMATCH for each binary, with the cause where it can tell. A build takes some minutes and up
    /// to 3 GiB of disk; nothing of the working tree is touched.
    Reproduce(reproduce::ReproduceArgs),
    /// Verify proofs: Sigstore bundles, receipts, participation
    Verify(verify::VerifyArgs),
    /// Verify a Sigstore bundle (the spelling of sigstore-conformance)
    VerifyBundle(verify::bundle::BundleArgs),
    /// Serve one untrusted part by hand
    Serve(serve::ServeArgs),
}

fn main() -> std::process::ExitCode {
    let cli = Cli::parse();
    // A part under a launcher speaks with it over standard input and owns its own runtime.
    if let Command::Serve(args) = &cli.command
        && let Some(part) = args.launched()
    {
        return serve::launched(part);
    }
    let json = cli.json;
    match run(cli) {
        Ok(exit) => std::process::ExitCode::from(exit as u8),
        Err(failure) => {
            failure.print(json);
            std::process::ExitCode::from(failure.exit)
        }
    }
}

fn run(cli: Cli) -> Result<Exit, Failure> {
    // An option without effect would look like a check that was made.
    let timeless = matches!(cli.command, Command::Simulate(_) | Command::Serve(_));
    if cli.now.is_some() && timeless {
        let message = "--now has no effect here: a run and a server go by this machine's clock";
        return Err(Failure::usage(
            "no-effect",
            "--now",
            message,
            "leave it out",
        ));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|why| Failure::failed("runtime", "siegel", why, ""))?;
    let ended = runtime.block_on(async {
        match cli.command {
            Command::Simulate(args) => Box::pin(simulate::simulate(args, cli.json)).await,
            Command::Policy(args) => policy_cmd::policy(args, cli.json, cli.now).await,
            Command::Audit(args) => {
                let help = "what was seen before is kept; run it again";
                let watches = args.watch.is_some();
                let work = audit_cmd::audit(args, cli.json, cli.now);
                match watches {
                    true => interrupt::or_terminated("audit", help, work).await,
                    false => interrupt::or_interrupted("audit", help, work).await,
                }
            }
            Command::Reproduce(args) => reproduce::reproduce(args, cli.json, cli.now).await,
            Command::Verify(args) => verify::verify(&args, cli.json, cli.now),
            Command::VerifyBundle(args) => verify::bundle::bundle(&args, cli.json, cli.now),
            Command::Serve(args) => serve::serve(args, cli.json).await,
        }
    });
    // A build that goes on in a thread must not hold an interrupted command back.
    runtime.shutdown_background();
    ended
}
