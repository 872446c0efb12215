//! Evidence as sessions and key offers carry it: one encoding, and nothing that binds what this verifier expects.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use siegel_attest::hardware::{fuzzing, snp};
use siegel_attest::{Binding, Context, Profile, ReferenceValue, Role, TrustAnchors, appraise};
use siegel_fuzz::memory;
use siegel_fuzz::snp::worlds;
use siegel_ident::{ClusterId, ConfigDigest};

static ALLOWED: LazyLock<Vec<ReferenceValue>> = LazyLock::new(|| {
    let values = worlds().into_iter().map(|world| world.references);
    values.flat_map(Vec::<ReferenceValue>::from).collect()
});

static ANCHORS: LazyLock<TrustAnchors> = LazyLock::new(|| TrustAnchors {
    simulation_root: None,
    vendors: snp::mock::roots().expect("a committed key"),
});

fuzz_target!(|data: &[u8]| {
    let _ = (&*ALLOWED, &*ANCHORS);
    memory::bounded(data.len(), || {
        fuzzing::frame(data);
        let binding = Binding {
            role: Role::Worker,
            deployment: Some(ClusterId::from_bytes([1; 32])),
            signing_key: vec![2; 32],
            kem_key: vec![0, 2, 3],
            config: ConfigDigest::from_bytes([4; 32]),
            challenge: vec![5; 32],
            checkpoint: None,
        };
        let ctx = Context {
            now: snp::mock::NOW,
            profile: Profile::Production,
            genesis_profile: Profile::Production,
            anchors: &ANCHORS,
        };
        // The seeds are authentic; none of them was made for these keys (I3).
        let refused = appraise(data, &binding, &ALLOWED, &ctx).expect_err("a forgery");
        assert!(!refused.code().is_empty());
        let printed = refused.to_string();
        assert!(!printed.contains(char::is_control), "{printed:?}");
    });
});
