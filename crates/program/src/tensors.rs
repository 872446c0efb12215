//! Released model parameters and their safetensors file: same bytes, same size (I7, I12).

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};

use crate::ProgramError;

const DOCUMENT: &str = "tensors";

/// Named arrays, in the order of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensors {
    /// Name of the release, kebab-case.
    pub name: String,
    /// The arrays.
    pub tensors: Vec<Tensor>,
}

/// One array.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Its name in the model.
    pub name: String,
    /// Its shape.
    pub shape: Vec<u32>,
    /// Row-major.
    pub values: Vec<f32>,
}

impl Tensors {
    /// Cuts a model's flat parameters into its tensors; their number must be the model's.
    pub fn of(
        name: &str,
        model: &siegel_tensor::Model,
        params: &[f32],
    ) -> Result<Self, ProgramError> {
        let mut left = params;
        let mut tensors = Vec::new();
        for shape in model.tensors() {
            let count: usize = shape.shape.iter().product();
            let values = left.split_off(..count);
            let values = values.ok_or_else(|| wrong("fewer parameters than the model has"))?;
            let dims = shape.shape.iter().map(|&dim| u32::try_from(dim));
            tensors.push(Tensor {
                name: shape.name.to_owned(),
                shape: dims
                    .collect::<Result<_, _>>()
                    .map_err(|_| wrong("a shape"))?,
                values: values.to_vec(),
            });
        }
        match left {
            [] => Ok(Self {
                name: name.to_owned(),
                tensors,
            }),
            _ => Err(wrong("more parameters than the model has")),
        }
    }

    /// All values, one tensor after the other.
    pub fn flat(&self) -> Vec<f32> {
        let values = self.tensors.iter().map(|tensor| tensor.values.as_slice());
        values.collect::<Vec<_>>().concat()
    }

    /// Name and shape of each.
    pub fn shapes(&self) -> Vec<(String, Vec<u32>)> {
        let shape = |tensor: &Tensor| (tensor.name.clone(), tensor.shape.clone());
        self.tensors.iter().map(shape).collect()
    }

    /// The file. Its length depends on names and shapes alone.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, ProgramError> {
        let bytes: Vec<(Vec<usize>, Vec<u8>)> = self.tensors.iter().map(raw).collect();
        let mut views = Vec::with_capacity(bytes.len());
        for (tensor, (shape, data)) in self.tensors.iter().zip(&bytes) {
            let view = TensorView::new(Dtype::F32, shape.clone(), data);
            views.push((
                tensor.name.as_str(),
                view.map_err(|e| wrong(&e.to_string()))?,
            ));
        }
        serialize(views, None).map_err(|e| wrong(&e.to_string()))
    }

    /// Reads the file back, with the tensors in the order of `model`. The name is not in it.
    pub fn from_safetensors(
        name: &str,
        model: &siegel_tensor::Model,
        bytes: &[u8],
    ) -> Result<Self, ProgramError> {
        let file = SafeTensors::deserialize(bytes).map_err(|e| wrong(&e.to_string()))?;
        let mut params = Vec::with_capacity(model.dimension());
        let expected = model.tensors();
        if file.len() != expected.len() {
            return Err(wrong("another number of tensors than the model has"));
        }
        for shape in expected {
            let view = file.tensor(shape.name).map_err(|e| wrong(&e.to_string()))?;
            if view.dtype() != Dtype::F32 || view.shape() != shape.shape {
                return Err(wrong("a tensor of another type or shape than the model's"));
            }
            let (fours, _) = view.data().as_chunks::<4>();
            params.extend(fours.iter().map(|four| f32::from_le_bytes(*four)));
        }
        Self::of(name, model, &params)
    }
}

fn raw(tensor: &Tensor) -> (Vec<usize>, Vec<u8>) {
    let shape = tensor.shape.iter().map(|&dim| dim as usize).collect();
    let bytes = tensor.values.iter().flat_map(|value| value.to_le_bytes());
    (shape, bytes.collect())
}

fn wrong(what: &str) -> ProgramError {
    ProgramError::invalid(DOCUMENT, what)
}
