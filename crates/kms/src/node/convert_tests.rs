use proptest::prelude::*;

use super::*;

const PEER: NodeId = NodeId(2);
const ME: Receiver = Receiver {
    id: NodeId(1),
    last_index: 10,
    leads: None,
};

fn append() -> RaftMessage {
    let entry = |index, term| RaftEntry {
        index,
        term,
        data: vec![1],
        ..RaftEntry::default()
    };
    RaftMessage {
        msg_type: MessageType::MsgAppend as u32,
        to: 1,
        from: 2,
        term: 5,
        index: 7,
        log_term: 4,
        entries: vec![entry(8, 4), entry(9, 5)],
        ..RaftMessage::default()
    }
}

fn read(wire: RaftMessage) -> Result<Message, MessageError> {
    from_wire(wire, PEER, ME)
}

#[test]
fn round_trip() {
    assert_eq!(to_wire(read(append()).unwrap()), append());
}

/// I14: the types that make raft-rs panic or that only a node itself may step. Catches an empty
/// propose (`fatal!`), a read without entries (index out of range), and transfer by a peer.
#[test]
fn only_the_allow_list_passes() {
    let passes = |entries: Vec<RaftEntry>| -> Vec<u32> {
        let read_as = |code| {
            read(RaftMessage {
                msg_type: code,
                entries: entries.clone(),
                ..append()
            })
        };
        (0..40).filter(|code| read_as(*code).is_ok()).collect()
    };
    assert_eq!(passes(vec![]), [3, 4, 5, 6, 8, 9, 17, 18]);
    // Entries go with an append only; a snapshot is one entry.
    let mut one = vec![append().entries.remove(0)];
    one[0].data = snapshot_data();
    assert_eq!(passes(one), [3, 7]);
    assert_eq!(passes(append().entries), [3]);
}

/// I3: the session decides who speaks, not the message.
#[test]
fn sender_and_recipient_are_checked() {
    assert!(matches!(
        read(RaftMessage {
            from: 3,
            ..append()
        }),
        Err(MessageError::Sender {
            claimed: 3,
            proved: PEER
        })
    ));
    assert!(matches!(
        read(RaftMessage { to: 3, ..append() }),
        Err(MessageError::Recipient(3))
    ));
    let own = RaftMessage {
        from: 1,
        ..append()
    };
    assert!(matches!(
        from_wire(own, ME.id, ME),
        Err(MessageError::Sender { .. })
    ));
}

fn snapshot_data() -> Vec<u8> {
    let conf = ConfState::from((vec![1, 2, 3], Vec::new()));
    let head = [1; 32];
    let state = &[7; 5];
    SnapshotData { head, conf, state }.to_bytes()
}

#[test]
fn a_snapshot_round_trips() {
    let entry = RaftEntry {
        index: 20,
        term: 3,
        data: snapshot_data(),
        ..RaftEntry::default()
    };
    let wire = RaftMessage {
        msg_type: 7,
        entries: vec![entry],
        ..append()
    };
    assert_eq!(to_wire(read(wire.clone()).unwrap()), wire);
    for change in [
        |e: &mut RaftEntry| e.index = 0,
        |e: &mut RaftEntry| e.term = 0,
        |e: &mut RaftEntry| e.term = 6,
        |e: &mut RaftEntry| e.context = vec![1],
        |e: &mut RaftEntry| e.data = vec![0; MAX_MESSAGE_BYTES + 1],
        |e: &mut RaftEntry| e.data.truncate(40),
        // No voters: raft-rs would end the process.
        |e: &mut RaftEntry| e.data = vec![0; 44],
    ] {
        let mut bad = wire.clone();
        change(&mut bad.entries[0]);
        assert!(matches!(read(bad), Err(MessageError::Bounds(_))));
    }
}

#[test]
fn each_bound_holds() {
    let entry = |change: fn(&mut RaftEntry)| {
        let mut wire = append();
        change(&mut wire.entries[1]);
        wire
    };
    let heartbeat = MessageType::MsgHeartbeat as u32;
    let cases: Vec<(&str, RaftMessage)> = vec![
        (
            "term",
            RaftMessage {
                term: 0,
                ..append()
            },
        ),
        (
            "request_snapshot",
            RaftMessage {
                request_snapshot: 1,
                ..append()
            },
        ),
        (
            "priority",
            RaftMessage {
                priority: 1,
                ..append()
            },
        ),
        (
            "context",
            RaftMessage {
                context: vec![0; 65],
                ..append()
            },
        ),
        (
            "entries",
            RaftMessage {
                msg_type: heartbeat,
                ..append()
            },
        ),
        (
            "commit",
            RaftMessage {
                msg_type: heartbeat,
                entries: vec![],
                commit: 11,
                ..append()
            },
        ),
        (
            "log_term",
            RaftMessage {
                log_term: 0,
                ..append()
            },
        ),
        (
            "log_term",
            RaftMessage {
                index: 0,
                ..append()
            },
        ),
        (
            "commit_term",
            RaftMessage {
                msg_type: 5,
                entries: vec![],
                commit: 1,
                ..append()
            },
        ),
        (
            "entries",
            RaftMessage {
                entries: vec![RaftEntry::default(); 4097],
                ..append()
            },
        ),
        (
            "index",
            RaftMessage {
                index: u64::MAX,
                ..append()
            },
        ),
        (
            "entry.data",
            entry(|e| e.data = vec![0; MAX_ENTRY_BYTES + 1]),
        ),
        ("entry.context", entry(|e| e.context = vec![0; 65])),
        ("entry.entry_type", entry(|e| e.entry_type = 1)),
        // A change of the voters that this code does not write.
        (
            "entry.data",
            entry(|e| {
                e.entry_type = 2;
                e.data = vec![8, 1];
            }),
        ),
        (
            "entry.data",
            entry(|e| {
                e.entry_type = 2;
                e.data = vec![];
                e.context = vec![1];
            }),
        ),
        ("entry.index", entry(|e| e.index = 10)),
        ("entry.term", entry(|e| e.term = 6)),
        ("entry.term", entry(|e| e.term = 3)),
    ];
    for (field, wire) in cases {
        assert_eq!(
            read(wire).err(),
            Some(MessageError::Bounds(field)),
            "{field}"
        );
    }
}

/// An acknowledgement of more than a leader has would move its progress past its log.
#[test]
fn a_leader_is_not_acknowledged_beyond_its_log() {
    let wire = RaftMessage {
        msg_type: 4,
        entries: vec![],
        index: 11,
        ..append()
    };
    let leader = Receiver {
        leads: Some(5),
        ..ME
    };
    assert_eq!(
        from_wire(wire.clone(), PEER, leader).err(),
        Some(MessageError::Bounds("index"))
    );
    assert!(from_wire(wire, PEER, ME).is_ok());
}

fn hostile() -> impl Strategy<Value = (RaftMessage, u64)> {
    let numbers = (0u32..20, 1u64..5, 0u64..4, 0u64..4, 0u64..4, 0u64..4);
    (numbers, any::<bool>(), 0u64..4, 0usize..3, 0u64..25).prop_map(
        |(
            (code, term, log_term, index, commit, commit_term),
            reject,
            reject_hint,
            count,
            ticks,
        )| {
            let entries = (0..count as u64)
                .map(|n| RaftEntry {
                    index: index + n + 1,
                    term,
                    // A change of the voters that nobody agreed to, now and then.
                    entry_type: if commit == 3 { 2 } else { 0 },
                    data: if commit == 3 { vec![] } else { snapshot_data() },
                    ..RaftEntry::default()
                })
                .collect();
            let message = RaftMessage {
                msg_type: code,
                to: 1,
                from: 2,
                term,
                log_term,
                index,
                commit,
                commit_term,
                reject,
                reject_hint,
                entries,
                ..RaftMessage::default()
            };
            (message, ticks)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// I14: whatever a peer sends to a fresh node, it answers or refuses; it does not panic.
    #[test]
    fn hostile_messages_do_not_panic(messages in prop::collection::vec(hostile(), 1..3)) {
        use super::super::{Input, Node, NodeConfig, StateMachine};
        #[derive(Default)]
        struct Nothing(siegel_ledger::Members);
        impl StateMachine for Nothing {
            type Outcome = ();
            fn members(&self) -> &siegel_ledger::Members {
                &self.0
            }
            fn begin_swap(&mut self, _: NodeId, _: NodeId) {}
            fn end_swap(&mut self) {}
            fn apply(&mut self, _: &[u8]) {}
            fn snapshot(&self) -> Vec<u8> {
                Vec::new()
            }
            fn restore(&mut self, _: &[u8]) -> Result<(), String> {
                Ok(())
            }
        }
        let voters = vec![ME.id, PEER, NodeId(3)];
        let config = NodeConfig { id: ME.id, voters, election_seed: 0, deadline_ticks: 5 };
        let mut node = Node::bootstrap(&config, Nothing::default()).unwrap();
        for (message, ticks) in messages {
            (0..ticks).for_each(|_| drop(node.handle(Input::Tick)));
            node.handle(Input::Peer { from: PEER, message });
        }
    }
}
