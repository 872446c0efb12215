//! A mirror over HTTP.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;

use super::Mirror;
use crate::error::RekorError;
use crate::server::{Listening, answer, parse_digest, run};

/// Serves a mirror on `listener` until `shutdown` resolves: `GET /archive/<sha256>`, as the log's own
/// archive, `GET /archived/<sha256>`, the signed note about these bytes, and `GET /checkpoint`, the last
/// checkpoint of the log that it has followed, for whoever compares what different people see.
///
/// # Errors
/// [`RekorError::Io`] if the listener fails.
pub async fn serve_mirror(
    listener: impl Into<Listening>,
    mirror: Arc<Mirror>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), RekorError> {
    let router = Router::new()
        .route("/archive/{digest}", get(object))
        .route("/archived/{digest}", get(archived))
        .route("/checkpoint", get(checkpoint))
        .with_state(mirror);
    run(listener.into(), router, "serving the mirror", shutdown).await
}

async fn object(State(mirror): State<Arc<Mirror>>, Path(name): Path<String>) -> Response {
    let found = async { mirror.get(&parse_digest(&name)?).await };
    match found.await {
        Ok(bytes) => answer::immutable(bytes),
        Err(error) => answer::error(&error),
    }
}

async fn archived(State(mirror): State<Arc<Mirror>>, Path(name): Path<String>) -> Response {
    let found = async { mirror.archived(&parse_digest(&name)?).await };
    match found.await {
        Ok(note) => answer::note(note),
        Err(error) => answer::error(&error),
    }
}

async fn checkpoint(State(mirror): State<Arc<Mirror>>) -> Response {
    let missing = || RekorError::NotFound("a checkpoint that was followed".into());
    match mirror
        .checkpoint()
        .and_then(|note| note.ok_or_else(missing))
    {
        Ok(note) => answer::note(note),
        Err(error) => answer::error(&error),
    }
}
