//! Appends of many clients over HTTP, and proofs.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use siegel_rekor::{Log, LogClient, PolicySigner};
use siegel_translog::merkle::{leaf_hash, verify_inclusion};
use siegel_translog::{Envelope, HashedRekord, SpkiKey, Statement, TlogEntry, predicate};
use tokio::net::TcpListener;

use super::LogArgs;
use super::setting::{LogTrouble, Scratch, entry, fill, key, open};
use crate::report::Report;
use crate::timing::median;

/// Proofs that are timed.
const PROOFS: u32 = 500;
/// How long the raw disk is timed.
const RAW: Duration = Duration::from_secs(2);

#[derive(Serialize)]
struct Figures {
    /// Durable appends over HTTP, of all clients together.
    appends_per_s: f64,
    /// Write and fsync of one entry's bytes at the end of a file, one after the other.
    raw_fsyncs_per_s: f64,
    clients: u32,
    appends: u64,
    /// In the log before the appends.
    entries: u32,
    /// Longest body of an appended entry, in bytes.
    entry_bytes: usize,
    /// Finding an entry of a log of so many and its proof for the checkpoint, by a call.
    proof_ms: f64,
    /// The same over HTTP, which checks the signature of the request too.
    proof_http_ms: f64,
}

#[tokio::main]
pub async fn appends(args: &LogArgs) -> Result<Report, LogTrouble> {
    let scratch = Scratch::new(args.folder.as_deref())?;
    let log = open(&scratch.path().join("log"))?;
    let key = key()?;
    eprintln!("log: {} entries beforehand", args.entries);
    fill(&log, key, args.entries).await?;
    let proof_ms = proofs(&log, key, args.entries).await?;

    eprintln!("log: {} clients for {} s", args.clients, args.seconds);
    let served = Served::start(log.clone()).await?;
    let time = Duration::from_secs(args.seconds);
    let before = log.size();
    let start = Instant::now();
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..args.clients {
        clients.spawn(append(served.url.clone(), number, start + time));
    }
    let mut entry_bytes = 0;
    while let Some(longest) = clients.join_next().await {
        entry_bytes = entry_bytes.max(longest??);
    }
    let seconds = start.elapsed().as_secs_f64();
    let appends = log.size() - before;
    let proof_http_ms = proofs_http(&served.url).await?;
    served.stop().await?;
    drop(log);

    let raw_fsyncs_per_s = raw(scratch.path(), entry_bytes)?;
    Ok(report(&Figures {
        appends_per_s: appends as f64 / seconds,
        raw_fsyncs_per_s,
        clients: args.clients,
        appends,
        entries: args.entries,
        entry_bytes,
        proof_ms,
        proof_http_ms,
    }))
}

struct Served {
    url: String,
    stop: tokio::sync::oneshot::Sender<()>,
    task: tokio::task::JoinHandle<Result<(), siegel_rekor::RekorError>>,
}

impl Served {
    async fn start(log: Log) -> Result<Self, LogTrouble> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let shutdown = async move {
            let _ = stopped.await;
        };
        let task = tokio::spawn(siegel_rekor::serve(listener, log, shutdown));
        Ok(Self { url, stop, task })
    }

    async fn stop(self) -> Result<(), LogTrouble> {
        let _ = self.stop.send(());
        Ok(self.task.await??)
    }
}

/// One client; returns the length of its longest entry.
async fn append(url: String, number: u32, end: Instant) -> Result<usize, LogTrouble> {
    let client = LogClient::new(&url)?;
    let signer = Arc::new(PolicySigner::generate()?);
    let mut longest = 0;
    for i in 0u64.. {
        if Instant::now() >= end {
            break;
        }
        let envelope = envelope(&signer, &format!("{number}:{i}"))?;
        let entry = client.submit(&envelope, &signer.key()).await?;
        longest = longest.max(entry.canonicalized_body.len());
    }
    Ok(longest)
}

fn envelope(signer: &PolicySigner, artifact: &str) -> Result<Envelope, LogTrouble> {
    let statement = Statement::about("bench", artifact.as_bytes(), predicate::POLICY);
    Ok(signer.sign(&statement)?)
}

/// Median time to find an entry and prove it, in milliseconds.
async fn proofs(log: &Log, key: SpkiKey, entries: u32) -> Result<f64, LogTrouble> {
    let mut times = Vec::new();
    for i in 0..PROOFS {
        let number = (u64::from(i) * 7_919 % u64::from(entries)) as u32;
        let record = entry(key, number);
        let start = Instant::now();
        let proven = log.submit(&record).await?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        check(&proven, &record)?;
    }
    Ok(median(&mut times))
}

async fn proofs_http(url: &str) -> Result<f64, LogTrouble> {
    let client = LogClient::new(url)?;
    let signer = PolicySigner::generate()?;
    let envelope = envelope(&signer, "again and again")?;
    let record = HashedRekord::of(&envelope, &signer.key());
    client.submit(&envelope, &signer.key()).await?;
    let mut times = Vec::new();
    for _ in 0..PROOFS {
        let start = Instant::now();
        let proven = client.submit(&envelope, &signer.key()).await?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        check(&proven, &record)?;
    }
    Ok(median(&mut times))
}

/// Fast and wrong is not fast.
fn check(proven: &TlogEntry, record: &HashedRekord) -> Result<(), LogTrouble> {
    let (leaf, proof) = (leaf_hash(&proven.canonicalized_body), &proven.proof);
    let (size, root) = (proof.tree_size, &proof.root_hash);
    verify_inclusion(&leaf, proven.log_index, size, &proof.hashes, root)
        .map_err(|why| LogTrouble::Wrong(why.to_string()))?;
    if leaf != record.leaf() {
        return Err(LogTrouble::Wrong("another entry was proven".to_owned()));
    }
    Ok(())
}

/// Write and fsync of so many bytes, per second.
fn raw(folder: &Path, bytes: usize) -> Result<f64, LogTrouble> {
    let mut file = std::fs::File::create(folder.join("raw"))?;
    let bytes = vec![7; bytes];
    let (start, mut count) = (Instant::now(), 0u32);
    while start.elapsed() < RAW {
        file.write_all(&bytes)?;
        file.sync_data()?;
        count += 1;
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

fn report(figures: &Figures) -> Report {
    let row = |what: &str, value: f64, unit: &str| {
        vec![what.to_owned(), format!("{value:.3}"), unit.to_owned()]
    };
    Report {
        name: "log",
        figures: serde_json::json!(figures),
        notes: vec![
            format!(
                "{} clients over HTTP on loopback, {} entries of up to {} bytes; each signed, checked, and answered \
                 when its tiles and a checkpoint were synced.",
                figures.clients, figures.appends, figures.entry_bytes
            ),
            "raw: write and fdatasync of one such entry at the end of a file, one after the other, on the same disk."
                .to_owned(),
        ],
        heads: ["", "", ""].map(str::to_owned).to_vec(),
        rows: vec![
            row("durable appends", figures.appends_per_s, "per s"),
            row("raw write and fsync", figures.raw_fsyncs_per_s, "per s"),
            row(
                &format!("proof in a log of {}", figures.entries),
                figures.proof_ms,
                "ms",
            ),
            row("the same over HTTP", figures.proof_http_ms, "ms"),
        ],
    }
}
