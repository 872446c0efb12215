//! A row of numbers for every symbol.

use crate::TensorError;
use crate::buffer::Buffer;
use crate::layers::dense::{add, copy, split, split_mut, subtract};

/// Working copy of the rows, without padding.
#[derive(Default)]
pub(crate) struct Embedding {
    width: usize,
    rows: Buffer,
}

/// The symbols before position `at` of a text, oldest first; before the start there are zeros.
pub(crate) fn context(text: &[u8], at: usize, len: usize) -> impl Iterator<Item = usize> + '_ {
    (0..len).map(move |place| {
        let symbol = (at + place).checked_sub(len).and_then(|i| text.get(i));
        usize::from(symbol.copied().unwrap_or(0))
    })
}

impl Embedding {
    /// Takes its parameters from the front of the flat vector, row-major. Returns the rest.
    pub(crate) fn load<'a>(
        &mut self,
        symbols: usize,
        width: usize,
        params: &'a [f32],
    ) -> Result<&'a [f32], TensorError> {
        let (rows, rest) = split(params, symbols * width)?;
        self.width = width;
        self.rows.resize(rows.len());
        copy(&mut self.rows, rows);
        Ok(rest)
    }

    /// Writes now − before to the front of `update`. Returns the rests of both.
    pub(crate) fn difference<'a, 'b>(
        &self,
        before: &'a [f32],
        update: &'b mut [f32],
    ) -> Result<(&'a [f32], &'b mut [f32]), TensorError> {
        let (before, rest) = split(before, self.rows.len())?;
        let (update, update_rest) = split_mut(update, self.rows.len())?;
        subtract(update, &self.rows, before);
        Ok((rest, update_rest))
    }

    /// Numbers per symbol.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// out ← the rows of these symbols, one after the other.
    pub(crate) fn forward(
        &self,
        symbols: impl Iterator<Item = usize>,
        out: &mut [f32],
    ) -> Result<(), TensorError> {
        for (symbol, out) in symbols.zip(out.chunks_exact_mut(self.width)) {
            let start = symbol * self.width;
            let row = self.rows.get(start..start + self.width);
            copy(out, row.ok_or(TensorError::Symbol)?);
        }
        Ok(())
    }

    /// Adds step · gradient to the rows of these symbols, one after the other.
    pub(crate) fn step(
        &mut self,
        symbols: impl Iterator<Item = usize>,
        gradient: &[f32],
        step: f32,
    ) -> Result<(), TensorError> {
        for (symbol, gradient) in symbols.zip(gradient.chunks_exact(self.width)) {
            let start = symbol * self.width;
            let row = self.rows.get_mut(start..start + self.width);
            add(row.ok_or(TensorError::Symbol)?, gradient, step);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::check::{close, gradient, numbers, wide};

    #[test]
    fn contexts_begin_with_zeros() {
        let of = |at| context(&[7, 8, 9], at, 2).collect::<Vec<_>>();
        assert_eq!([of(0), of(1), of(2)], [[0, 0], [0, 7], [7, 8]]);
    }

    /// The same symbol twice in one context gets both gradients.
    #[test]
    fn gradient_agrees_with_differences() {
        const WIDTH: usize = 3;
        let symbols = [4usize, 1, 4, 0];
        let params = numbers(5 * WIDTH, 1);
        let c = numbers(symbols.len() * WIDTH, 2);
        let mut layer = Embedding::default();
        assert!(layer.load(5, WIDTH, &params).unwrap().is_empty());
        let mut out = vec![0.0; c.len()];
        layer.forward(symbols.into_iter(), &mut out).unwrap();
        assert_eq!(out[..WIDTH], params[4 * WIDTH..]);
        assert_eq!(out[WIDTH..2 * WIDTH], params[WIDTH..2 * WIDTH]);

        layer.step(symbols.into_iter(), &c, -1.0).unwrap();
        let mut ours = vec![0.0; params.len()];
        layer.difference(&params, &mut ours).unwrap();
        ours.iter_mut().for_each(|x| *x = -*x);
        let c = wide(&c);
        let theirs = gradient(&wide(&params), |params| {
            let rows = symbols
                .iter()
                .flat_map(|&s| &params[s * WIDTH..(s + 1) * WIDTH]);
            rows.zip(&c).map(|(x, c)| x * c).sum()
        });
        close(&ours, &theirs);
    }
}
