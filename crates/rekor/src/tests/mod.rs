//! The log as a whole: over HTTP, over a folder that was left by a kill, over a full disk.

mod conflict;
mod cosigned;
mod full;
mod http;
mod large;
mod recovery;
mod refusals;
mod requests;
mod slow;
mod timestamps;
mod tls;

use std::sync::Arc;

use siegel_ident::{Secret, Timestamp};
use siegel_translog::{
    Envelope, HashedRekord, LoggedEntry, SpkiKey, Statement, predicate, verify_logged,
};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::tsa::certificate::{Plan, leaf};
use crate::{Log, LogClient, LogKey, PolicySigner, RekorError, Services, Storage, serve};

const ORIGIN: &str = "log.example.test";

fn key() -> LogKey {
    LogKey::from_seed(ORIGIN, &Secret::new([5; 32])).unwrap()
}

fn memory() -> Log {
    Log::open(&Storage::Memory, key()).unwrap()
}

fn nobody() -> Arc<dyn crate::Cosigner> {
    Arc::new(crate::cosigner::Nobody)
}

/// All at once, so that they share checkpoints.
async fn submit_all(log: &Log, records: &[HashedRekord]) {
    let all = records.iter().map(|record| log.submit(record));
    for entry in futures::future::join_all(all).await {
        entry.unwrap();
    }
}

fn artifact(i: u32) -> Vec<u8> {
    format!("{{\"policy\":{i}}}").into_bytes()
}

fn signed(signer: &PolicySigner, i: u32) -> Envelope {
    signer
        .sign(&Statement::about(
            "policy/demo",
            &artifact(i),
            predicate::POLICY,
        ))
        .unwrap()
}

fn record(signer: &PolicySigner, i: u32) -> HashedRekord {
    HashedRekord::of(&signed(signer, i), &signer.key())
}

fn verify(bundle: &[u8], i: u32) -> LoggedEntry {
    verify_logged(
        bundle,
        &artifact(i),
        predicate::POLICY,
        None,
        &key().anchors(),
        siegel_ident::Timestamp(0),
    )
    .unwrap()
}

/// A certificate in DER for the key.
fn certificate(key: &SpkiKey) -> Vec<u8> {
    let plan = Plan {
        organization: "a made-up authority",
        not_before: Timestamp(1_000),
        not_after: Timestamp(2_000_000_000),
    };
    leaf(&plan, &PolicySigner::generate().unwrap(), key, &[1]).unwrap()
}

/// An HTTP client without our own's strictness. (This build of it has no TLS of its own.)
pub(crate) fn plain_client() -> reqwest::Client {
    let tls = crate::client::trusting_nobody().unwrap();
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls);
    builder.build().unwrap()
}

/// A served log on a free port of this machine.
struct Served {
    client: LogClient,
    stop: oneshot::Sender<()>,
    done: JoinHandle<Result<(), RekorError>>,
}

impl Served {
    async fn start(services: impl Into<Services>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async move {
            let _ = stopped.await;
        };
        let done = tokio::spawn(serve(listener, services.into(), shutdown));
        Self {
            client: LogClient::new(&url).unwrap(),
            stop,
            done,
        }
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.done.await.unwrap().unwrap();
    }
}
