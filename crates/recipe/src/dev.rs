//! The quick build for tests: cargo's dev profile, no claim to reproducibility.

use std::path::Path;
use std::process::Command;

use siegel_attest::Profile;
use siegel_endorse::{Build, Manifest};

use crate::build::Progress;
use crate::record::SOURCE_FILE;
use crate::{NODES, RecipeError, Record, tools, tree_state, write};

/// The same bytes on every accepted CPU (I7).
const FLAGS: &str = "-Ctarget-cpu=x86-64-v3";
const INSTALL: &str = "Rust, or name a folder with --binaries DIR";

/// What to build, and where.
pub(crate) struct Dev<'a> {
    pub(crate) checkout: &'a Path,
    /// Cargo's own files. Both flavours share what they have in common here.
    pub(crate) target: &'a Path,
    /// Where the binaries go: a folder per flavour, so that neither disturbs the other's.
    pub(crate) out: &'a Path,
    pub(crate) flavour: Profile,
    pub(crate) offline: bool,
}

/// Builds all three by one cargo invocation. They share one flavour and nothing is shipped, so that
/// unified features do no harm here (I11), and what they share is compiled once instead of three
/// times.
pub(crate) fn build(
    dev: &Dev<'_>,
    source: &Manifest,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Record, RecipeError> {
    let name = NODES.first().copied().unwrap_or_default();
    let mut hear = |line: &str| {
        progress(&Progress {
            binary: name,
            number: 1,
            of: 1,
            line: line.to_owned(),
        });
    };
    hear("starting cargo");
    let ended = tools::listen(&mut cargo(dev), INSTALL, &mut hear)?;
    if !ended.status.success() {
        return Err(RecipeError::Build {
            name: NODES.join(", "),
            tail: ended.tail,
        });
    }
    std::fs::create_dir_all(dev.out).map_err(RecipeError::io(dev.out))?;
    for name in NODES {
        let (built, out) = (dev.target.join("debug").join(name), dev.out.join(name));
        let staged = dev.out.join(format!("{name}.new"));
        std::fs::copy(&built, &staged).map_err(RecipeError::io(&built))?;
        std::fs::rename(&staged, &out).map_err(RecipeError::io(&out))?;
    }
    let state = tree_state(dev.checkout)?;
    let build = Build {
        source: source.digest()?,
        commit: state.commit,
        dirty: state.dirty,
        recipe: None,
        rustc: tools::version("rustc", INSTALL)?,
        cc: tools::version("cc", "a C compiler")?,
    };
    write(&dev.out.join(SOURCE_FILE), &source.to_bytes()?)?;
    Record::of(dev.out, &NODES, dev.flavour, build)
}

fn cargo(dev: &Dev<'_>) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(["build", "--locked"]);
    for name in NODES {
        command.args(["-p", name, "--bin", name]);
        if dev.flavour == Profile::Simulation {
            command.arg("--features").arg(format!("{name}/simulation"));
        }
    }
    if dev.offline {
        command.arg("--offline");
    }
    command.arg("--target-dir").arg(dev.target);
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
    command.env("RUSTFLAGS", FLAGS).current_dir(dev.checkout);
    command
}
