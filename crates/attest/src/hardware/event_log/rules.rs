//! What a policy demands of an event log.

use serde::{Deserialize, Deserializer, Serialize};

use super::{Event, EventLog};
use crate::hardware::outcome::Outcomes;
use crate::hardware::{Check, Hex, Rule, RuleError};

/// `{ replay = [ … ] }` demands a log that replays to the registers and whose named events are as listed;
/// `{ ignore = "why" }` reads none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventLogRule {
    /// Must replay.
    Replay(Vec<EventRule>),
    /// Not read, for a stated reason.
    Ignore(String),
}

/// One accepted kind of event in one register. As soon as one rule names a register, every event of it must satisfy
/// one of the register's rules, and every rule is satisfied by at least one event.
///
/// Only digests are extended: register and digest are proven, the type is what the log's bearer says. So a rule that
/// ignores the digest accepts anything in its register, and says why. With `last`, nothing may be extended into the
/// register after the event, and nothing before it has a digest that the rule accepts: whoever runs later could
/// extend the same digest again and hide what came between.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    /// Whether it must be the register's last event. Needs a demand on the digest.
    pub last: bool,
}

/// Holds a log that replays against all rules.
pub(super) fn hold(rules: &[EventRule], log: &EventLog, outcomes: &mut Outcomes) {
    for rule in rules {
        rule.hold(log, outcomes);
    }
    for event in log.events() {
        let register = event.register;
        let mut of_register = rules.iter().filter(|rule| rule.register == register);
        let named = of_register.clone().next().is_some();
        if named && !of_register.any(|rule| rule.accepts(event)) {
            outcomes.failed(
                Check::EventLog,
                format!(
                    "RTMR{register}: event of type {:#x} with digest {}, wanted none but those with a rule",
                    event.kind, event.digest
                ),
            );
        }
    }
}

impl EventRule {
    fn accepts(&self, event: &Event) -> bool {
        event.register == self.register
            && event.kind == self.kind
            && self.digest.allows(&event.digest)
    }

    fn hold(&self, log: &EventLog, outcomes: &mut Outcomes) {
        let (name, register) = (&self.name, self.register);
        let of_register = log.events().iter().filter(|one| one.register == register);
        let found = of_register.clone().any(|event| self.accepts(event));
        let detail = format!(
            "{name}: wanted an event of type {:#x} in RTMR{register}, digest {}",
            self.kind, self.digest
        );
        match &self.digest {
            Rule::Ignore(_) if found => outcomes.ignored(Check::EventLog, detail),
            _ => outcomes.must(Check::EventLog, found, detail),
        }
        if self.last {
            // By digest alone: the type is not measured.
            let mut backwards = of_register.rev();
            let ends = backwards.next().is_some_and(|event| self.accepts(event));
            let once = !backwards.any(|event| self.digest.allows(&event.digest));
            outcomes.must(
                Check::EventLog,
                ends && once,
                format!("{name}: wanted as the last event of RTMR{register}, and once"),
            );
        }
    }

    /// Why the rule means nothing.
    fn check(&self) -> Result<(), &'static str> {
        match (&self.digest, self.last) {
            _ if self.register > 3 => Err("an event's register is an RTMR, 0 to 3"),
            (Rule::Ignore(_), true) => Err("an event that must be the last needs a digest"),
            _ => Ok(()),
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
            Written::Replay(events) => {
                let checked = events.iter().try_for_each(EventRule::check);
                checked.map_err(serde::de::Error::custom)?;
                Ok(Self::Replay(events))
            }
            Written::Ignore(reason) if reason.trim().is_empty() => {
                Err(serde::de::Error::custom(RuleError::NoReason))
            }
            Written::Ignore(reason) => Ok(Self::Ignore(reason)),
        }
    }
}
