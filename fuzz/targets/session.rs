//! Sessions under attack: by a network that changes, cuts, repeats, drops and makes up frames, and by a peer that masters
//! the encryption and says anything behind it. Sessions come only from what was honestly said (I3), messages arrive as
//! they were sent and in order, the first error is the last word, and no more is held than was sent (I14).
#![no_main]

use libfuzzer_sys::fuzz_target;
use siegel_attest::Role;
use siegel_fuzz::memory::live;
use siegel_fuzz::script::Script;
use siegel_fuzz::world::{
    CLUSTER, End, admits, evidence, identity, kms, kms_or_workload, rng, vouched,
};
use siegel_session::fuzzing::{Rogue, messages};
use siegel_session::{Authenticated, FRAME_MAX, MESSAGE_MAX, Opened, Session, SessionError};

/// Frames of one input: enough to pass the longest message.
const FRAMES_MAX: usize = 300;
/// What a session may hold besides the message: buffers of frames.
const SLACK: usize = 8 * FRAME_MAX;

fuzz_target!(|data: &[u8]| {
    messages(data);
    let mut script = Script(data);
    match script.byte() % 6 {
        0 => network(&mut script, Role::KmsPeer, Role::KmsPeer),
        1 => network(&mut script, Role::Root, Role::Worker),
        2 => rogue(&mut script, Role::KmsPeer, true),
        3 => rogue(&mut script, Role::Root, true),
        4 => rogue(&mut script, Role::Worker, true),
        _ => rogue(&mut script, Role::KmsPeer, false),
    }
});

/// What becomes of a frame on its way.
fn attack(script: &mut Script<'_>, frame: &[u8]) -> Vec<Vec<u8>> {
    let mut frame = frame.to_vec();
    match script.byte() % 8 {
        0 | 1 => (),
        2 => {
            let bit = script.number() % (8 * frame.len()).max(1);
            if let Some(byte) = frame.get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
        }
        3 => frame.truncate(script.number() % (frame.len() + 1)),
        4 => frame = script.short().to_vec(),
        5 => return vec![frame.clone(), frame],
        6 => return Vec::new(),
        _ => frame.extend_from_slice(script.short()),
    }
    vec![frame]
}

/// One direction: what was sent, what arrived.
#[derive(Default)]
struct Way {
    sent: Vec<Vec<u8>>,
    arrived: Vec<Vec<u8>>,
}

impl Way {
    fn is_clean(&self) -> bool {
        self.sent.starts_with(&self.arrived)
    }
}

fn network(script: &mut Script<'_>, dials: Role, accepts: Role) {
    let ids = [identity(dials, 1), identity(accepts, 2)];
    let expects = match dials {
        Role::KmsPeer => [kms(), kms_or_workload()],
        _ => [vouched(&ids[1]), vouched(&ids[0])],
    };
    let [of_dialler, of_acceptor] = expects;
    let (dialler, first) = End::dial(&ids[0], of_dialler, 3);
    let mut ends = [dialler, End::accept(&ids[1], of_acceptor, 4)];
    // ways[i] leads to ends[i].
    let mut ways = [Way::default(), Way::default()];
    let mut under_way = vec![(1, first)];
    for _ in 0..32 {
        if under_way.is_empty() {
            break;
        }
        let (to, frame) = under_way.remove(0);
        ways[to].sent.push(frame.clone());
        for frame in attack(script, &frame) {
            if ends[to].session.is_some() {
                break;
            }
            ways[to].arrived.push(frame.clone());
            let answers = ends[to].feed(&frame);
            under_way.extend(answers.into_iter().map(|answer| (1 - to, answer)));
        }
        for (end, way) in ends.iter().zip(&ways) {
            assert!(
                end.session.is_none() || way.is_clean(),
                "let in by a changed frame"
            );
        }
    }
    for (end, peer) in ends.iter().zip(ids.iter().rev()) {
        if let Some(session) = &end.session {
            assert_eq!(session.peer().keys(), &peer.keys());
        }
    }
    let [Some(one), Some(other)] = ends.map(|end| end.session) else {
        return;
    };
    assert_eq!(one.channel(), other.channel());
    let (mut from, mut to) = match script.byte() % 2 {
        0 => (one, other),
        _ => (other, one),
    };
    transport(script, &mut from, &mut to);
}

/// Messages over a session whose network attacks.
fn transport(script: &mut Script<'_>, from: &mut Session, to: &mut Session) {
    let (mut way, mut whole, mut arrived) = (Way::default(), Vec::new(), Vec::new());
    for _ in 0..script.byte() % 4 {
        let message = vec![script.byte(); script.number() * 3];
        way.sent
            .extend(from.seal(&message).expect("it is short enough"));
        whole.push(message);
    }
    let mut broken = false;
    for frame in way.sent.clone() {
        for frame in attack(script, &frame) {
            way.arrived.push(frame.clone());
            match to.open(&frame) {
                Ok(opened) => {
                    assert!(!broken && way.is_clean());
                    if let Opened::Message(message) = opened {
                        arrived.push(message);
                    }
                }
                Err(error) => {
                    assert!(!way.is_clean());
                    assert!(!broken || matches!(error, SessionError::Broken));
                    broken = true;
                }
            }
        }
    }
    assert!(whole.starts_with(&arrived));
    assert!(broken || !way.is_clean() || way.arrived != way.sent || arrived == whole);
}

/// A peer of this role that speaks Noise and says what the script says.
fn rogue(script: &mut Script<'_>, role: Role, initiator: bool) {
    let (own, victim) = (identity(role, 1), identity(Role::KmsPeer, 2));
    let rogue = Rogue::new(initiator, own.clone(), Some(CLUSTER), &rng(5));
    let mut rogue = rogue.expect("randomness");
    let honest = rogue.hello();
    let hello = changed(script, &honest);
    let mut end = match initiator {
        true => End::accept(&victim, kms_or_workload(), 6),
        false => {
            let (end, first) = End::dial(&victim, kms(), 6);
            rogue.read(&first).expect("honest");
            end
        }
    };
    // The first message carries nothing; or does it?
    let first = match initiator {
        true => rogue.write(if script.byte() == 1 {
            script.short()
        } else {
            &[]
        }),
        false => rogue.write(&hello),
    };
    let Some(first) = first else { return };
    let answers = end.feed(&first);
    let Some(answer) = answers.first() else {
        return;
    };
    rogue.read(answer).expect("honest");
    if initiator {
        let Some(last) = rogue.write(&hello) else {
            return;
        };
        end.feed(&last);
    }
    let Some(report_data) = rogue.report_data() else {
        return;
    };
    let attested = evidence(&own, report_data);
    let shown = changed(script, &attested);
    let Some(proof) = rogue.proof_bytes(shown.clone()) else {
        return;
    };
    let sent = changed(script, &proof);
    for frame in rogue.send(&sent).unwrap_or_default() {
        if end.session.is_none() {
            end.feed(&frame);
        }
    }
    let Some(mut session) = end.session else {
        return;
    };
    // A challenge is the peer's to choose; all else of its Hello is bound (I3).
    let bound = |hello: &[u8]| hello.get(..hello.len() - 32).map(<[u8]>::to_vec);
    let same_hello = hello.len() == honest.len() && bound(&hello) == bound(&honest);
    // Evidence that changed on its way is signed by nobody: it is appraised, and refused there.
    let good = same_hello && shown == attested && sent == proof;
    match session.peer().authenticated() {
        Authenticated::Appraised(_) => assert!(good, "another Hello, or another proof"),
        Authenticated::Pending(pending) => assert_eq!(admits(pending), good),
        Authenticated::Vouched => panic!("nobody vouched"),
    }
    chunks(script, &mut rogue, &mut session);
}

/// Mostly as it is.
fn changed(script: &mut Script<'_>, bytes: &[u8]) -> Vec<u8> {
    match script.byte() % 8 {
        4 => script.long().to_vec(),
        5..=7 => attack(script, bytes).pop().unwrap_or_default(),
        _ => bytes.to_vec(),
    }
}

/// Frames with any plaintext.
fn chunks(script: &mut Script<'_>, rogue: &mut Rogue, session: &mut Session) {
    const FULL: usize = FRAME_MAX - 16;
    let before = live();
    let (mut plain, mut frames, mut broken) = (0, 0, false);
    while !script.is_over() && frames < FRAMES_MAX {
        let times = match script.byte() {
            choice @ 0..4 => usize::from(choice) * 75 + 1,
            _ => 1,
        };
        let mut chunk = vec![script.byte() % 4];
        match script.byte() % 4 {
            0 => chunk.resize(FULL, 7),
            1 => chunk.resize(script.number().min(FULL), 7),
            _ => chunk.extend_from_slice(script.short()),
        }
        for _ in 0..times {
            frames += 1;
            let Some(frame) = rogue.seal(&chunk) else {
                return;
            };
            plain += chunk.len();
            let opened = session.open(&frame);
            let held = live().saturating_sub(before);
            match opened {
                Ok(opened) => {
                    assert!(!broken, "a session that goes on after an error");
                    assert!(
                        held <= 2 * plain.min(MESSAGE_MAX) + SLACK,
                        "{held} for {plain}"
                    );
                    match opened {
                        Opened::Part => (),
                        Opened::Message(message) => {
                            assert!(message.len() <= plain.min(MESSAGE_MAX));
                            plain = 0;
                        }
                        Opened::Closed => broken = true,
                    }
                }
                Err(error) => {
                    assert!(!broken || matches!(error, SessionError::Broken));
                    assert!(held <= SLACK, "{held} bytes held after an error");
                    broken = true;
                }
            }
        }
    }
}
