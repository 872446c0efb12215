//! A program as one document: the driver's text and its assets (I2: the digest is over the exact
//! bytes of the bundle, and those bytes are what runs).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use siegel_ident::{ProgramDigest, json};

use crate::ProgramError;

const DOCUMENT: &str = "program";
const SCHEMA: &str = "siegel/program/v1";

/// Longest bundle, in bytes.
pub const MAX_BUNDLE: usize = 1 << 20;
/// Longest driver text, in bytes.
pub const MAX_DRIVER: usize = 1 << 16;

/// A program, read from its exact bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    document: Document,
    bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: String,
    name: String,
    driver: String,
    assets: BTreeMap<String, String>,
}

impl Bundle {
    /// Packs a program. `assets` are named texts, such as a vocabulary.
    pub fn new(
        name: impl Into<String>,
        driver: impl Into<String>,
        assets: BTreeMap<String, String>,
    ) -> Result<Self, ProgramError> {
        let document = Document {
            schema: SCHEMA.into(),
            name: name.into(),
            driver: driver.into(),
            assets,
        };
        let bytes = json::to_canonical(&document).map_err(ProgramError::document(DOCUMENT))?;
        Self::parse(&bytes)
    }

    /// Reads a bundle; the bytes must be canonical JSON.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProgramError> {
        let document: Document =
            json::from_canonical(bytes, MAX_BUNDLE).map_err(ProgramError::document(DOCUMENT))?;
        document.check()?;
        Ok(Self {
            document,
            bytes: bytes.to_vec(),
        })
    }

    /// SHA-256 of the exact bytes: what a policy names.
    pub fn digest(&self) -> ProgramDigest {
        ProgramDigest::of(&self.bytes)
    }

    /// The exact bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The program's name, kebab-case.
    pub fn name(&self) -> &str {
        &self.document.name
    }

    /// The driver's Starlark text.
    pub fn driver(&self) -> &str {
        &self.document.driver
    }

    /// An asset by name.
    pub fn asset(&self, name: &str) -> Result<&str, ProgramError> {
        let found = self.document.assets.get(name);
        found
            .map(String::as_str)
            .ok_or_else(|| ProgramError::MissingAsset(shown(name)))
    }

    /// The names of the assets, sorted.
    pub fn asset_names(&self) -> impl Iterator<Item = &str> {
        self.document.assets.keys().map(String::as_str)
    }
}

impl Document {
    fn check(&self) -> Result<(), ProgramError> {
        if self.schema != SCHEMA {
            return Err(ProgramError::Schema {
                document: DOCUMENT,
                expected: SCHEMA,
            });
        }
        if !is_name(&self.name) {
            return Err(ProgramError::invalid(
                DOCUMENT,
                "name: expected 1 to 64 of a-z, 0-9, -",
            ));
        }
        if self.driver.len() > MAX_DRIVER {
            return Err(ProgramError::invalid(
                DOCUMENT,
                "driver: longer than 65,536 bytes",
            ));
        }
        if let Some(bad) = self.assets.keys().find(|name| !is_file_name(name)) {
            let bad = shown(bad);
            return Err(ProgramError::invalid(
                DOCUMENT,
                format!("asset {bad:?}: expected a name of 1 to 64 of a-z, 0-9, -, ."),
            ));
        }
        Ok(())
    }
}

/// True for 1 to 64 of a–z, 0–9 and `-`.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Like a name, with dots between.
pub(crate) fn is_file_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.split('.').all(is_name)
}

/// At most 80 characters of a hostile text, for a message.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assets() -> BTreeMap<String, String> {
        [("words.txt".to_owned(), "a\n".to_owned())].into()
    }

    // I2: one program has one spelling; catches a digest over anything but the bytes that run.
    #[test]
    fn digest_is_over_the_exact_bytes() {
        let bundle = Bundle::new("demo", "def init(): pass\n", assets()).unwrap();
        assert_eq!(Bundle::parse(bundle.bytes()).unwrap(), bundle);
        assert_eq!(bundle.digest(), ProgramDigest::of(bundle.bytes()));
        let spaced = [b" ", bundle.bytes()].concat();
        assert!(Bundle::parse(&spaced).is_err());
        let other = Bundle::new("demo", "def init(): pass\n\n", assets()).unwrap();
        assert_ne!(other.digest(), bundle.digest());
    }

    #[test]
    fn names_are_bounded_and_unknown_fields_refused() {
        for bad in ["", "Demo", "a/b", "..", &"x".repeat(65)] {
            assert!(Bundle::new(bad, "", assets()).is_err(), "{bad}");
        }
        for bad in ["", "../x", "a..b", ".a", "A.txt"] {
            let one = [(bad.to_owned(), String::new())].into();
            assert!(Bundle::new("demo", "", one).is_err(), "{bad}");
        }
        let text = r#"{"assets":{},"driver":"","extra":1,"name":"a","schema":"siegel/program/v1"}"#;
        assert!(Bundle::parse(text.as_bytes()).is_err());
        let text = r#"{"assets":{},"driver":"","name":"a","schema":"siegel/program/v2"}"#;
        assert!(matches!(
            Bundle::parse(text.as_bytes()),
            Err(ProgramError::Schema { .. })
        ));
        assert!(Bundle::new("demo", "x".repeat(MAX_DRIVER + 1), assets()).is_err());
    }

    proptest! {
        #[test]
        fn hostile_bytes_never_panic(bytes in any::<Vec<u8>>()) {
            let _ = Bundle::parse(&bytes);
        }
    }
}
