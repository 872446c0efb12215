//! What a model is trained on, checked once.

use crate::TensorError;
use crate::model::{Classifier, Model, NextChar};

/// One unit's examples, in the order in which they are used.
pub enum Examples<'a> {
    /// A text for a next-char model: every byte is a symbol below the alphabet's size. Each position
    /// is an example, the first ones with a context filled up with symbol 0.
    Symbols(&'a [u8]),
    /// Rows for a classifier, row-major: the features and then the class, a whole number.
    Rows(&'a [f32]),
}

/// Examples that fit their model.
#[derive(Clone, Copy)]
pub(crate) enum Checked<'a> {
    Text { text: &'a [u8], context: usize },
    Table { rows: &'a [f32], features: usize },
}

impl<'a> Checked<'a> {
    /// Refuses another kind, a symbol or class out of range, a row cut short. Features may be any
    /// numbers, NaN as well.
    pub(crate) fn new(model: &Model, examples: &Examples<'a>) -> Result<Self, TensorError> {
        match (model, examples) {
            (Model::NextChar(model), Examples::Symbols(text)) => Self::text(model, text),
            (Model::Classifier(model), Examples::Rows(rows)) => Self::table(model, rows),
            _ => Err(TensorError::Kind),
        }
    }

    fn text(model: &NextChar, text: &'a [u8]) -> Result<Self, TensorError> {
        if text
            .iter()
            .any(|&symbol| u32::from(symbol) >= model.alphabet)
        {
            return Err(TensorError::Symbol);
        }
        let context = model.context as usize;
        Ok(Checked::Text { text, context })
    }

    fn table(model: &Classifier, rows: &'a [f32]) -> Result<Self, TensorError> {
        let features = model.features as usize;
        if !rows.len().is_multiple_of(features + 1) {
            return Err(TensorError::Columns);
        }
        let classes = model.classes as f32;
        let fits = |class: f32| class >= 0.0 && class < classes && class as u32 as f32 == class;
        let mut last = rows.iter().skip(features).step_by(features + 1);
        if !last.all(|&class| fits(class)) {
            return Err(TensorError::Class);
        }
        Ok(Checked::Table { rows, features })
    }

    /// How many examples there are.
    pub(crate) fn len(self) -> usize {
        match self {
            Checked::Text { text, .. } => text.len(),
            Checked::Table { rows, features } => rows.len() / (features + 1),
        }
    }

    /// The right answer of example `at`.
    pub(crate) fn class(self, at: usize) -> usize {
        match self {
            Checked::Text { text, .. } => text.get(at).map_or(0, |&symbol| usize::from(symbol)),
            Checked::Table { rows, features } => rows
                .get(at * (features + 1) + features)
                .map_or(0, |&class| class as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_that_do_not_fit_are_refused() {
        let text = Model::NextChar(NextChar {
            alphabet: 5,
            context: 2,
            embedding: 1,
            hidden: 1,
        });
        let rows = Model::Classifier(Classifier {
            features: 2,
            hidden: 0,
            classes: 3,
        });
        fn check(model: &Model, examples: Examples<'_>) -> Result<usize, TensorError> {
            Checked::new(model, &examples).map(Checked::len)
        }
        use Examples::{Rows, Symbols};
        assert_eq!(check(&text, Symbols(&[0, 4])), Ok(2));
        assert_eq!(check(&text, Symbols(&[0, 5])), Err(TensorError::Symbol));
        assert_eq!(check(&text, Rows(&[])), Err(TensorError::Kind));
        assert_eq!(check(&rows, Symbols(&[])), Err(TensorError::Kind));
        assert_eq!(check(&rows, Rows(&[])), Ok(0));
        assert_eq!(check(&rows, Rows(&[f32::NAN, f32::INFINITY, 2.0])), Ok(1));
        assert_eq!(check(&rows, Rows(&[0.5, 0.5])), Err(TensorError::Columns));
        for class in [3.0, -1.0, 0.5, f32::NAN, f32::INFINITY, 1e38, 4.3e9, 1e-40] {
            let row = [0.5, 0.5, class];
            assert_eq!(check(&rows, Rows(&row)), Err(TensorError::Class), "{class}");
        }
    }
}
