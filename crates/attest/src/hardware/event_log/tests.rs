//! A real log, and what may be done to it.

use super::*;
use crate::hardware::tests::vectors::{Negative, failed, folder, read};
use crate::hardware::{Outcome, Rule};

mod hostile;

/// The registers of the quote that belongs to the log; its chain is not checked here, as its collateral is not there.
fn registers() -> [Hex<48>; 4] {
    let file = read("tdx/ccel_cos113.quote");
    let quote = crate::hardware::open(&file).unwrap().body;
    let at = |index: usize| {
        let from = 48 + 328 + 48 * index;
        Hex(quote[from..from + 48].try_into().unwrap())
    };
    [at(0), at(1), at(2), at(3)]
}

/// The log as one header and its events, each as its bytes.
struct Parts {
    header: Vec<u8>,
    events: Vec<Vec<u8>>,
}

impl Parts {
    fn real() -> Self {
        let bytes = read("tdx/ccel_cos113.eventlog");
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let mut at = 32 + u32_at(28) as usize;
        let (header, mut events) = (bytes[..at].to_vec(), Vec::new());
        while ![0, u32::MAX].contains(&u32_at(at)) {
            assert_eq!(u32_at(at + 8), 1, "one digest each");
            let len = 12 + 2 + 48 + 4 + u32_at(at + 12 + 2 + 48) as usize;
            events.push(bytes[at..at + len].to_vec());
            at += len;
        }
        Self { header, events }
    }

    fn bytes(&self) -> Vec<u8> {
        let events = self.events.concat();
        [self.header.as_slice(), &events, &[0xff; 100]].concat()
    }

    /// The real log, and all registers that it replays to, whatever was done to it.
    fn held(&self, rules: Vec<EventRule>) -> Vec<Outcome> {
        let bytes = self.bytes();
        let registers = EventLog::parse(&bytes).map_or([Hex([0; 48]); 4], |log| *log.registers());
        held(Some(&bytes), &registers, EventLogRule::Replay(rules))
    }
}

fn event(register: u8, kind: u32, digest: u8) -> Vec<u8> {
    let mut out = (u32::from(register) + 1).to_le_bytes().to_vec();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&1u32.to_le_bytes());
    out.extend_from_slice(&0x000cu16.to_le_bytes());
    out.extend_from_slice(&[digest; 48]);
    out.extend_from_slice(&0u32.to_le_bytes());
    out
}

fn rule(name: &str, kind: u32, digest: u8, last: bool) -> EventRule {
    EventRule {
        name: name.to_owned(),
        register: 3,
        kind,
        digest: Rule::Exact(Hex([digest; 48])),
        last,
    }
}

fn held(log: Option<&[u8]>, registers: &[Hex<48>; 4], rule: EventLogRule) -> Vec<Outcome> {
    let mut outcomes = Outcomes::default();
    hold(log, registers, &rule, &mut outcomes);
    outcomes.into_vec()
}

/// Program (1) and boot done (2), extended into RTMR3 after the real log; then what `more` adds.
fn booted(more: &[Vec<u8>]) -> Vec<Outcome> {
    let mut parts = Parts::real();
    parts.events.extend([event(3, 1, 1), event(3, 2, 2)]);
    parts.events.extend_from_slice(more);
    parts.held(vec![
        rule("program", 1, 1, false),
        rule("boot done", 2, 2, true),
    ])
}

pub(crate) fn good() -> Vec<Outcome> {
    booted(&[])
}

fn replayed(bend: impl FnOnce(&mut Vec<Vec<u8>>)) -> Vec<Outcome> {
    let mut parts = Parts::real();
    bend(&mut parts.events);
    held(
        Some(&parts.bytes()),
        &registers(),
        EventLogRule::Replay(Vec::new()),
    )
}

pub(crate) fn negatives() -> Vec<Negative> {
    const LOG: Check = Check::EventLog;
    vec![
        Negative(LOG, "absent", || {
            held(None, &registers(), EventLogRule::Replay(Vec::new()))
        }),
        Negative(LOG, "an event dropped", || {
            replayed(|events| drop(events.remove(20)))
        }),
        Negative(LOG, "the last event dropped", || {
            replayed(|events| drop(events.pop()))
        }),
        Negative(LOG, "two events reordered", || {
            replayed(|events| events.swap(0, 1))
        }),
        Negative(LOG, "an event twice", || {
            replayed(|events| events.insert(5, events[5].clone()))
        }),
        Negative(LOG, "an event more", || {
            replayed(|events| events.push(event(3, 1, 1)))
        }),
        Negative(LOG, "an event in another register", || {
            replayed(|events| events[20][0] ^= 3)
        }),
        Negative(LOG, "no log", || {
            held(Some(&[]), &registers(), EventLogRule::Replay(Vec::new()))
        }),
        Negative(LOG, "an event after the last one", || {
            booted(&[event(3, 1, 1)])
        }),
        Negative(LOG, "an unknown event after the last one", || {
            booted(&[event(3, 7, 7)])
        }),
        // The same digest again at the end, and the first one called something else: types are not measured.
        Negative(LOG, "the last event again", || {
            booted(&[event(3, 1, 1), event(3, 2, 2)])
        }),
        Negative(LOG, "the last event again, under another name", || {
            let mut parts = Parts::real();
            parts
                .events
                .extend([event(3, 1, 2), event(3, 1, 1), event(3, 2, 2)]);
            let mut rules = vec![rule("program", 1, 1, false), rule("boot done", 2, 2, true)];
            rules[0].digest = Rule::AnyOf(vec![Hex([1; 48]), Hex([2; 48])]);
            parts.held(rules)
        }),
        Negative(
            LOG,
            "an event without a rule, under the name of one",
            || {
                let mut parts = Parts::real();
                parts.events.extend([event(3, 1, 9), event(3, 1, 1)]);
                parts.held(vec![rule("program", 1, 1, false)])
            },
        ),
        Negative(LOG, "an event without a rule, under another name", || {
            let mut parts = Parts::real();
            parts.events.extend([event(3, 9, 9), event(3, 1, 1)]);
            parts.held(vec![rule("program", 1, 1, false)])
        }),
        Negative(LOG, "an event with a rule, absent", || {
            Parts::real().held(vec![rule("program", 1, 1, false)])
        }),
    ]
}

#[test]
fn the_real_log_replays_to_all_registers() {
    if folder().is_none() {
        return;
    }
    let log = EventLog::parse(&read("tdx/ccel_cos113.eventlog")).unwrap();
    assert_eq!(
        (log.registers(), log.events().len()),
        (&registers(), Parts::real().events.len())
    );
    assert_eq!(EventLog::parse(&Parts::real().bytes()).unwrap(), log);
    assert_eq!(failed(&good()), []);
}

/// A register with a rule is named in full; a rule that ignores the digest accepts anything there, and says so.
#[test]
fn a_named_register_is_named_in_full() {
    if folder().is_none() {
        return;
    }
    let log = EventLog::parse(&read("tdx/ccel_cos113.eventlog")).unwrap();
    let of = |register: u8| {
        log.events()
            .iter()
            .filter(move |one| one.register == register)
    };
    let mut rules: Vec<EventRule> = of(1)
        .map(|event| EventRule {
            name: "boot".to_owned(),
            register: 1,
            kind: event.kind,
            digest: Rule::Exact(event.digest),
            last: false,
        })
        .collect();
    rules.last_mut().unwrap().last = true;
    assert_eq!(failed(&Parts::real().held(rules.clone())), []);
    rules.remove(0);
    assert_eq!(
        failed(&Parts::real().held(rules.clone())),
        [Check::EventLog]
    );
    for event in of(1) {
        let mut any = rules[0].clone();
        (any.kind, any.digest, any.last) = (event.kind, Rule::Ignore("a test".to_owned()), false);
        rules.push(any);
    }
    assert_eq!(failed(&Parts::real().held(rules)), []);
}

/// Only events whose digest is of their data vouch for the data.
#[test]
fn data_is_believed_where_it_is_measured() {
    if folder().is_none() {
        return;
    }
    let log = EventLog::parse(&read("tdx/ccel_cos113.eventlog")).unwrap();
    let last = log.events().last().unwrap();
    assert_eq!(last.data, b"Exit Boot Services Returned with Success");
    assert!(last.is_measured());
    let mut other = last.clone();
    other.data.push(b'!');
    assert!(!other.is_measured());
}

#[test]
fn rules_that_mean_nothing_do_not_parse() {
    let parse = |text: &str| {
        #[derive(serde::Deserialize)]
        struct File {
            log: EventLogRule,
        }
        toml::from_str::<File>(text).map(|file| file.log)
    };
    let rule = |register: u8, digest: &str, last: bool| {
        format!(
            "log = {{ replay = [{{ name = \"x\", register = {register}, kind = 1, digest = {{ {digest} }}, last = {last} }}] }}"
        )
    };
    let exact = format!("exact = \"{}\"", "00".repeat(48));
    assert!(parse(&rule(3, &exact, true)).is_ok());
    assert!(parse(&rule(3, "ignore = \"why\"", false)).is_ok());
    for bad in [
        rule(4, &exact, true),
        rule(3, "ignore = \"why\"", true),
        rule(3, "ignore = \"\"", false),
        rule(3, "any_of = []", false),
        rule(3, &exact, true).replace(", last = true", ""),
        rule(3, &exact, true).replace("last = true", "last = true, more = 1"),
        "log = { ignore = \" \" }".to_owned(),
    ] {
        assert!(parse(&bad).is_err(), "{bad}");
    }
}
