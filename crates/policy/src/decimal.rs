//! Decimal numbers as text: what people read is what is hashed, and no float is ever printed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A non-negative decimal number with one spelling: digits, at most one point, no leading zeros,
/// no trailing zeros behind the point, no exponent, at most 24 characters. `2`, `0.000001`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Decimal(String);

/// A text that is not such a number.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error(
    "{0:?} is not a plain decimal number: write digits with at most one point, no leading or \
     trailing zeros, no exponent (0.000001, not 1e-6)"
)]
pub struct DecimalError(String);

impl Decimal {
    const MAX_LEN: usize = 24;

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A float that is at most the number.
    pub fn lower(&self) -> f64 {
        self.nearest().next_down().max(0.0)
    }

    /// A float that is at least the number.
    pub fn upper(&self) -> f64 {
        self.nearest().next_up()
    }

    /// The nearest float, for showing only.
    pub fn nearest(&self) -> f64 {
        // The grammar is a subset of what `f64` reads; `core` parses it without the C library.
        self.0.parse().unwrap_or(f64::NAN)
    }
}

impl FromStr for Decimal {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (text, None),
        };
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        let whole_good = digits(whole) && (whole == "0" || !whole.starts_with('0'));
        let fraction_good = fraction.is_none_or(|f| digits(f) && !f.ends_with('0'));
        if text.len() <= Self::MAX_LEN && whole_good && fraction_good {
            Ok(Self(text.to_owned()))
        } else {
            Err(DecimalError(text.chars().take(40).collect()))
        }
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I2. One number, one spelling. Catches a second spelling getting in.
    #[test]
    fn i2_one_spelling() {
        for good in [
            "0",
            "2",
            "10",
            "0.5",
            "0.000001",
            "1.25",
            "123456789012345678901234",
        ] {
            let d: Decimal = good.parse().unwrap();
            assert_eq!(d.to_string(), good);
            assert!(d.lower() <= d.nearest() && d.nearest() < d.upper());
        }
        for bad in [
            "",
            ".",
            "1.",
            ".5",
            "00",
            "01",
            "1.0",
            "0.10",
            "1e-6",
            "-1",
            "+1",
            " 1",
            "1 ",
            "1,5",
            "nan",
            "inf",
            "1_0",
            "1.2.3",
            "٣",
            "1234567890123456789012345",
        ] {
            assert!(bad.parse::<Decimal>().is_err(), "{bad:?}");
        }
        assert!(serde_json::from_str::<Decimal>("2").is_err());
        assert!(serde_json::from_str::<Decimal>("\"2\"").is_ok());
    }

    #[test]
    fn bounds_are_outward() {
        let tenth: Decimal = "0.1".parse().unwrap();
        // The nearest float of 0.1 lies above it.
        assert!(tenth.lower() < 0.1 && tenth.upper() > 0.1);
    }
}
