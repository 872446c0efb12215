//! What a driver holds in place of client and private values.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use allocative::Allocative;
use siegel_program::{HistogramSpec, Kind, Released};
use siegel_tensor::Model;
use starlark::collections::StarlarkHasher;
use starlark::starlark_simple_value;
use starlark::values::float::UnpackFloat;
use starlark::values::{
    Heap, NoSerialize, ProvidesStaticType, StarlarkPagable, StarlarkValue, UnpackValue, Value,
    starlark_value,
};

use crate::fault::Tripwire;

/// All clients of a step: kind client. It holds nothing at all (I5: there is no raw handle), and
/// every question that Starlark can ask of it trips the wire.
#[derive(ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
pub(crate) struct Clients {
    #[starlark_pagable(skip)]
    pub(crate) wire: Tripwire,
}
starlark_simple_value!(Clients);

/// The noisy counts of a histogram: kind private. They are released-grade; still nothing prints
/// them for now.
#[derive(ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
pub(crate) struct NoisyCounts {
    #[starlark_pagable(skip)]
    pub(crate) wire: Tripwire,
    #[starlark_pagable(skip)]
    #[allocative(skip)]
    pub(crate) counts: Option<Arc<(HistogramSpec, Vec<i64>)>>,
}
starlark_simple_value!(NoisyCounts);

/// One noisy count: kind private.
#[derive(ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
pub(crate) struct NoisyCount {
    #[starlark_pagable(skip)]
    pub(crate) wire: Tripwire,
    pub(crate) count: i64,
}
starlark_simple_value!(NoisyCount);

/// What is to be released: kind private.
#[derive(ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
pub(crate) struct ReleaseValue {
    #[starlark_pagable(skip)]
    pub(crate) wire: Tripwire,
    #[starlark_pagable(skip)]
    #[allocative(skip)]
    pub(crate) released: Option<Arc<Released>>,
}
starlark_simple_value!(ReleaseValue);

/// Numbers, one per parameter of a model: kind private, or public before the first step. They may
/// be added, subtracted and scaled, elementwise in `f64`, and nothing prints them.
#[derive(ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
pub(crate) struct TensorValue {
    #[starlark_pagable(skip)]
    pub(crate) wire: Tripwire,
    #[starlark_pagable(skip)]
    #[allocative(skip)]
    values: Option<Arc<Vec<f64>>>,
}
starlark_simple_value!(TensorValue);

/// A model: kind public.
#[derive(Debug, Clone, ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
pub(crate) struct ModelValue {
    #[starlark_pagable(skip)]
    #[allocative(skip)]
    pub(crate) model: Option<Model>,
    /// Asset with its alphabet, if it is a text model.
    pub(crate) alphabet: Option<String>,
}
starlark_simple_value!(ModelValue);

/// The questions that none of these values answers.
macro_rules! silent {
    ($kind:expr) => {
        fn collect_repr(&self, collector: &mut String) {
            self.wire
                .trip($kind, "a text (print, str, repr, format, %, fail)");
            collector.push_str("<hidden>");
        }
        fn collect_repr_cycle(&self, collector: &mut String) {
            self.collect_repr(collector);
        }
        fn name_for_call_stack(&self, _me: Value<'v>) -> String {
            self.wire.trip($kind, "a call");
            "<hidden>".to_owned()
        }
        fn to_bool(&self) -> bool {
            self.wire
                .trip($kind, "a condition (if, and, or, not, bool)");
            false
        }
        fn write_hash(&self, _hasher: &mut StarlarkHasher) -> starlark::Result<()> {
            self.wire.refuse($kind, "a hash or a key")
        }
        fn equals(&self, _other: Value<'v>) -> starlark::Result<bool> {
            self.wire.refuse($kind, "a comparison with == or in")
        }
    };
}

#[starlark_value(type = "clients")]
impl<'v> StarlarkValue<'v> for Clients {
    silent!(Kind::Client);
    fn compare(&self, _other: Value<'v>) -> starlark::Result<Ordering> {
        self.wire.refuse(Kind::Client, "a comparison")
    }
    fn length(&self) -> starlark::Result<i32> {
        self.wire.refuse(Kind::Client, "len")
    }
    fn iterate_collect(&self, _heap: Heap<'v>) -> starlark::Result<Vec<Value<'v>>> {
        self.wire.refuse(Kind::Client, "a loop")
    }
    fn at(&self, _index: Value<'v>, _heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        self.wire.refuse(Kind::Client, "an index")
    }
}

#[starlark_value(type = "noisy_counts")]
impl<'v> StarlarkValue<'v> for NoisyCounts {
    silent!(Kind::Private);
    fn compare(&self, _other: Value<'v>) -> starlark::Result<Ordering> {
        self.wire
            .refuse(Kind::Private, "a comparison of all counts at once")
    }
    fn length(&self) -> starlark::Result<i32> {
        Ok(self.values().len() as i32)
    }
    fn iterate_collect(&self, heap: Heap<'v>) -> starlark::Result<Vec<Value<'v>>> {
        let one = |count: &i64| {
            heap.alloc(NoisyCount {
                wire: self.wire.clone(),
                count: *count,
            })
        };
        Ok(self.values().iter().map(one).collect())
    }
    fn at(&self, index: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let at = index.unpack_i32().and_then(|i| usize::try_from(i).ok());
        match at.and_then(|i| self.values().get(i)) {
            Some(&count) => Ok(heap.alloc(NoisyCount {
                wire: self.wire.clone(),
                count,
            })),
            None => Err(starlark::Error::new_other(OutOfRange)),
        }
    }
}

#[starlark_value(type = "noisy_count")]
impl<'v> StarlarkValue<'v> for NoisyCount {
    silent!(Kind::Private);
    /// `<` and `>` with a public integer or another noisy count: control flow on private values is
    /// allowed (I5). The noisy count stands on the left.
    fn compare(&self, other: Value<'v>) -> starlark::Result<Ordering> {
        let public = || other.unpack_i32().map(i64::from);
        match NoisyCount::from_value(other)
            .map(|o| o.count)
            .or_else(public)
        {
            Some(other) => Ok(self.count.cmp(&other)),
            None => self
                .wire
                .refuse(Kind::Private, "a comparison with something else"),
        }
    }
}

#[starlark_value(type = "release")]
impl<'v> StarlarkValue<'v> for ReleaseValue {
    silent!(Kind::Private);
}

#[starlark_value(type = "model")]
impl<'v> StarlarkValue<'v> for ModelValue {}

#[starlark_value(type = "tensor")]
impl<'v> StarlarkValue<'v> for TensorValue {
    silent!(Kind::Private);
    fn length(&self) -> starlark::Result<i32> {
        Ok(self.values().len() as i32)
    }
    fn compare(&self, _other: Value<'v>) -> starlark::Result<Ordering> {
        self.wire.refuse(Kind::Private, "a comparison of tensors")
    }
    fn minus(&self, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(heap.alloc(self.map(|x| -x)))
    }
    fn add(&self, other: Value<'v>, heap: Heap<'v>) -> Option<starlark::Result<Value<'v>>> {
        let sum = self.zip(other, |a, b| a + b)?;
        Some(sum.map(|sum| heap.alloc(sum)))
    }
    fn sub(&self, other: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let difference = self.zip(other, |a, b| a - b);
        let difference = difference.unwrap_or(Err(starlark::Error::new_other(NotATensor)));
        difference.map(|difference| heap.alloc(difference))
    }
    fn mul(&self, other: Value<'v>, heap: Heap<'v>) -> Option<starlark::Result<Value<'v>>> {
        let by = number(other)?;
        Some(Ok(heap.alloc(self.map(|x| x * by))))
    }
    fn rmul(&self, other: Value<'v>, heap: Heap<'v>) -> Option<starlark::Result<Value<'v>>> {
        self.mul(other, heap)
    }
    fn div(&self, other: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        match number(other) {
            Some(by) if by != 0.0 => Ok(heap.alloc(self.map(|x| x / by))),
            _ => Err(starlark::Error::new_other(NotANumber)),
        }
    }
}

impl TensorValue {
    pub(crate) fn new(wire: &Tripwire, values: Vec<f64>) -> Self {
        Self {
            wire: wire.clone(),
            values: Some(Arc::new(values)),
        }
    }

    pub(crate) fn values(&self) -> &[f64] {
        self.values
            .as_deref()
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Self::new(&self.wire, self.values().iter().map(|x| f(*x)).collect())
    }

    /// Elementwise with another tensor; `None` if it is none.
    fn zip(&self, other: Value<'_>, f: impl Fn(f64, f64) -> f64) -> Option<starlark::Result<Self>> {
        let other = Self::from_value(other)?;
        if other.values().len() != self.values().len() {
            return Some(Err(starlark::Error::new_other(OtherLength)));
        }
        let pairs = self.values().iter().zip(other.values());
        let values = pairs.map(|(a, b)| f(*a, *b)).collect();
        Some(Ok(Self::new(&self.wire, values)))
    }
}

fn number(value: Value<'_>) -> Option<f64> {
    let UnpackFloat(number) = UnpackFloat::unpack_value(value).ok().flatten()?;
    number.is_finite().then_some(number)
}

#[derive(Debug, thiserror::Error)]
#[error("a tensor can only be added to or subtracted from another tensor")]
struct NotATensor;

#[derive(Debug, thiserror::Error)]
#[error("a tensor can only be divided by a number other than 0")]
struct NotANumber;

#[derive(Debug, thiserror::Error)]
#[error("two tensors of different lengths")]
struct OtherLength;

impl NoisyCounts {
    pub(crate) fn new(wire: &Tripwire, spec: HistogramSpec, counts: Vec<i64>) -> Self {
        Self {
            wire: wire.clone(),
            counts: Some(Arc::new((spec, counts))),
        }
    }

    fn values(&self) -> &[i64] {
        self.counts
            .as_deref()
            .map(|(_, counts)| counts.as_slice())
            .unwrap_or_default()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("index out of range")]
struct OutOfRange;

/// `Debug` and `Display` are demanded by Starlark; they must not show a value either.
macro_rules! hidden {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("<hidden>")
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.wire.trip(Kind::Private, "a text");
                f.write_str("<hidden>")
            }
        }
    )*};
}
hidden!(Clients, NoisyCounts, NoisyCount, ReleaseValue, TensorValue);

impl fmt::Display for ModelValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.model)
    }
}
