//! Both models as one network: an input, perhaps a hidden layer, an output layer.

use crate::TensorError;
use crate::buffer::Buffer;
use crate::examples::Checked;
use crate::kernel::{Kernel, Left, padded};
use crate::layers::embedding::context;
use crate::layers::{Activation, Dense, Embedding, softmax};
use crate::model::Model;

/// Buffers of training and evaluation, for any model, reused from call to call. One per thread.
///
/// Holds numbers that come from clients' data: no `Debug`, no `Clone`, wiped when dropped (I13).
#[derive(Default)]
pub struct Scratch {
    activation: Option<Activation>,
    outputs: usize,
    embedding: Embedding,
    hidden: Dense,
    output: Dense,
    /// Embedded contexts, and the loss's gradient by them.
    inputs: Buffer,
    by_inputs: Buffer,
    /// The hidden layer's results, and the loss's gradient by them.
    activations: Buffer,
    by_activations: Buffer,
    /// The output layer's results; then the loss's gradient by them.
    logits: Buffer,
}

/// Examples `start .. start + rows`.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    pub(crate) examples: Checked<'a>,
    pub(crate) start: usize,
    pub(crate) rows: usize,
}

impl Scratch {
    /// Takes over the parameters, with room for batches of up to `rows` examples.
    pub(crate) fn load(
        &mut self,
        model: &Model,
        params: &[f32],
        rows: usize,
    ) -> Result<(), TensorError> {
        let (mut rest, inputs, hidden, outputs) = match *model {
            Model::NextChar(next) => {
                let (alphabet, width) = (next.alphabet as usize, next.embedding as usize);
                let rest = self.embedding.load(alphabet, width, params)?;
                let inputs = next.context as usize * width;
                self.inputs.resize(rows * inputs);
                self.by_inputs.resize(rows * padded(inputs));
                self.activation = Some(Activation::Tanh);
                (rest, inputs, next.hidden as usize, alphabet)
            }
            Model::Classifier(model) => {
                self.activation = (model.hidden > 0).then_some(Activation::Relu);
                let (inputs, outputs) = (model.features as usize, model.classes as usize);
                (params, inputs, model.hidden as usize, outputs)
            }
        };
        let mut width = inputs;
        if self.activation.is_some() {
            rest = self.hidden.load(inputs, hidden, rest)?;
            self.activations.resize(rows * padded(hidden));
            self.by_activations.resize(rows * padded(hidden));
            width = hidden;
        }
        self.output.load(width, outputs, rest)?;
        self.logits.resize(rows * padded(outputs));
        self.outputs = outputs;
        Ok(())
    }

    /// update ← parameters now − `params`.
    pub(crate) fn difference(
        &self,
        model: &Model,
        params: &[f32],
        update: &mut [f32],
    ) -> Result<(), TensorError> {
        let (mut before, mut update) = (params, update);
        if let Model::NextChar(_) = model {
            (before, update) = self.embedding.difference(before, update)?;
        }
        if self.activation.is_some() {
            (before, update) = self.hidden.difference(before, update)?;
        }
        self.output.difference(before, update)?;
        Ok(())
    }

    /// Computes the batch's logits.
    pub(crate) fn forward(&mut self, kernel: Kernel, batch: Batch<'_>) -> Result<(), TensorError> {
        let rows = batch.rows;
        if let Checked::Text { text, context: len } = batch.examples {
            let width = self.embedding.width() * len;
            for (row, inputs) in self.inputs.chunks_exact_mut(width).take(rows).enumerate() {
                self.embedding
                    .forward(context(text, batch.start + row, len), inputs)?;
            }
        }
        let mut x = input(&self.inputs, &self.embedding, batch);
        if let Some(activation) = self.activation {
            let results = used(&mut self.activations, rows * self.hidden.width());
            self.hidden.forward(kernel, rows, x, results)?;
            activation.forward(results);
            x = rows_of(results, self.hidden.width());
        }
        let logits = used(&mut self.logits, rows * self.output.width());
        self.output.forward(kernel, rows, x, logits)
    }

    /// The predicted class of each row of the last forward pass.
    pub(crate) fn predictions(&self) -> impl Iterator<Item = usize> + '_ {
        let rows = self.logits.chunks_exact(self.output.width());
        rows.map(|row| softmax::argmax(row.get(..self.outputs).unwrap_or_default()))
    }

    /// One step of gradient descent on the batch's mean cross-entropy, from a forward pass on it.
    pub(crate) fn descend(
        &mut self,
        kernel: Kernel,
        batch: Batch<'_>,
        rate: f32,
    ) -> Result<(), TensorError> {
        let rows = batch.rows;
        let step = -(rate / rows as f32);
        let logits = used(&mut self.logits, rows * self.output.width());
        for (row, logits) in logits.chunks_exact_mut(self.output.width()).enumerate() {
            if let Some((real, padding)) = logits.split_at_mut_checked(self.outputs) {
                softmax::gradient(real, batch.examples.class(batch.start + row));
                padding.fill(0.0);
            }
        }
        let x = input(&self.inputs, &self.embedding, batch);
        let Some(activation) = self.activation else {
            return self.output.step(kernel, rows, x, logits, step);
        };

        // Every gradient by the parameters as they were: backwards first, then the steps.
        let results = used(&mut self.activations, rows * self.hidden.width());
        let by_results = used(&mut self.by_activations, rows * self.hidden.width());
        self.output.backward(kernel, rows, logits, by_results)?;
        activation.backward(results, by_results);
        let results = rows_of(results, self.hidden.width());
        self.output.step(kernel, rows, results, logits, step)?;

        if let Checked::Text { text, context: len } = batch.examples {
            let width = padded(self.embedding.width() * len);
            let by_inputs = used(&mut self.by_inputs, rows * width);
            self.hidden.backward(kernel, rows, by_results, by_inputs)?;
            for (row, gradient) in by_inputs.chunks_exact(width).enumerate() {
                let symbols = context(text, batch.start + row, len);
                self.embedding.step(symbols, gradient, step)?;
            }
        }
        self.hidden.step(kernel, rows, x, by_results, step)
    }
}

/// The first layer's input: embedded contexts, or the features where they are.
fn input<'a>(inputs: &'a [f32], embedding: &Embedding, batch: Batch<'a>) -> Left<'a> {
    match batch.examples {
        Checked::Text { context, .. } => rows_of(inputs, embedding.width() * context),
        Checked::Table { rows, features } => {
            let data = rows.get(batch.start * (features + 1)..).unwrap_or_default();
            rows_of(data, features + 1)
        }
    }
}

fn rows_of(data: &[f32], row: usize) -> Left<'_> {
    Left { data, row, step: 1 }
}

/// The part of a buffer that a batch uses; all of it if that is less.
fn used(buffer: &mut [f32], len: usize) -> &mut [f32] {
    let len = len.min(buffer.len());
    buffer.get_mut(..len).unwrap_or_default()
}
