//! Why a model, its parameters or its examples are refused.

/// Why the crate refused. What comes from a client (symbols, rows) is never repeated in an error,
/// nor its position (I12): the caller counts such a contribution as zero.
#[derive(Debug, Clone, Copy, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TensorError {
    /// A field of the model, or of the optimiser, outside its range.
    #[error("model: {field} is {found}; give {min} to {max}")]
    Field {
        /// Which field.
        field: &'static str,
        /// What it says.
        found: u32,
        /// Least allowed.
        min: u32,
        /// Most allowed.
        max: u32,
    },
    /// A learning rate that is no step forward.
    #[error("model: the learning rate must be a finite number above 0")]
    Rate,
    /// Each field is in range, but there are too many parameters together.
    #[error("model: {found} parameters; at most {max}: make the layers narrower")]
    Dimension {
        /// Parameters of the model.
        found: u128,
        /// Most allowed.
        max: u128,
    },
    /// A parameter or update vector of another model.
    #[error("parameters: {found} numbers, the model has {wanted}")]
    Parameters {
        /// Numbers given.
        found: usize,
        /// The model's dimension.
        wanted: usize,
    },
    /// Rows for a model of symbols, or the other way round.
    #[error("examples: of another kind than the model's (next-char: symbols; classifier: rows)")]
    Kind,
    /// A symbol at or above the alphabet's size.
    #[error("examples: a symbol is outside the alphabet")]
    Symbol,
    /// Rows that do not come out even.
    #[error("examples: the numbers do not divide into rows of features and a class")]
    Columns,
    /// A class that is no whole number below the number of classes.
    #[error("examples: a class is not a whole number from 0 to classes - 1")]
    Class,
    /// A CPU that cannot give the same bytes as the others.
    #[error("this CPU lacks FMA: run on x86-64-v3 (Haswell, Zen or later)")]
    Cpu,
    /// A matrix product outside its buffers: a defect of this crate, caught before it did harm.
    #[error("internal: a matrix product outside its buffers; please report it")]
    Layout,
}
