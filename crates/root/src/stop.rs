//! Why a run stopped. Outwards it is a typed refusal: every code, place and number here follows
//! from public things, never from a sum or a noisy value (I12).

use siegel_driver::DriverError;
use siegel_ident::json::JsonError;
use siegel_ident::{Step, Timestamp};
use siegel_keys::KeysError;
use siegel_link::{LinkError, Refusal, refusal};
use siegel_policy::{NotAllowed, PolicyError};
use siegel_program::{ProgramError, Stop};
use siegel_seal::{OpenError, SealError};

/// A run stops here. Before it is registered nothing was paid; after it nothing is given back (I6).
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunStop {
    /// A request that is not of this protocol.
    #[error("the request's {0} does not decode")]
    BadRequest(&'static str),
    /// Parameters that are not canonical JSON of named integers.
    #[error("parameters: {0}")]
    Params(JsonError),
    /// Policy bytes that are no policy.
    #[error("policy: {0}")]
    Policy(#[from] PolicyError),
    /// Other policy bytes than the digest names (I2).
    #[error("the policy's bytes do not have the digest that the request names")]
    OtherPolicy,
    /// Another program than this root was measured with.
    #[error("this root was started for another program; start one with the program's digest")]
    OtherProgram,
    /// The policy does not allow this run.
    #[error("policy: {0}")]
    NotAllowed(#[from] NotAllowed),
    /// No epoch, or epochs that are not strictly ascending.
    #[error("epochs: name at least one, strictly ascending")]
    Epochs,
    /// A deadline that has passed.
    #[error("deadline {deadline} is not after now, {now}")]
    Deadline {
        /// In the request.
        deadline: Timestamp,
        /// On this host's clock.
        now: Timestamp,
    },
    /// The program, its plan or the list of uploads is not usable.
    #[error("{0}")]
    Program(#[from] ProgramError),
    /// The driver was refused or stopped.
    #[error("{0}")]
    Driver(#[from] DriverError),
    /// The depot did not do something.
    #[error("depot, {doing}: {source}")]
    Depot {
        /// What was asked of it.
        doing: &'static str,
        /// What happened.
        source: LinkError,
    },
    /// The run was registered with something else than is asked now (I2, I6).
    #[error(
        "the {part} that the request leads to is not what the run was registered with; repeat the \
         request that started it"
    )]
    OtherRun {
        /// Which part.
        part: &'static str,
    },
    /// The depot serves something else for the committed checkpoint (I2).
    #[error("checkpoint of step {step}: {source}")]
    CheckpointBytes {
        /// The last committed step.
        step: Step,
        /// What came.
        source: LinkError,
    },
    /// The committed object is not this step's checkpoint, or does not open.
    #[error("checkpoint of step {step}: {source}")]
    Checkpoint {
        /// The last committed step.
        step: Step,
        /// Why not.
        source: OpenError,
    },
    /// Another incarnation of the root has the run: this one must not go on (I6).
    #[error("another root has taken this run over: {}", .0.message)]
    Superseded(Box<Refusal>),
    /// The key service did not do something.
    #[error("{0}")]
    Kms(KeysError),
    /// Every worker refused the same blocks; the last one's words.
    #[error("every worker refused; the last said: {} ({}): {}", .0.code, .0.r#where, .0.message)]
    Refused(Box<Refusal>),
    /// No worker got anything done for too long.
    #[error("no worker finished a block for {seconds} s; the last trouble: {last}")]
    WorkersLost {
        /// How long.
        seconds: u64,
        /// What the last worker ran into.
        last: String,
    },
    /// Something could not be sealed.
    #[error("sealing: {0}")]
    Seal(#[from] SealError),
    /// A task of this process ended before its time: a defect.
    #[error("a part of the root ended before its time")]
    Broken,
}

impl From<KeysError> for RunStop {
    /// Only the newest root of a run may ask for its workers, and a grant that another root has
    /// overtaken is not handed out: both mean lost fencing, as a refused commit does.
    fn from(error: KeysError) -> Self {
        match error {
            KeysError::Refused(refusal)
                if matches!(refusal.code.as_str(), "not-the-root" | "superseded") =>
            {
                Self::Superseded(refusal)
            }
            error => Self::Kms(error),
        }
    }
}

impl RunStop {
    /// A failed call of the depot.
    pub(crate) fn depot(doing: &'static str) -> impl FnOnce(LinkError) -> Self {
        move |source| Self::Depot { doing, source }
    }

    /// What the operator is told.
    pub(crate) fn to_refusal(&self) -> Refusal {
        match self {
            Self::Kms(KeysError::Refused(inner)) => (**inner).clone(),
            Self::Refused(inner) => (**inner).clone(),
            _ => {
                let (code, invariant) = self.code();
                refusal(code, invariant, "root", self.to_string())
            }
        }
    }

    /// What the driver is told when the machine under it stops; the run keeps the whole reason.
    pub(crate) fn for_driver(&self) -> Stop {
        Stop::new(self.code().0, "the step could not be computed")
    }

    fn code(&self) -> (&'static str, &'static str) {
        match self {
            Self::BadRequest(_) | Self::Params(_) => ("bad-request", "I14"),
            Self::Policy(_) => ("bad-policy", "I14"),
            Self::OtherPolicy => ("other-policy", "I2"),
            Self::OtherProgram => ("other-program", "I3"),
            Self::NotAllowed(NotAllowed::TooFewBlobs { .. }) => ("too-few-blobs", "I3"),
            Self::NotAllowed(_) => ("not-allowed", "I3"),
            Self::Epochs => ("bad-epochs", "I14"),
            Self::Deadline { .. } => ("deadline-passed", "I9"),
            Self::Program(ProgramError::NotAllowed(_)) => ("not-allowed", "I3"),
            Self::Program(_) => ("program", "I14"),
            Self::Driver(DriverError::Kind { .. }) => ("kind", "I5"),
            Self::Driver(DriverError::Deviates { .. }) => ("plan-deviation", "I6"),
            Self::Driver(DriverError::Budget { .. }) => ("budget-exceeded", "I6"),
            Self::Driver(error) => (error.code(), "I5"),
            Self::Depot { .. } => ("depot", ""),
            Self::OtherRun { .. } => ("other-run", "I2"),
            Self::CheckpointBytes { .. } => ("wrong-checkpoint", "I2"),
            Self::Checkpoint { .. } => ("wrong-checkpoint", "I6"),
            Self::Superseded(_) => ("stale-fencing", "I6"),
            Self::Kms(KeysError::NoQuorum { .. }) => ("no-quorum", "I9"),
            Self::Kms(_) => ("key-service", "I3"),
            Self::Refused(_) => ("workers-refused", ""),
            Self::WorkersLost { .. } => ("workers-lost", "I8"),
            Self::Seal(_) => ("sealing", ""),
            Self::Broken => ("internal", ""),
        }
    }
}
