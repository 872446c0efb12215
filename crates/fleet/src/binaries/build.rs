//! Builds the node binaries in a checkout.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{
    BinariesError, BuildProfile, NODES, NodeBinaries, Origin, Progress, Request, Stamp, in_dir, io,
    source_digest,
};

/// The same bytes on every accepted CPU (I7).
const FLAGS: &str = "-Ctarget-cpu=x86-64-v3";
/// Lines of cargo's messages kept for an error.
const TAIL: usize = 40;

pub(super) fn ensure(
    checkout: &Path,
    request: &Request,
    progress: &mut dyn FnMut(&Progress),
) -> Result<NodeBinaries, BinariesError> {
    let target = target_dir(checkout);
    std::fs::create_dir_all(&target).map_err(io(&target))?;
    // Tests run side by side: one builds, the others wait and then find the stamp.
    let lock_file = target.join("siegel.lock");
    let lock = File::create(&lock_file).map_err(io(&lock_file))?;
    lock.lock().map_err(io(&lock_file))?;

    let dir = target.join(match request.profile {
        BuildProfile::Release => "release",
        BuildProfile::Dev => "debug",
    });
    let source = source_digest(checkout)?;
    if Stamp::valid_in(&dir)?.is_some_and(|stamp| stamp.source == source) {
        return Ok(in_dir(&dir, Origin::Built));
    }
    let together = invocations(request.profile);
    for (at, names) in together.iter().enumerate() {
        let name = names.first().copied().unwrap_or("nothing");
        let mut tell = |line: String| {
            progress(&Progress {
                binary: name,
                number: at + 1,
                of: together.len(),
                line,
            });
        };
        tell("starting cargo".into());
        build(checkout, &target, names, request, &mut tell)?;
    }
    // The source as it is now: a change during the build means another one next time.
    if source_digest(checkout)? == source {
        Stamp::of(&dir, &NODES, source)?.write(&dir)?;
    }
    Ok(in_dir(&dir, Origin::Fresh))
}

/// A folder of its own, so that its flags and features never disturb an ordinary build.
fn target_dir(checkout: &Path) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => checkout.join(dir).join("nodes"),
        None => checkout.join("target/nodes"),
    }
}

/// Which binaries one cargo invocation builds. Each its own, since unified features could put the
/// simulator into a production KMS (I11). In tests all have the simulator, nothing is shipped, and
/// one invocation compiles what they share once instead of three times.
fn invocations(profile: BuildProfile) -> Vec<Vec<&'static str>> {
    match profile {
        BuildProfile::Release => NODES.iter().map(|name| vec![*name]).collect(),
        BuildProfile::Dev => vec![NODES.to_vec()],
    }
}

fn build(
    checkout: &Path,
    target: &Path,
    names: &[&'static str],
    request: &Request,
    tell: &mut dyn FnMut(String),
) -> Result<(), BinariesError> {
    let mut command = cargo(checkout, target, names, request);
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(|source| BinariesError::NoCargo {
        cargo: program.clone(),
        source,
    })?;
    let mut tail: VecDeque<String> = VecDeque::new();
    if let Some(messages) = child.stderr.take() {
        for line in BufReader::new(messages).lines().map_while(Result::ok) {
            tell(line.trim().to_owned());
            if tail.len() == TAIL {
                tail.pop_front();
            }
            tail.push_back(line);
        }
    }
    let status = child.wait().map_err(|source| BinariesError::NoCargo {
        cargo: program,
        source,
    })?;
    if status.success() {
        return Ok(());
    }
    Err(BinariesError::Build {
        name: names.first().copied().unwrap_or("nothing"),
        tail: Vec::from(tail).join("\n"),
    })
}

fn cargo(checkout: &Path, target: &Path, names: &[&str], request: &Request) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(["build", "--locked"]);
    for name in names {
        command.args(["-p", name, "--bin", name]);
        command.arg("--features").arg(format!("{name}/simulation"));
    }
    if request.profile == BuildProfile::Release {
        command.arg("--release");
    }
    if request.offline {
        command.arg("--offline");
    }
    command.arg("--target-dir").arg(target);
    // What an outer cargo or the user has set must not change these binaries, nor rebuild them.
    for (key, _) in std::env::vars_os() {
        let key_text = key.to_string_lossy();
        let cargo_own = key_text.starts_with("CARGO_")
            && ![
                "CARGO_HOME",
                "CARGO_NET_",
                "CARGO_HTTP_",
                "CARGO_REGISTR",
                "CARGO_TERM_",
            ]
            .iter()
            .any(|keep| key_text.starts_with(keep));
        if cargo_own || ["RUSTFLAGS", "RUSTC_WRAPPER", "LD_LIBRARY_PATH"].contains(&&*key_text) {
            command.env_remove(&key);
        }
    }
    command
        .env("RUSTFLAGS", FLAGS)
        .current_dir(checkout)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}
