//! A dense layer: y = x · W + b.

use crate::TensorError;
use crate::buffer::Buffer;
use crate::kernel::{Kernel, Left, Size, padded};

/// Working copy of one layer's parameters, rows padded to 8.
#[derive(Default)]
pub(crate) struct Dense {
    inputs: usize,
    outputs: usize,
    /// inputs × padded outputs. What stands in the padding never reaches a real number.
    weight: Buffer,
    /// padded outputs.
    bias: Buffer,
    /// outputs × padded inputs, for the gradient of the input.
    transposed: Buffer,
    /// padded outputs: sums over a batch.
    sums: Buffer,
}

impl Dense {
    /// Takes its parameters from the front of the flat vector, weights row-major and then biases.
    /// Returns the rest.
    pub(crate) fn load<'a>(
        &mut self,
        inputs: usize,
        outputs: usize,
        params: &'a [f32],
    ) -> Result<&'a [f32], TensorError> {
        let width = padded(outputs);
        (self.inputs, self.outputs) = (inputs, outputs);
        self.weight.resize(inputs * width);
        self.weight.fill(0.0);
        self.bias.resize(width);
        self.bias.fill(0.0);
        self.sums.resize(width);
        self.transposed.resize(outputs * padded(inputs));
        self.transposed.fill(0.0);

        let (weight, rest) = split(params, inputs * outputs)?;
        let rows = self.weight.chunks_exact_mut(width);
        for (to, from) in rows.zip(weight.chunks_exact(outputs)) {
            copy(to, from);
        }
        let (bias, rest) = split(rest, outputs)?;
        copy(&mut self.bias, bias);
        Ok(rest)
    }

    /// Writes now − before to the front of `update`; the slices are laid out as in `load`. Returns the
    /// rests of both.
    pub(crate) fn difference<'a, 'b>(
        &self,
        before: &'a [f32],
        update: &'b mut [f32],
    ) -> Result<(&'a [f32], &'b mut [f32]), TensorError> {
        let (weight, before) = split(before, self.inputs * self.outputs)?;
        let (bias, before) = split(before, self.outputs)?;
        let (to_weight, update) = split_mut(update, self.inputs * self.outputs)?;
        let (to_bias, update) = split_mut(update, self.outputs)?;
        let width = padded(self.outputs);
        let rows = to_weight.chunks_exact_mut(self.outputs);
        let rows = rows.zip(weight.chunks_exact(self.outputs));
        for ((to, before), now) in rows.zip(self.weight.chunks_exact(width)) {
            subtract(to, now, before);
        }
        subtract(to_bias, &self.bias, bias);
        Ok((before, update))
    }

    /// Length of a row of its results.
    pub(crate) fn width(&self) -> usize {
        padded(self.outputs)
    }

    /// out ← x · W + b, for `rows` rows; `out` is rows × padded outputs.
    pub(crate) fn forward(
        &self,
        kernel: Kernel,
        rows: usize,
        x: Left<'_>,
        out: &mut [f32],
    ) -> Result<(), TensorError> {
        for row in out.chunks_exact_mut(self.width()).take(rows) {
            copy(row, &self.bias);
        }
        let size = Size {
            rows,
            depth: self.inputs,
            columns: self.width(),
        };
        kernel.multiply(size, x, &self.weight, 1.0, out)
    }

    /// out ← g · Wᵀ: the loss's gradient by the input, from that by the result. `out` is rows ×
    /// padded inputs.
    pub(crate) fn backward(
        &mut self,
        kernel: Kernel,
        rows: usize,
        gradient: &[f32],
        out: &mut [f32],
    ) -> Result<(), TensorError> {
        let columns = padded(self.inputs);
        for (input, row) in self.weight.chunks_exact(self.width()).enumerate() {
            let column = self.transposed.iter_mut().skip(input).step_by(columns);
            column.zip(row).for_each(|(to, from)| *to = *from);
        }
        let size = Size {
            rows,
            depth: self.outputs,
            columns,
        };
        let left = Left {
            data: gradient,
            row: self.width(),
            step: 1,
        };
        out.fill(0.0);
        kernel.multiply(size, left, &self.transposed, 1.0, out)
    }

    /// W ← W + step · xᵀ · g and b ← b + step · Σ g over the rows, in order.
    pub(crate) fn step(
        &mut self,
        kernel: Kernel,
        rows: usize,
        x: Left<'_>,
        gradient: &[f32],
        step: f32,
    ) -> Result<(), TensorError> {
        let width = self.width();
        let size = Size {
            rows: self.inputs,
            depth: rows,
            columns: width,
        };
        let transposed = Left {
            data: x.data,
            row: x.step,
            step: x.row,
        };
        kernel.multiply(size, transposed, gradient, step, &mut self.weight)?;
        self.sums.fill(0.0);
        for row in gradient.chunks_exact(width).take(rows) {
            add(&mut self.sums, row, 1.0);
        }
        add(&mut self.bias, &self.sums, step);
        Ok(())
    }
}

/// The first `len` numbers and the rest.
pub(crate) fn split(numbers: &[f32], len: usize) -> Result<(&[f32], &[f32]), TensorError> {
    numbers.split_at_checked(len).ok_or(TensorError::Layout)
}

/// The same, to write to.
pub(crate) fn split_mut(
    numbers: &mut [f32],
    len: usize,
) -> Result<(&mut [f32], &mut [f32]), TensorError> {
    numbers.split_at_mut_checked(len).ok_or(TensorError::Layout)
}

/// The numbers that both have.
pub(crate) fn copy(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

/// to ← now − before.
pub(crate) fn subtract(to: &mut [f32], now: &[f32], before: &[f32]) {
    let both = now.iter().zip(before);
    to.iter_mut()
        .zip(both)
        .for_each(|(to, (now, before))| *to = now - before);
}

/// to ← to + step · from.
pub(crate) fn add(to: &mut [f32], from: &[f32], step: f32) {
    to.iter_mut()
        .zip(from)
        .for_each(|(to, from)| *to += step * from);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::check::{close, gradient, numbers, wide};

    const ROWS: usize = 7;
    const INPUTS: usize = 5;
    const OUTPUTS: usize = 11;

    /// Σ c · (x · W + b).
    fn loss(x: &[f64], params: &[f64], c: &[f64]) -> f64 {
        let mut sum = 0.0;
        for r in 0..ROWS {
            for o in 0..OUTPUTS {
                let mut y = params[INPUTS * OUTPUTS + o];
                for i in 0..INPUTS {
                    y += x[r * INPUTS + i] * params[i * OUTPUTS + o];
                }
                sum += c[r * OUTPUTS + o] * y;
            }
        }
        sum
    }

    fn rows<'a>(x: &'a [f32], row: usize) -> Left<'a> {
        Left {
            data: x,
            row,
            step: 1,
        }
    }

    #[test]
    fn gradients_agree_with_differences() {
        let kernel = Kernel::new().unwrap();
        let x = numbers(ROWS * INPUTS, 1);
        let params = numbers(INPUTS * OUTPUTS + OUTPUTS, 2);
        let c = numbers(ROWS * OUTPUTS, 3);
        let width = padded(OUTPUTS);
        // Rubbish in the padding of the gradient must not reach a real number.
        let mut g = vec![1e30; ROWS * width];
        for (to, from) in g.chunks_mut(width).zip(c.chunks(OUTPUTS)) {
            copy(to, from);
        }
        let mut layer = Dense::default();
        assert!(layer.load(INPUTS, OUTPUTS, &params).unwrap().is_empty());

        let mut out = vec![9.0; ROWS * width];
        layer
            .forward(kernel, ROWS, rows(&x, INPUTS), &mut out)
            .unwrap();
        let total: f64 = out
            .chunks(width)
            .flat_map(|row| &row[..OUTPUTS])
            .zip(&c)
            .map(|(y, c)| f64::from(*y) * f64::from(*c))
            .sum();
        assert!((total - loss(&wide(&x), &wide(&params), &wide(&c))).abs() < 1e-5);

        let mut by_input = vec![9.0; ROWS * padded(INPUTS)];
        layer.backward(kernel, ROWS, &g, &mut by_input).unwrap();
        let ours: Vec<f32> = by_input
            .chunks(padded(INPUTS))
            .flat_map(|row| row[..INPUTS].to_vec())
            .collect();
        close(
            &ours,
            &gradient(&wide(&x), |x| loss(x, &wide(&params), &wide(&c))),
        );

        let mut ours = vec![0.0; params.len()];
        layer
            .step(kernel, ROWS, rows(&x, INPUTS), &g, -0.5)
            .unwrap();
        layer.difference(&params, &mut ours).unwrap();
        ours.iter_mut().for_each(|x| *x /= -0.5);
        close(
            &ours,
            &gradient(&wide(&params), |p| loss(&wide(&x), p, &wide(&c))),
        );
    }

    #[test]
    fn buffers_of_another_size_are_refused() {
        let kernel = Kernel::new().unwrap();
        let params = numbers(INPUTS * OUTPUTS + OUTPUTS, 2);
        let mut layer = Dense::default();
        assert!(layer.load(INPUTS, OUTPUTS, &params[1..]).is_err());
        layer.load(INPUTS, OUTPUTS, &params).unwrap();
        let x = numbers(ROWS * INPUTS, 1);
        let mut out = vec![0.0; ROWS * padded(OUTPUTS)];
        let short = rows(&x[1..], INPUTS);
        let refused = Err(TensorError::Layout);
        assert_eq!(layer.forward(kernel, ROWS, short, &mut out), refused);
        let whole = rows(&x, INPUTS);
        assert_eq!(layer.forward(kernel, ROWS, whole, &mut out[1..]), refused);
        assert_eq!(layer.forward(kernel, ROWS, whole, &mut out), Ok(()));
    }
}
