//! Log, witnesses and depot as processes: untrusted and unmeasured, but started and ended like the others.
//!
//! `siegel serve log --launched` and its like for `depot` and `witness` are
//! `siegel_platform::run_node` around these.

use std::path::PathBuf;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use siegel_depot::{Depot, Limits, Store};
use siegel_ident::{Seconds, json};
use siegel_link::{Endpoint, Net};
use siegel_platform::Platform;
use siegel_rekor::{
    Log, LogKey, Now, RekorError, Services, Storage, Witness, WitnessAt, WitnessLog, Witnesses,
    Witnessing,
};
use tokio::net::TcpListener;

/// Longest configuration, bytes.
const CONFIG_MAX: usize = 1 << 16;

/// Start configuration of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    /// `siegel/log-config/v1`.
    pub schema: String,
    /// The log's name in its checkpoints.
    pub origin: String,
    /// File with the log's private key; made if it is not there. The time stamp authority's key and
    /// the trusted root of both lie beside it.
    pub key_file: PathBuf,
    /// Where entries and archive lie; in memory if absent.
    pub folder: Option<PathBuf>,
    /// Who is asked to cosign its checkpoints.
    pub witnesses: Vec<WitnessAt>,
    /// A cosignature of this age is renewed.
    pub refresh: Seconds,
}

/// Start configuration of a witness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WitnessConfig {
    /// `siegel/witness-config/v1`.
    pub schema: String,
    /// Its name in signature lines.
    pub name: String,
    /// File with its private key; made together with the state folder.
    pub key_file: PathBuf,
    /// What it has cosigned.
    pub state: PathBuf,
    /// The name of the log that it watches.
    pub origin: String,
    /// The log's key.
    #[serde(with = "siegel_ident::hex_serde")]
    pub log_key: [u8; 32],
}

/// Start configuration of the depot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DepotConfig {
    /// `siegel/depot-config/v1`.
    pub schema: String,
    /// `file:///folder` or `memory:`.
    pub store: String,
}

/// Why a part could not serve. The words are for the operator; all of them are his.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// The configuration does not parse.
    #[error("configuration: {0}")]
    Config(String),
    /// The address is no address, or taken.
    #[error("listening on {endpoint}: {cause}")]
    Listen {
        /// As given.
        endpoint: String,
        /// What is wrong.
        cause: String,
    },
    /// The log or a witness.
    #[error(transparent)]
    Log(#[from] siegel_rekor::RekorError),
    /// The depot.
    #[error(transparent)]
    Depot(#[from] siegel_depot::DepotError),
}

/// Serves the log and its time stamp authority over HTTP until it is dropped. `Ready` holds `127.0.0.1:PORT`.
pub async fn serve_log(platform: Platform) -> Result<(), PartError> {
    let config: LogConfig = read(&platform, LogConfig::SCHEMA)?;
    let key = LogKey::load_or_create(&config.origin, &config.key_file)?;
    let storage = config.folder.map_or(Storage::Memory, Storage::Folder);
    let witnesses = Arc::new(Witnesses::new(&config.witnesses)?);
    let log = Log::open_with(&storage, key, Arc::clone(&witnesses) as _)?;
    let (kept, now) = (log.clone(), clock(&platform));
    let services = Services::beside_key(log, &config.key_file)?;
    let listener = listen(&platform).await?;
    tokio::select! {
        served = siegel_rekor::serve(listener, services, std::future::pending()) => Ok(served?),
        () = witnesses.keep_fresh(&kept, config.refresh, &now) => Ok(()),
    }
}

/// Serves a witness over HTTP until it is dropped. `Ready` holds `127.0.0.1:PORT`. It goes by the
/// clock of its platform.
pub async fn serve_witness(platform: Platform) -> Result<(), PartError> {
    let config: WitnessConfig = read(&platform, WitnessConfig::SCHEMA)?;
    let witness = config.open(clock(&platform))?;
    let listener = listen(&platform).await?;
    Ok(siegel_rekor::serve_witness(listener, witness, std::future::pending()).await?)
}

impl WitnessConfig {
    /// The value of `schema`.
    pub const SCHEMA: &'static str = "siegel/witness-config/v1";

    /// Opens the witness, or makes its key and state.
    ///
    /// # Errors
    /// [`RekorError`], as [`Witness::open`].
    pub fn open(&self, now: Now) -> Result<Witness, RekorError> {
        let log = WitnessLog {
            origin: self.origin.clone(),
            key: self.log_key,
        };
        let with = Witnessing {
            name: &self.name,
            key_file: &self.key_file,
            state: &self.state,
            logs: &[log],
        };
        Witness::open(&with, now)
    }
}

fn clock(platform: &Platform) -> Now {
    let clock = Arc::clone(&platform.clock);
    Arc::new(move || clock.now())
}

async fn listen(platform: &Platform) -> Result<TcpListener, PartError> {
    let listen = &platform.start.listen;
    let refuse = |cause: std::io::Error| PartError::Listen {
        endpoint: listen.clone(),
        cause: cause.to_string(),
    };
    let listener = TcpListener::bind(listen).await.map_err(refuse)?;
    platform.ready(listener.local_addr().map_err(refuse)?);
    Ok(listener)
}

/// Serves the depot until it is dropped, over the store that its configuration names.
pub async fn serve_depot(platform: Platform, net: Net) -> Result<(), PartError> {
    let config: DepotConfig = read(&platform, DepotConfig::SCHEMA)?;
    let store = Store::open(&config.store).map_err(siegel_depot::DepotError::from)?;
    serve_depot_on(platform, net, store).await
}

/// The same over a store that is at hand, for tests that make it fail.
pub async fn serve_depot_on(platform: Platform, net: Net, store: Store) -> Result<(), PartError> {
    let depot = Depot::open(store, Limits::default()).await?;
    let refuse = |cause: String| PartError::Listen {
        endpoint: platform.start.listen.clone(),
        cause,
    };
    let listen: Endpoint = platform
        .start
        .listen
        .parse()
        .map_err(|e| refuse(format!("{e}")))?;
    let (endpoint, incoming) = net
        .listen(&listen)
        .await
        .map_err(|e| refuse(e.to_string()))?;
    platform.ready(endpoint);
    Ok(siegel_depot::serve(incoming, depot, std::future::pending()).await?)
}

impl LogConfig {
    /// The value of `schema`.
    pub const SCHEMA: &'static str = "siegel/log-config/v1";
}

impl DepotConfig {
    /// The value of `schema`.
    pub const SCHEMA: &'static str = "siegel/depot-config/v1";
}

fn read<T: Serialize + DeserializeOwned>(
    platform: &Platform,
    schema: &str,
) -> Result<T, PartError> {
    let bytes = &platform.start.config;
    let value = json::from_canonical::<serde_json::Value>(bytes, CONFIG_MAX);
    let found = value
        .ok()
        .and_then(|v| v.get("schema")?.as_str().map(str::to_owned));
    if found.as_deref() != Some(schema) {
        return Err(PartError::Config(format!(
            "expected schema {schema:?}, got {found:?}"
        )));
    }
    json::from_canonical(bytes, CONFIG_MAX).map_err(|e| PartError::Config(e.to_string()))
}
