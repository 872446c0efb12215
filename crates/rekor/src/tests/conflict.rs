//! Against a log that answers 409 to an entry which it has, as Rekor v2 does.

use std::sync::atomic::{AtomicU8, Ordering};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use siegel_translog::TilePath;
use siegel_translog::tiles::Level;

use super::*;

const HONEST: u8 = 0;
const OTHER_INDEX: u8 = 1;
const TORN_TILE: u8 = 2;
const OTHER_TILE: u8 = 3;
const OTHER_ENTRY: u8 = 4;
const NO_INDEX: u8 = 5;
const FAR_INDEX: u8 = 6;

#[derive(Clone)]
struct Upstream {
    log: Log,
    lie: Arc<AtomicU8>,
    index: u64,
    /// Partial tiles are gone, as behind a store that keeps only full ones.
    only_full: bool,
}

impl Upstream {
    fn lies(&self, lie: u8) -> bool {
        self.lie.load(Ordering::SeqCst) == lie
    }

    async fn serve(self) -> (LogClient, JoinHandle<()>) {
        let router = axum::Router::new()
            .route("/api/v2/log/entries", post(conflict))
            .route("/api/v2/checkpoint", get(note))
            .route("/api/v2/tile/{*path}", get(tile))
            .with_state(self);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        (LogClient::new(&url).unwrap(), server)
    }
}

async fn conflict(State(upstream): State<Upstream>) -> Response {
    let index = match upstream.lie.load(Ordering::SeqCst) {
        NO_INDEX => return (StatusCode::CONFLICT, "{}").into_response(),
        OTHER_INDEX => upstream.index + 1,
        FAR_INDEX => 1 << 60,
        _ => upstream.index,
    };
    (StatusCode::CONFLICT, [("x-log-index", index.to_string())]).into_response()
}

async fn note(State(upstream): State<Upstream>) -> String {
    upstream.log.checkpoint()
}

async fn tile(State(upstream): State<Upstream>, Path(path): Path<String>) -> Response {
    let mut tile = TilePath::parse(&path).unwrap();
    let full = upstream.log.size() >= (tile.index + 1) * 256;
    if upstream.only_full && tile.level <= Level::Hashes(0) && tile.width < 256 && full {
        return StatusCode::NOT_FOUND.into_response();
    }
    if upstream.lies(OTHER_TILE) && tile.level == Level::Hashes(0) {
        tile.index = 0;
    }
    let (index, width) = (tile.index, tile.width);
    let bytes = match tile.level {
        Level::Hashes(level) => upstream.log.tile(level, index, width),
        Level::Entries => upstream.log.entries(index, width).await.unwrap(),
    };
    let Some(mut bytes) = bytes else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if upstream.lies(TORN_TILE) {
        bytes.pop();
    }
    if upstream.lies(OTHER_ENTRY) && tile.level == Level::Entries {
        for byte in bytes.iter_mut().filter(|byte| **byte == b'A') {
            *byte = b'B';
        }
    }
    bytes.into_response()
}

async fn filled(entries: u32) -> (Log, PolicySigner) {
    let (log, signer) = (memory(), PolicySigner::generate().unwrap());
    let records: Vec<_> = (0..entries).map(|i| record(&signer, i)).collect();
    for chunk in records.chunks(50) {
        submit_all(&log, chunk).await;
    }
    (log, signer)
}

/// A policy signature is random, so the envelope is made once and logged before.
async fn with_known(entries: u32) -> (Upstream, Envelope, PolicySigner) {
    let (log, signer) = filled(entries).await;
    let envelope = signed(&signer, 1);
    let known = HashedRekord::of(&envelope, &signer.key());
    let index = log.submit(&known).await.unwrap().log_index;
    let upstream = Upstream {
        log,
        lie: Arc::default(),
        index,
        only_full: false,
    };
    (upstream, envelope, signer)
}

/// Catches: a retry that fails in CI, and a proof that differs from the one the log would give.
#[tokio::test]
async fn a_duplicate_is_the_entry_that_is_there() {
    let log_id = key().anchors().log_id();
    for (before, after) in [(0, 0), (1, 3), (255, 0), (256, 1), (300, 250)] {
        let (upstream, envelope, signer) = with_known(before).await;
        let records: Vec<_> = (0..after).map(|i| record(&signer, 9000 + i)).collect();
        submit_all(&upstream.log, &records).await;
        let known = HashedRekord::of(&envelope, &signer.key());
        let expected = upstream.log.submit(&known).await.unwrap();
        for only_full in [false, true] {
            let upstream = Upstream {
                only_full,
                ..upstream.clone()
            };
            let (client, server) = upstream.serve().await;
            let unnamed = client.submit(&envelope, &signer.key()).await;
            assert!(matches!(unnamed, Err(RekorError::LogId(_))));
            let client = client.with_log_id(log_id);
            let entry = client.submit(&envelope, &signer.key()).await.unwrap();
            assert_eq!(entry, expected, "{before} before, {after} after");
            server.abort();
        }
    }
}

/// I2, I14. Catches: tiles, entries or indices that are believed.
#[tokio::test]
async fn a_lying_log_gives_no_proof() {
    let (upstream, envelope, signer) = with_known(300).await;
    submit_all(&upstream.log, &[record(&signer, 9000)]).await;
    let lie = Arc::clone(&upstream.lie);
    let (client, server) = upstream.serve().await;
    let client = client.with_log_id(key().anchors().log_id());
    for (told, expected) in [
        (OTHER_INDEX, "another entry than the sent one"),
        (TORN_TILE, "torn"),
        (OTHER_TILE, "is not in its checkpoint"),
        (OTHER_ENTRY, "is not in its checkpoint"),
        (NO_INDEX, "answered 409"),
        (FAR_INDEX, "not found"),
    ] {
        lie.store(told, Ordering::SeqCst);
        let refused = client.submit(&envelope, &signer.key()).await.unwrap_err();
        assert!(refused.to_string().contains(expected), "{told}: {refused}");
    }
    lie.store(HONEST, Ordering::SeqCst);
    assert!(client.submit(&envelope, &signer.key()).await.is_ok());
    let stranger = LogKey::generate(ORIGIN).unwrap().anchors().log_id();
    let other = client.with_log_id(stranger);
    let refused = other.submit(&envelope, &signer.key()).await;
    assert!(matches!(refused, Err(RekorError::Answer { .. })));
    server.abort();
}
