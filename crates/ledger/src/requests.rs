//! Requests already answered: a retry gets the same answer, not a second effect (I6).

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use siegel_ident::{Digest, RequestId};

use crate::limits::REQUESTS_KEPT;
use crate::{Outcome, Refusal};

/// The last [`REQUESTS_KEPT`] requests that could change something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Requests {
    answers: BTreeMap<RequestId, Answered>,
    order: VecDeque<RequestId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    body: Digest,
    outcome: Outcome,
}

impl Requests {
    /// The answer given before; a refusal if the id was used for another request.
    pub(crate) fn seen(&self, id: RequestId, body: Digest) -> Option<Outcome> {
        let answered = self.answers.get(&id)?;
        if answered.body == body {
            Some(answered.outcome.clone())
        } else {
            Some(Outcome::Refused(Refusal::RequestIdReused {}))
        }
    }

    /// Remembers an answer; the oldest one goes when the table is full.
    pub(crate) fn remember(&mut self, id: RequestId, body: Digest, outcome: Outcome) {
        if self
            .answers
            .insert(id, Answered { body, outcome })
            .is_none()
        {
            self.order.push_back(id);
        }
        if self.order.len() > REQUESTS_KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.answers.remove(&oldest);
        }
    }
}
