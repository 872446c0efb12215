//! `siegel serve log|depot`: one untrusted part by hand, or under the launcher of `simulate`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use siegel_depot::{Depot, Limits, Store};
use siegel_fleet::parts;
use siegel_link::{Endpoint, Net};
use siegel_rekor::{Log, LogKey, Services, Storage};

use crate::failure::{Exit, Failure};
use crate::say::note;

/// Serve one untrusted part by hand.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel serve log --folder log --key log-key.pem --origin log.example.org --listen 127.0.0.1:8090
  siegel serve depot --store file:///srv/depot --listen 127.0.0.1:8091")]
pub struct ServeArgs {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// The transparency log (Rekor v2), its archive and a time stamp authority (RFC 3161)
    Log {
        /// Started by a launcher, which says the rest over standard input
        #[arg(long, hide = true)]
        launched: bool,
        /// Where entries and archive lie
        #[arg(long, value_name = "DIR", required_unless_present = "launched")]
        folder: Option<PathBuf>,
        /// The log's private key (PEM); made if it is not there. Beside it: the time stamp
        /// authority's key, NAME.tsa.pem, and trusted_root.json for other Sigstore clients
        #[arg(long, value_name = "FILE", required_unless_present = "launched")]
        key: Option<PathBuf>,
        /// The log's name in its checkpoints
        #[arg(long, default_value = "log.example.invalid")]
        origin: String,
        /// Address to listen on
        #[arg(long, default_value = "127.0.0.1:8090")]
        listen: String,
    },
    /// The store of sealed objects
    Depot {
        /// Started by a launcher, which says the rest over standard input
        #[arg(long, hide = true)]
        launched: bool,
        /// `file:///folder` or `memory:`
        #[arg(long, value_name = "URL", required_unless_present = "launched")]
        store: Option<String>,
        /// Address to listen on
        #[arg(long, default_value = "127.0.0.1:8091")]
        listen: String,
    },
}

/// A part under a launcher.
#[derive(Debug, Clone, Copy)]
pub enum Launched {
    Log,
    Depot,
}

impl ServeArgs {
    /// Which part, if a launcher started it.
    pub fn launched(&self) -> Option<Launched> {
        match &self.part {
            Part::Log { launched: true, .. } => Some(Launched::Log),
            Part::Depot { launched: true, .. } => Some(Launched::Depot),
            _ => None,
        }
    }
}

/// Speaks with the launcher until it is gone.
pub fn launched(part: Launched) -> std::process::ExitCode {
    match part {
        Launched::Log => siegel_platform::run_node("siegel serve log", parts::serve_log),
        Launched::Depot => siegel_platform::run_node("siegel serve depot", |platform| {
            parts::serve_depot(platform, Net::default())
        }),
    }
}

/// Serves until SIGINT or SIGTERM.
pub async fn serve(args: ServeArgs) -> Result<Exit, Failure> {
    match args.part {
        Part::Log {
            folder,
            key,
            origin,
            listen,
            ..
        } => {
            log(
                folder.unwrap_or_default(),
                key.unwrap_or_default(),
                &origin,
                &listen,
            )
            .await
        }
        Part::Depot { store, listen, .. } => depot(&store.unwrap_or_default(), &listen).await,
    }
}

async fn log(folder: PathBuf, key: PathBuf, origin: &str, listen: &str) -> Result<Exit, Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::failed("serve-log", "log", why, "");
    let log_key = LogKey::load_or_create(origin, &key).map_err(|why| failed(&why))?;
    let anchors = log_key.anchors();
    let log = Log::open(&Storage::Folder(folder), log_key).map_err(|why| failed(&why))?;
    let services = Services::beside_key(log, &key).map_err(|why| failed(&why))?;
    let listener = tokio::net::TcpListener::bind(listen)
        .await
        .map_err(|why| taken(listen, why))?;
    note(&format!("log {origin} on http://{listen}"));
    note(&format!("its key: {}", hex::encode(anchors.key)));
    let root = key.with_file_name("trusted_root.json");
    note(&format!("for other Sigstore clients: {}", root.display()));
    siegel_rekor::serve(listener, services, stop())
        .await
        .map_err(|why| failed(&why))?;
    Ok(Exit::Ok)
}

async fn depot(store: &str, listen: &str) -> Result<Exit, Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::failed("serve-depot", "depot", why, "");
    let endpoint: Endpoint = listen.parse().map_err(|why| {
        Failure::usage(
            "bad-address",
            "--listen",
            why,
            "an address is 127.0.0.1:8091",
        )
    })?;
    let store = Store::open(store).map_err(|why| failed(&why))?;
    let depot = Depot::open(store, Limits::default())
        .await
        .map_err(|why| failed(&why))?;
    let (at, incoming) = Net::default()
        .listen(&endpoint)
        .await
        .map_err(|why| taken(listen, why))?;
    note(&format!("depot on {at}"));
    siegel_depot::serve(incoming, depot, stop())
        .await
        .map_err(|why| failed(&why))?;
    Ok(Exit::Ok)
}

async fn stop() {
    // Without signal handlers the default action ends the process, which is as good.
    if siegel_fleet::supervisor::interrupted().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn taken(listen: &str, why: impl std::fmt::Display) -> Failure {
    Failure::failed(
        "cannot-listen",
        listen,
        format!("cannot listen on {listen}: {why}"),
        "another program may hold the port; choose another with --listen",
    )
}
