//! The last checkpoint that a device has seen of each log: behind it no log goes back (I1).
//!
//! A log and its witnesses could be asked for an older state on purpose: to hide a policy that came
//! later, or a finding against one. A device that remembers takes no checkpoint with fewer entries
//! than the last one, and none of the same size with another root.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use siegel_ident::{Digest, json};

use crate::{ClientRefusal, DeviceRefusal};

const SCHEMA: &str = "siegel/seen-logs/v1";
/// Longest stored form, in bytes.
const SEEN_MAX: usize = 1 << 20;

/// Size and root of the last checkpoint, by log id (name and key of the log).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenLogs {
    last: BTreeMap<Digest, (u64, Digest)>,
}

impl SeenLogs {
    /// Of a device that has seen no log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Size and root of the last checkpoint of this log.
    pub fn last(&self, log: &Digest) -> Option<(u64, Digest)> {
        self.last.get(log).copied()
    }

    /// Remembers a verified checkpoint, unless the log went back. Nothing changes on a refusal.
    ///
    /// # Errors
    /// [`ClientRefusal::Rollback`], [`ClientRefusal::Equivocation`].
    pub(crate) fn advance(
        &mut self,
        log: Digest,
        size: u64,
        root: Digest,
    ) -> Result<(), ClientRefusal> {
        self.compare(&log, size, root)?;
        match self.last(&log) {
            Some((seen, _)) if size < seen => Err(ClientRefusal::Rollback { seen, found: size }),
            _ => {
                self.last.insert(log, (size, root));
                Ok(())
            }
        }
    }

    /// Holds a verified checkpoint against the last one, where it has the same size.
    ///
    /// # Errors
    /// [`ClientRefusal::Equivocation`].
    pub(crate) fn compare(
        &self,
        log: &Digest,
        size: u64,
        root: Digest,
    ) -> Result<(), ClientRefusal> {
        match self.last(log) {
            Some((seen, last)) if seen == size && last != root => {
                Err(ClientRefusal::Equivocation { size })
            }
            _ => Ok(()),
        }
    }

    /// Canonical JSON, to be stored beside the odometer before an upload leaves the device.
    ///
    /// # Errors
    /// [`DeviceRefusal::SeenLogs`] if it cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, DeviceRefusal> {
        let logs = self.last.iter().map(|(log, (size, root))| Entry {
            log: *log,
            root: *root,
            // As text: a size need not stay below 2⁵³.
            size: size.to_string(),
        });
        let stored = Stored {
            schema: SCHEMA.into(),
            logs: logs.collect(),
        };
        json::to_canonical(&stored).map_err(|e| DeviceRefusal::SeenLogs(e.to_string()))
    }

    /// Reads the stored form. A damaged one is refused, never taken for empty: that would forget all
    /// that was seen.
    ///
    /// # Errors
    /// [`DeviceRefusal::SeenLogs`].
    pub fn parse(bytes: &[u8]) -> Result<Self, DeviceRefusal> {
        let bad = |what: &str| DeviceRefusal::SeenLogs(what.to_owned());
        let stored: Stored =
            json::from_canonical(bytes, SEEN_MAX).map_err(|e| bad(&e.to_string()))?;
        if stored.schema != SCHEMA {
            return Err(bad("schema is not siegel/seen-logs/v1"));
        }
        let mut last = BTreeMap::new();
        for entry in stored.logs {
            let size = entry.size.parse().map_err(|_| bad("a size is no number"))?;
            last.insert(entry.log, (size, entry.root));
        }
        let seen = Self { last };
        match seen.to_bytes()? == bytes {
            true => Ok(seen),
            false => Err(bad(
                "a log is there twice, out of order, or has another spelling",
            )),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    schema: String,
    logs: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    log: Digest,
    root: Digest,
    size: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }

    // I1: catches a log that goes back, or that has two roots for one size.
    #[test]
    fn i1_a_log_only_grows() {
        let (a, b) = (of("log a"), of("log b"));
        let mut seen = SeenLogs::new();
        seen.advance(a, 7, of("7")).unwrap();
        seen.advance(a, 7, of("7")).unwrap();
        seen.advance(b, 3, of("3")).unwrap();
        let back = seen.advance(a, 6, of("6")).unwrap_err();
        assert_eq!((back.code(), back.invariant()), ("log-rollback", "I1"));
        let fork = seen.advance(a, 7, of("another 7")).unwrap_err();
        assert_eq!(fork.code(), "log-equivocates");
        assert_eq!(
            seen.compare(&a, 7, of("x")).unwrap_err().code(),
            "log-equivocates"
        );
        assert_eq!(
            seen.last(&a),
            Some((7, of("7"))),
            "a refusal changes nothing"
        );
        seen.advance(a, 8, of("8")).unwrap();
        assert_eq!(seen.last(&a), Some((8, of("8"))));
        assert_eq!(SeenLogs::parse(&seen.to_bytes().unwrap()).unwrap(), seen);
    }

    #[test]
    fn a_damaged_memory_is_not_an_empty_one() {
        let mut seen = SeenLogs::new();
        seen.advance(of("a"), u64::MAX, of("x")).unwrap();
        seen.advance(of("b"), 1, of("y")).unwrap();
        let bytes = seen.to_bytes().unwrap();
        assert_eq!(SeenLogs::parse(&bytes).unwrap(), seen);
        let text = String::from_utf8(bytes.clone()).unwrap();
        for bad in [
            text.replace("/v1", "/v2"),
            text.replace("\"1\"", "\"01\""),
            text.replace("\"1\"", "\"-1\""),
            text.replace(&of("b").to_string(), &of("a").to_string()),
            text.replace("\"schema\"", "\"a\":1,\"schema\""),
        ] {
            assert_ne!(bad, text);
            assert!(SeenLogs::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        for cut in 0..bytes.len() {
            assert!(SeenLogs::parse(&bytes[..cut]).is_err());
        }
    }
}
