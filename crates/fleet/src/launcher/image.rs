//! An executable, opened and hashed once.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use siegel_attest::simulated;
use siegel_ident::{Digest, Measurement};

use crate::FleetError;

/// What is executed: these bytes, this argv, this environment. All three are measured.
#[derive(Clone, Debug)]
pub struct Image {
    path: PathBuf,
    file: Arc<File>,
    digest: Digest,
    argv: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Image {
    /// Opens and hashes an executable. `argv0` is the whole argument list; the environment is empty.
    pub fn open(path: &Path, argv0: &str) -> Result<Self, FleetError> {
        let what = || path.display().to_string();
        let file = File::open(path).map_err(FleetError::io(what()))?;
        let mut bytes = Vec::new();
        (&file)
            .read_to_end(&mut bytes)
            .map_err(FleetError::io(what()))?;
        let digest = Digest::of(&bytes);
        let argv = vec![argv0.to_owned()];
        Ok(Self {
            path: path.into(),
            file: Arc::new(file),
            digest,
            argv,
            environment: Vec::new(),
        })
    }

    /// The same with one more argument: another measurement.
    #[must_use]
    pub fn arg(mut self, arg: &str) -> Self {
        self.argv.push(arg.into());
        self
    }

    /// The same with one more variable: another measurement.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// SHA-256 of the executable.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Its file name; for showing only.
    pub fn file_name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Where it was opened; for showing only.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The measurement of a process started from it.
    pub fn measurement(&self) -> Measurement {
        let argv: Vec<&str> = self.argv.iter().map(String::as_str).collect();
        let environment: Vec<_> = self
            .environment
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        simulated::measurement(self.digest, &argv, &environment)
    }

    /// The child inherits the descriptor until it executes it: no second look-up by name, so what
    /// was hashed is what runs. Someone who overwrites the file in place can still cheat; the
    /// launcher is a simulation.
    pub(super) fn descriptor_path(&self) -> String {
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }

    pub(super) fn prepare(&self, command: &mut Command) {
        command
            .env_clear()
            .envs(self.environment.iter().map(|(n, v)| (n, v)));
        if let Some((first, rest)) = self.argv.split_first() {
            command.arg0(first).args(rest);
        }
    }
}
