//! Protobuf JSON as its readers take it: more spellings per value than ours, but no unknown field.
//!
//! A log must read what any Sigstore client sends; what it stores has one spelling again (I2).

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose};
use serde::de::{Error as _, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

const EITHER_PADDING: GeneralPurposeConfig =
    general_purpose::PAD.with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, EITHER_PADDING);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, EITHER_PADDING);

/// `bytes`: base64 in the standard or the URL alphabet, padded or not; `null` is empty.
pub(super) fn bytes<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
    let text = Option::<String>::deserialize(d)?.unwrap_or_default();
    let alphabet = match text.contains(['-', '_']) {
        true => &URL_SAFE,
        false => &STANDARD,
    };
    alphabet
        .decode(&text)
        .map_err(|_| D::Error::custom("expected base64"))
}

/// `PublicKeyDetails`: an enum by name or by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum KeyDetails {
    #[default]
    Unspecified,
    /// `PKIX_ECDSA_P256_SHA_256`, which is 5.
    EcdsaP256,
    /// Any other name or number.
    Other(String),
}

impl<'de> Deserialize<'de> for KeyDetails {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct NameOrNumber;

        impl Visitor<'_> for NameOrNumber {
            type Value = KeyDetails;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the name or number of a PublicKeyDetails")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<KeyDetails, E> {
                Ok(match name {
                    "PUBLIC_KEY_DETAILS_UNSPECIFIED" => KeyDetails::Unspecified,
                    "PKIX_ECDSA_P256_SHA_256" => KeyDetails::EcdsaP256,
                    other => KeyDetails::Other(other.chars().take(64).collect()),
                })
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<KeyDetails, E> {
                match u32::try_from(number) {
                    Ok(0) => Ok(KeyDetails::Unspecified),
                    Ok(5) => Ok(KeyDetails::EcdsaP256),
                    Ok(other) => Ok(KeyDetails::Other(other.to_string())),
                    Err(_) => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
                }
            }

            fn visit_unit<E: serde::de::Error>(self) -> Result<KeyDetails, E> {
                Ok(KeyDetails::Unspecified)
            }
        }

        d.deserialize_any(NameOrNumber)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Debug)]
    struct Read {
        #[serde(default, deserialize_with = "bytes")]
        bytes: Vec<u8>,
        #[serde(default)]
        details: KeyDetails,
    }

    fn read(json: &str) -> Result<Read, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn bytes_come_in_both_alphabets_padded_or_not() {
        for text in ["+/8=", "+/8", "-_8=", "-_8"] {
            let json = format!("{{\"bytes\":\"{text}\"}}");
            assert_eq!(read(&json).unwrap().bytes, [0xfb, 0xff], "{text}");
        }
        assert!(read("{\"bytes\":null}").unwrap().bytes.is_empty());
        for text in ["\"+_8=\"", "\"+/9=\"", "\"+ /8=\"", "\"+\"", "1", "[1]"] {
            assert!(read(&format!("{{\"bytes\":{text}}}")).is_err(), "{text}");
        }
    }

    #[test]
    fn enums_come_by_name_or_number() {
        for (json, expected) in [
            ("\"PKIX_ECDSA_P256_SHA_256\"", KeyDetails::EcdsaP256),
            ("5", KeyDetails::EcdsaP256),
            ("0", KeyDetails::Unspecified),
            ("null", KeyDetails::Unspecified),
            ("7", KeyDetails::Other("7".into())),
            ("\"PKIX_ED25519\"", KeyDetails::Other("PKIX_ED25519".into())),
        ] {
            let read = read(&format!("{{\"details\":{json}}}")).unwrap();
            assert_eq!(read.details, expected, "{json}");
        }
        for json in ["5.5", "-5", "99999999999", "[]", "{}", "true"] {
            assert!(read(&format!("{{\"details\":{json}}}")).is_err(), "{json}");
        }
    }
}
