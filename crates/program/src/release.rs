//! What leaves a run: a table or tensors, of a size that the plan fixes (I12).

use serde::{Deserialize, Serialize};

use crate::bundle::is_name;
use crate::plan::MAX_SEALED;
use crate::vocabulary::MAX_BINS;
use crate::{ProgramError, Table, Tensors};

const DOCUMENT: &str = "release";

/// Most tensors of a release.
pub const MAX_TENSORS: usize = 64;
/// Most dimensions of a tensor.
pub const MAX_RANK: usize = 4;

/// A release as the plan knows it: its size depends on nothing else (I12).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Its name.
    pub name: String,
    /// Table or tensors.
    pub shape: Shape,
    /// Exact size of the CSV or safetensors file, in bytes.
    pub bytes: u64,
}

/// The form of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Shape {
    /// Labelled counts.
    Table {
        /// How many.
        rows: u32,
    },
    /// Named arrays of `f32`, row-major.
    Tensors {
        /// Name and shape of each, in the order of the model.
        tensors: Vec<(String, Vec<u32>)>,
    },
}

/// A release with its values.
#[derive(Clone, Debug, PartialEq)]
pub enum Released {
    /// A table.
    Table(Table),
    /// Tensors.
    Tensors(Tensors),
}

impl Release {
    pub(crate) fn check(&self) -> Result<(), ProgramError> {
        let fail = |what: &str| Err(ProgramError::invalid(DOCUMENT, what));
        if !is_name(&self.name) {
            return fail("name: expected 1 to 64 of a-z, 0-9, -");
        }
        if self.bytes > MAX_SEALED {
            return fail("more than 64 MiB");
        }
        match &self.shape {
            Shape::Table { rows } if (1..=MAX_BINS as u32).contains(rows) => Ok(()),
            Shape::Table { .. } => fail("expected 1 to 65,536 rows"),
            Shape::Tensors { tensors } => {
                let fine = |(name, shape): &(String, Vec<u32>)| {
                    !name.is_empty() && name.len() <= 64 && shape.len() <= MAX_RANK
                };
                match (1..=MAX_TENSORS).contains(&tensors.len()) && tensors.iter().all(fine) {
                    true => Ok(()),
                    false => fail("expected 1 to 64 named tensors of at most 4 dimensions"),
                }
            }
        }
    }
}

impl Released {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Table(table) => &table.name,
            Self::Tensors(tensors) => &tensors.name,
        }
    }

    /// The CSV, or the safetensors file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ProgramError> {
        match self {
            Self::Table(table) => table.to_csv(),
            Self::Tensors(tensors) => tensors.to_safetensors(),
        }
    }

    /// What the plan says of it.
    pub fn release(&self) -> Result<Release, ProgramError> {
        let shape = match self {
            Self::Table(table) => Shape::Table {
                rows: table.rows.len() as u32,
            },
            Self::Tensors(tensors) => Shape::Tensors {
                tensors: tensors.shapes(),
            },
        };
        let release = Release {
            name: self.name().to_owned(),
            shape,
            bytes: self.to_bytes()?.len() as u64,
        };
        release.check()?;
        Ok(release)
    }
}
