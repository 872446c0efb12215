//! Why a driver was refused or stopped.

use siegel_ident::{BudgetError, Step};
use siegel_program::{Kind, ProgramError, Stop};

/// Why a driver was refused (by loading or by the dry run) or stopped (at run time). At run time no
/// variant carries a value of the script (I12).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The script does not parse, or fails. After a run has begun `message` is only the class of
    /// the failure.
    #[error("driver, {function}{}: {message}", at(.line))]
    Script {
        /// Which of `parse`, `init`, `step`, `snapshot`, `finish`.
        function: &'static str,
        /// Line of the driver, counted from 1, where known.
        line: Option<usize>,
        /// What Starlark says.
        message: String,
    },
    /// A value was used as its kind does not allow (I5).
    #[error("driver{}: a value of kind {kind} was used in {attempt}; {}", at(.line), rule(.kind))]
    Kind {
        /// The value's kind.
        kind: Kind,
        /// What was tried.
        attempt: &'static str,
        /// Line of the driver, counted from 1, where known.
        line: Option<usize>,
    },
    /// The text of the driver is not of the form that the checks understand.
    #[error("driver{}: {what}", at(.line))]
    Form {
        /// Line of the driver, counted from 1, where known.
        line: Option<usize>,
        /// What is wrong and what is expected.
        what: String,
    },
    /// The driver asks for more than the run has.
    #[error("dry run, step {step}: {source}")]
    Budget {
        /// Which step.
        step: Step,
        /// What is short.
        source: BudgetError,
    },
    /// At run time the driver did not do what its plan says, as after a branch on a noisy result.
    #[error("step {step}: intrinsic {index} is not the plan's; nothing was computed")]
    Deviates {
        /// Which step, counted from 1 within the plan.
        step: Step,
        /// Which intrinsic of the step, counted from 0.
        index: usize,
    },
    /// The state or the release would not have the size that the plan fixes (I12).
    #[error("the state is larger than the plan's checkpoint size")]
    StateSize,
    /// What is released is not the plan's.
    #[error("the release has not the name, shape or size of the plan")]
    OtherRelease,
    /// A step that the plan does not have.
    #[error("there is no step {step}: the plan has {rounds}")]
    NoSuchStep {
        /// What was asked for.
        step: Step,
        /// How many there are.
        rounds: u32,
    },
    /// A checkpoint's state that does not read.
    #[error("state: {0}")]
    State(String),
    /// A specification, plan or table that is out of bounds.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The machine under the driver stopped.
    #[error(transparent)]
    Stopped(Stop),
}

impl DriverError {
    /// Keeps the message only if no noisy value can be in it.
    pub(crate) fn from_starlark(
        function: &'static str,
        error: &starlark::Error,
        dry: bool,
    ) -> Self {
        let line = error.span().map(|span| span.resolve_span().begin.line + 1);
        let message: String = match dry {
            true => error
                .without_diagnostic()
                .to_string()
                .trim()
                .chars()
                .take(400)
                .collect(),
            false => class(error).to_owned(),
        };
        Self::Script {
            function,
            line,
            message,
        }
    }

    pub(crate) fn line(&self) -> Option<usize> {
        match self {
            Self::Script { line, .. } | Self::Kind { line, .. } | Self::Form { line, .. } => *line,
            _ => None,
        }
    }

    /// Stable code for outward errors, kebab-case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Script { .. } => "driver-failed",
            Self::Kind { .. } => "kind",
            Self::Form { .. } => "driver-form",
            Self::Budget { .. } => "budget",
            Self::Deviates { .. } => "plan-deviation",
            Self::StateSize | Self::OtherRelease => "plan-size",
            Self::NoSuchStep { .. } => "no-such-step",
            Self::State(_) => "checkpoint",
            Self::Program(_) => "program",
            Self::Stopped(stop) => stop.code,
        }
    }
}

fn class(error: &starlark::Error) -> &'static str {
    use starlark::ErrorKind;
    match error.kind() {
        ErrorKind::Fail(_) => "the driver called fail()",
        ErrorKind::StackOverflow(_) => "calls nested too deeply",
        ErrorKind::Value(_) => "an operation that a value does not have",
        ErrorKind::Function(_) => "a call with other arguments than its function takes",
        ErrorKind::Scope(_) => "an unknown name",
        _ => "an error, or a limit reached",
    }
}

fn at(line: &Option<usize>) -> String {
    line.map(|line| format!(", line {line}"))
        .unwrap_or_default()
}

fn rule(kind: &Kind) -> &'static str {
    match kind {
        Kind::Client => "it may only be the first argument of a DP intrinsic",
        _ => "it may be released in a table, indexed and compared with < and >",
    }
}
