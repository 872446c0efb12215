//! A witness over HTTP.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use tokio::sync::Semaphore;

use super::{Answer, MAX_ADD, Refused, Witness};
use crate::error::RekorError;
use crate::server::{Listening, answer, parse_digest, read_body, room_for_bodies, run};

struct Context {
    witness: Arc<Witness>,
    bodies: Semaphore,
}

/// Serves a witness on `listener` until `shutdown` resolves: `POST /add-checkpoint`, and at
/// `GET /checkpoint/<SHA-256 of the origin, hex>` the last note that it cosigned, for whoever compares
/// what different people see.
///
/// # Errors
/// [`RekorError::Io`] if the listener fails.
pub async fn serve_witness(
    listener: impl Into<Listening>,
    witness: Witness,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), RekorError> {
    let context = Arc::new(Context {
        witness: Arc::new(witness),
        bodies: room_for_bodies(),
    });
    let router = Router::new()
        .route("/add-checkpoint", post(add_checkpoint))
        .route("/checkpoint/{origin}", get(checkpoint))
        .with_state(context);
    run(listener.into(), router, "serving the witness", shutdown).await
}

async fn add_checkpoint(State(context): State<Arc<Context>>, body: Body) -> Response {
    let added = async {
        let body = read_body(&context.bodies, body, "the request", MAX_ADD).await?;
        let witness = Arc::clone(&context.witness);
        tokio::task::spawn_blocking(move || witness.add_checkpoint(&body))
            .await
            .map_err(|_| RekorError::Busy)?
    };
    match added.await {
        Ok(Answer::Cosigned(line)) => text(StatusCode::OK, "text/plain; charset=utf-8", line),
        Ok(Answer::Conflict(size)) => text(
            StatusCode::CONFLICT,
            "text/x.tlog.size",
            format!("{size}\n"),
        ),
        Ok(Answer::Refused(kind, why)) => {
            let status = match kind {
                Refused::Malformed => StatusCode::BAD_REQUEST,
                Refused::UnknownKey => StatusCode::FORBIDDEN,
                Refused::UnknownLog => StatusCode::NOT_FOUND,
                Refused::NotProven => StatusCode::UNPROCESSABLE_ENTITY,
            };
            text(status, "text/plain; charset=utf-8", format!("{why}\n"))
        }
        Err(error) => answer::error(&error),
    }
}

async fn checkpoint(State(context): State<Arc<Context>>, Path(origin): Path<String>) -> Response {
    let found = parse_digest(&origin).and_then(|digest| {
        let missing = || RekorError::NotFound("a checkpoint of this log".into());
        context.witness.last(&digest).ok_or_else(missing)
    });
    match found {
        Ok(note) => answer::note(note),
        Err(error) => answer::error(&error),
    }
}

fn text(status: StatusCode, content_type: &'static str, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
