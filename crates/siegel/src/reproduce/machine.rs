//! Whether this machine can build at all: better said before than after three minutes.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::{Exit, Failure};

/// What a build of three binaries needs at most, with its dependencies.
const DISK_MIN: u64 = 3 << 30;

/// Programs and disk space. `folder` is on the disk where the build goes.
pub fn check(folder: &Path, git: bool) -> Result<(), Failure> {
    let mut programs = vec![
        ("bash", "bash"),
        ("cargo", "Rust (https://rustup.rs)"),
        ("cc", "a C compiler (package gcc or clang)"),
    ];
    if git {
        programs.push(("git", "git"));
    }
    let missing = programs.iter().filter(|(program, _)| !runs(program));
    let missing: Vec<&str> = missing.map(|(_, install)| *install).collect();
    if !missing.is_empty() {
        let message = format!(
            "this machine lacks what the build needs: {}",
            missing.join(", ")
        );
        let help = "install it, then try again";
        return Err(Failure::new(
            Exit::MachineCannot,
            "no-program",
            "PATH",
            message,
            help,
        ));
    }
    let at = folder.display().to_string();
    let free = free(folder).map_err(|why| Failure::failed("disk", &at, why, ""))?;
    enough(free, &at)
}

fn enough(free: u64, at: &str) -> Result<(), Failure> {
    if free >= DISK_MIN {
        return Ok(());
    }
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let message = format!(
        "the build needs {:.0} GiB of disk, {:.1} GiB are free",
        gib(DISK_MIN),
        gib(free)
    );
    let help = "free some; target/reproduce holds earlier builds and can be removed";
    Err(Failure::new(
        Exit::MachineCannot,
        "disk-full",
        at,
        message,
        help,
    ))
}

/// It is there. Whether it is the right one, the build script says.
fn runs(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok()
}

fn free(folder: &Path) -> std::io::Result<u64> {
    let stat = rustix::fs::statvfs(folder)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let here = std::env::current_dir().unwrap();
        assert!(free(&here).unwrap() > 0);
        assert!(runs("bash") && !runs("no-such-program-siegel"));
        assert!(enough(DISK_MIN, "x").is_ok());
        let failure = enough(DISK_MIN - 1, "x").unwrap_err();
        assert_eq!((failure.exit, &*failure.code), (4, "disk-full"));
        assert!(failure.message.contains("3 GiB"), "{}", failure.message);
    }
}
