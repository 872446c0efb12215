use proptest::prelude::*;

use super::*;

const ALL: [Change; 4] = [
    Change::Learn(NodeId(4)),
    Change::Swap {
        joins: NodeId(4),
        leaves: NodeId(1),
    },
    Change::Settle,
    Change::Forget(NodeId(4)),
];

/// What raft-rs puts into the log; the simulation shows that the two encodings are one.
fn bytes(change: &ConfChangeV2) -> Vec<u8> {
    let single = |change: &ConfChangeSingle| v1::ConfChangeSingle {
        change_type: change.get_change_type() as u32,
        node_id: change.node_id,
    };
    v1::ConfChange {
        transition: change.get_transition() as u32,
        changes: change.changes.iter().map(single).collect(),
        context: change.context.to_vec(),
    }
    .encode_to_vec()
}

/// I14: the four changes, and nothing else that raft-rs would understand. Catches a change that adds
/// a fourth voter, or one that leaves a voter without a successor.
#[test]
fn only_the_four_changes_are_read() {
    for change in ALL {
        assert_eq!(Change::read(&bytes(&change.to_raft())), Some(change));
    }
    let swap = |edit: fn(&mut ConfChangeV2)| {
        let mut change = ALL[1].to_raft();
        edit(&mut change);
        Change::read(&bytes(&change))
    };
    assert_eq!(
        swap(|c| c.set_transition(ConfChangeTransition::Implicit)),
        None
    );
    assert_eq!(swap(|c| c.set_transition(ConfChangeTransition::Auto)), None);
    assert_eq!(swap(|c| drop(c.mut_changes().remove(0))), None);
    assert_eq!(swap(|c| drop(c.mut_changes().remove(1))), None);
    assert_eq!(swap(|c| c.changes[0].node_id = 0), None);
    assert_eq!(swap(|c| c.context = vec![1].into()), None);
    assert_eq!(
        swap(|c| {
            let first = c.changes[0].clone();
            c.mut_changes().push(first)
        }),
        None
    );
    let mut voter = ALL[0].to_raft();
    voter.changes[0].set_change_type(ConfChangeType::AddNode);
    assert_eq!(Change::read(&bytes(&voter)), None);
}

fn conf(voters: &[u64], learners: &[u64], outgoing: &[u64]) -> ConfState {
    let mut conf = ConfState::from((voters.to_vec(), learners.to_vec()));
    conf.voters_outgoing = outgoing.to_vec();
    conf
}

fn members() -> Members {
    let mut members = Members::founded((1..=3).map(|n| (NodeId(n), [n as u8; 32])));
    members.admit(NodeId(1), [9; 32], NodeId(1), None).unwrap();
    members
}

/// I10: catches a replica that applies a change which nobody agreed to.
#[test]
fn a_change_follows_from_the_members() {
    let (steady, learning) = (conf(&[1, 2, 3], &[], &[]), conf(&[1, 2, 3], &[4], &[]));
    let joint = conf(&[2, 3, 4], &[], &[1, 2, 3]);
    let fits = |conf: &ConfState, members: &Members| -> Vec<usize> {
        (0..4).filter(|n| ALL[*n].fits(conf, members)).collect()
    };
    let admitted = members();
    assert_eq!(fits(&steady, &admitted), [0]);
    assert_eq!(fits(&learning, &admitted), [1]);
    assert_eq!(fits(&joint, &admitted), [2]);
    let mut withdrawn = members();
    withdrawn.withdraw(NodeId(4)).unwrap();
    assert_eq!(fits(&steady, &withdrawn), [0usize; 0]);
    assert_eq!(fits(&learning, &withdrawn), [3]);
    let other = Change::Swap {
        joins: NodeId(4),
        leaves: NodeId(2),
    };
    assert!(
        !other.fits(&learning, &admitted),
        "a live member would be swapped out"
    );
}

fn read(bytes: &[u8]) -> Result<ConfState, MessageError> {
    read_conf(&mut Reader::new(bytes))
}

/// I14: raft-rs ends the process over a configuration that contradicts itself.
#[test]
fn a_configuration_that_contradicts_itself_is_refused() {
    for good in [
        conf(&[1, 2, 3], &[], &[]),
        conf(&[2, 3, 4], &[5], &[1, 2, 3]),
    ] {
        assert_eq!(read(&write_conf(&good)).unwrap(), good);
    }
    for bad in [
        conf(&[], &[], &[]),
        conf(&[0, 1, 2], &[], &[]),
        conf(&[1, 1, 2], &[], &[]),
        conf(&[3, 2, 1], &[], &[]),
        conf(&[1, 2, 3], &[3], &[]),
        conf(&[2, 3, 4], &[1], &[1, 2, 3]),
        conf(&[1, 2, 3, 4], &[], &[1, 2, 3]),
        conf(&(1..=17).collect::<Vec<_>>(), &[], &[]),
    ] {
        assert!(read(&write_conf(&bad)).is_err(), "{bad:?}");
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Change::read(&bytes);
        if let Ok(conf) = read(&bytes) {
            prop_assert_eq!(&bytes[..write_conf(&conf).len()], &write_conf(&conf)[..]);
        }
    }
}
