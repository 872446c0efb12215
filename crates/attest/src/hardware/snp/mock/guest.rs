//! A reference value that holds every field of the mock guest.

use siegel_ident::Seconds;

use super::{Draft, at};
use crate::hardware::snp::{
    AbiVersion, BitSet, GuestPolicyRules, IdentityRules, PlatformRules, Product, Reference,
    SigningKey, TcbRules,
};
use crate::hardware::{Freshness, Hex, Rule};

/// Nothing is ignored but what the product has not. Production could use it, if there were such a chip.
pub fn reference(report: &Draft, product: Product) -> Reference {
    let [fmc, boot_loader, tee, snp, microcode] = levels(report, product);
    Reference {
        name: "mock".to_owned(),
        product: Rule::Exact(product),
        report_version: Rule::AtLeast(3),
        signing_key: Rule::Exact(SigningKey::Vcek),
        provider: Rule::Ignore("a VCEK has none".to_owned()),
        chip_id: Rule::AnyOf(vec![chip(product), Hex([9; 64])]),
        denied_chips: vec![Hex([8; 64])],
        crl: Freshness::MaxAgeS(Seconds(7 * 86_400)),
        tcb: TcbRules {
            fmc: match product {
                Product::Turin => Rule::AtLeast(fmc),
                _ => Rule::Ignore("Turin only".to_owned()),
            },
            boot_loader: Rule::AtLeast(boot_loader),
            tee: Rule::AtLeast(tee),
            snp: Rule::AtLeast(snp),
            microcode: Rule::AtLeast(microcode),
        },
        launch_mitigations: Rule::AtLeast(BitSet(1)),
        current_mitigations: Rule::AtLeast(BitSet(1)),
        guest_policy: GuestPolicyRules {
            abi: Rule::AtLeast(AbiVersion { major: 0, minor: 0 }),
            smt: Rule::Exact(true),
            migrate_ma: Rule::Exact(false),
            single_socket: Rule::Exact(false),
            cxl_allowed: Rule::Exact(false),
            aes_256_xts: Rule::Exact(false),
            rapl_disabled: Rule::Exact(false),
            ciphertext_hiding: Rule::Exact(false),
            page_swap_disabled: Rule::Exact(false),
        },
        platform: PlatformRules {
            smt: Rule::Exact(true),
            tsme: Rule::Exact(false),
            ecc: Rule::Exact(true),
            rapl_disabled: Rule::Exact(false),
            ciphertext_hiding: Rule::Exact(false),
            alias_check: Rule::Exact(true),
            other_bits: Rule::Exact(BitSet(0)),
        },
        vmpl: Rule::Exact(0),
        migration_agent: Rule::Exact(Hex([0xff; 32])),
        measurement: Rule::AnyOf(vec![Hex([1; 48]), Hex([0x3e; 48])]),
        host_data: Rule::Exact(Hex([0x0d; 32])),
        identity: IdentityRules {
            id_key: Rule::Exact(Hex([0; 48])),
            author_key: Rule::Exact(Hex([0; 48])),
            family_id: Rule::Exact(Hex([0; 16])),
            image_id: Rule::Exact(Hex([0; 16])),
            guest_svn: Rule::Exact(0),
        },
    }
}

/// The mock chip as a report of `product` names it.
pub fn chip(product: Product) -> Hex<64> {
    let mut chip = [0; 64];
    chip.iter_mut()
        .take(product.chip_id_len())
        .for_each(|byte| *byte = 0xc4);
    Hex(chip)
}

fn levels(report: &Draft, product: Product) -> [u8; 5] {
    let level = |part: usize| {
        report
            .bytes()
            .get(at::REPORTED_TCB + part)
            .copied()
            .unwrap_or(0)
    };
    match product {
        Product::Turin => [level(0), level(1), level(2), level(3), level(7)],
        Product::Milan | Product::Genoa => [0, level(0), level(1), level(6), level(7)],
    }
}
