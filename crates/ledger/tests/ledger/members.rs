//! I10: who may be a member, and that an id is never given twice.

use siegel_attest::ReferenceValue;
use siegel_ident::{ClusterId, ConfigDigest, Measurement, NodeId};
use siegel_ledger::{Done, Event, Joiner, Ledger, Members};

use crate::world::World;

fn founded() -> World {
    let mut world = World::new();
    let members = Members::founded((1..=3).map(|n| (NodeId(n), [n as u8; 32])));
    world.ledger = Ledger::founded(&world.genesis, members).unwrap();
    world
}

fn joiner(world: &World, place: u64, key: u8) -> Joiner {
    Joiner {
        place: NodeId(place),
        measured: world.ledger.genesis().config.peers[0].id(),
        marks: Vec::new(),
        config: world.config,
        cluster: world.ledger.cluster_id(),
        signing_key: [key; 32],
        kem_key: vec![0, 2, key],
    }
}

fn admit(joiner: Joiner, leaves: u64, over: Option<u64>) -> Event {
    Event::Admit {
        joiner,
        leaves: NodeId(leaves),
        over: over.map(NodeId),
    }
}

fn admitted(world: &mut World, joiner: Joiner, leaves: u64, over: Option<u64>) -> u64 {
    match world.done(admit(joiner, leaves, over)) {
        Done::Admitted { member } => member.0,
        other => panic!("{other:?}"),
    }
}

/// Catches a replica that believes the proposer: each field of the appraisal is checked at apply.
#[test]
fn each_replica_applies_the_rule_of_genesis() {
    let mut world = founded();
    let good = joiner(&world, 3, 9);
    let measurement = Measurement::from_bytes([8; 32]);
    let other = ReferenceValue::simulated(measurement);
    let cases = [
        (
            "peer-not-allowed",
            Joiner {
                measured: other.id(),
                ..good.clone()
            },
            3,
        ),
        (
            "peer-not-allowed",
            Joiner {
                config: ConfigDigest::from_bytes([8; 32]),
                ..good.clone()
            },
            3,
        ),
        (
            "peer-not-allowed",
            Joiner {
                cluster: ClusterId::from_bytes([8; 32]),
                ..good.clone()
            },
            3,
        ),
        // A member's own key under a second number would be two votes of one process.
        (
            "peer-not-allowed",
            Joiner {
                signing_key: [1; 32],
                ..good.clone()
            },
            3,
        ),
        (
            "unknown-place",
            Joiner {
                place: NodeId(4),
                ..good.clone()
            },
            4,
        ),
        (
            "unknown-place",
            Joiner {
                place: NodeId(0),
                ..good.clone()
            },
            0,
        ),
        ("member-changed", good.clone(), 2),
        (
            "out-of-bounds",
            Joiner {
                kem_key: vec![0; 5000],
                ..good.clone()
            },
            3,
        ),
    ];
    for (code, joiner, leaves) in cases {
        let case = format!("{joiner:?}");
        assert_eq!(world.code(admit(joiner, leaves, None)).0, code, "{case}");
    }
    assert_eq!(admitted(&mut world, good, 3, None), 4);
}

/// One admission at a time; a dead one makes room; the voters stay three; ids only grow.
#[test]
fn ids_only_grow_and_places_stay() {
    let mut world = founded();
    let first = joiner(&world, 3, 9);
    assert_eq!(admitted(&mut world, first.clone(), 3, None), 4);
    // A retry of the same process, its answer lost.
    assert_eq!(admitted(&mut world, first, 3, None), 4);
    let second = joiner(&world, 3, 10);
    assert_eq!(
        world.code(admit(second.clone(), 3, None)).0,
        "admission-pending"
    );
    assert_eq!(
        world.code(admit(second.clone(), 3, Some(3))).0,
        "admission-pending"
    );
    let elsewhere = joiner(&world, 2, 11);
    assert_eq!(
        world.code(admit(elsewhere.clone(), 2, None)).0,
        "admission-pending"
    );
    assert_eq!(admitted(&mut world, second, 3, Some(4)), 5);
    assert!(world.ledger.members().is_gone(NodeId(4)));
    assert_eq!(
        world.code(Event::Withdraw { member: NodeId(4) }).0,
        "no-admission"
    );

    // Only the swap that was agreed begins, and from then on there is no way back.
    world.ledger.begin_swap(NodeId(5), NodeId(2));
    world.ledger.end_swap();
    assert_eq!(world.ledger.members().at(NodeId(3)).unwrap().id, NodeId(3));
    world.ledger.begin_swap(NodeId(5), NodeId(3));
    assert_eq!(
        world.code(Event::Withdraw { member: NodeId(5) }).0,
        "no-admission"
    );
    assert_eq!(
        world.code(admit(elsewhere.clone(), 2, Some(5))).0,
        "admission-pending"
    );
    assert!(
        !world.ledger.members().is_gone(NodeId(3)),
        "it votes until the end"
    );
    world.ledger.end_swap();
    let members = world.ledger.members();
    assert_eq!(members.at(NodeId(3)).unwrap().id, NodeId(5));
    assert!(members.is_gone(NodeId(3)) && !members.is_gone(NodeId(5)));
    assert!(!members.is_gone(NodeId(6)), "not given yet");
    assert_eq!(members.iter().count(), 3);

    // Withdrawn: that id is gone too, and a restored replica knows.
    assert_eq!(admitted(&mut world, elsewhere.clone(), 2, None), 6);
    world.done(Event::Withdraw { member: NodeId(6) });
    let bytes = world.ledger.snapshot().unwrap();
    let restored = Ledger::restore(&world.genesis, &bytes).unwrap();
    assert_eq!(restored.members(), world.ledger.members());
    assert_eq!(restored.snapshot().unwrap(), bytes);
    world.ledger = restored;
    assert_eq!(admitted(&mut world, elsewhere, 2, None), 7);
}
