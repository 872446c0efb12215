//! Logs that nobody's firmware wrote (I14).

use super::*;

fn header(algorithms: &[(u16, u16)], vendor: &[u8]) -> Vec<u8> {
    let mut body = b"Spec ID Event03\0".to_vec();
    body.extend_from_slice(&[0, 0, 0, 0, 0, 2, 0, 2]);
    body.extend_from_slice(&(algorithms.len() as u32).to_le_bytes());
    for (algorithm, size) in algorithms {
        body.extend_from_slice(&algorithm.to_le_bytes());
        body.extend_from_slice(&size.to_le_bytes());
    }
    body.push(vendor.len() as u8);
    body.extend_from_slice(vendor);
    let mut out = 1u32.to_le_bytes().to_vec();
    out.extend_from_slice(&3u32.to_le_bytes());
    out.extend_from_slice(&[0; 20]);
    out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    out.extend_from_slice(&body);
    out
}

fn refused(log: &[u8]) -> String {
    let rejection = EventLog::parse(log).unwrap_err();
    assert_eq!(rejection.check, Check::EventLog);
    rejection.detail
}

const SHA384: (u16, u16) = (0x000c, 48);

#[test]
fn headers() {
    let good = header(&[SHA384], b"");
    assert_eq!(EventLog::parse(&good).unwrap().events(), []);
    assert!(EventLog::parse(&header(&[(0x000b, 32), SHA384], b"me")).is_ok());
    for bad in [
        header(&[], b""),
        header(&[(0x000b, 32)], b""),
        header(&[(0x000c, 20)], b""),
        header(&[SHA384, SHA384], b""),
        header(&[(0x000c, 20), SHA384], b""),
        header(&[(0x0001, 1); 9], b""),
        good[..good.len() - 1].to_vec(),
    ] {
        refused(&bad);
    }
    // A byte behind the vendor's, and the length says so.
    let mut longer = good.clone();
    longer.push(0);
    longer[28] += 1;
    assert!(refused(&longer).contains("follow"));
    // Each field that must be zero or named.
    for at in (4..28).chain(32..48) {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        refused(&bad);
    }
}

#[test]
fn events() {
    let head = header(&[SHA384, (0x000b, 32)], b"");
    let log = |event: &[u8]| [head.as_slice(), event].concat();
    let good = event(2, 5, 1);
    assert_eq!(EventLog::parse(&log(&good)).unwrap().events().len(), 1);
    let bent = |at: usize, value: u8| {
        let mut bad = good.clone();
        bad[at] = value;
        refused(&log(&bad))
    };
    assert!(bent(0, 0).contains("no RTMR"), "MRTD");
    assert!(bent(0, 5).contains("no RTMR"));
    assert!(bent(3, 1).contains("no RTMR"));
    assert!(
        bent(8, 0).contains("cut short") || bent(8, 0).contains("length"),
        "no digest"
    );
    assert!(bent(8, 9).contains("length"), "nine digests");
    assert!(bent(12, 4).contains("does not name"));
    assert!(bent(12, 0x0b).contains("length"), "SHA-256 alone");
    assert!(bent(64, 2).contains("length"), "65,536 bytes and more");
    for len in 1..good.len() {
        refused(&log(&good[..len]));
    }
    // Two digests of one kind.
    let mut twice = good[..12].to_vec();
    twice[8] = 2;
    twice.extend_from_slice(&[&good[12..62], &good[12..62], &[0; 4]].concat());
    assert!(refused(&log(&twice)).contains("two SHA-384"));
    // What extends nothing is for no register.
    assert_eq!(EventLog::parse(&log(&event(9, 3, 1))).unwrap().events(), []);
}

/// After the events stands one fill, and no more events.
#[test]
fn padding() {
    let log = [header(&[SHA384], b""), event(0, 5, 1)].concat();
    for (fill, good) in [
        ([0xff; 100].as_slice(), true),
        (&[0; 100], true),
        (&[0xee; 100], false),
        (&[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff], false),
    ] {
        let padded = [log.as_slice(), fill].concat();
        assert_eq!(EventLog::parse(&padded).is_ok(), good, "{fill:?}");
    }
    let hidden = [log.as_slice(), &[0xff; 16], &event(0, 5, 2)].concat();
    refused(&hidden);
}

#[test]
fn too_many_events() {
    let of = |count: usize| [header(&[SHA384], b""), event(0, 5, 1).repeat(count)].concat();
    assert_eq!(
        EventLog::parse(&of(EVENTS_MAX)).unwrap().events().len(),
        EVENTS_MAX
    );
    assert!(refused(&of(EVENTS_MAX + 1)).contains("more than"));
}

/// Every prefix of the real log, and one bit of each byte at its start: no panic, no other registers by accident.
#[test]
fn no_bent_log_replays() {
    if folder().is_none() {
        return;
    }
    let bytes = Parts::real().bytes();
    let wanted = registers();
    for len in (0..bytes.len() - 100).step_by(7) {
        let found = EventLog::parse(&bytes[..len]);
        assert!(
            found.is_err() || found.unwrap().registers() != &wanted,
            "{len}"
        );
    }
    // Types, and data that no digest is of, are remarks: they change no register.
    let mut replays = 0;
    for at in 0..bytes.len() - 100 {
        let mut bent = bytes.clone();
        bent[at] ^= 1 << (at % 8);
        replays += usize::from(EventLog::parse(&bent).is_ok_and(|log| log.registers() == &wanted));
    }
    let log = EventLog::parse(&bytes).unwrap();
    let remarks: usize = log.events().iter().map(|event| event.data.len() + 4).sum();
    // The header's own remarks: register, platform class, version, vendor.
    assert!(
        replays > 0 && replays <= remarks + 16,
        "{replays} of {remarks}"
    );
}
