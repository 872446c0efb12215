//! What is at hand while a cluster comes to be.

use std::collections::BTreeMap;
use std::sync::Arc;

use siegel_attest::{ClusterConfig, Profile, ReferenceValue};
use siegel_ident::{NamedKey, NodeId, Seconds, Secret, WitnessQuorum, json};
use siegel_link::{Endpoint, Net};
use siegel_platform::{BoxFuture, Peer, PlatformError, QuoteSource, StartInfo, rng};
use siegel_rekor::WitnessAt;
use siegel_translog::LogAnchors;

use super::threads::Threads;
use super::{MeasuredBinary, Mode, Options, Parts, node};
use crate::launcher::{Image, Launcher, Measured, config_digest};
use crate::parts::{DepotConfig, LogConfig, WitnessConfig};
use crate::supervisor::{Supervisor, free_port};
use crate::{FleetError, Part, ProcessName};

/// The embedded log's name in its checkpoints.
pub(super) const LOG_ORIGIN: &str = "log.simulation.siegel.invalid";

/// The oldest cosignature that counts. A device that fetched an offer in the morning may still upload
/// in the evening, and witnesses may be away for hours; a log that is shown as it was the day before
/// yesterday is refused.
const MAX_AGE: Seconds = Seconds(24 * 3_600);
/// The log has its checkpoint cosigned anew so often: far below [`MAX_AGE`].
const REFRESH: Seconds = Seconds(600);

/// What is needed while the cluster comes to be.
pub(super) struct Nursery {
    pub(super) options: Options,
    launcher: Launcher,
    pub(super) net: Net,
    pub(super) parts: Parts,
    /// Measured parts, and in process mode log, witnesses and depot if they are processes.
    images: BTreeMap<Part, Image>,
}

impl Nursery {
    pub(super) fn new(mode: Mode, options: Options) -> Result<Self, FleetError> {
        let mut seed = [0u8; 32];
        rand_core::Rng::fill_bytes(&mut rng::os_rng(), &mut seed);
        let launcher = Launcher::new(&Secret::new(seed), Arc::clone(&options.clock))?;
        let supervisor = Supervisor::new(launcher.clone(), &options.dir.join("logs"))?;
        let threads = Threads::new(Arc::clone(&options.clock), supervisor.crash_reports());
        let in_process = matches!(mode, Mode::InProcess);
        let images = images(mode)?;
        let parts = Parts {
            threads,
            supervisor,
            in_process,
        };
        Ok(Self {
            options,
            launcher,
            net: Net::new(),
            parts,
            images,
        })
    }

    /// Starts the witnesses. Their keys are made here, before they are started: the genesis names them.
    pub(super) async fn witnesses(
        &mut self,
        log_key: [u8; 32],
    ) -> Result<Vec<(NamedKey, WitnessAt)>, FleetError> {
        let mut started = Vec::new();
        for n in 1..=self.options.witnesses {
            let name = format!("witness-{n}.simulation.siegel.invalid");
            let config = WitnessConfig {
                schema: WitnessConfig::SCHEMA.into(),
                key_file: self.options.dir.join(format!("witness-{n}-key.pem")),
                state: self.options.dir.join(format!("witness-{n}")),
                name: name.clone(),
                origin: LOG_ORIGIN.into(),
                log_key,
            };
            let clock = Arc::clone(&self.options.clock);
            let named = config
                .open(Arc::new(move || clock.now()))
                .map_err(|e| config_error("witness", e))?
                .named_key(&format!("simulated witness {n}"));
            let start = StartInfo {
                config: json::to_canonical(&config).map_err(|e| config_error("witness", e))?,
                listen: format!("127.0.0.1:{}", free_port()?),
                ..self.start_info()
            };
            let at = self
                .bring_up(Part::Witness, NodeId(n.into()), start)
                .await?;
            let url = format!("http://{at}");
            let key = named.key;
            started.push((named, WitnessAt { name, key, url }));
        }
        Ok(started)
    }

    pub(super) async fn log(
        &mut self,
        key_file: std::path::PathBuf,
        witnesses: Vec<WitnessAt>,
    ) -> Result<Endpoint, FleetError> {
        let config = LogConfig {
            schema: LogConfig::SCHEMA.into(),
            origin: LOG_ORIGIN.into(),
            key_file,
            folder: Some(self.options.dir.join("log")),
            witnesses,
            refresh: REFRESH,
        };
        let start = StartInfo {
            config: json::to_canonical(&config).map_err(|e| config_error("log", e))?,
            // HTTP needs a port in both modes.
            listen: format!("127.0.0.1:{}", free_port()?),
            ..self.start_info()
        };
        self.bring_up(Part::Log, NodeId(1), start).await
    }

    pub(super) async fn depot(&mut self) -> Result<Endpoint, FleetError> {
        let folder = self.options.dir.join("depot");
        let folder =
            std::path::absolute(&folder).map_err(FleetError::io(folder.display().to_string()))?;
        let config = DepotConfig {
            schema: DepotConfig::SCHEMA.into(),
            store: format!("file://{}", folder.display()),
        };
        let start = StartInfo {
            config: json::to_canonical(&config).map_err(|e| config_error("depot", e))?,
            listen: self.places(Part::Depot, 1)?.remove(0).address,
            ..self.start_info()
        };
        self.bring_up(Part::Depot, NodeId(1), start).await
    }

    /// All witnesses that we started must cosign; with none the log is UNWITNESSED.
    pub(super) fn quorum(&self, witnesses: Vec<NamedKey>) -> WitnessQuorum {
        match witnesses.len() as u32 {
            0 => WitnessQuorum::none(),
            required => WitnessQuorum {
                required,
                max_age: MAX_AGE,
                witnesses,
            },
        }
    }

    pub(super) fn cluster_config(&self, log: &LogAnchors) -> Result<ClusterConfig, FleetError> {
        let kms = self.measured().into_iter().find(|m| m.part == Part::Kms);
        let peer = kms
            .ok_or_else(|| config_error("kms", "not measured"))?
            .reference;
        Ok(ClusterConfig {
            schema: ClusterConfig::SCHEMA.into(),
            profile: Profile::Simulation,
            simulation_root: Some(self.launcher.public_key()),
            peers: vec![peer],
            min_voters: self.options.kms,
            log_origin: log.origin.clone(),
            log_key: log.key,
            witnesses: log.witnesses.clone(),
            seed: self.options.seed,
        })
    }

    pub(super) fn measured(&self) -> Vec<MeasuredBinary> {
        let measured = [Part::Kms, Part::Root, Part::Worker];
        let of = |part| self.images.get(&part).map(|image| (part, image));
        let binaries = measured
            .into_iter()
            .filter_map(of)
            .map(|(part, image)| MeasuredBinary {
                part,
                file: image.file_name(),
                sha256: image.digest(),
                reference: ReferenceValue::simulated(image.measurement()),
            });
        binaries.collect()
    }

    pub(super) fn start_info(&self) -> StartInfo {
        StartInfo {
            run_label: self.options.run_label.clone(),
            ..StartInfo::default()
        }
    }

    /// Where `count` processes of a part will listen: pipes, or free ports.
    pub(super) fn places(&self, part: Part, count: u32) -> Result<Vec<Peer>, FleetError> {
        let place = |n: u32| {
            let address = match self.parts.in_process {
                true => format!("pipe:{}-{n}", part.as_str()),
                false => format!("127.0.0.1:{}", free_port()?),
            };
            Ok(Peer {
                node: NodeId(n.into()),
                address,
            })
        };
        (1..=count).map(place).collect()
    }

    pub(super) async fn bring_up(
        &mut self,
        part: Part,
        number: NodeId,
        start: StartInfo,
    ) -> Result<Endpoint, FleetError> {
        let name = ProcessName::new(part, u32::try_from(number.0).unwrap_or(u32::MAX));
        let image = self.images.get(&part).cloned();
        let address = match image {
            Some(image) if !self.parts.in_process => {
                self.parts.supervisor.start(name, image, start).await?
            }
            image => {
                let quoter = self.quoter(part, image, &start.config)?;
                let serve = node::serve(part, self.net.clone(), self.options.store.clone());
                self.parts.threads.start(name, serve, quoter, start).await?
            }
        };
        endpoint(&address)
    }

    fn quoter(
        &self,
        part: Part,
        image: Option<Image>,
        config: &[u8],
    ) -> Result<Arc<dyn QuoteSource>, FleetError> {
        Ok(match (image, config_digest(part, config)?) {
            (Some(image), Some(config)) => {
                let measured = Measured {
                    measurement: image.measurement(),
                    config,
                };
                Arc::new(self.launcher.in_process(measured))
            }
            _ => Arc::new(Unmeasured),
        })
    }
}

/// Log, witnesses and depot get no evidence.
struct Unmeasured;

impl QuoteSource for Unmeasured {
    fn quote(&self, _: [u8; 64]) -> BoxFuture<'_, Result<Vec<u8>, PlatformError>> {
        Box::pin(async { Err(PlatformError::NoQuote("this part is not measured".into())) })
    }
}

/// In-process nodes are measured as this executable in their role.
fn images(mode: Mode) -> Result<BTreeMap<Part, Image>, FleetError> {
    let measured = [Part::Kms, Part::Root, Part::Worker];
    let argv0 = |part: Part| part.binary().unwrap_or("siegel");
    match mode {
        Mode::InProcess => {
            let own = std::env::current_exe().map_err(FleetError::io("this executable"))?;
            let one = |part| Ok((part, Image::open(&own, argv0(part))?.arg("--in-process")));
            measured.into_iter().map(one).collect()
        }
        Mode::Processes { binaries, command } => {
            let paths = [&binaries.kms, &binaries.root, &binaries.worker];
            let one = |(part, path): (Part, &std::path::PathBuf)| {
                Ok((part, Image::open(path, argv0(part))?))
            };
            let mut images: BTreeMap<_, _> = measured
                .into_iter()
                .zip(paths)
                .map(one)
                .collect::<Result<_, FleetError>>()?;
            if let Some(command) = command {
                for part in [Part::Log, Part::Witness, Part::Depot] {
                    let image = Image::open(&command, "siegel")?;
                    images.insert(
                        part,
                        image.arg("serve").arg(part.as_str()).arg("--launched"),
                    );
                }
            }
            Ok(images)
        }
    }
}

pub(super) fn endpoint(address: &str) -> Result<Endpoint, FleetError> {
    address.parse().map_err(|e| config_error("endpoint", e))
}

pub(super) fn config_error(part: &'static str, why: impl std::fmt::Display) -> FleetError {
    FleetError::Config {
        part,
        why: why.to_string(),
    }
}
