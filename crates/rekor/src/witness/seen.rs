//! What a witness has cosigned last, log by log.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use siegel_ident::{Digest, json};
use siegel_translog::Checkpoint;
use siegel_translog::note::Note;

use super::WitnessLog;
use super::decide::own;
use super::key::WitnessKey;
use crate::error::RekorError;

const SCHEMA: &str = "siegel/witness-state/v1";
/// Longest state, in bytes.
const MAX: usize = 1 << 20;

/// The last cosigned note of each log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    notes: BTreeMap<String, (Checkpoint, String)>,
}

fn signed(note: &str, log: &WitnessLog) -> bool {
    Note::parse(note)
        .is_ok_and(|note| Checkpoint::verify_parsed(&note, &log.origin, &log.key).is_ok())
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    schema: String,
    notes: Vec<String>,
}

impl Seen {
    /// Reads a state; one that was never written has seen nothing. Every note in it must carry this
    /// witness' own cosignature.
    ///
    /// # Errors
    /// [`RekorError::Damaged`].
    pub(crate) fn parse(bytes: &[u8], key: &WitnessKey) -> Result<Self, RekorError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let damaged = |why: &str| RekorError::Damaged(format!("state of the witness: {why}"));
        let stored: Stored =
            json::from_canonical(bytes, MAX).map_err(|e| damaged(&e.to_string()))?;
        if stored.schema != SCHEMA {
            return Err(damaged("another schema than siegel/witness-state/v1"));
        }
        let mut seen = Self::default();
        for note in stored.notes {
            let checkpoint = own(&note, key).ok_or_else(|| {
                damaged("a note in it is not cosigned by this key under this name")
            })?;
            seen.notes
                .insert(checkpoint.origin.clone(), (checkpoint, note));
        }
        Ok(seen)
    }

    /// Every note of a log that is watched must carry that log's signature: what was cosigned here is
    /// evidence only with it (I1). A log may have a second key while it changes its key.
    ///
    /// # Errors
    /// [`RekorError::Damaged`].
    pub(crate) fn check(&self, logs: &[WitnessLog]) -> Result<(), RekorError> {
        for (origin, (_, note)) in &self.notes {
            let mut keys = logs.iter().filter(|log| log.origin == *origin).peekable();
            let watched = keys.peek().is_some();
            if watched && !keys.any(|log| signed(note, log)) {
                return Err(RekorError::Damaged(format!(
                    "state of the witness: the note of the log {origin:?} is not signed by that log under a key                      that is named for it. If the log has changed its key, name the old one too, with a \
                     second --log; else the state is damaged"
                )));
            }
        }
        Ok(())
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, RekorError> {
        let stored = Stored {
            schema: SCHEMA.into(),
            notes: self.notes.values().map(|(_, note)| note.clone()).collect(),
        };
        json::to_canonical(&stored).map_err(|e| RekorError::Damaged(e.to_string()))
    }

    /// Remembers a note that was just cosigned.
    pub(crate) fn set(&mut self, origin: &str, note: String) {
        let text = note.split_once("\n\n").map(|(text, _)| format!("{text}\n"));
        if let Some(Ok(checkpoint)) = text.map(|text| Checkpoint::parse_text(&text)) {
            self.notes.insert(origin.to_owned(), (checkpoint, note));
        }
    }

    pub(crate) fn checkpoint(&self, origin: &str) -> Option<&Checkpoint> {
        self.notes.get(origin).map(|(checkpoint, _)| checkpoint)
    }

    pub(crate) fn note(&self, origin: &str) -> Option<&str> {
        self.notes.get(origin).map(|(_, note)| note.as_str())
    }

    pub(crate) fn by_origin_digest(&self, digest: &Digest) -> Option<&str> {
        let named = |(origin, _): &(&String, _)| Digest::of(origin.as_bytes()) == *digest;
        self.notes.iter().find(named).map(|(_, (_, n))| n.as_str())
    }
}
