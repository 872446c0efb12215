//! How answers and errors look on the wire.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::error::RekorError;

/// Says in more words what the body's message cannot, whose wording is Rekor's.
const REASON: &str = "x-siegel-reason";

/// `{"code": <google.rpc code>, "message": …}`.
pub(crate) fn error(error: &RekorError) -> Response {
    let status = status_of(error);
    if status.is_server_error() {
        tracing::error!(%error, %status, "request failed");
    }
    self::status(status, &error.to_string())
}

/// The same in Rekor's words, which are few; ours are in the header `x-siegel-reason` then.
pub(crate) fn entry_error(error: &RekorError) -> Response {
    let message = match error {
        RekorError::RequestType => "invalid type, must be hashedrekord",
        RekorError::Request(_) | RekorError::Signature => "invalid hashedrekord request",
        other => return self::error(other),
    };
    let mut response = status(status_of(error), message);
    let words = error.to_string();
    let visible = words.chars().filter(|c| matches!(c, ' '..='~')).take(300);
    if let Ok(reason) = HeaderValue::from_str(&visible.collect::<String>()) {
        response.headers_mut().insert(REASON, reason);
    }
    response
}

fn status_of(error: &RekorError) -> StatusCode {
    match error {
        RekorError::RequestType
        | RekorError::Request(_)
        | RekorError::Signature
        | RekorError::Certificate(_)
        | RekorError::Timestamp(_)
        | RekorError::OtherBytes { .. }
        | RekorError::Proof(_) => StatusCode::BAD_REQUEST,
        RekorError::TooLong { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        RekorError::NotFound(_) => StatusCode::NOT_FOUND,
        RekorError::StorageFull { .. } => StatusCode::INSUFFICIENT_STORAGE,
        RekorError::Busy | RekorError::Stopped => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// No such path.
pub(crate) fn not_found() -> Response {
    status(StatusCode::NOT_FOUND, "Not Found")
}

/// The path is there, but not for this method.
pub(crate) fn method_not_allowed() -> Response {
    status(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
}

/// A status with a message.
pub(crate) fn status(status: StatusCode, message: &str) -> Response {
    let code = match status {
        s if s.is_success() => 0,
        StatusCode::BAD_REQUEST => 3,
        StatusCode::NOT_FOUND => 5,
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::INSUFFICIENT_STORAGE => 8,
        StatusCode::METHOD_NOT_ALLOWED => 12,
        StatusCode::SERVICE_UNAVAILABLE => 14,
        _ => 13,
    };
    json(
        status,
        serde_json::json!({ "code": code, "message": message })
            .to_string()
            .into_bytes(),
    )
}

/// A JSON document.
pub(crate) fn json(status: StatusCode, body: Vec<u8>) -> Response {
    answer(status, "application/json", "no-store", body)
}

/// The checkpoint: it changes with every entry.
pub(crate) fn note(note: String) -> Response {
    answer(
        StatusCode::OK,
        "text/plain; charset=utf-8",
        "max-age=1",
        note.into_bytes(),
    )
}

/// Bytes of another kind that must be asked for anew.
pub(crate) fn fresh(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Response {
    answer(status, content_type, "no-store", body)
}

/// Bytes whose name fixes them for ever: tiles, entry bundles, archived objects.
pub(crate) fn immutable(bytes: Vec<u8>) -> Response {
    let forever = "max-age=31536000, immutable";
    answer(StatusCode::OK, "application/octet-stream", forever, bytes)
}

fn answer(
    status: StatusCode,
    content_type: &'static str,
    cache: &'static str,
    body: Vec<u8>,
) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    response
}
