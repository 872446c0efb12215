//! Typed refusals in gRPC statuses. Codes and fixed words only: nothing here is derived from
//! plaintext (I12).

use prost::Message as _;
pub use siegel_wire::v1::Refusal;
use tonic::{Code, Status};

/// Most bytes of a refusal that are decoded (I14).
const REFUSAL_MAX: usize = 8 * 1024;

/// A refusal without a leader hint.
pub fn refusal(code: &str, invariant: &str, place: &str, message: impl Into<String>) -> Refusal {
    Refusal {
        code: code.into(),
        invariant: invariant.into(),
        r#where: place.into(),
        message: message.into(),
        leader_id: 0,
    }
}

/// The status that carries this refusal in its details. Codes that mean "ask another node" or
/// "ask later" become `UNAVAILABLE`, all others `FAILED_PRECONDITION`.
pub fn refusal_to_status(refusal: &Refusal) -> Status {
    let code = match refusal.code.as_str() {
        "not-leader" | "no-quorum" | "not-founded" | "busy" => Code::Unavailable,
        _ => Code::FailedPrecondition,
    };
    Status::with_details(
        code,
        refusal.message.clone(),
        refusal.encode_to_vec().into(),
    )
}

/// The refusal in a status, if it carries one.
pub fn status_to_refusal(status: &Status) -> Option<Refusal> {
    let details = status.details();
    if details.is_empty() || details.len() > REFUSAL_MAX {
        return None;
    }
    Refusal::decode(details)
        .ok()
        .filter(|refusal| !refusal.code.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn travels_in_a_status() {
        let sent = refusal("epoch-expired", "I9", "epoch 3", "no key after its TTL");
        assert_eq!(status_to_refusal(&refusal_to_status(&sent)), Some(sent));
        assert_eq!(status_to_refusal(&Status::internal("x")), None);
        let garbage = Status::with_details(Code::Internal, "x", vec![0xff; 9].into());
        assert_eq!(status_to_refusal(&garbage), None);
    }
}
