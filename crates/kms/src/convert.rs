//! The wire border of requests: behind it only types that cannot be wrong (I14).

use siegel_ident::json::from_canonical;
use siegel_ident::{
    Budget, Digest, EpochId, Fencing, InputRoot, ObjectDigest, PolicyDigest, ProgramDigest,
    RequestId, RunId, Step, Timestamp, Transcript,
};
use siegel_ledger::{
    EndorsementProof, Event, ReleaseCommit, RunClaim, RunView, StepCommit, Workload,
};
use siegel_wire::v1;

use crate::refusal::Refused;

/// Longest canonical JSON of a budget.
const MAX_COST: usize = 256;

/// Reads a field of fixed length.
pub(crate) fn field<T>(
    name: &str,
    bytes: &[u8],
    read: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<T, Refused> {
    read(bytes).ok_or_else(|| {
        Refused::malformed(
            name,
            format!("{name} has {} bytes, another length is due", bytes.len()),
        )
    })
}

pub(crate) fn request_id(bytes: &[u8]) -> Result<RequestId, Refused> {
    field("request_id", bytes, RequestId::try_from_slice)
}

pub(crate) fn run_id(bytes: &[u8]) -> Result<RunId, Refused> {
    field("run_id", bytes, RunId::try_from_slice)
}

pub(crate) fn policy_digest(bytes: &[u8]) -> Result<PolicyDigest, Refused> {
    field("policy_digest", bytes, PolicyDigest::try_from_slice)
}

/// What a courier brings with a policy, as bounded as the ledger has it (I14).
pub(crate) fn endorsements(
    wire: Vec<v1::EndorsementProof>,
) -> Result<Vec<EndorsementProof>, Refused> {
    let proof = |v1::EndorsementProof { document, bundle }| EndorsementProof { document, bundle };
    let proofs: Vec<_> = wire.into_iter().map(proof).collect();
    EndorsementProof::check_bounds(&proofs)?;
    Ok(proofs)
}

/// What a root asks when it registers a run; `root` comes from its appraisal, never from it.
pub(crate) struct RegisterRun {
    pub(crate) policy: PolicyDigest,
    pub(crate) program: ProgramDigest,
    input_root: InputRoot,
    inputs: Digest,
    wire: v1::RegisterRun,
}

impl RegisterRun {
    pub(crate) fn read(wire: v1::RegisterRun) -> Result<Self, Refused> {
        Ok(Self {
            policy: policy_digest(&wire.policy_digest)?,
            program: field(
                "program_digest",
                &wire.program_digest,
                ProgramDigest::try_from_slice,
            )?,
            input_root: field("input_root", &wire.input_root, InputRoot::try_from_slice)?,
            inputs: field("inputs", &wire.inputs, Digest::try_from_slice)?,
            wire,
        })
    }

    pub(crate) fn claim(self, root: Workload) -> RunClaim {
        RunClaim {
            policy: self.policy,
            program: self.program,
            parameters: self.wire.parameters,
            epochs: self.wire.epochs.into_iter().map(EpochId).collect(),
            deadline: Timestamp(self.wire.deadline),
            input_root: self.input_root,
            blob_count: self.wire.blob_count,
            inputs: self.inputs,
            root,
        }
    }
}

/// What a run was registered with, for its root: whoever takes it over holds its own request
/// against this (I2, I6).
pub(crate) fn registered(view: &RunView<'_>) -> v1::RegisterRun {
    v1::RegisterRun {
        policy_digest: view.policy.to_vec(),
        program_digest: view.program.to_vec(),
        parameters: view.parameters.to_vec(),
        epochs: view.epochs.iter().map(|epoch| epoch.0).collect(),
        deadline: view.deadline.0,
        input_root: view.input_root.to_vec(),
        blob_count: view.blob_count,
        inputs: view.inputs.to_vec(),
    }
}

/// A step to commit, by the process with this signing key.
pub(crate) fn commit_step(wire: v1::CommitStep, by: &[u8; 32]) -> Result<Event, Refused> {
    let cost: Budget =
        from_canonical(&wire.cost, MAX_COST).map_err(|error| Refused::malformed("cost", error))?;
    let release = match (
        wire.release_digest.is_empty(),
        wire.release_header.is_empty(),
    ) {
        (true, true) => None,
        (true, false) => {
            return Err(Refused::malformed(
                "release_digest",
                "header without digest",
            ));
        }
        _ => Some(ReleaseCommit {
            digest: field(
                "release_digest",
                &wire.release_digest,
                ObjectDigest::try_from_slice,
            )?,
            header: wire.release_header,
        }),
    };
    let commit = StepCommit {
        run: run_id(&wire.run_id)?,
        fencing: Fencing(wire.fencing),
        step: Step(wire.step),
        previous: field("previous", &wire.previous, Digest::try_from_slice)?,
        next: field("next", &wire.next, ObjectDigest::try_from_slice)?,
        release,
        cost,
    };
    Ok(Event::CommitStep {
        commit,
        by: by.to_vec(),
    })
}

pub(crate) fn finish_run(wire: &v1::FinishRun, by: &[u8; 32]) -> Result<Event, Refused> {
    let (run, fencing) = (run_id(&wire.run_id)?, Fencing(wire.fencing));
    Ok(Event::FinishRun {
        run,
        fencing,
        by: by.to_vec(),
    })
}

/// The id of the second half of a request that takes two entries: a retry of the whole finds both
/// halves answered.
pub(crate) fn second_half(id: RequestId) -> RequestId {
    let digest = Transcript::new("siegel/kms/second-half/v1")
        .field(id.as_bytes())
        .digest();
    let mut bytes = [0u8; 16];
    for (to, from) in bytes.iter_mut().zip(digest.as_bytes()) {
        *to = *from;
    }
    RequestId::from_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step() -> v1::CommitStep {
        v1::CommitStep {
            run_id: vec![1; 16],
            fencing: 1,
            step: 1,
            previous: vec![2; 32],
            next: vec![3; 32],
            release_digest: vec![4; 32],
            release_header: vec![5],
            cost: br#"{"delta0":"0","rho_nano":7}"#.to_vec(),
        }
    }

    /// I14: each field of a wrong length or spelling is refused by its name.
    #[test]
    fn malformed_steps_are_refused_by_field() {
        assert!(commit_step(step(), &[9; 32]).is_ok());
        let bare = v1::CommitStep {
            release_digest: vec![],
            release_header: vec![],
            ..step()
        };
        assert!(commit_step(bare, &[9; 32]).is_ok());
        let cases = [
            (
                "run_id",
                v1::CommitStep {
                    run_id: vec![1; 15],
                    ..step()
                },
            ),
            (
                "previous",
                v1::CommitStep {
                    previous: vec![],
                    ..step()
                },
            ),
            (
                "next",
                v1::CommitStep {
                    next: vec![0; 33],
                    ..step()
                },
            ),
            (
                "release_digest",
                v1::CommitStep {
                    release_digest: vec![4; 31],
                    ..step()
                },
            ),
            (
                "release_digest",
                v1::CommitStep {
                    release_digest: vec![],
                    ..step()
                },
            ),
            (
                "cost",
                v1::CommitStep {
                    cost: b"{ }".to_vec(),
                    ..step()
                },
            ),
        ];
        for (place, wire) in cases {
            let refusal = commit_step(wire, &[9; 32]).unwrap_err().into_wire();
            assert_eq!(
                (refusal.code.as_str(), refusal.r#where.as_str()),
                ("malformed-request", place)
            );
        }
    }

    /// I14: catches endorsements that are copied into the log only to be refused there, and ones
    /// that arrive in another order or with another's proof.
    #[test]
    fn endorsements_are_bounded_before_they_are_proposed() {
        let proof = |n: usize| v1::EndorsementProof {
            document: vec![n as u8; 2],
            bundle: vec![n as u8; 3],
        };
        let read = endorsements((0..16).map(proof).collect()).unwrap();
        assert_eq!(read.len(), 16);
        for (n, proof) in read.iter().enumerate() {
            assert_eq!(proof.document, [n as u8; 2]);
            assert_eq!(proof.bundle, [n as u8; 3]);
        }
        let refused = endorsements((0..17).map(proof).collect()).unwrap_err();
        assert_eq!(refused.into_wire().code, "out-of-bounds");
    }
}
