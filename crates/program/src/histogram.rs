//! The histogram of users over published words: specification, and what of a record counts.

use serde::{Deserialize, Serialize};
use siegel_ident::NanoRho;

use crate::bundle::{is_file_name, is_name};
use crate::vocabulary::{MAX_BINS, Vocabulary};
use crate::{Bundle, ProgramError, Record};

const DOCUMENT: &str = "histogram specification";
const SCHEMA: &str = "siegel/histogram/v1";

/// Most bins that one user may fill.
pub const MAX_PER_USER: u32 = 4096;

/// One DP histogram: each unit adds one to at most `max_per_user` bins; then discrete Gaussian
/// noise on every bin. Public, and part of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistogramSpec {
    schema: String,
    /// Column of the record.
    pub column: String,
    /// Asset of the bundle with the words.
    pub vocabulary: String,
    /// Number of bins, "other" included.
    pub bins: u32,
    /// Most bins that one unit fills.
    pub max_per_user: u32,
    /// What it costs.
    pub rho_nano: NanoRho,
}

impl HistogramSpec {
    /// A specification over a vocabulary that the bundle carries.
    pub fn new(
        bundle: &Bundle,
        column: &str,
        vocabulary: &str,
        max_per_user: u32,
        rho: NanoRho,
    ) -> Result<Self, ProgramError> {
        let spec = Self {
            schema: SCHEMA.into(),
            column: column.into(),
            vocabulary: vocabulary.into(),
            bins: Vocabulary::parse(bundle.asset(vocabulary)?)?.bins(),
            max_per_user,
            rho_nano: rho,
        };
        spec.check()?;
        Ok(spec)
    }

    /// Squared L2 sensitivity under zero-out: a unit's contribution is a 0/1 vector with at most
    /// `max_per_user` ones, and it becomes zero.
    pub fn sensitivity_sq(&self) -> u64 {
        self.max_per_user.min(self.bins).into()
    }

    pub(crate) fn check(&self) -> Result<(), ProgramError> {
        let fail = |what: &str| Err(ProgramError::invalid(DOCUMENT, what));
        if self.schema != SCHEMA {
            return Err(ProgramError::Schema {
                document: DOCUMENT,
                expected: SCHEMA,
            });
        }
        if !is_name(&self.column) {
            return fail("column: expected 1 to 64 of a-z, 0-9, -");
        }
        if !is_file_name(&self.vocabulary) {
            return fail("vocabulary: expected the name of an asset");
        }
        if !(2..=MAX_BINS as u32).contains(&self.bins) {
            return fail("bins: expected 2 to 65,536");
        }
        if !(1..=MAX_PER_USER).contains(&self.max_per_user) {
            return fail("max_per_user: expected 1 to 4,096");
        }
        // Zero would need infinite noise; from 2^53 on JSON does not keep the number (RFC 8785).
        if !(1..1 << 53).contains(&self.rho_nano.0) {
            return fail("rho_nano: expected 1 to 2^53 - 1");
        }
        Ok(())
    }
}

/// A specification with its words at hand.
pub struct Histogram<'a> {
    spec: &'a HistogramSpec,
    vocabulary: Vocabulary<'a>,
}

impl<'a> Histogram<'a> {
    /// Joins a specification with its bundle; refuses one whose bins are not the vocabulary's.
    pub fn new(spec: &'a HistogramSpec, bundle: &'a Bundle) -> Result<Self, ProgramError> {
        let vocabulary = Vocabulary::parse(bundle.asset(&spec.vocabulary)?)?;
        if vocabulary.bins() != spec.bins {
            return Err(ProgramError::invalid(
                DOCUMENT,
                "bins: not those of the vocabulary",
            ));
        }
        Ok(Self { spec, vocabulary })
    }

    /// The specification.
    pub fn spec(&self) -> &'a HistogramSpec {
        self.spec
    }

    /// The words.
    pub fn vocabulary(&self) -> &Vocabulary<'a> {
        &self.vocabulary
    }

    /// Distinct bins of one record, ascending. Not bounded yet: a unit's blobs are joined first.
    pub(crate) fn bins_of(&self, record: &Record<'_>) -> Vec<u32> {
        let words = record.words(&self.spec.column);
        let mut bins: Vec<u32> = words
            .iter()
            .map(|word| self.vocabulary.bin_of(word))
            .collect();
        bins.sort_unstable();
        bins.dedup();
        bins
    }
}
