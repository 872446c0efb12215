//! Requests of a workload as wire messages.

use siegel_ident::{
    Digest, EpochId, Fencing, InputRoot, PolicyDigest, ProgramDigest, RequestId, RunId, Timestamp,
    json,
};
use siegel_session::PeerKeys;
use siegel_wire::v1::{self, kms_request::Body};

use crate::grant::bad;
use crate::{CommitStep, KeysError, RegisterRun};

pub(crate) fn request(id: RequestId, body: Body) -> v1::KmsRequest {
    v1::KmsRequest {
        request_id: id.to_vec(),
        body: Some(body),
    }
}

pub(crate) fn register_run(run: &RegisterRun) -> Body {
    Body::RegisterRun(v1::RegisterRun {
        policy_digest: run.policy.to_vec(),
        program_digest: run.program.to_vec(),
        parameters: run.parameters.clone(),
        epochs: run.epochs.iter().map(|epoch| epoch.0).collect(),
        deadline: run.deadline.0,
        input_root: run.input_root.to_vec(),
        blob_count: run.blob_count,
        inputs: run.inputs.to_vec(),
    })
}

/// What a run was registered with, as the ledger has it.
pub(crate) fn registered(wire: v1::RegisterRun) -> Result<RegisterRun, KeysError> {
    let policy = PolicyDigest::try_from_slice(&wire.policy_digest);
    let program = ProgramDigest::try_from_slice(&wire.program_digest);
    let input_root = InputRoot::try_from_slice(&wire.input_root);
    let inputs = Digest::try_from_slice(&wire.inputs);
    Ok(RegisterRun {
        policy: policy.ok_or(bad("registered policy digest"))?,
        program: program.ok_or(bad("registered program digest"))?,
        parameters: wire.parameters,
        epochs: wire.epochs.into_iter().map(EpochId).collect(),
        deadline: Timestamp(wire.deadline),
        input_root: input_root.ok_or(bad("registered input root"))?,
        blob_count: wire.blob_count,
        inputs: inputs.ok_or(bad("registered list of inputs"))?,
    })
}

pub(crate) fn commit_step(commit: &CommitStep) -> Result<Body, KeysError> {
    let (release_digest, release_header) = match &commit.release {
        Some((digest, header)) => (digest.to_vec(), header.clone()),
        None => (Vec::new(), Vec::new()),
    };
    Ok(Body::CommitStep(v1::CommitStep {
        run_id: commit.run.to_vec(),
        fencing: commit.fencing.0,
        step: commit.step.0,
        previous: commit.previous.to_vec(),
        next: commit.next.to_vec(),
        release_digest,
        release_header,
        cost: json::to_canonical(&commit.cost).map_err(|_| bad("cost"))?,
    }))
}

pub(crate) fn take_run(run: RunId) -> Body {
    Body::TakeRun(v1::TakeRun {
        run_id: run.to_vec(),
    })
}

pub(crate) fn authorize(run: RunId) -> Body {
    Body::Authorize(v1::Authorize {
        run_id: run.to_vec(),
    })
}

pub(crate) fn run_peers(run: RunId) -> Body {
    Body::RunPeers(v1::RunPeers {
        run_id: run.to_vec(),
    })
}

pub(crate) fn renew_lease(run: RunId) -> Body {
    Body::RenewLease(v1::RenewLease {
        run_id: run.to_vec(),
    })
}

pub(crate) fn finish_run(run: RunId, fencing: Fencing) -> Body {
    Body::FinishRun(v1::FinishRun {
        run_id: run.to_vec(),
        fencing: fencing.0,
    })
}

pub(crate) fn peer_keys(wire: v1::PeerKeys) -> Result<Vec<PeerKeys>, KeysError> {
    let peer = |wire: v1::PeerKey| {
        Ok(PeerKeys {
            signing_key: wire
                .signing_key
                .try_into()
                .map_err(|_| bad("worker signing key"))?,
            kem_key: wire.kem_key,
        })
    };
    wire.workers.into_iter().map(peer).collect()
}
