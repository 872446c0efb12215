//! The reproducible build: runs the script of the checkout.

use std::path::PathBuf;
use std::process::Command;

use siegel_attest::Profile;

use crate::{NODES, RecipeError, Record, tools};

/// The script, in a checkout.
const SCRIPT: &str = "reproducible-build/build";
/// The script's exit code where the machine lacks something.
const MACHINE_CANNOT: i32 = 4;

/// One run of `reproducible-build/build`.
#[derive(Clone, Debug)]
pub struct Script {
    /// Whose script, and which source.
    pub checkout: PathBuf,
    /// With the simulator or without it (I11).
    pub flavour: Profile,
    /// Where binaries, manifest, recipe and record go.
    pub out: PathBuf,
    /// Cargo's own files; `None`: `target/nodes` of the checkout.
    pub target_dir: Option<PathBuf>,
    /// Use no network.
    pub offline: bool,
    /// How many jobs cargo runs at once.
    pub jobs: Option<u32>,
}

/// What a build does at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Which binary, as `siegel-kms`.
    pub binary: &'static str,
    /// Counted from 1.
    pub number: usize,
    /// Of so many.
    pub of: usize,
    /// The latest line of messages.
    pub line: String,
}

/// Builds, and returns the record that now lies in `out`.
///
/// # Errors
/// [`RecipeError::CannotBuild`] where this machine lacks something, else [`RecipeError::Build`],
/// both with the script's own words.
pub fn run(script: &Script, progress: &mut dyn FnMut(&Progress)) -> Result<Record, RecipeError> {
    let mut command = Command::new("bash");
    command
        .arg(script.checkout.join(SCRIPT))
        .args(["--flavour", script.flavour.as_str(), "--out"])
        .arg(&script.out);
    if let Some(dir) = &script.target_dir {
        command.arg("--target-dir").arg(dir);
    }
    if script.offline {
        command.arg("--offline");
    }
    if let Some(jobs) = script.jobs {
        command.arg("--jobs").arg(jobs.to_string());
    }
    let mut at = 0;
    let mut hear = |line: &str| {
        if let Some(rest) = line.strip_prefix("building ") {
            let name = rest.split(',').next().unwrap_or_default();
            at = NODES.iter().position(|node| *node == name).unwrap_or(at);
        }
        progress(&Progress {
            binary: NODES.get(at).copied().unwrap_or("siegel-kms"),
            number: at + 1,
            of: NODES.len(),
            line: line.to_owned(),
        });
    };
    let ended = tools::listen(&mut command, "bash", &mut hear)?;
    let tail = ended.tail;
    match ended.status.code() {
        Some(0) => Record::fitting(&script.out)?.ok_or_else(|| RecipeError::NoRecord {
            dir: script.out.clone(),
        }),
        Some(MACHINE_CANNOT) => Err(RecipeError::CannotBuild { tail }),
        _ => Err(RecipeError::Build {
            name: NODES.get(at).copied().unwrap_or("siegel-kms").to_owned(),
            tail,
        }),
    }
}
