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

use crate::failure::{Exit, Failure};
use crate::interrupt::or_interrupted;
use crate::say::{say, say_line};

/// Runs the simulation and prints its result. Ctrl-C ends every process by its pid.
pub async fn simulate(args: SimulateArgs, json: bool) -> Result<Exit, Failure> {
    let mut progress = progress::Progress::new();
    let help = "all processes were ended; what was debited stays debited";
    let work = Box::pin(pipeline::run(&args, &mut progress));
    let result = or_interrupted("simulate", help, work).await;
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
