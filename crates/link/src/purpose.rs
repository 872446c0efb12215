//! The purpose of a session as it travels in the clear, in the first frame.

use siegel_ident::{Fencing, PolicyDigest, RunId};
use siegel_session::Purpose;
use siegel_wire::v1::{self, Frame};

use crate::LinkError;

/// The purpose that a first frame names. A field that is absent or of impossible length is a refusal
/// (I14); 0 is no fencing number.
pub(crate) fn named(first: &Frame) -> Result<Option<Purpose>, LinkError> {
    let Some(wire) = &first.purpose else {
        return Ok(None);
    };
    let bad = |field| LinkError::Purpose { field };
    let fencing = match wire.fencing {
        0 => return Err(bad("fencing")),
        fencing => Fencing(fencing),
    };
    Ok(Some(Purpose {
        run: RunId::try_from_slice(&wire.run_id).ok_or(bad("run_id"))?,
        policy: PolicyDigest::try_from_slice(&wire.policy_digest).ok_or(bad("policy_digest"))?,
        fencing,
    }))
}

/// Only a first frame may name a purpose: in any other one nobody would bind it.
pub(crate) fn unnamed(frame: Frame) -> Result<Vec<u8>, LinkError> {
    match frame.purpose {
        None => Ok(frame.data),
        Some(_) => Err(LinkError::Purpose {
            field: "purpose of a later frame",
        }),
    }
}

pub(crate) fn to_wire(purpose: &Purpose) -> v1::Purpose {
    v1::Purpose {
        run_id: purpose.run.to_vec(),
        policy_digest: purpose.policy.to_vec(),
        fencing: purpose.fencing.0,
    }
}
