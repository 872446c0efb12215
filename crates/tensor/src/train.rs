//! Local training and accuracy.

use crate::TensorError;
use crate::examples::{Checked, Examples};
use crate::kernel::Kernel;
use crate::model::{Model, within};
use crate::scratch::{Batch, Scratch};

/// Rows at a time when only predictions are wanted.
const EVALUATION_BATCH: usize = 64;

/// Plain stochastic gradient descent, without momentum and without shuffling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sgd {
    /// Passes over the examples, 1 to 1,000.
    pub epochs: u32,
    /// Examples per step, 1 to 4,096; the last step of an epoch takes what is left.
    pub batch: u32,
    /// Learning rate, on the mean loss of a batch; finite and above 0.
    pub rate: f32,
}

impl Sgd {
    /// Checks every field's range.
    pub fn check(&self) -> Result<(), TensorError> {
        within("epochs", self.epochs, 1, 1000)?;
        within("batch", self.batch, 1, 4096)?;
        if self.rate.is_finite() && self.rate > 0.0 {
            Ok(())
        } else {
            Err(TensorError::Rate)
        }
    }
}

/// Trains from `params` on one unit's examples and writes trained − `params` into `update`.
///
/// Both have the model's dimension. Batches are taken in the order given. The same arguments give
/// the same bits on every CPU (I7). Parameters and features may be any numbers: NaN and infinities
/// flow into the update, where the caller bounds them (I5). No examples: an update of zeros.
///
/// Errors: a model, optimiser, length, kind, symbol or class out of bounds, or a CPU without FMA. The
/// update is zeros then; what a client sent decides only over [`TensorError::Symbol`],
/// [`TensorError::Columns`] and [`TensorError::Class`].
pub fn train(
    model: &Model,
    params: &[f32],
    examples: &Examples<'_>,
    sgd: &Sgd,
    scratch: &mut Scratch,
    update: &mut [f32],
) -> Result<(), TensorError> {
    let done = run(model, params, examples, sgd, scratch, update);
    if done.is_err() {
        update.fill(0.0);
    }
    done
}

fn run(
    model: &Model,
    params: &[f32],
    examples: &Examples<'_>,
    sgd: &Sgd,
    scratch: &mut Scratch,
    update: &mut [f32],
) -> Result<(), TensorError> {
    let kernel = Kernel::new()?;
    model.check()?;
    sgd.check()?;
    let wanted = model.dimension();
    same_length(params.len(), wanted)?;
    same_length(update.len(), wanted)?;
    let examples = Checked::new(model, examples)?;

    if examples.len() == 0 {
        update.fill(0.0);
        return Ok(());
    }
    let size = (sgd.batch as usize).min(examples.len());
    scratch.load(model, params, size)?;
    for _ in 0..sgd.epochs {
        for batch in batches(examples, size) {
            scratch.forward(kernel, batch)?;
            scratch.descend(kernel, batch, sgd.rate)?;
        }
    }
    scratch.difference(model, params, update)
}

/// How many of the model's predictions are right, and of how many. The first of the most likely
/// classes is the prediction. Errors as [`train`].
pub fn accuracy(
    model: &Model,
    params: &[f32],
    examples: &Examples<'_>,
    scratch: &mut Scratch,
) -> Result<(u64, u64), TensorError> {
    let kernel = Kernel::new()?;
    model.check()?;
    same_length(params.len(), model.dimension())?;
    let examples = Checked::new(model, examples)?;

    scratch.load(model, params, EVALUATION_BATCH)?;
    let mut right = 0;
    for batch in batches(examples, EVALUATION_BATCH) {
        scratch.forward(kernel, batch)?;
        let classes = (batch.start..batch.start + batch.rows).map(|at| examples.class(at));
        let both = scratch.predictions().zip(classes);
        right += both.filter(|(predicted, class)| predicted == class).count() as u64;
    }
    Ok((right, examples.len() as u64))
}

fn same_length(found: usize, wanted: usize) -> Result<(), TensorError> {
    if found == wanted {
        Ok(())
    } else {
        Err(TensorError::Parameters { found, wanted })
    }
}

/// Runs of `size` examples, in order; the last may be shorter.
fn batches(examples: Checked<'_>, size: usize) -> impl Iterator<Item = Batch<'_>> {
    let len = examples.len();
    (0..len).step_by(size.max(1)).map(move |start| Batch {
        examples,
        start,
        rows: size.min(len - start),
    })
}

#[cfg(test)]
mod tests;
