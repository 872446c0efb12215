//! Starting a run, watching it, and opening what it released.

use siegel_ident::{
    BlobDigest, EpochId, InputRoot, ObjectDigest, PolicyDigest, ProgramDigest, RunId, Secret,
    SecretBytes, Step, Timestamp,
};
use siegel_policy::Policy;
use siegel_seal::object::{self, ObjectHeader, Purpose};
use siegel_wire::v1::{self, ObjectKind, root_client::RootClient, run_event::Body};

use crate::{Operator, OperatorError, ReceiptTrail};

/// Most bytes of one sealed release.
const RELEASE_MAX: usize = 64 * 1024 * 1024;

/// What the root is asked to run.
#[derive(Debug, Clone)]
pub struct RunOrder {
    /// The policy's exact bytes.
    pub policy: Vec<u8>,
    /// A program that it allows.
    pub program: ProgramDigest,
    /// Whose uploads.
    pub epochs: Vec<EpochId>,
    /// No key after this.
    pub deadline: Timestamp,
    /// Public parameters: a canonical JSON object of integers.
    pub params: Vec<u8>,
}

/// What happens on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEvent {
    /// The whole cost is debited.
    Registered {
        /// The run.
        run: RunId,
        /// How many blobs it reads.
        blobs: u64,
    },
    /// Some part of a phase is done.
    Progress {
        /// Which phase.
        phase: String,
        /// How much.
        done: u64,
        /// Of how much.
        total: u64,
    },
    /// A step has its one result.
    Committed(CommittedStep),
}

/// A step that is in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedStep {
    /// Which.
    pub step: Step,
    /// The sealed release, if the step has one: name and digest.
    pub release: Option<(String, ObjectDigest)>,
}

/// A run that went to its end.
#[derive(Debug, Clone)]
pub struct FinishedRun {
    /// The run.
    pub run: RunId,
    /// Merkle root over its sorted blob digests.
    pub input_root: InputRoot,
    /// How many blobs it read.
    pub blobs: u64,
    /// Its steps.
    pub steps: Vec<CommittedStep>,
}

impl Operator {
    /// Orders a run and follows it to its end.
    ///
    /// # Errors
    /// [`OperatorError::Stopped`] with the root's typed refusal, [`OperatorError::Root`].
    pub async fn run(
        &self,
        order: &RunOrder,
        mut on_event: impl FnMut(&RunEvent),
    ) -> Result<FinishedRun, OperatorError> {
        let request = v1::RunRequest {
            policy_digest: PolicyDigest::of(&order.policy).to_vec(),
            policy: order.policy.clone(),
            program_digest: order.program.to_vec(),
            epochs: order.epochs.iter().map(|epoch| epoch.0).collect(),
            deadline: order.deadline.0,
            params: order.params.clone(),
        };
        let mut root = RootClient::new(self.net.channel(&self.root));
        let lost = |status: tonic::Status| OperatorError::Root(status.message().to_owned());
        let mut events = root.run(request).await.map_err(lost)?.into_inner();
        let mut registered = None;
        let mut steps = Vec::new();
        while let Some(event) = events.message().await.map_err(lost)? {
            match event.body {
                Some(Body::Registered(event)) => {
                    let (run, root) = read_registered(&event)?;
                    on_event(&RunEvent::Registered {
                        run,
                        blobs: event.blob_count,
                    });
                    registered = Some((run, root, event.blob_count));
                }
                Some(Body::Progress(p)) => on_event(&RunEvent::Progress {
                    phase: p.phase,
                    done: p.done,
                    total: p.total,
                }),
                Some(Body::Step(step)) => {
                    let step = read_step(step)?;
                    on_event(&RunEvent::Committed(step.clone()));
                    steps.push(step);
                }
                Some(Body::Failed(refusal)) => return Err(stopped(refusal)),
                Some(Body::Finished(_)) => {
                    let (run, input_root, blobs) =
                        registered.ok_or(OperatorError::document("run", "never registered"))?;
                    return Ok(FinishedRun {
                        run,
                        input_root,
                        blobs,
                        steps,
                    });
                }
                None => return Err(OperatorError::document("run event", "empty")),
            }
        }
        Err(OperatorError::Root(
            "its stream ended before the run did".into(),
        ))
    }

    /// Opens a release: carries its receipt to the log, asks the key service for the data key on
    /// the proof of that (I17), fetches the sealed object and opens it. The result is public.
    ///
    /// # Errors
    /// [`OperatorError::NoReceipt`], or any error of key service, log or depot.
    pub async fn open_release(
        &self,
        trail: &mut ReceiptTrail,
        run: RunId,
        step: Step,
        digest: ObjectDigest,
    ) -> Result<(SecretBytes, u64), OperatorError> {
        self.carry_receipts(trail).await?;
        let receipt = trail
            .of_step(run, step)
            .ok_or(OperatorError::NoReceipt { run, step })?;
        let dek = self.release_key(run, step, &receipt.bundle).await?;
        let errand = "fetching the release";
        let sealed = self
            .depot
            .get(ObjectKind::Sealed, digest.digest(), RELEASE_MAX)
            .await
            .map_err(|source| OperatorError::Depot { errand, source })?;
        let (header, _) = ObjectHeader::parse_prefix(&sealed)?;
        if header.purpose != Purpose::Release
            || header.context.run != run
            || header.context.step != step
        {
            return Err(OperatorError::document(
                "release",
                "sealed for another run or step",
            ));
        }
        let plaintext = object::open_release(&dek, &header.context, &sealed)?;
        Ok((plaintext, receipt.log_index))
    }

    /// The data key of a release, on a receipt's bundle.
    ///
    /// # Errors
    /// [`OperatorError::Kms`] with the rule that refuses it.
    pub async fn release_key(
        &self,
        run: RunId,
        step: Step,
        bundle: &[u8],
    ) -> Result<Secret<32>, OperatorError> {
        let errand = "opening the release";
        self.courier
            .open_release(self.request(), run, step, bundle)
            .await
            .map_err(|source| OperatorError::Kms { errand, source })
    }

    /// The uploads that the depot has for a policy and epoch.
    ///
    /// # Errors
    /// [`OperatorError::Depot`].
    pub async fn uploads(
        &self,
        policy: &Policy,
        epoch: EpochId,
    ) -> Result<Vec<BlobDigest>, OperatorError> {
        let errand = "listing uploads";
        self.depot
            .list(policy.digest(), epoch)
            .await
            .map_err(|source| OperatorError::Depot { errand, source })
    }
}

fn read_registered(event: &v1::RunRegistered) -> Result<(RunId, InputRoot), OperatorError> {
    RunId::try_from_slice(&event.run_id)
        .zip(InputRoot::try_from_slice(&event.input_root))
        .ok_or(OperatorError::document(
            "run event",
            "registered without a run id or input root",
        ))
}

fn read_step(step: v1::StepCommitted) -> Result<CommittedStep, OperatorError> {
    let release = match step.release.as_slice() {
        [] => None,
        bytes => {
            let digest = ObjectDigest::try_from_slice(bytes).ok_or(OperatorError::document(
                "run event",
                "release digest of a wrong length",
            ))?;
            Some((step.release_name, digest))
        }
    };
    Ok(CommittedStep {
        step: Step(step.step),
        release,
    })
}

fn stopped(refusal: v1::Refusal) -> OperatorError {
    OperatorError::Stopped {
        code: refusal.code,
        invariant: refusal.invariant,
        place: refusal.r#where,
        message: refusal.message,
    }
}
