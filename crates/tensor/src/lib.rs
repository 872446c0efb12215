//! Built-in models: layers with hand-written gradients, local training, accuracy.
//!
//! [`train`] is what one unit's data does to a model; its result goes nowhere but into a clipped sum
//! with noise (I5). The same arguments give the same bits on every CPU that it runs on (I7): see
//! `OVERVIEW.md`.

mod buffer;
mod error;
mod examples;
mod initial;
mod kernel;
mod layers;
mod maths;
mod model;
mod scratch;
mod train;

pub use error::TensorError;
pub use examples::Examples;
pub use model::{Classifier, MAX_DIMENSION, Model, NextChar, TensorShape};
pub use scratch::Scratch;
pub use train::{Sgd, accuracy, train};
