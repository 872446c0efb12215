//! What a reference value says about one field. There is no default: a field that is not named does not parse.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// A rule for one field of evidence. In TOML: `{ exact = … }`, `{ any_of = […] }`, `{ at_least = … }`,
/// `{ ignore = "why" }`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule<T> {
    /// Equal to this.
    Exact(T),
    /// Equal to one of these; never empty.
    AnyOf(Vec<T>),
    /// This or more. Only for fields that have an order ([`Field::ORDERED`]).
    AtLeast(T),
    /// Anything, for a stated reason; never an empty one.
    Ignore(String),
}

/// A type that a rule can be about.
pub trait Field: Clone + PartialEq + fmt::Display {
    /// Whether "at least" means something.
    const ORDERED: bool;

    /// `self ≥ least`. Never asked where [`Field::ORDERED`] is false.
    fn at_least(&self, least: &Self) -> bool;
}

/// Why a rule does not parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// `any_of = []` would refuse everything, silently.
    #[error("any_of lists nothing: name the accepted values, or use ignore with a reason")]
    Empty,
    /// A field without an order.
    #[error("at_least is for versions and numbers: this field has no order; use exact or any_of")]
    NoOrder,
    /// An unchecked field without a reason.
    #[error("ignore needs a reason: say why this field may be anything")]
    NoReason,
    /// A reference value that nobody can speak of.
    #[error("the name is empty: say what guest this is")]
    NoName,
}

/// Reads the name of a reference value.
pub(crate) fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    match name.trim().is_empty() {
        true => Err(serde::de::Error::custom(RuleError::NoName)),
        false => Ok(name),
    }
}

impl<T: Field> Rule<T> {
    /// Whether `found` satisfies the rule.
    pub fn allows(&self, found: &T) -> bool {
        match self {
            Self::Exact(value) => found == value,
            Self::AnyOf(values) => values.contains(found),
            Self::AtLeast(least) => T::ORDERED && found.at_least(least),
            Self::Ignore(_) => true,
        }
    }

    /// A rule that means what it says.
    ///
    /// # Errors
    /// [`RuleError`] for a rule that nobody means.
    pub fn check(&self) -> Result<(), RuleError> {
        match self {
            Self::AnyOf(values) if values.is_empty() => Err(RuleError::Empty),
            Self::AtLeast(_) if !T::ORDERED => Err(RuleError::NoOrder),
            Self::Ignore(reason) if reason.trim().is_empty() => Err(RuleError::NoReason),
            _ => Ok(()),
        }
    }
}

impl<T: Field> fmt::Display for Rule<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(value) => write!(f, "exactly {value}"),
            Self::AnyOf(values) => {
                f.write_str("one of ")?;
                for (i, value) in values.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{value}")?;
                }
                Ok(())
            }
            Self::AtLeast(least) => write!(f, "at least {least}"),
            Self::Ignore(reason) => write!(f, "anything ({reason})"),
        }
    }
}

impl<'de, T: Field + Deserialize<'de>> Deserialize<'de> for Rule<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case", rename = "Rule")]
        enum Written<T> {
            Exact(T),
            AnyOf(Vec<T>),
            AtLeast(T),
            Ignore(String),
        }
        let rule = match Written::deserialize(deserializer)? {
            Written::Exact(value) => Self::Exact(value),
            Written::AnyOf(values) => Self::AnyOf(values),
            Written::AtLeast(least) => Self::AtLeast(least),
            Written::Ignore(reason) => Self::Ignore(reason),
        };
        rule.check().map_err(serde::de::Error::custom)?;
        Ok(rule)
    }
}

macro_rules! ordered {
    ($($t:ty),*) => {$(
        impl Field for $t {
            const ORDERED: bool = true;
            fn at_least(&self, least: &Self) -> bool {
                self >= least
            }
        }
    )*};
}
ordered!(u8, u16, u32, u64);

impl Field for bool {
    const ORDERED: bool = false;
    fn at_least(&self, _: &Self) -> bool {
        false
    }
}

impl Field for String {
    const ORDERED: bool = false;
    fn at_least(&self, _: &Self) -> bool {
        false
    }
}

/// `N` bytes, written in lower-case hexadecimal. To a rule they have no order ([`Field::ORDERED`]); `Ord` sorts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hex<const N: usize>(pub [u8; N]);

impl<const N: usize> Hex<N> {
    /// Whether all bytes are zero.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|byte| *byte == 0)
    }
}

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<const N: usize> Field for Hex<N> {
    const ORDERED: bool = false;
    fn at_least(&self, _: &Self) -> bool {
        false
    }
}

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        siegel_ident::hex_serde::decode_lower(&text)
            .map(Self)
            .ok_or_else(|| {
                serde::de::Error::custom(format!("expected {N} bytes in lower-case hexadecimal"))
            })
    }
}

#[cfg(test)]
mod tests;
