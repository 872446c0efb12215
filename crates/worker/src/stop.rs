//! Why a request was not carried out. Outwards it is a typed refusal (I12): every code, place and
//! number here follows from public things, never from an upload's inside.

use siegel_ident::{BlobDigest, Fencing, PolicyDigest, RunId, Step};
use siegel_keys::KeysError;
use siegel_link::{LinkError, Refusal, refusal};
use siegel_program::ProgramError;

/// A request stops here. The root tries elsewhere, prepares again, or stops the run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    /// Not a message of this protocol.
    #[error("the request does not decode or holds a field of impossible length")]
    BadRequest,
    /// No live grant for this run.
    #[error("run {0} is not prepared here, or its lease has ended: prepare it (again)")]
    NotPrepared(RunId),
    /// Another root than the one that the key service named.
    #[error("this session's root is not the one that the key service names for the run")]
    NotTheRoot,
    /// A session for the run under another policy.
    #[error("the session is for policy {found}, the key service granted this worker {granted}")]
    OtherPolicy {
        /// Named by the root.
        found: PolicyDigest,
        /// In the grant.
        granted: PolicyDigest,
    },
    /// A root incarnation that is not the present one.
    #[error("fencing number {found}, the key service granted this worker {granted}")]
    Fencing {
        /// In the request.
        found: Fencing,
        /// In the grant.
        granted: Fencing,
    },
    /// A step that was not registered.
    #[error("step {0} is not one of the run's registered steps")]
    Step(Step),
    /// A specification that the policy or the step's allotment does not cover.
    #[error("specification: {0}")]
    Spec(ProgramError),
    /// More ρ or δ₀ than registered for the step.
    #[error("the specification costs more than step {0} was allotted")]
    Cost(Step),
    /// Blocks that do not exist, twice the same, or another number of them.
    #[error("blocks: {0}")]
    Blocks(ProgramError),
    /// Another number of blocks than this run has.
    #[error("{found} blocks, but a run over this many blobs has {expected}")]
    BlockCount {
        /// In the request.
        found: u32,
        /// By the public blob count.
        expected: u32,
    },
    /// Their sums would not fit one message.
    #[error("{asked} blocks of these bins do not fit one answer: ask for at most {max}")]
    TooManyBlocks {
        /// How many were asked for.
        asked: usize,
        /// How many fit.
        max: usize,
    },
    /// The lease ended and could not be renewed (I9).
    #[error("the lease of run {0} has ended; its keys are erased")]
    NoLease(RunId),
    /// The key service did not grant or renew.
    #[error(transparent)]
    Kms(#[from] KeysError),
    /// Not what the registered plan has at this place.
    #[error("the specification is not the one that the plan has at step {step}, intrinsic {index}")]
    NotPlanned {
        /// Which step.
        step: Step,
        /// Which of its intrinsics, from 0.
        index: u32,
    },
    /// A broadcast that is not the intrinsic's.
    #[error("a broadcast of {found} bytes, the intrinsic has {expected}")]
    State {
        /// In the request.
        found: usize,
        /// Four for each parameter of a model, none for a histogram.
        expected: usize,
    },
    /// The plan is missing or other bytes came for it.
    #[error("plan: {0}")]
    PlanFetch(LinkError),
    /// The plan does not parse.
    #[error("plan: {0}")]
    Plan(ProgramError),
    /// The plan's steps do not cost what was registered.
    #[error("plan: its steps do not cost what is registered for them")]
    PlanCosts,
    /// The list of uploads is missing or other bytes came for it.
    #[error("list of uploads: {0}")]
    InputList(LinkError),
    /// Another number of uploads than registered.
    #[error("the list of uploads does not name {registered} uploads, as registered")]
    InputCount {
        /// At the key service.
        registered: u64,
    },
    /// Other uploads than registered (I2).
    #[error("the listed uploads are not the registered ones (order or Merkle root differs)")]
    InputRoot,
    /// More uploads than a worker can list.
    #[error("{registered} uploads are registered, a worker reads at most 2^23")]
    TooManyInputs {
        /// At the key service.
        registered: u64,
    },
    /// A registered upload is missing, or other bytes came for it.
    #[error("upload {blob}: {source}")]
    Blob {
        /// Which.
        blob: BlobDigest,
        /// What happened.
        source: LinkError,
    },
    /// The program is missing or other bytes came for it.
    #[error("program: {0}")]
    ProgramFetch(LinkError),
    /// The program does not parse or lacks what the specification names.
    #[error("program: {0}")]
    Program(ProgramError),
    /// The one who asked does not wait for the answer any more.
    #[error("nobody waits for the answer")]
    NobodyAsks,
    /// A sum does not fit, or could not be sealed: a defect, or a degenerate key.
    #[error("the sum could not be made")]
    Sum,
}

impl Stop {
    /// What the other side is told.
    pub(crate) fn to_refusal(&self) -> Refusal {
        if let Self::Kms(KeysError::Refused(refusal)) = self {
            return (**refusal).clone();
        }
        let (code, invariant) = self.code();
        refusal(code, invariant, "worker", self.to_string())
    }

    fn code(&self) -> (&'static str, &'static str) {
        match self {
            Self::BadRequest => ("bad-request", "I14"),
            Self::NotPrepared(_) => ("not-prepared", "I9"),
            Self::NotTheRoot => ("not-the-root", "I3"),
            Self::OtherPolicy { .. } => ("other-policy", "I3"),
            Self::Fencing { found, granted } if found < granted => ("stale-fencing", "I6"),
            Self::Fencing { .. } => ("unknown-fencing", "I6"),
            Self::Step(_) => ("wrong-step", "I3"),
            Self::Spec(_) | Self::Cost(_) => ("specification-not-allowed", "I3"),
            Self::NotPlanned { .. } => ("specification-not-allowed", "I2"),
            Self::State { .. } => ("bad-state", "I14"),
            Self::Blocks(_) | Self::BlockCount { .. } => ("bad-blocks", "I4"),
            Self::TooManyBlocks { .. } => ("too-many-blocks", "I14"),
            Self::NoLease(_) => ("no-lease", "I9"),
            Self::Kms(KeysError::NoQuorum { .. }) => ("no-quorum", "I9"),
            Self::Kms(_) => ("key-service", "I3"),
            Self::InputList(source)
            | Self::PlanFetch(source)
            | Self::ProgramFetch(source)
            | Self::Blob { source, .. }
                if source.is_transient() =>
            {
                ("depot-away", "I8")
            }
            Self::PlanFetch(_) => ("plan-missing", "I2"),
            Self::Plan(_) | Self::PlanCosts => ("plan-unusable", "I2"),
            Self::InputList(_) => ("inputs-missing", "I2"),
            Self::TooManyInputs { .. } => ("too-many-inputs", "I14"),
            Self::InputCount { .. } | Self::InputRoot => ("input-mismatch", "I2"),
            Self::Blob {
                source: LinkError::OtherBytes { .. },
                ..
            } => ("blob-different", "I2"),
            Self::Blob { .. } => ("blob-missing", "I2"),
            Self::ProgramFetch(_) => ("program-missing", "I2"),
            Self::Program(_) => ("program-unusable", "I2"),
            Self::NobodyAsks => ("nobody-asks", ""),
            Self::Sum => ("sum", "I5"),
        }
    }
}
