//! Evidence with endorsements, through the front door: opened, verified, appraised. Nobody forges a signature here, so
//! what is accepted is a seed, or differs from one in nothing that is said.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use siegel_attest::hardware::{
    Authentic, Check, Expected, ReferenceValues, Rule, TrustRoots, appraise, open, snp, verify,
};
use siegel_fuzz::memory;
use siegel_fuzz::presented::Presented;

static ROOTS: LazyLock<[TrustRoots; 2]> = LazyLock::new(|| {
    let mock = snp::mock::roots().expect("a committed key");
    [mock, TrustRoots::vendors()]
});

fuzz_target!(|data: &[u8]| {
    let _ = &*ROOTS;
    memory::bounded(data.len(), || {
        if let Some(opened) = open(data) {
            assert_eq!(opened.body.len() + opened.around, data.len());
        }
        check(&Presented::read(data));
    });
});

fn check(presented: &Presented) {
    let Presented {
        evidence,
        endorsements,
        mock_roots,
        now,
    } = presented;
    let [mock, vendors] = &*ROOTS;
    let roots = if *mock_roots { mock } else { vendors };
    let verify = |roots| verify(evidence, endorsements, roots, *now);
    let found = match verify(roots) {
        Ok(found) => found,
        Err(rejection) => {
            assert!(!rejection.outcomes.is_empty());
            let printed = rejection.to_string();
            assert!(!printed.contains(char::is_control), "{printed:?}");
            return;
        }
    };
    let opened = open(&evidence.body).map(|opened| (opened.kind, opened.around));
    assert_eq!(opened, Some((evidence.kind, 0)));
    assert!(*now <= found.valid_until());
    for (name, claim) in found.claims() {
        assert!(!claim.contains(char::is_control), "{name} {claim:?}");
    }
    assert_eq!(verify(roots).as_ref(), Ok(&found));
    // AMD has signed nothing of the mock platform, and the other way round (I1).
    let others = if *mock_roots { vendors } else { mock };
    let amd = matches!(found, Authentic::SevSnp(_));
    assert_eq!(verify(others).is_err(), amd);
    assert!(verify(&TrustRoots::default()).is_err());
    // Authentic is not accepted (I3).
    let nothing = ReferenceValues::default();
    let expected = Expected {
        report_data: Rule::Ignore("a fuzz target".to_owned()),
        config: Rule::Ignore("a fuzz target".to_owned()),
    };
    let refused = appraise(evidence, endorsements, roots, &nothing, &expected, *now);
    assert_eq!(refused.map_err(|e| e.check).err(), Some(Check::Kind));
}
