//! One witness, as the log sees it.

use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reqwest::{Client, StatusCode};
use serde::{Deserialize, Serialize};
use siegel_ident::{NamedKey, Timestamp};
use siegel_translog::cosignature;
use siegel_translog::note::{MAX_NOTE, Note};

use crate::client::client_of;
use crate::error::RekorError;
use crate::witness::{AddCheckpoint, decimal};

/// First and longest while that a witness is left alone after it failed.
const REST: Duration = Duration::from_millis(500);
const LONGEST_REST: Duration = Duration::from_secs(30);

/// A witness and where it is: `NAME=HEXKEY@URL` on the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WitnessAt {
    /// Its name in signature lines.
    pub name: String,
    /// Ed25519, 32 bytes (hex in JSON).
    #[serde(with = "siegel_ident::hex_serde")]
    pub key: [u8; 32],
    /// Base URL: `add-checkpoint` is below it.
    pub url: String,
}

/// What a witness answered.
pub(super) enum Said {
    /// Its line, verified, without the end of the line.
    Cosigned(String),
    /// The size that it has.
    Has(u64),
    /// Anything else.
    Failed(String),
}

/// A witness and what is known of it.
pub(super) struct Peer {
    named: NamedKey,
    url: reqwest::Url,
    client: Client,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// What it cosigned last, as far as is known.
    size: u64,
    rest: Duration,
    until: Option<Instant>,
    /// The last size of its that the log was told to be behind of.
    ahead: Option<u64>,
}

impl FromStr for WitnessAt {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('=').and_then(|(name, rest)| {
            let (key, url) = rest.split_once('@')?;
            Some((name, key, url))
        });
        let (name, key, url) = parts.ok_or_else(|| format!("{text:?} is not NAME=HEXKEY@URL"))?;
        let key = key
            .parse::<siegel_ident::Digest>()
            .map_err(|_| format!("the key of witness {name:?} is not 64 hex digits"))?;
        Ok(Self {
            name: name.to_owned(),
            key: *key.as_bytes(),
            url: url.to_owned(),
        })
    }
}

impl Peer {
    pub(super) fn new(at: &WitnessAt) -> Result<Self, RekorError> {
        let named = NamedKey {
            name: at.name.clone(),
            operator: at.name.clone(),
            key: at.key,
        };
        let bad = |why: &dyn std::fmt::Display| RekorError::Url(format!("{:?}: {why}", at.url));
        named.check().map_err(|why| bad(&why))?;
        let (base, client) = client_of(&at.url, None)?;
        let url = base.join("add-checkpoint").map_err(|why| bad(&why))?;
        Ok(Self {
            named,
            url,
            client,
            known: Mutex::default(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.named.name
    }

    /// What it cosigned last, as far as is known.
    pub(super) fn size(&self) -> u64 {
        self.lock().size
    }

    /// It failed a short while ago.
    pub(super) fn rests(&self) -> bool {
        let until = self.lock().until;
        until.is_some_and(|until| Instant::now() < until)
    }

    pub(super) fn has(&self, size: u64) {
        self.lock().size = size;
    }

    pub(super) fn cosigned(&self, size: u64) {
        let mut known = self.lock();
        if known.until.is_some() {
            tracing::info!(witness = self.name(), "the witness is back");
        }
        *known = Known {
            size,
            ahead: known.ahead,
            ..Known::default()
        };
    }

    /// It has cosigned more of this log than there is here, or another tree of the same size: said once for
    /// each size, since it is asked again and again (I1).
    pub(super) fn is_ahead(&self, size: u64, here: u64) {
        if self.lock().ahead.replace(size) == Some(size) {
            return;
        }
        let witness = self.name();
        tracing::error!(
            witness,
            size,
            here,
            "THIS LOG IS BEHIND what was cosigned: the witness has seen {size} entries that do not fit the {here} \
             in this folder. Was the folder restored from an old copy? Whatever is added to it now makes a \
             fork, which no witness cosigns and which proves this log a liar. Stop it and restore the newer \
             folder; if that is lost, make a new log with a new key"
        );
    }

    /// The size that [`Self::is_ahead`] told of last.
    #[cfg(test)]
    pub(super) fn ahead(&self) -> Option<u64> {
        self.lock().ahead
    }

    pub(super) fn failed(&self, why: &str) {
        let mut known = self.lock();
        known.rest = (known.rest * 2).clamp(REST, LONGEST_REST);
        known.until = Some(Instant::now() + known.rest);
        let rest = known.rest;
        tracing::warn!(witness = self.name(), why, ?rest, "no cosignature");
    }

    /// When it cosigned this note; `None` if it has not.
    pub(super) fn time_in(&self, note: &Note<'_>) -> Option<Timestamp> {
        cosignature::verify(note, &self.named).ok().flatten()
    }

    /// Offers it a checkpoint, and checks what it answers.
    pub(super) async fn add_checkpoint(&self, request: &AddCheckpoint, wait: Duration) -> Said {
        match tokio::time::timeout(wait, self.post(request.to_body())).await {
            Err(_) => Said::Failed("it did not answer in time".into()),
            Ok(Err(error)) => Said::Failed(error.to_string()),
            Ok(Ok((StatusCode::OK, text))) => self.own_line(&request.note, &text),
            Ok(Ok((StatusCode::CONFLICT, text))) => {
                let size = text.strip_suffix('\n').and_then(decimal);
                size.map_or_else(|| Said::Failed("409 without a size".into()), Said::Has)
            }
            Ok(Ok((status, text))) => {
                let text: String = text.chars().filter(|c| !c.is_control()).take(300).collect();
                Said::Failed(format!("{status}: {text}"))
            }
        }
    }

    async fn post(&self, body: String) -> Result<(StatusCode, String), reqwest::Error> {
        let request = self.client.post(self.url.clone()).body(body);
        let mut response = request.send().await?;
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_NOTE {
                break;
            }
        }
        Ok((
            response.status(),
            String::from_utf8_lossy(&bytes).into_owned(),
        ))
    }

    /// The one line of the answer that is this witness' and verifies; it may sign with other keys too.
    fn own_line(&self, note: &str, answer: &str) -> Said {
        let verified = |line: &&str| {
            let note = format!("{note}{line}\n");
            Note::parse(&note).is_ok_and(|note| self.time_in(&note).is_some())
        };
        match answer.lines().take(16).find(verified) {
            Some(line) => Said::Cosigned(line.to_owned()),
            None => Said::Failed("its answer does not verify under its key".into()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
