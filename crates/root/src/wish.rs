//! What the operator asks for, checked as far as it can be without asking anybody.

use std::collections::BTreeMap;

use siegel_ident::{EpochId, PolicyDigest, ProgramDigest, RunId, Timestamp, json};
use siegel_policy::{AccessPolicy, Policy};
use siegel_wire::v1;

use crate::stop::RunStop;

/// Longest parameters, in bytes.
const MAX_PARAMS: usize = 16 * 1024;

/// A run to register, or one to take over.
pub(crate) struct Wish {
    pub(crate) policy: Policy,
    pub(crate) epochs: Vec<EpochId>,
    pub(crate) deadline: Timestamp,
    pub(crate) params: BTreeMap<String, i64>,
    /// The registered run whose root died.
    pub(crate) resume: Option<RunId>,
}

impl Wish {
    /// Reads a request to the root of `program` at `now`.
    pub(crate) fn read(
        request: v1::RunRequest,
        program: ProgramDigest,
        now: Timestamp,
    ) -> Result<Self, RunStop> {
        let policy = AccessPolicy::parse(&request.policy)?;
        let digest = PolicyDigest::try_from_slice(&request.policy_digest);
        if digest.ok_or(RunStop::BadRequest("policy digest"))? != policy.digest() {
            return Err(RunStop::OtherPolicy);
        }
        let asked = ProgramDigest::try_from_slice(&request.program_digest);
        if asked.ok_or(RunStop::BadRequest("program digest"))? != program {
            return Err(RunStop::OtherProgram);
        }
        policy.check_program(&program)?;
        policy.check_window(now)?;
        let epochs: Vec<EpochId> = request.epochs.into_iter().map(EpochId).collect();
        if epochs.is_empty() || !epochs.is_sorted_by(|a, b| a < b) {
            return Err(RunStop::Epochs);
        }
        let deadline = Timestamp(request.deadline);
        if deadline <= now {
            return Err(RunStop::Deadline { deadline, now });
        }
        let params = match request.params.as_slice() {
            [] => BTreeMap::new(),
            bytes => json::from_canonical(bytes, MAX_PARAMS).map_err(RunStop::Params)?,
        };
        let resume = match request.resume_run_id.as_slice() {
            [] => None,
            id => Some(RunId::try_from_slice(id).ok_or(RunStop::BadRequest("run id"))?),
        };
        Ok(Self {
            policy,
            epochs,
            deadline,
            params,
            resume,
        })
    }
}
