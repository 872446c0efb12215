//! The log over HTTP: the write and read API of Rekor v2, and the archive beside it.

pub(crate) mod answer;
mod path;
mod request;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use siegel_ident::Digest;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

pub(crate) use path::{format_entries, parse_entries};

use crate::error::RekorError;
use crate::log::Log;
use crate::{MAX_ARCHIVED, MAX_REQUEST};

/// Bodies in memory at the same time: bounds what many writers can take (I14).
const BODIES: usize = 64;
/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How long open requests may take after the shutdown was asked for.
const GRACE: Duration = Duration::from_secs(5);

/// Serves `log` on `listener` until `shutdown` resolves; then ends open requests and returns.
/// When it has returned and no other handle is left, the storage is closed.
///
/// # Errors
/// [`RekorError::Io`] if the listener fails.
pub async fn serve(
    listener: TcpListener,
    log: Log,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), RekorError> {
    run(listener, router(log), "serving the log", shutdown).await
}

/// Serves any of this crate's servers until `shutdown` resolves; then ends open requests.
pub(crate) async fn run(
    listener: TcpListener,
    router: Router,
    what: &'static str,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), RekorError> {
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
    bodies: Semaphore,
}

type Shared = State<Arc<Context>>;

fn router(log: Log) -> Router {
    let context = Arc::new(Context {
        log,
        bodies: Semaphore::new(BODIES),
    });
    Router::new()
        .route("/api/v2/log/entries", post(add_entry))
        .route("/api/v2/checkpoint", get(checkpoint))
        .route("/api/v2/tile/{*path}", get(tile))
        .route("/archive/{digest}", get(archive_get).put(archive_put))
        .fallback(|| async { answer::error(&RekorError::NotFound("this path".into())) })
        .method_not_allowed_fallback(|| async {
            answer::status(
                StatusCode::METHOD_NOT_ALLOWED,
                "this path has no such method",
            )
        })
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
        Err(error) => answer::error(&error),
    }
}

async fn checkpoint(State(context): Shared) -> Response {
    answer::note(context.log.checkpoint())
}

async fn tile(State(context): Shared, Path(path): Path<String>) -> Response {
    let not_found = || answer::error(&RekorError::NotFound(format!("tile {path}")));
    let Some(asked) = path::parse(&path) else {
        return not_found();
    };
    let bytes = match asked.level {
        path::Level::Hashes(level) => context.log.tile(level, asked.index, asked.width),
        path::Level::Entries => match context.log.entries(asked.index, asked.width).await {
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
    /// Reads a body of at most `max` bytes, while at most [`BODIES`] are being read.
    async fn read(
        &self,
        body: Body,
        what: &'static str,
        max: usize,
    ) -> Result<Vec<u8>, RekorError> {
        read_body(&self.bodies, body, what, max).await
    }
}

/// Reads a body of at most `max` bytes, while at most as many are being read as `bodies` allows.
pub(crate) async fn read_body(
    bodies: &Semaphore,
    body: Body,
    what: &'static str,
    max: usize,
) -> Result<Vec<u8>, RekorError> {
    let _turn = bodies.acquire().await.map_err(|_| RekorError::Busy)?;
    match tokio::time::timeout(BODY_TIME, to_bytes(body, max)).await {
        Ok(Ok(bytes)) => Ok(bytes.into()),
        // The one other cause is a sender who broke off, who reads no answer.
        Ok(Err(_)) => Err(RekorError::TooLong { what, max }),
        Err(_) => Err(RekorError::Request(format!(
            "{what} did not arrive within 30 s"
        ))),
    }
}

pub(crate) fn parse_digest(name: &str) -> Result<Digest, RekorError> {
    name.parse()
        .map_err(|e| RekorError::Request(format!("{e}")))
}
