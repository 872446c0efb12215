//! The log over HTTP: the write and read API of Rekor v2, and the archive beside it.

pub(crate) mod answer;
mod listening;
mod protojson;
mod request;
mod services;
mod tls;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use siegel_ident::Digest;
use siegel_translog::TilePath;
use siegel_translog::tiles::Level;
use tokio::sync::Semaphore;

pub use listening::Listening;
pub use services::Services;
pub use tls::{TlsFileError, TlsIdentity};

use crate::error::RekorError;
use crate::log::Log;
use crate::tsa::{self, TimestampAuthority};
use crate::{MAX_ARCHIVED, MAX_REQUEST};

/// KiB of bodies in memory at the same time: bounds what many writers can take (I14). A body counts
/// as long as its sender says it is, else as long as it may be.
const BODIES_KIB: u32 = 64 * 1024;
/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How long open requests may take after the shutdown was asked for.
const GRACE: Duration = Duration::from_secs(5);

/// Serves `services` on `listener`, plain or over TLS, until `shutdown` resolves; then ends open requests and returns.
/// When it has returned and no other handle is left, the storage is closed.
///
/// # Errors
/// [`RekorError::Io`] if the listener fails.
pub async fn serve(
    listener: impl Into<Listening>,
    services: impl Into<Services>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), RekorError> {
    let router = router(services.into());
    run(listener.into(), router, "serving the log", shutdown).await
}

/// Serves any of this crate's servers until `shutdown` resolves; then ends open requests.
pub(crate) async fn run(
    listening: Listening,
    router: Router,
    what: &'static str,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), RekorError> {
    let (tcp, identity) = listening.into_parts();
    let Some(identity) = identity else {
        return on(tcp, router, what, shutdown).await;
    };
    let listener = tls::TlsListener::new(tcp, identity.config());
    tokio::select! {
        served = on(listener, router, what, shutdown) => served,
        never = identity.keep_current(tls::LOOK) => match never {},
    }
}

async fn on<L>(
    listener: L,
    router: Router,
    what: &'static str,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), RekorError>
where
    L: axum::serve::Listener,
    L::Addr: std::fmt::Debug,
{
    let (asked, was_asked) = tokio::sync::oneshot::channel::<()>();
    let stop = async move {
        shutdown.await;
        let _ = asked.send(());
    };
    let serving = axum::serve(listener, router).with_graceful_shutdown(stop);
    let deadline = async {
        // An error means that the server ended by itself and dropped the other side.
        if was_asked.await.is_ok() {
            tokio::time::sleep(GRACE).await;
        } else {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        done = serving => {
            done.map_err(|source| RekorError::Io { what: what.into(), source })
        }
        () = deadline => Ok(()),
    }
}

struct Context {
    log: Log,
    timestamps: Option<TimestampAuthority>,
    bodies: Semaphore,
}

type Shared = State<Arc<Context>>;

fn router(services: Services) -> Router {
    let context = Arc::new(Context {
        log: services.log,
        timestamps: services.timestamps,
        bodies: room_for_bodies(),
    });
    Router::new()
        .route("/api/v2/log/entries", post(add_entry))
        .route("/api/v2/checkpoint", get(checkpoint))
        .route("/api/v2/tile/{*path}", get(tile))
        .route("/archive/{digest}", get(archive_get).put(archive_put))
        .route("/api/v1/timestamp", post(timestamp))
        .route("/api/v1/timestamp/certchain", get(certchain))
        .route("/healthz", get(healthz))
        .fallback(|| async { answer::not_found() })
        .method_not_allowed_fallback(|| async { answer::method_not_allowed() })
        .with_state(context)
}

async fn add_entry(State(context): Shared, body: Body) -> Response {
    let added = async {
        let body = context.read(body, "the request", MAX_REQUEST).await?;
        let record = request::parse(&body)?;
        let entry = context.log.submit(&record).await?;
        Ok(entry.to_answer()?)
    };
    match added.await {
        Ok(json) => answer::json(StatusCode::CREATED, json),
        Err(error) => answer::entry_error(&error),
    }
}

async fn timestamp(State(context): Shared, body: Body) -> Response {
    let Some(authority) = &context.timestamps else {
        return answer::not_found();
    };
    let answered = async {
        let body = context.read(body, "the request", tsa::MAX_QUERY).await?;
        authority.answer(&body)
    };
    match answered.await {
        Ok(reply) => answer::fresh(StatusCode::CREATED, tsa::REPLY_TYPE, reply),
        Err(error) => answer::error(&error),
    }
}

async fn certchain(State(context): Shared) -> Response {
    let Some(authority) = &context.timestamps else {
        return answer::not_found();
    };
    let chain = authority.chain_pem().into_bytes();
    answer::fresh(StatusCode::OK, tsa::CHAIN_TYPE, chain)
}

async fn healthz() -> Response {
    answer::json(StatusCode::OK, b"{\"status\":\"SERVING\"}".to_vec())
}

async fn checkpoint(State(context): Shared) -> Response {
    answer::note(context.log.checkpoint())
}

async fn tile(State(context): Shared, Path(path): Path<String>) -> Response {
    let not_found = || answer::error(&RekorError::NotFound(format!("tile {path}")));
    let Some(asked) = TilePath::parse(&path) else {
        return not_found();
    };
    let bytes = match asked.level {
        Level::Hashes(level) => context.log.tile(level, asked.index, asked.width),
        Level::Entries => match context.log.entries(asked.index, asked.width).await {
            Ok(bytes) => bytes,
            Err(error) => return answer::error(&error),
        },
    };
    bytes.map_or_else(not_found, answer::immutable)
}

async fn archive_get(State(context): Shared, Path(name): Path<String>) -> Response {
    let found = async { context.log.archive_get(parse_digest(&name)?).await };
    match found.await {
        Ok(bytes) => answer::immutable(bytes),
        Err(error) => answer::error(&error),
    }
}

async fn archive_put(State(context): Shared, Path(name): Path<String>, body: Body) -> Response {
    let stored = async {
        let digest = parse_digest(&name)?;
        let bytes = context
            .read(body, "an archived object", MAX_ARCHIVED)
            .await?;
        context.log.archive_put(digest, bytes).await
    };
    match stored.await {
        Ok(true) => answer::status(StatusCode::CREATED, "stored"),
        Ok(false) => answer::status(StatusCode::OK, "was there already"),
        Err(error) => answer::error(&error),
    }
}

impl Context {
    async fn read(
        &self,
        body: Body,
        what: &'static str,
        max: usize,
    ) -> Result<Vec<u8>, RekorError> {
        read_body(&self.bodies, body, what, max).await
    }
}

/// Room for bodies, in KiB: bounds what many senders can take (I14).
pub(crate) fn room_for_bodies() -> Semaphore {
    Semaphore::new(BODIES_KIB as usize)
}

/// Reads a body of at most `max` bytes, once there is room for it.
pub(crate) async fn read_body(
    bodies: &Semaphore,
    body: Body,
    what: &'static str,
    max: usize,
) -> Result<Vec<u8>, RekorError> {
    let stated = body.size_hint().upper().unwrap_or(u64::MAX);
    let kib = (stated.min(max as u64) / 1024 + 1) as u32;
    let turn = bodies.acquire_many(kib.min(BODIES_KIB)).await;
    let _turn = turn.map_err(|_| RekorError::Busy)?;
    match tokio::time::timeout(BODY_TIME, collect(body, what, max)).await {
        Ok(result) => result,
        Err(_) => Err(RekorError::Request(format!(
            "{what} did not arrive within 30 s"
        ))),
    }
}

/// The bytes of a body. What is too long is read on for a while, or its sender would see a broken
/// connection instead of the answer.
async fn collect(body: Body, what: &'static str, max: usize) -> Result<Vec<u8>, RekorError> {
    let (mut bytes, mut total) = (Vec::new(), 0usize);
    let mut body = pin!(body);
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        // The sender broke off, and reads no answer.
        let frame = frame.map_err(|e| RekorError::Request(format!("{what}: {e}")))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        total = total.saturating_add(data.len());
        if total <= max {
            bytes.extend_from_slice(&data);
        } else if total > max.saturating_mul(4) {
            break;
        }
    }
    if total > max {
        return Err(RekorError::TooLong { what, max });
    }
    Ok(bytes)
}

pub(crate) fn parse_digest(name: &str) -> Result<Digest, RekorError> {
    name.parse()
        .map_err(|e| RekorError::Request(format!("{e}")))
}
