//! The launcher in place of the TEE: measures what it executes, and signs for it.
//!
//! It is insecure by nature: whoever runs it can sign anything (I11). What it does right is the
//! order of things. The executable is opened once, hashed by that descriptor, and that descriptor is
//! executed; argv is fixed and the environment is empty, so both are in the measurement.

mod image;
mod in_process;
mod running;

use std::fs::File;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;

use siegel_attest::simulated::Attester;
use siegel_attest::{ClusterConfig, RootConfig, root_config, worker_config};
use siegel_ident::{ConfigDigest, Measurement, Secret};
use siegel_platform::{Clock, StartInfo, socket};
use siegel_wire::v1::{self, from_launcher};

use crate::{FleetError, Part, ProcessName};

pub use image::Image;
pub use in_process::InProcessQuotes;
pub use running::{Observed, Running};

/// Starts measured processes and answers their quote requests.
#[derive(Clone)]
pub struct Launcher {
    attester: Arc<Attester>,
    clock: Arc<dyn Clock>,
}

/// What a launcher says about a process in its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Executable, argv, environment.
    pub measurement: Measurement,
    /// Of the configuration that the start message holds.
    pub config: ConfigDigest,
}

impl Launcher {
    /// A launcher whose evidence is signed with this seed. `clock` dates the evidence.
    pub fn new(seed: &Secret<32>, clock: Arc<dyn Clock>) -> Result<Self, FleetError> {
        let attester = Attester::new(seed).map_err(|e| FleetError::Config {
            part: "launcher",
            why: e.to_string(),
        })?;
        Ok(Self {
            attester: Arc::new(attester),
            clock,
        })
    }

    /// The simulation root: goes into `ClusterConfig::simulation_root` and the clients' anchors.
    pub fn public_key(&self) -> [u8; 32] {
        self.attester.public_key()
    }

    /// Quotes for a node that runs inside this process.
    pub fn in_process(&self, measured: Measured) -> InProcessQuotes {
        InProcessQuotes::new(self.clone(), measured)
    }

    pub(crate) fn attest(&self, measured: Measured, report_data: [u8; 64]) -> Vec<u8> {
        let Measured {
            measurement,
            config,
        } = measured;
        self.attester
            .attest(measurement, config, report_data, self.clock.now())
    }

    /// Starts one process. Its standard error goes to `errors`. It has a process group of its own:
    /// Ctrl-C reaches the supervisor only, which then ends it by pid.
    pub fn launch(
        &self,
        name: ProcessName,
        image: &Image,
        start: &StartInfo,
        errors: File,
    ) -> Result<Running, FleetError> {
        let measurement = image.measurement();
        let measured = config_digest(name.part, &start.config)?.map(|config| Measured {
            measurement,
            config,
        });
        let failed = |source| FleetError::Launch { name, source };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let mut command = Command::new(image.descriptor_path());
        image.prepare(&mut command);
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::from(errors))
            .spawn()
            .map_err(failed)?;
        // Dropping the command closes our copy of the child's end: from here on the socket ends
        // with the child.
        drop(command);
        let body = Some(from_launcher::Body::Start(v1::Start::from(start)));
        let running =
            Running::new(child, ours, measured.map(|m| (self.clone(), m))).map_err(failed)?;
        // A child that died at once shows as an exit, with its log; not as a broken pipe here.
        let _ = socket::write_message(running.socket(), &v1::FromLauncher { body });
        Ok(running)
    }
}

/// The configuration digest that stands in the evidence of this role; none for what is not measured.
pub fn config_digest(part: Part, config: &[u8]) -> Result<Option<ConfigDigest>, FleetError> {
    let refuse = |why: String| FleetError::Config {
        part: part.as_str(),
        why,
    };
    match part {
        Part::Log | Part::Witness | Part::Depot => Ok(None),
        Part::Kms | Part::Worker => {
            ClusterConfig::parse(config).map_err(|e| refuse(e.to_string()))?;
            let kms = ConfigDigest::of(config);
            Ok(Some(if part == Part::Kms {
                kms
            } else {
                worker_config(kms)
            }))
        }
        Part::Root => {
            let root = RootConfig::parse(config).map_err(|e| refuse(e.to_string()))?;
            let kms = root.cluster.digest().map_err(|e| refuse(e.to_string()))?;
            Ok(Some(root_config(kms, root.program)))
        }
    }
}
