//! What a policy demands of an event log.

use serde::{Deserialize, Deserializer, Serialize};

use super::{Event, EventLog};
use crate::hardware::outcome::Outcomes;
use crate::hardware::{Check, Hex, Rule, RuleError};

/// `{ replay = [ … ] }` demands a log that replays to the registers and whose named events are as listed;
/// `{ ignore = "why" }` reads none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventLogRule {
    /// Must replay.
    Replay(Vec<EventRule>),
    /// Not read, for a stated reason.
    Ignore(String),
}

/// Demands on the events of one type in one register: at least one, and every one of them satisfies the rule. With
/// `last`, nothing may be extended into that register after it: what runs later cannot speak for what booted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventRule {
    /// For people.
    pub name: String,
    /// RTMR 0 to 3.
    pub register: u8,
    /// Event type, as the firmware profile numbers them.
    pub kind: u32,
    /// The digest that was extended.
    pub digest: Rule<Hex<48>>,
    /// Whether it must be the register's last event.
    pub last: bool,
}

impl EventRule {
    pub(super) fn hold(&self, log: &EventLog, outcomes: &mut Outcomes) {
        let check = Check::EventLog;
        let (name, register) = (&self.name, self.register);
        let of_register: Vec<&Event> = log
            .events()
            .iter()
            .filter(|event| event.register == register)
            .collect();
        let named: Vec<&&Event> = of_register
            .iter()
            .filter(|event| event.kind == self.kind)
            .collect();
        if named.is_empty() {
            return outcomes.failed(
                check,
                format!(
                    "{name}: RTMR{register} has no event of type {:#x}",
                    self.kind
                ),
            );
        }
        for event in &named {
            outcomes.rule(check, name, &self.digest, &event.digest);
        }
        if self.last {
            let is_last = of_register
                .last()
                .is_some_and(|event| event.kind == self.kind);
            let found = if is_last { "nothing" } else { "events" };
            outcomes.must(
                check,
                is_last,
                format!("{name}: found {found} after it in RTMR{register}, wanted nothing"),
            );
        }
    }
}

impl<'de> Deserialize<'de> for EventLogRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case", rename = "EventLogRule")]
        enum Written {
            Replay(Vec<EventRule>),
            Ignore(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Replay(events) => Ok(Self::Replay(events)),
            Written::Ignore(reason) if reason.trim().is_empty() => {
                Err(serde::de::Error::custom(RuleError::NoReason))
            }
            Written::Ignore(reason) => Ok(Self::Ignore(reason)),
        }
    }
}
