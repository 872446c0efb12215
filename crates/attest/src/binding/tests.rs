use super::*;
use crate::CLUSTER_KEY_LEN;
use proptest::prelude::*;

/// A binding that the table allows.
fn binding(role: Role) -> Binding {
    let bundle = role == Role::KmsBundle;
    Binding {
        role,
        deployment: Some(ClusterId::from_bytes([1; 32])),
        signing_key: if bundle {
            vec![6; CLUSTER_KEY_LEN]
        } else {
            vec![2; 32]
        },
        kem_key: [&[0, if bundle { 1 } else { 2 }][..], &[3; 8]].concat(),
        config: ConfigDigest::from_bytes([4; 32]),
        challenge: if bundle {
            Vec::new()
        } else {
            vec![5; CHALLENGE_LEN]
        },
        checkpoint: bundle.then(|| Digest::from_bytes([7; 32])),
    }
}

// Made with another implementation (Python's hashlib): catches any change of label, order,
// prefix or hash.
#[test]
fn golden_report_data() {
    assert_eq!(
        hex_of(&binding(Role::Root).report_data().unwrap()),
        "5f09b536ebe0c2bc4bb0bf979b434119b7dd756d1d025a344fe78f126049ad12845fb4a89e0dc3d56e9fa69ac045cc82a9614834cb3201809bb6b4ad974eddfb"
    );
    assert_eq!(
        hex_of(&binding(Role::KmsBundle).report_data().unwrap()),
        "a29a1e8750df36e57edd6fc5e59e455f315aaefd5e17bb641a74c18edb03f6bcbabf340bae623632094fb4da50f54dd42b36d88d74ba800d1bb26a99a4f88797"
    );
}

// I3: catches a table row that lets a field be dropped, invented or of another role's shape.
#[test]
fn i3_per_role_table() {
    for role in Role::ALL {
        assert!(binding(role).report_data().is_ok(), "{role}");
        let bundle = role == Role::KmsBundle;
        let refused = |field: &str, change: fn(&mut Binding)| {
            let mut changed = binding(role);
            change(&mut changed);
            match changed.report_data() {
                Err(Refusal::Binding { field: named, .. }) => assert_eq!(named, field, "{role}"),
                _ => panic!("{role}: {field} was not refused"),
            }
        };
        refused("signing_key", |b| b.signing_key.clear());
        refused("signing_key", |b| b.signing_key.push(0));
        refused("kem_key", |b| b.kem_key.truncate(2));
        refused("kem_key", |b| b.kem_key = vec![0; KEM_KEY_MAX + 1]);
        refused("challenge", |b| b.challenge.push(0));
        if bundle {
            refused("checkpoint", |b| b.checkpoint = None);
            refused("challenge", |b| b.challenge = vec![5; CHALLENGE_LEN]);
            refused("signing_key", |b| b.signing_key = vec![2; 32]);
        } else {
            refused("checkpoint", |b| {
                b.checkpoint = Some(Digest::from_bytes([7; 32]))
            });
            refused("challenge", |b| b.challenge.clear());
            refused("signing_key", |b| b.signing_key = vec![6; CLUSTER_KEY_LEN]);
        }
        if role == Role::KmsPeer {
            let before_founding = Binding {
                deployment: None,
                ..binding(role)
            };
            assert!(before_founding.report_data().is_ok());
        } else {
            refused("deployment", |b| b.deployment = None);
        }
    }
}

fn any_binding() -> impl Strategy<Value = Binding> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..5);
    let id = || prop::option::of(0..3u8);
    (0..4usize, id(), bytes(), bytes(), 0..3u8, bytes(), id()).prop_map(
        |(r, d, s, k, c, ch, cp)| Binding {
            role: Role::ALL[r],
            deployment: d.map(|b| ClusterId::from_bytes([b; 32])),
            signing_key: s,
            kem_key: k,
            config: ConfigDigest::from_bytes([c; 32]),
            challenge: ch,
            checkpoint: cp.map(|b| Digest::from_bytes([b; 32])),
        },
    )
}

proptest! {
    // Catches a missing length prefix or a field left out: two tuples would then hash alike.
    #[test]
    fn no_two_tuples_alias(a in any_binding(), b in any_binding()) {
        prop_assert_eq!(a == b, a.transcript() == b.transcript());
    }

    // The random pairs above rarely differ in one field only; these always do. Bytes move from
    // one field to its neighbour.
    #[test]
    fn bytes_do_not_slide_between_fields(base in any_binding(), by in 1..4usize) {
        let mut slid = base.clone();
        let cut = slid.kem_key.len().saturating_sub(by);
        let moved = slid.kem_key.split_off(cut);
        slid.signing_key.extend(moved);
        prop_assert_eq!(base == slid, base.transcript() == slid.transcript());
    }
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
