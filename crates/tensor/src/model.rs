//! The built-in models and their parameters.
//!
//! A model is public data: it stands in the program and its digest is registered (I2). Its
//! parameters are one flat vector of `f32`, tensor after tensor, each row-major.

use serde::{Deserialize, Serialize};

use crate::TensorError;

/// Most parameters of a model.
pub const MAX_DIMENSION: u128 = 1 << 20;

/// A built-in model. As JSON: `{"next-char":{"alphabet":63,"context":4,…}}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Model {
    /// Predicts the next symbol of a text.
    NextChar(NextChar),
    /// Predicts the class of a row.
    Classifier(Classifier),
}

/// Predicts a symbol from the `context` symbols before it.
///
/// Embedding \[alphabet, embedding\], the context's embeddings side by side, dense to `hidden`, tanh,
/// dense to `alphabet`, softmax. Before the start of a text there are symbols 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NextChar {
    /// Symbols, 2 to 256; a text's bytes are below it.
    pub alphabet: u32,
    /// Symbols that are looked at, 1 to 64.
    pub context: u32,
    /// Numbers per embedded symbol, 1 to 1,024.
    pub embedding: u32,
    /// Width of the hidden layer, 1 to 4,096.
    pub hidden: u32,
}

/// Predicts one of `classes` from `features` numbers: dense, relu, dense, softmax.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Classifier {
    /// Numbers per row, 1 to 65,536.
    pub features: u32,
    /// Width of the hidden layer, at most 4,096; 0 is none: logistic regression.
    pub hidden: u32,
    /// Classes, 2 to 4,096.
    pub classes: u32,
}

/// One tensor of the flat vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorShape {
    /// Its name in a released model.
    pub name: &'static str,
    /// Its shape; row-major.
    pub shape: Vec<usize>,
}

impl TensorShape {
    /// How many numbers it has.
    pub fn len(&self) -> usize {
        self.shape
            .iter()
            .fold(1, |product, &n| product.saturating_mul(n))
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Model {
    /// Checks every field's range and that there are at most 2²⁰ parameters.
    pub fn check(&self) -> Result<(), TensorError> {
        match self {
            Model::NextChar(model) => {
                within("alphabet", model.alphabet, 2, 256)?;
                within("context", model.context, 1, 64)?;
                within("embedding", model.embedding, 1, 1024)?;
                within("hidden", model.hidden, 1, 4096)?;
            }
            Model::Classifier(model) => {
                within("features", model.features, 1, 65_536)?;
                within("hidden", model.hidden, 0, 4096)?;
                within("classes", model.classes, 2, 4096)?;
            }
        }
        // Within the bounds above nothing comes near 2⁶⁴.
        let found = self.dimension() as u128;
        if found > MAX_DIMENSION {
            let max = MAX_DIMENSION;
            return Err(TensorError::Dimension { found, max });
        }
        Ok(())
    }

    /// Number of parameters: length of the flat vector. Saturates where [`Model::check`] refuses.
    pub fn dimension(&self) -> usize {
        self.tensors()
            .iter()
            .fold(0, |sum, tensor| sum.saturating_add(tensor.len()))
    }

    /// The tensors, in the order of the flat vector.
    pub fn tensors(&self) -> Vec<TensorShape> {
        let tensor = |name, shape: &[u32]| TensorShape {
            name,
            shape: shape.iter().map(|&n| n as usize).collect(),
        };
        match *self {
            Model::NextChar(model) => {
                let inputs = model.context.saturating_mul(model.embedding);
                vec![
                    tensor("embedding", &[model.alphabet, model.embedding]),
                    tensor("hidden.weight", &[inputs, model.hidden]),
                    tensor("hidden.bias", &[model.hidden]),
                    tensor("output.weight", &[model.hidden, model.alphabet]),
                    tensor("output.bias", &[model.alphabet]),
                ]
            }
            Model::Classifier(model) if model.hidden == 0 => vec![
                tensor("output.weight", &[model.features, model.classes]),
                tensor("output.bias", &[model.classes]),
            ],
            Model::Classifier(model) => vec![
                tensor("hidden.weight", &[model.features, model.hidden]),
                tensor("hidden.bias", &[model.hidden]),
                tensor("output.weight", &[model.hidden, model.classes]),
                tensor("output.bias", &[model.classes]),
            ],
        }
    }
}

/// A field within its range, or which one is not.
pub(crate) fn within(
    field: &'static str,
    found: u32,
    min: u32,
    max: u32,
) -> Result<(), TensorError> {
    if (min..=max).contains(&found) {
        Ok(())
    } else {
        Err(TensorError::Field {
            field,
            found,
            min,
            max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) const NEXT_CHAR: Model = Model::NextChar(NextChar {
        alphabet: 63,
        context: 4,
        embedding: 8,
        hidden: 32,
    });

    #[test]
    fn json_is_tagged_and_strict() {
        let text = r#"{"next-char":{"alphabet":63,"context":4,"embedding":8,"hidden":32}}"#;
        assert_eq!(serde_json::from_str::<Model>(text).unwrap(), NEXT_CHAR);
        assert_eq!(serde_json::to_string(&NEXT_CHAR).unwrap(), text);
        for bad in [
            r#"{"next-char":{"alphabet":63,"context":4,"embedding":8,"hidden":32,"more":1}}"#,
            r#"{"next-char":{"alphabet":63,"context":4,"embedding":8}}"#,
            r#"{"next-char":{"alphabet":-1,"context":4,"embedding":8,"hidden":32}}"#,
            r#"{"NextChar":{"alphabet":63,"context":4,"embedding":8,"hidden":32}}"#,
        ] {
            assert!(serde_json::from_str::<Model>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn dimensions_are_the_published_ones() {
        let classifier = |hidden| {
            Model::Classifier(Classifier {
                features: 784,
                hidden,
                classes: 10,
            })
        };
        assert_eq!(NEXT_CHAR.dimension(), 3_639);
        assert_eq!(classifier(0).dimension(), 7_850);
        assert_eq!(classifier(64).dimension(), 50_890);
        for model in [NEXT_CHAR, classifier(0), classifier(64)] {
            assert_eq!(model.check(), Ok(()));
        }
    }

    #[test]
    fn fields_out_of_range_are_named() {
        let field = |model: Model| match model.check() {
            Err(TensorError::Field { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        let next = |alphabet, context, embedding, hidden| {
            Model::NextChar(NextChar {
                alphabet,
                context,
                embedding,
                hidden,
            })
        };
        assert_eq!(field(next(257, 4, 8, 32)), "alphabet");
        assert_eq!(field(next(1, 4, 8, 32)), "alphabet");
        assert_eq!(field(next(63, 0, 8, 32)), "context");
        assert_eq!(field(next(63, 4, u32::MAX, 32)), "embedding");
        assert_eq!(field(next(63, 4, 8, 0)), "hidden");
        let rows = |features, hidden, classes| {
            Model::Classifier(Classifier {
                features,
                hidden,
                classes,
            })
        };
        assert_eq!(field(rows(0, 0, 10)), "features");
        assert_eq!(field(rows(784, 4097, 10)), "hidden");
        assert_eq!(field(rows(784, 0, 1)), "classes");
        // In range one by one, too many together.
        let wide = rows(65_536, 16, 10);
        let found = wide.dimension() as u128;
        let max = MAX_DIMENSION;
        assert_eq!(found, 65_536 * 16 + 16 + 160 + 10);
        assert_eq!(wide.check(), Err(TensorError::Dimension { found, max }));
        // Unchecked nonsense saturates.
        assert_eq!(
            next(u32::MAX, u32::MAX, u32::MAX, u32::MAX).dimension(),
            usize::MAX
        );
    }
}
