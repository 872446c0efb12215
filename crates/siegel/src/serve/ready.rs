//! What is said when a part serves.

use serde::Serialize;

use super::tls::Place;
use crate::failure::Failure;
use crate::say::say_line;

/// The one object of `--json`, printed once: from here on requests are answered.
#[derive(Debug, Serialize)]
pub(super) struct Ready<'a> {
    /// `log`, `depot`, `witness` or `mirror`.
    pub(super) part: &'static str,
    /// Where it listens: with port 0, the port that it got.
    pub(super) listen: String,
    /// The URL of that: `https://`, if it serves over TLS. A depot has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<&'a str>,
    /// Its name in signature lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    /// Its public key, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    /// A log's: the anchors for its auditors, if the file is its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) anchors: Option<String>,
    /// A log's: what other Sigstore clients need, if the file is its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trusted_root: Option<String>,
}

impl<'a> Ready<'a> {
    /// Of a part that signs nothing.
    pub(super) fn of(part: &'static str, listen: impl ToString) -> Self {
        Self {
            part,
            listen: listen.to_string(),
            url: None,
            name: None,
            key: None,
            anchors: None,
            trusted_root: None,
        }
    }

    /// Of one that has a URL.
    pub(super) fn at(part: &'static str, place: &'a Place) -> Self {
        Self {
            url: Some(&place.url),
            ..Self::of(part, place.at)
        }
    }

    /// Of one that signs under this name and key.
    pub(super) fn signing(mut self, name: &'a str, key: &[u8]) -> Self {
        self.name = Some(name);
        self.key = Some(hex::encode(key));
        self
    }

    /// Prints it, if a program asked for it.
    pub(super) fn say(&self, json: bool) -> Result<(), Failure> {
        if !json {
            return Ok(());
        }
        let line = serde_json::to_string(self);
        say_line(&line.map_err(|why| Failure::failed("json", self.part, why, ""))?)
    }
}
