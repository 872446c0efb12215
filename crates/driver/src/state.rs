//! The state between two calls: values with their kinds, as canonical JSON for checkpoints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use siegel_ident::json;
use siegel_program::{HistogramSpec, Kind, Plan};
use starlark::values::dict::{AllocDict, DictRef};
use starlark::values::list::{AllocList, ListRef};
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, UnpackValue, Value};

use crate::DriverError;
use crate::fault::Tripwire;
use crate::values::{Clients, NoisyCount, NoisyCounts, ReleaseValue, TensorValue};

const SCHEMA: &str = "siegel/driver-state/v1";
/// Longest state, in bytes.
const MAX_STATE: usize = 16 << 20;
const MAX_DEPTH: u32 = 16;

/// What a driver keeps. It goes through this form after every call, restarted or not, so that a
/// run that lost its root sees the same values as one that did not (I7): tuples become lists and
/// the keys of a dictionary are sorted. Released-grade, but no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    schema: String,
    value: Held,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Held {
    None,
    Bool(bool),
    Int(i64),
    Text(String),
    List(Vec<Held>),
    Dict(BTreeMap<String, Held>),
    /// Private. Hexadecimal, so that the size does not depend on the counts (I12).
    Counts {
        spec: HistogramSpec,
        hex: Vec<String>,
    },
    Count {
        hex: String,
    },
    /// Private. The bits of each `f64`, in hexadecimal: the size is that of the model (I12).
    Tensor {
        hex: String,
    },
}

impl State {
    /// The exact bytes for a checkpoint.
    pub fn to_bytes(&self) -> Result<Vec<u8>, DriverError> {
        let bytes = json::to_canonical(self).map_err(|e| DriverError::State(e.to_string()))?;
        if bytes.len() > MAX_STATE {
            Err(DriverError::StateSize)
        } else {
            Ok(bytes)
        }
    }

    /// Reads a checkpoint.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DriverError> {
        // The reason could quote a value; the bytes were sealed by us, so it helps nobody.
        let bad = || DriverError::State("not the canonical state of this version".to_owned());
        let state: Self = json::from_canonical(bytes, MAX_STATE).map_err(|_| bad())?;
        if state.schema == SCHEMA && state.value.fits() {
            Ok(state)
        } else {
            Err(bad())
        }
    }

    /// It is at most as long as every checkpoint of the plan (I12).
    pub(crate) fn check_size(&self, plan: &Plan) -> Result<(), DriverError> {
        let fits = self.to_bytes()?.len() as u64 <= plan.checkpoint_bytes;
        if fits {
            Ok(())
        } else {
            Err(DriverError::StateSize)
        }
    }

    pub(crate) fn read(value: Value<'_>) -> Result<Self, DriverError> {
        Ok(Self {
            schema: SCHEMA.into(),
            value: read(value, MAX_DEPTH)?,
        })
    }

    pub(crate) fn alloc<'v>(&self, heap: Heap<'v>, wire: &Tripwire) -> Value<'v> {
        alloc(&self.value, heap, wire)
    }
}

fn read(value: Value<'_>, depth: u32) -> Result<Held, DriverError> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(refuse("nested more than 16 deep"));
    };
    if value.is_none() {
        return Ok(Held::None);
    }
    if let Some(bool) = value.unpack_bool() {
        return Ok(Held::Bool(bool));
    }
    if let Some(int) = i64::unpack_value(value).ok().flatten() {
        let exact = int.unsigned_abs() < 1 << 53;
        return if exact {
            Ok(Held::Int(int))
        } else {
            Err(refuse("an integer of 2^53 or more"))
        };
    }
    if let Some(text) = value.unpack_str() {
        return Ok(Held::Text(text.to_owned()));
    }
    if Clients::from_value(value).is_some() {
        let (kind, attempt) = (Kind::Client, "a state or a return value");
        return Err(DriverError::Kind {
            kind,
            attempt,
            line: None,
        });
    }
    if let Some((spec, counts)) = NoisyCounts::from_value(value).and_then(|n| n.counts.as_deref()) {
        let hex = counts.iter().map(|count| to_hex(*count)).collect();
        return Ok(Held::Counts {
            spec: spec.clone(),
            hex,
        });
    }
    if let Some(noisy) = NoisyCount::from_value(value) {
        return Ok(Held::Count {
            hex: to_hex(noisy.count),
        });
    }
    if let Some(tensor) = TensorValue::from_value(value) {
        let hex = tensor.values().iter().map(|v| to_hex(v.to_bits() as i64));
        return Ok(Held::Tensor { hex: hex.collect() });
    }
    if ReleaseValue::from_value(value).is_some() {
        return Err(refuse("a release; return it from finish() or snapshot()"));
    }
    let items = ListRef::from_value(value).map(|list| list.content());
    if let Some(items) = items.or_else(|| TupleRef::from_value(value).map(|tuple| tuple.content()))
    {
        let held = items.iter().map(|item| read(*item, depth));
        return Ok(Held::List(held.collect::<Result<_, _>>()?));
    }
    if let Some(dict) = DictRef::from_value(value) {
        let pair = |(key, value): (Value<'_>, Value<'_>)| {
            let key = key
                .unpack_str()
                .ok_or_else(|| refuse("a dictionary key that is no string"))?;
            Ok((key.to_owned(), read(value, depth)?))
        };
        return Ok(Held::Dict(
            dict.iter().map(pair).collect::<Result<_, DriverError>>()?,
        ));
    }
    Err(refuse("a value of another type"))
}

fn alloc<'v>(held: &Held, heap: Heap<'v>, wire: &Tripwire) -> Value<'v> {
    match held {
        Held::None => Value::new_none(),
        Held::Bool(bool) => Value::new_bool(*bool),
        Held::Int(int) => heap.alloc(*int),
        Held::Text(text) => heap.alloc(text.as_str()),
        Held::List(items) => heap.alloc(AllocList(items.iter().map(|i| alloc(i, heap, wire)))),
        Held::Dict(pairs) => {
            let pairs = pairs
                .iter()
                .map(|(k, v)| (k.as_str(), alloc(v, heap, wire)));
            heap.alloc(AllocDict(pairs))
        }
        Held::Counts { spec, hex } => {
            let counts = hex.iter().filter_map(|hex| from_hex(hex)).collect();
            heap.alloc(NoisyCounts::new(wire, spec.clone(), counts))
        }
        Held::Count { hex } => {
            let count = from_hex(hex).unwrap_or_default();
            heap.alloc(NoisyCount {
                wire: wire.clone(),
                count,
            })
        }
        Held::Tensor { hex } => {
            let values = hexes(hex).filter_map(from_hex);
            let values = values.map(|bits| f64::from_bits(bits as u64));
            heap.alloc(TensorValue::new(wire, values.collect()))
        }
    }
}

impl Held {
    /// The parts that JSON's shape does not check.
    fn fits(&self) -> bool {
        match self {
            Self::None | Self::Bool(_) | Self::Int(_) | Self::Text(_) => true,
            Self::List(items) => items.iter().all(Self::fits),
            Self::Dict(pairs) => pairs.values().all(Self::fits),
            Self::Counts { spec, hex } => {
                hex.len() == spec.bins as usize && hex.iter().all(|hex| from_hex(hex).is_some())
            }
            Self::Count { hex } => from_hex(hex).is_some(),
            Self::Tensor { hex } => {
                hex.len().is_multiple_of(16) && hexes(hex).all(|hex| from_hex(hex).is_some())
            }
        }
    }
}

fn to_hex(count: i64) -> String {
    format!("{:016x}", count as u64)
}

/// Sixteen digits at a time; a text that is not ASCII gives a piece that does not read.
fn hexes(hex: &str) -> impl Iterator<Item = &str> {
    (0..hex.len())
        .step_by(16)
        .map(|at| hex.get(at..at + 16).unwrap_or_default())
}

fn from_hex(hex: &str) -> Option<i64> {
    let plain = hex.len() == 16 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    plain
        .then(|| u64::from_str_radix(hex, 16).ok())
        .flatten()
        .map(|bits| bits as i64)
}

fn refuse(what: &str) -> DriverError {
    DriverError::Form {
        line: None,
        what: format!("the state holds {what}"),
    }
}
