//! in-toto Statement v1 about exactly one artifact.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use siegel_ident::{Digest, json};

use crate::dsse::MAX_PAYLOAD;
use crate::error::ProofError;

/// The predicate types that Siegel logs. A bundle of one type never verifies as another.
pub mod predicate {
    /// An access policy; the artifact is its canonical JSON.
    pub const POLICY: &str = "https://siegel.dev/policy/v1";
    /// A cluster's genesis document.
    pub const GENESIS: &str = "https://siegel.dev/genesis/v1";
    /// One receipt; the artifact is its unsigned body.
    pub const RECEIPT: &str = "https://siegel.dev/receipt/v1";
    /// A program bundle.
    pub const PROGRAM: &str = "https://siegel.dev/program/v1";
    /// An endorsement of binaries or of a program; the artifact is the endorsement document.
    pub const ENDORSEMENT: &str = "https://siegel.dev/endorsement/v1";
    /// A key bundle with its evidence, as clients got it; the artifact is a key offer document.
    pub const KEY_OFFER: &str = "https://siegel.dev/key-offer/v1";
    /// A random number that somebody asks the witnesses' time with; see [`crate::nonce`].
    pub const NONCE: &str = "https://siegel.dev/nonce/v1";
}

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Longest subject name, in bytes.
pub const MAX_NAME: usize = 256;
const MAX_PREDICATE_TYPE: usize = 256;

/// "These exact bytes are a policy": subject = SHA-256 of the artifact, type = what it is.
///
/// The predicate is the empty object. All that is enforced stands in the artifact's bytes (I2); a
/// predicate that repeated some of it could say something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// A label for people; nothing is decided by it.
    pub name: String,
    /// SHA-256 of the artifact's exact bytes.
    pub digest: Digest,
    /// One of [`predicate`].
    pub predicate_type: String,
}

impl Statement {
    /// A statement about `artifact`.
    pub fn about(name: &str, artifact: &[u8], predicate_type: &str) -> Self {
        Self {
            name: name.to_owned(),
            digest: Digest::of(artifact),
            predicate_type: predicate_type.to_owned(),
        }
    }

    /// Writes canonical JSON: the DSSE payload.
    ///
    /// # Errors
    /// [`ProofError::TooLong`] for a name or type that no reader would take.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ProofError> {
        self.check()?;
        let digest = BTreeMap::from([("sha256".to_owned(), self.digest)]);
        json::to_canonical(&StatementJson {
            type_: STATEMENT_TYPE.to_owned(),
            predicate: Empty {},
            predicate_type: self.predicate_type.clone(),
            subject: vec![SubjectJson {
                digest,
                name: self.name.clone(),
            }],
        })
        .map_err(ProofError::json("in-toto statement"))
    }

    /// Reads canonical JSON.
    ///
    /// # Errors
    /// [`ProofError`]: unknown fields, another statement type, not exactly one subject with
    /// exactly one SHA-256, or a predicate that is not empty.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProofError> {
        let json: StatementJson = json::from_canonical(bytes, MAX_PAYLOAD)
            .map_err(ProofError::json("in-toto statement"))?;
        if json.type_ != STATEMENT_TYPE {
            return Err(ProofError::field(
                "statement._type",
                STATEMENT_TYPE,
                &json.type_,
            ));
        }
        let [subject] =
            <[SubjectJson; 1]>::try_from(json.subject).map_err(|list| ProofError::NotOne {
                at: "statement.subject",
                found: list.len(),
            })?;
        let [(algorithm, digest)] =
            <[(String, Digest); 1]>::try_from(subject.digest.into_iter().collect::<Vec<_>>())
                .map_err(|list| ProofError::NotOne {
                    at: "statement.subject[0].digest",
                    found: list.len(),
                })?;
        if algorithm != "sha256" {
            return Err(ProofError::field(
                "statement.subject[0].digest",
                "sha256",
                &algorithm,
            ));
        }
        let statement = Self {
            name: subject.name,
            digest,
            predicate_type: json.predicate_type,
        };
        statement.check()?;
        Ok(statement)
    }

    fn check(&self) -> Result<(), ProofError> {
        crate::error::bounded("subject name", self.name.as_bytes(), MAX_NAME)?;
        crate::error::bounded(
            "predicate type",
            self.predicate_type.as_bytes(),
            MAX_PREDICATE_TYPE,
        )
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StatementJson {
    #[serde(rename = "_type")]
    type_: String,
    predicate: Empty,
    predicate_type: String,
    subject: Vec<SubjectJson>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectJson {
    digest: BTreeMap<String, Digest>,
    name: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Empty {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_subject_one_hash_no_predicate() {
        let statement = Statement::about("policy/demo", b"abc", predicate::POLICY);
        let good = String::from_utf8(statement.to_bytes().unwrap()).unwrap();
        assert!(
            good.starts_with("{\"_type\":\"https://in-toto.io/Statement/v1\",\"predicate\":{}")
        );
        assert_eq!(Statement::parse(good.as_bytes()).unwrap(), statement);
        let subject = good
            .split_once('[')
            .unwrap()
            .1
            .split_once(']')
            .unwrap()
            .0
            .to_owned();
        for (from, to) in [
            ("Statement/v1", "Statement/v0.1".to_owned()),
            ("\"predicate\":{}", "\"predicate\":{\"a\":1}".to_owned()),
            ("\"predicate\":{}", "\"predicate\":[]".to_owned()),
            (subject.as_str(), String::new()),
            (subject.as_str(), format!("{subject},{subject}")),
            ("sha256", "sha512".to_owned()),
            ("\"digest\":{", "\"digest\":{\"sha1\":\"aa\",".to_owned()),
            ("policy/demo", "x".repeat(MAX_NAME + 1)),
        ] {
            let bad = good.replacen(from, &to, 1);
            assert_ne!(bad, good);
            assert!(Statement::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
