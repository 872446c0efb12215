//! Chains of the mock vendor.

use super::*;
use crate::hardware::snp::mock::{Authority, NOW, Platform};
use crate::hardware::snp::{Product, SigningKey};

/// Root, authority and leaf, once `bend` had them.
fn verified(bend: impl FnOnce(&mut Platform)) -> Result<Timestamp, String> {
    let mut platform = Platform::new(Product::Genoa, SigningKey::Vcek).unwrap();
    bend(&mut platform);
    let (ark, ask) = (Authority::ark().unwrap(), Authority::ask().unwrap());
    let parse = |der: Vec<u8>| Certificate::parse(&der).unwrap();
    let authorities = [platform.ark.sign(&ark), platform.signer.sign(&ark)];
    let authorities = authorities.map(|der| parse(der.unwrap()));
    let leaf = parse(platform.leaf.sign(&ask).unwrap());
    verify_path(&authorities, &leaf, NOW)
}

/// Basic constraints: an authority, with at most so many authorities below it.
fn at_most(below: u8) -> Vec<u8> {
    vec![0x30, 6, 1, 1, 0xff, 2, 1, below]
}

/// Each authority is asked how many may stand below it (RFC 5280, 4.2.1.9).
#[test]
fn path_lengths_are_asked() {
    const CONSTRAINTS: usize = 1;
    let root =
        |below: u8| verified(|chain| chain.ark.extensions[CONSTRAINTS].value = at_most(below));
    assert!(root(1).is_ok() && root(2).is_ok());
    let refused = root(0).unwrap_err();
    assert!(
        refused.contains("allows 0 authorities below it, found 1"),
        "{refused}"
    );
    // The last authority needs none: the leaf is no authority.
    let last = verified(|chain| chain.signer.extensions[CONSTRAINTS].value = at_most(0));
    assert!(last.is_ok());
}

/// The window that ends first is the chain's.
#[test]
fn the_earliest_end_counts() {
    let end = Timestamp(NOW.0 + 5);
    for at in 0..3 {
        let found = verified(|chain| {
            let all = [&mut chain.ark, &mut chain.signer, &mut chain.leaf];
            all.into_iter().nth(at).unwrap().window.1 = end;
        });
        assert_eq!(found, Ok(end), "{at}");
    }
}
