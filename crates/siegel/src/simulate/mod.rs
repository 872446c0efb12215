//! `siegel simulate`: the whole path on this machine.

mod args;
mod assemble;
mod card;
mod curve;
mod folder;
mod model;
mod outputs;
mod pipeline;
mod plot;
mod prepare;
pub mod progress;
mod registration;
mod rehearse;
mod remote;
mod report;
mod shipped;
mod summary;
mod trouble;
mod truth;
mod verdict;

pub use args::SimulateArgs;

use siegel_fleet::supervisor;

use crate::failure::{Exit, Failure};
use crate::say::{say, say_line};

/// Runs the simulation and prints its result. Ctrl-C ends every process by its pid.
pub async fn simulate(args: SimulateArgs, json: bool) -> Result<Exit, Failure> {
    let mut progress = progress::Progress::new();
    // Signals first: their handlers are in place before anything starts.
    let result = tokio::select! {
        biased;
        signal = supervisor::interrupted() => Err(match signal {
            Ok(name) => Failure::failed(
                "interrupted",
                "simulate",
                format!("ended by {name}"),
                "all processes were ended; what was debited stays debited",
            ),
            Err(why) => Failure::failed("signals", "simulate", why, ""),
        }),
        result = Box::pin(pipeline::run(&args, &mut progress)) => result,
    };
    progress.finish();
    let report = result?;
    if json {
        let text = serde_json::to_string_pretty(&report)
            .map_err(|why| Failure::failed("json", "simulate", why, ""))?;
        say_line(&text)?;
    } else {
        say(&summary::text(&report))?;
    }
    Ok(if report.audit.ok {
        Exit::Ok
    } else {
        Exit::NotTrustworthy
    })
}
