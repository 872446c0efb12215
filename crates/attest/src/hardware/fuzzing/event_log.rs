//! Event logs: read, replayed, and held against rules.

use ring::digest::{Context, SHA384};

use crate::hardware::event_log::{
    EVENT_MAX, EVENTS_MAX, Event, EventLog, EventLogRule, EventRule, hold,
};
use crate::hardware::outcome::Outcomes;
use crate::hardware::{Hex, Rule};

/// Rules are made of logs that are no longer: each event is held against each rule.
const RULES_MAX: usize = 64;

/// A log: its events are within bounds, say the same when they are written again, and replay as another reader replays
/// them. It is then held against rules made of its own events: those that it must satisfy, and those that it must not.
pub fn event_log(bytes: &[u8]) -> bool {
    let Ok(log) = EventLog::parse(bytes) else {
        return false;
    };
    let events = log.events();
    assert!(events.len() <= EVENTS_MAX);
    let data: usize = events.iter().map(|event| event.data.len()).sum();
    assert!(data + events.len() * 66 < bytes.len());
    assert!(events.iter().all(|event| event.data.len() <= EVENT_MAX));
    assert!(events.iter().all(|event| event.register < 4));
    let again = EventLog::parse(&write(events));
    assert_eq!(again.as_ref(), Ok(&log));
    let registers = [0, 1, 2, 3].map(|register| replay(events, register));
    assert_eq!(&registers, log.registers());

    let held = |registers: &[Hex<48>; 4], rules: Vec<EventRule>| {
        let mut outcomes = Outcomes::default();
        hold(
            Some(bytes),
            registers,
            &EventLogRule::Replay(rules),
            &mut outcomes,
        );
        outcomes.failures() == 0
    };
    assert!(held(&registers, Vec::new()));
    for at in 0..4 {
        let mut other = registers;
        other[at].0[47] ^= 1;
        assert!(!held(&other, Vec::new()), "another RTMR{at}");
    }
    if events.len() <= RULES_MAX {
        let all = events.iter().map(|event| rule(event, false)).collect();
        assert!(held(&registers, all));
        for (at, event) in events.iter().enumerate() {
            alone(&held, &registers, events, at, event);
        }
    }
    true
}

/// One rule, made of one event: what its register may hold.
fn alone(
    held: &impl Fn(&[Hex<48>; 4], Vec<EventRule>) -> bool,
    registers: &[Hex<48>; 4],
    events: &[Event],
    at: usize,
    event: &Event,
) {
    let same = |other: &Event| (other.kind, other.digest) == (event.kind, event.digest);
    let of_register = || {
        events
            .iter()
            .filter(|other| other.register == event.register)
    };
    let only_such = of_register().all(same);
    assert_eq!(held(registers, vec![rule(event, false)]), only_such);
    let once = of_register().count() == 1;
    assert_eq!(held(registers, vec![rule(event, true)]), only_such && once);
    let mut other = rule(event, false);
    other.digest = Rule::Exact(Hex([0x5a; 48]));
    assert!(
        !held(registers, vec![other]) || event.digest == Hex([0x5a; 48]),
        "event {at}"
    );
}

fn rule(event: &Event, last: bool) -> EventRule {
    EventRule {
        name: "an event".to_owned(),
        register: event.register,
        kind: event.kind,
        digest: Rule::Exact(event.digest),
        last,
    }
}

fn replay(events: &[Event], register: u8) -> Hex<48> {
    let mut found = Hex([0; 48]);
    for event in events.iter().filter(|event| event.register == register) {
        let mut hash = Context::new(&SHA384);
        hash.update(&found.0);
        hash.update(&event.digest.0);
        found.0.copy_from_slice(hash.finish().as_ref());
    }
    found
}

/// The same log with nothing in it but SHA-384.
pub(super) fn write(events: &[Event]) -> Vec<u8> {
    let u32 = |value: usize| (value as u32).to_le_bytes();
    let spec = [
        &b"Spec ID Event03\0"[..],
        &[0, 0, 0, 0, 0, 2, 0, 2],
        &u32(1),
        &[0x0c, 0, 48, 0],
        &[0],
    ]
    .concat();
    let mut out = [&u32(1)[..], &u32(3), &[0; 20], &u32(spec.len()), &spec].concat();
    for event in events {
        out.extend_from_slice(&u32(usize::from(event.register) + 1));
        out.extend_from_slice(&event.kind.to_le_bytes());
        out.extend_from_slice(&u32(1));
        out.extend_from_slice(&[0x0c, 0]);
        out.extend_from_slice(&event.digest.0);
        out.extend_from_slice(&u32(event.data.len()));
        out.extend_from_slice(&event.data);
    }
    out
}
