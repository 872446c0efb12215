//! What can be wrong with a program, a plan or a record.

use siegel_ident::json::JsonError;
use siegel_ident::lp::LpError;

/// Why a program, a plan, an input list or a record was refused.
///
/// About a client's record it says more than may leave a TEE: a worker drops that error and counts
/// zero (I12). All other variants are about public things.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// A document that is not canonical JSON of its shape.
    #[error("{document}: {source}")]
    Document {
        /// Which document.
        document: &'static str,
        /// What is wrong with it.
        source: JsonError,
    },
    /// A document of another schema or version.
    #[error("{document}: schema is not {expected:?}; this build reads no other version")]
    Schema {
        /// Which document.
        document: &'static str,
        /// The schema this build reads.
        expected: &'static str,
    },
    /// A value outside its bounds, in a public document.
    #[error("{document}: {what}")]
    Invalid {
        /// Which document.
        document: &'static str,
        /// What is wrong and what is allowed.
        what: String,
    },
    /// A vocabulary that is not one word a line, sorted, unique and lower-case.
    #[error("vocabulary, line {line}: {what}")]
    Vocabulary {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// An asset that the program names but does not carry.
    #[error("the program carries no asset {0:?}; add it to the bundle")]
    MissingAsset(String),
    /// Blob digests that are not strictly ascending.
    #[error("blob digests are not sorted and unique: number {at} does not follow number {} ", .at - 1)]
    Unsorted {
        /// Index of the first digest out of order.
        at: usize,
    },
    /// A record whose framing does not read. For the client only (I12).
    #[error("record: {0}")]
    RecordFraming(#[from] LpError),
    /// A record that breaks a bound. For the client only (I12).
    #[error("record: {0}")]
    Record(&'static str),
    /// A plan or specification that goes beyond its policy.
    #[error("not allowed by the policy: {0}")]
    NotAllowed(String),
    /// A block that is not one of the run's.
    #[error("block {block} does not exist: the run has {count} blocks")]
    NoSuchBlock {
        /// The number asked for.
        block: u32,
        /// How many there are.
        count: u32,
    },
    /// A block asked for, or added, twice.
    #[error("block {block} was given twice; each block counts once")]
    BlockTwice {
        /// The number.
        block: u32,
    },
    /// A total taken before every block was added.
    #[error("{missing} blocks were never added; a total needs all of them")]
    BlocksMissing {
        /// How many are missing.
        missing: u32,
    },
    /// A block sum that is not of the intrinsic's length.
    #[error("block {block}: the sum has not the {expected} numbers of its intrinsic")]
    SumLength {
        /// The block.
        block: u32,
        /// How many numbers there must be.
        expected: usize,
    },
    /// A broadcast that is not of the model's length.
    #[error("the broadcast state is {found} bytes long, the intrinsic needs {expected}")]
    StateLength {
        /// As received.
        found: usize,
        /// As the model has it.
        expected: usize,
    },
    /// A sum that was given up before it was whole: the lease ended.
    #[error("the sum was given up before it was whole")]
    Interrupted,
    /// A sum that leaves its 64 bits. Cannot happen within the bounds of a run; stop the run.
    #[error("a sum does not fit 64 bits; stop the run")]
    Overflow,
    /// Noise that was drawn for another specification.
    #[error("the noise was drawn for another specification")]
    OtherNoise,
    /// A noise scale that the sampler cannot do exactly.
    #[error("noise: {0}")]
    Noise(String),
}

impl ProgramError {
    pub(crate) fn invalid(document: &'static str, what: impl Into<String>) -> Self {
        Self::Invalid {
            document,
            what: what.into(),
        }
    }

    pub(crate) fn document(document: &'static str) -> impl Fn(JsonError) -> Self {
        move |source| Self::Document { document, source }
    }
}
