//! A whole pipeline, without a run: birth, kills, restarts, and its end.
//!
//! A failure is: a part that does not come up or not come back, state that a kill loses, a kill that
//! is taken for a crash, a cluster whose genesis is not the one it was started with.
#![cfg(feature = "simulation")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use siegel_attest::{Genesis, Profile};
use siegel_fleet::binaries::{BuildProfile, Request, find};
use siegel_fleet::cluster::{Cluster, Mode, Options};
use siegel_fleet::parts::{DepotConfig, LogConfig, PartError, serve_depot, serve_log};
use siegel_fleet::{FleetError, Part, ProcessName};
use siegel_ident::json::to_canonical;
use siegel_ident::{Digest, ProgramDigest};
use siegel_keys::Courier;
use siegel_link::Net;
use siegel_link::depot::{DepotClient, ObjectKind};
use siegel_platform::{BoxFuture, Platform, PlatformError, QuoteSource, StartInfo, SystemClock};
use siegel_rekor::LogClient;

const DEPOT: ProcessName = ProcessName::new(Part::Depot, 1);
const LOG: ProcessName = ProcessName::new(Part::Log, 1);

#[tokio::test]
async fn in_process() {
    let dir = tempfile::tempdir().unwrap();
    let program = ProgramDigest::of(b"program");
    let options = Options::new(dir.path().into(), "run", program);
    let cluster = Cluster::start(Mode::InProcess, options).await.unwrap();
    assert!(cluster.in_process());
    lives_through_kills(&cluster).await;
    assert_eq!(cluster.reports().len(), 1);
}

// The same with real processes; the log and depot stay in this one, as there is no `siegel` here.
#[tokio::test]
async fn processes() {
    let request = Request {
        dir: None,
        profile: BuildProfile::Dev,
        flavour: Profile::Simulation,
        offline: true,
    };
    let binaries = find(&request, &mut |_| ()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let options = Options::new(dir.path().into(), "run", ProgramDigest::of(b"program"));
    let cluster = Cluster::start(Mode::processes(binaries, None), options)
        .await
        .unwrap();
    lives_through_kills(&cluster).await;

    let reports = cluster.reports();
    let named: Vec<_> = reports
        .iter()
        .map(|r| (r.name.as_str(), r.restarts))
        .collect();
    let expected = [
        ("kms#1", 0),
        ("kms#2", 0),
        ("kms#3", 0),
        ("worker#1", 0),
        ("worker#2", 1),
        ("root", 1),
        ("siegel", 2),
    ];
    assert_eq!(named, expected);
    assert!(
        reports.iter().all(|r| r.peak_rss_bytes > 1 << 20),
        "{reports:?}"
    );
    let pids: Vec<_> = reports
        .iter()
        .map(|r| r.pid)
        .filter(|p| *p != std::process::id())
        .collect();
    drop(cluster);
    for pid in pids {
        assert!(
            !std::path::Path::new(&format!("/proc/{pid}")).exists(),
            "{pid} is an orphan"
        );
    }
    for name in ["kms-1", "worker-2", "root"] {
        let log = std::fs::read_to_string(dir.path().join(format!("logs/{name}.jsonl"))).unwrap();
        assert!(
            log.lines().all(|line| line.contains(r#""run":"run""#)),
            "{log}"
        );
    }
}

/// I8 for the untrusted parts, and the start of it for the rest.
async fn lives_through_kills(cluster: &Cluster) {
    let mut crashes = cluster.crashes().unwrap();
    let genesis = Genesis::parse(cluster.genesis()).unwrap();
    assert_eq!(genesis.config, *cluster.config());
    let courier = Courier::new(cluster.net(), cluster.kms()).unwrap();

    let depot = DepotClient::new(cluster.net().channel(cluster.depot()))
        .with_patience(Duration::from_secs(5));
    let put = depot
        .put(ObjectKind::Program, Bytes::from_static(b"kept"))
        .await
        .unwrap();
    let log = LogClient::new(cluster.log_url()).unwrap();
    let archived = log.archive_put(b"kept too").await.unwrap();

    let names = [
        DEPOT,
        LOG,
        ProcessName::new(Part::Worker, 2),
        ProcessName::new(Part::Root, 1),
    ];
    for name in names {
        cluster.kill(name).await.unwrap();
        cluster.restart(name).await.unwrap();
    }
    assert_eq!(
        depot
            .get(ObjectKind::Program, put.digest, 100)
            .await
            .unwrap(),
        b"kept"
    );
    assert_eq!(log.archive_get(&archived).await.unwrap(), b"kept too");

    // One of three nodes may die.
    let node = ProcessName::new(Part::Kms, 3);
    cluster.kill(node).await.unwrap();
    assert_eq!(courier.genesis().await.unwrap(), cluster.genesis());
    let alive = courier
        .status()
        .await
        .iter()
        .filter(|(_, status)| status.is_ok())
        .count();
    assert_eq!(alive, 2);

    let unknown = ProcessName::new(Part::Worker, 9);
    assert!(matches!(
        cluster.kill(unknown).await,
        Err(FleetError::Unknown(_))
    ));
    assert!(crashes.try_recv().is_err(), "our own kills are not crashes");
    assert_eq!(put.digest, Digest::of(b"kept"));
}

// I14: catches a cause that is lost between the part and whoever started it.
#[tokio::test]
async fn a_part_that_cannot_start_says_why() {
    let dir = tempfile::tempdir().unwrap();
    // The depot's folder is a file.
    std::fs::write(dir.path().join("depot"), "x").unwrap();
    let options = Options::new(dir.path().into(), "run", ProgramDigest::of(b"program"));
    let error = Cluster::start(Mode::InProcess, options)
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.starts_with("depot stopped: ") && error.contains("exists"),
        "{error}"
    );
}

// I14: catches a taken port that is reported as anything else, or waited for.
#[tokio::test]
async fn a_taken_port_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let dir = tempfile::tempdir().unwrap();
    let log = LogConfig {
        schema: LogConfig::SCHEMA.into(),
        origin: "log".into(),
        key_file: dir.path().join("key.pem"),
        folder: None,
        witnesses: Vec::new(),
        refresh: siegel_ident::Seconds(600),
    };
    let depot = DepotConfig {
        schema: DepotConfig::SCHEMA.into(),
        store: "memory:".into(),
    };
    let platform = |config: Vec<u8>| {
        let start = StartInfo {
            config,
            listen: listen.clone(),
            ..StartInfo::default()
        };
        Platform::new(Arc::new(SystemClock), Arc::new(Unmeasured), start, |_| ())
    };
    let log_platform = platform(to_canonical(&log).unwrap());
    let depot_platform = platform(to_canonical(&depot).unwrap());
    let errors = [
        serve_log(log_platform).await.unwrap_err().to_string(),
        serve_depot(depot_platform, Net::new())
            .await
            .unwrap_err()
            .to_string(),
    ];
    for error in errors {
        assert!(
            error.contains(&listen) && error.contains("in use"),
            "{error}"
        );
    }
    let swapped = serve_log(platform(to_canonical(&depot).unwrap()))
        .await
        .unwrap_err();
    assert!(matches!(swapped, PartError::Config(_)), "{swapped}");
}

struct Unmeasured;

impl QuoteSource for Unmeasured {
    fn quote(&self, _: [u8; 64]) -> BoxFuture<'_, Result<Vec<u8>, PlatformError>> {
        Box::pin(async { Err(PlatformError::NoQuote("not measured".into())) })
    }
}
