//! Event logs (CCEL, "TCG PC Client Platform Firmware Profile"): what was extended into the run-time registers, in
//! order. The log proves nothing by itself: replayed, it must give the registers of the quote.

mod parse;
mod rules;

pub use parse::Event;
pub use rules::{EventLogRule, EventRule};

use super::outcome::Outcomes;
use super::{Check, Hex, Rejection};

/// Most events of a log (I14).
pub const EVENTS_MAX: usize = 4096;
/// No event's data is longer (I14).
pub const EVENT_MAX: usize = 64 * 1024;

/// A parsed log, with the registers that it replays to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLog {
    events: Vec<Event>,
    registers: [Hex<48>; 4],
}

impl EventLog {
    /// Reads a log and replays it: register = SHA-384(register ‖ digest), from zeros.
    ///
    /// # Errors
    /// [`Check::EventLog`]: cut short, followed by anything but padding, without SHA-384, for a register that is not
    /// there, too many events.
    pub fn parse(bytes: &[u8]) -> Result<Self, Rejection> {
        let events = parse::events(bytes)?;
        let mut registers = [Hex([0u8; 48]); 4];
        for event in &events {
            let Some(register) = registers.get_mut(usize::from(event.register)) else {
                continue; // `parse` let no other register through.
            };
            let mut input = [0u8; 96];
            input[..48].copy_from_slice(&register.0);
            input[48..].copy_from_slice(&event.digest.0);
            register
                .0
                .copy_from_slice(ring::digest::digest(&ring::digest::SHA384, &input).as_ref());
        }
        Ok(Self { events, registers })
    }

    /// The events, without those that extend nothing.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// RTMR0 to RTMR3 as the log has them.
    pub fn registers(&self) -> &[Hex<48>; 4] {
        &self.registers
    }
}

/// Holds a stapled log against the quote's registers and the rule. Without a log only `ignore` is satisfied.
pub(crate) fn hold(
    log: Option<&[u8]>,
    registers: &[Hex<48>; 4],
    rule: &EventLogRule,
    outcomes: &mut Outcomes,
) {
    let check = Check::EventLog;
    let replay = match (rule, log) {
        (EventLogRule::Ignore(reason), _) => {
            return outcomes.ignored(check, format!("event log: not read ({reason})"));
        }
        (EventLogRule::Replay(_), None) => {
            return outcomes.failed(check, "event log: absent, and demanded");
        }
        (EventLogRule::Replay(replay), Some(bytes)) => (replay, EventLog::parse(bytes)),
    };
    match replay {
        (_, Err(why)) => outcomes.failed(check, why.detail),
        (events, Ok(log)) => {
            for (at, (found, wanted)) in log.registers.iter().zip(registers).enumerate() {
                let detail = format!("replay of RTMR{at}: found {found}, the quote has {wanted}");
                outcomes.must(check, found == wanted, detail);
            }
            rules::hold(events, &log, outcomes);
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
