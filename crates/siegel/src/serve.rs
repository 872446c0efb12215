//! `siegel serve log|depot|witness|mirror`: one untrusted part by hand, or under the launcher of `simulate`.

mod anchors;
mod log;
mod mirror;
mod ready;
mod tls;
mod trouble;
mod witness;

use clap::{Args, Subcommand};
use siegel_depot::{Depot, Limits, Store};
use siegel_fleet::parts;
use siegel_link::{Endpoint, LinkError, Net};

use crate::failure::{Exit, Failure};
use crate::say::note;
use ready::Ready;
use trouble::{bad_address, unheard};

/// Serve one untrusted part by hand.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel serve log --folder log --key log-key.pem --origin log.example.org --listen 127.0.0.1:8090
  siegel serve log --folder log --key log-key.pem --origin log.example.org \\
      --witness w1.example.org=HEXKEY@http://127.0.0.1:8092
  siegel serve log --folder log --key log-key.pem --origin log.example.org --listen 0.0.0.0:443 \\
      --tls-cert fullchain.pem --tls-key privkey.pem
  siegel serve depot --store file:///srv/depot --listen 127.0.0.1:8091
  siegel serve witness --name w1.example.org --key w1.pem --state w1 --log log.example.org=HEXKEY
  siegel serve mirror --of http://127.0.0.1:8090 --anchors anchors.json --name m1.example.org \\
      --key m1.pem --state m1

With --tls-cert and --tls-key log, witness and mirror speak https (TLS 1.2 and 1.3) and nothing else. Renewed
files are taken up within a minute. Commands that read or write there trust this system's certificate
authorities; for a private one, start them with SSL_CERT_FILE=ca.pem. TLS is privacy on the way: what a
part says is believed for its signatures only. A depot speaks no TLS: what it holds is sealed.")]
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
        #[command(flatten)]
        args: log::LogArgs,
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
    /// A witness of logs: it cosigns a checkpoint once it has a proof that the log only grew
    ///
    /// Key and state folder are made together. A witness whose state is lost must not go on with its
    /// old key: it says so, and a new key with a new folder is to be made and pinned.
    Witness {
        /// Started by a launcher, which says the rest over standard input
        #[arg(long, hide = true)]
        launched: bool,
        #[command(flatten)]
        args: witness::WitnessArgs,
    },
    /// A mirror of a log: it keeps every payload, and signs since when it has it
    Mirror {
        #[command(flatten)]
        args: mirror::MirrorArgs,
    },
}

/// A part under a launcher.
#[derive(Debug, Clone, Copy)]
pub enum Launched {
    Log,
    Depot,
    Witness,
}

impl ServeArgs {
    /// Which part, if a launcher started it.
    pub fn launched(&self) -> Option<Launched> {
        match &self.part {
            Part::Log { launched: true, .. } => Some(Launched::Log),
            Part::Depot { launched: true, .. } => Some(Launched::Depot),
            Part::Witness { launched: true, .. } => Some(Launched::Witness),
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
        Launched::Witness => {
            siegel_platform::run_node("siegel serve witness", parts::serve_witness)
        }
    }
}

/// Serves until SIGINT or SIGTERM. What goes wrong meanwhile is said on standard error: a witness that is
/// away, a log that contradicts itself.
pub async fn serve(args: ServeArgs, json: bool) -> Result<Exit, Failure> {
    let speak = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing::Level::WARN)
        .with_target(false)
        .with_ansi(false);
    // Only a second subscriber of one process could fail.
    let _ = speak.try_init();
    match args.part {
        Part::Log { args, .. } => log::serve(args, json).await,
        Part::Witness { args, .. } => witness::serve(args, json).await,
        Part::Mirror { args } => mirror::serve(args, json).await,
        Part::Depot { store, listen, .. } => depot(&store.unwrap_or_default(), &listen, json).await,
    }
}

async fn depot(store: &str, listen: &str, json: bool) -> Result<Exit, Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::failed("serve-depot", "depot", why, "");
    let endpoint: Endpoint = listen.parse().map_err(|why| bad_address(listen, &why))?;
    let store = Store::open(store).map_err(|why| {
        let at = format!("--store {store}");
        let help = "a store is memory: or file:///folder, a folder that can be made and is writable by you";
        Failure::usage("bad-store", &at, why, help)
    })?;
    let depot = Depot::open(store, Limits::default())
        .await
        .map_err(|why| failed(&why))?;
    let (at, incoming) = Net::default()
        .listen(&endpoint)
        .await
        .map_err(|why| match &why {
            LinkError::Listen { source, .. } => unheard(listen, source),
            _ => failed(&why),
        })?;
    note(&format!("depot on {at}"));
    Ready::of("depot", &at).say(json)?;
    siegel_depot::serve(incoming, depot, stop())
        .await
        .map_err(|why| failed(&why))?;
    Ok(Exit::Ok)
}

/// Whole seconds since 1970, by this machine's clock.
fn host_clock() -> siegel_rekor::Now {
    std::sync::Arc::new(|| siegel_platform::Clock::now(&siegel_platform::SystemClock))
}

async fn stop() {
    // Without signal handlers the default action ends the process, which is as good.
    if siegel_fleet::supervisor::interrupted().await.is_err() {
        std::future::pending::<()>().await;
    }
}
