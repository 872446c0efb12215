//! Starting a run and watching it, whatever dies on the way (I8).
//!
//! The root's stream is news, not truth. When it breaks, the receipts of the key service tell what
//! was registered and committed meanwhile, and the next root is asked to go on from there.

mod course;
mod follow;
mod lookout;

use std::time::Duration;

use siegel_ident::{
    EpochId, InputRoot, ObjectDigest, PolicyDigest, ProgramDigest, RunId, Step, Timestamp,
};
use siegel_wire::v1;
use tokio::time::Instant;

use crate::{Operator, OperatorError};

use course::Course;
use follow::Followed;
use lookout::Lookout;

/// First and longest pause before a root is asked again.
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

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
    /// The sealed release, if the step has one: name and digest. The name is empty if the step was
    /// learned from its receipt, which has none: the run's plan names what each step releases.
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
    /// A root that dies is waited for, and its successor is asked to resume the run. The caller
    /// hears of the registration once and of each step once, in order; a run that was registered
    /// before its root died is found in the receipts and not paid for again (I6).
    ///
    /// # Errors
    /// [`OperatorError::Stopped`] with the root's typed refusal; [`OperatorError::Root`] if no root
    /// answers and nothing is committed for a while; any error of the key service.
    pub async fn run(
        &self,
        order: &RunOrder,
        mut on_event: impl FnMut(&RunEvent),
    ) -> Result<FinishedRun, OperatorError> {
        // Only what is registered from here on can be this run.
        let mut lookout = Lookout::from(self.receipt_count().await? + 1);
        let mut course = Course::default();
        let mut pause = PAUSE;
        let mut give_up = None;
        loop {
            let before = course.news();
            let followed = self
                .follow(order, &mut lookout, &mut course, &mut on_event)
                .await?;
            let broken = match followed {
                Followed::Finished => return course.finished(),
                Followed::Broken(broken) => broken,
            };
            if course.news() != before {
                (pause, give_up) = (PAUSE, None);
            }
            let now = Instant::now();
            if now >= *give_up.get_or_insert(now + self.root_patience) {
                return Err(broken.into());
            }
            tracing::warn!(why = %broken, "the root is away; waiting for it");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            // Also before ordering anew: the old root may have registered the run with its last
            // breath.
            self.catch_up(order, &mut lookout, &mut course, &mut on_event)
                .await?;
            if course.is_over() {
                return course.finished();
            }
        }
    }
}

impl RunOrder {
    fn to_wire(&self, resume: Option<RunId>) -> v1::RunRequest {
        v1::RunRequest {
            policy_digest: PolicyDigest::of(&self.policy).to_vec(),
            policy: self.policy.clone(),
            program_digest: self.program.to_vec(),
            epochs: self.epochs.iter().map(|epoch| epoch.0).collect(),
            deadline: self.deadline.0,
            params: self.params.clone(),
            resume_run_id: resume.map(|run| run.to_vec()).unwrap_or_default(),
        }
    }
}
