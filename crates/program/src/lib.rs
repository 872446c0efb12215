//! Programs as data: bundles, records, kinds, plans, and the one way from client values to
//! anything else (I5).
//!
//! A worker turns sealed records into exact integer sums per block of privacy units
//! ([`SumBuilder`]); a root adds the sums and can take out only a noisy total ([`Total`]). Who is
//! one unit, and how much of a unit counts, is decided here alone (I4).

pub mod allowed;
pub mod alphabet;
pub mod bundle;
pub mod clipped_sum;
pub mod error;
pub mod executor;
mod gather;
pub mod histogram;
pub mod input;
pub mod intrinsic;
pub mod kind;
pub mod plan;
pub mod query;
pub mod record;
pub mod release;
pub mod sum;
pub mod table;
pub mod tensors;
pub mod total;
pub mod unit;
pub mod vocabulary;

pub use alphabet::Alphabet;
pub use bundle::Bundle;
pub use clipped_sum::{ClippedSum, ClippedSumSpec, ClippedSumTerms};
pub use error::ProgramError;
pub use executor::{Executor, Stop};
pub use histogram::{Histogram, HistogramSpec};
pub use input::{check_sorted, input_root};
pub use intrinsic::Intrinsic;
pub use kind::Kind;
pub use plan::{Plan, StepPlan};
pub use query::Query;
pub use record::{Column, Record, Values};
pub use release::{Release, Released, Shape};
pub use sum::{BlockSum, SumBuilder, SumPlace, Units};
pub use table::{Row, Table};
pub use tensors::{Tensor, Tensors};
pub use total::{NOISE_CHUNK, Noise, Total};
pub use unit::{BlockCount, IndexKey, UnitHash};
pub use vocabulary::{OTHER, Vocabulary};
