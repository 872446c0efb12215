use siegel_ident::Seconds;

use super::*;
use crate::hardware::ReferenceValues;
use crate::hardware::event_log::{EventLogRule, EventRule};
use crate::hardware::quote::AdvisoryRule;
use crate::hardware::snp::mock::{Platform, reference};
use crate::hardware::snp::{BitSet, Product, SigningKey};
use crate::hardware::{Freshness, Hex, Rule};

const EXAMPLES: [&str; 4] = [
    include_str!("../../../../policies/reference/genoa.toml"),
    include_str!("../../../../policies/reference/tdx.toml"),
    include_str!("../../../../policies/reference/sgx.toml"),
    include_str!("../../../../policies/reference/nitro.toml"),
];

fn examples() -> Vec<ReferenceValue> {
    let read = |text| toml::from_str::<ReferenceValues>(text).unwrap();
    EXAMPLES
        .iter()
        .flat_map(|text| Vec::from(read(text)))
        .collect()
}

fn mock() -> snp::Reference {
    let platform = Platform::new(Product::Genoa, SigningKey::Vcek).unwrap();
    reference(&platform.report, Product::Genoa)
}

fn ignore<T>() -> Rule<T> {
    Rule::Ignore("a test".into())
}

// I2: what a simulation hashes has not changed, and what is new is as strict.
#[test]
fn i2_one_spelling() {
    let simulated = ReferenceValue::simulated(Measurement::from_bytes([0xab; 32]));
    let text = format!(
        r#"{{"measurement":"{}","tee":"simulated"}}"#,
        "ab".repeat(32)
    );
    assert_eq!(json::to_canonical(&simulated).unwrap(), text.as_bytes());
    let mut all = examples();
    assert_eq!(all.len(), 4);
    all.push(simulated);
    all.push(ReferenceValue::SevSnp(Box::new(mock())));
    for value in &all {
        let bytes = json::to_canonical(value).unwrap();
        assert_eq!(
            json::from_canonical::<ReferenceValue>(&bytes, 1 << 16).unwrap(),
            *value
        );
        let text = String::from_utf8(bytes).unwrap();
        let read = |text: &str| json::from_canonical::<ReferenceValue>(text.as_bytes(), 1 << 16);
        let more = text.replacen("\"tee\":", "\"tea\":1,\"tee\":", 1);
        assert!(read(&more).is_err(), "a field too many: {more}");
        let word = format!("\"tee\":\"{}\"", value.tee());
        assert!(text.contains(&word));
        assert!(read(&text.replacen(&word, "\"tee\":\"arm-cca\"", 1)).is_err());
        assert!(
            read(&text.replacen(&format!(",{word}"), "", 1)).is_err(),
            "no kind"
        );
    }
    for (at, value) in all.iter().enumerate() {
        let same = |other: &&ReferenceValue| other.digest() == value.digest();
        assert_eq!(
            all.iter().filter(same).count(),
            1,
            "{at}: names are distinct"
        );
    }
}

// I3, I11: what production may not leave open.
#[test]
fn i3_production_leaves_nothing_open() {
    let simulated = ReferenceValue::simulated(Measurement::from_bytes([1; 32]));
    assert_eq!(simulated.check_production().unwrap_err().field, "tee");
    for value in examples() {
        assert_eq!(value.check_production(), Ok(()), "{value}");
    }
    type Snp = fn(&mut snp::Reference);
    let cases: [(&str, Snp); 22] = [
        ("measurement", |r| r.measurement = ignore()),
        ("crl", |r| r.crl = Freshness::Ignore("a test".into())),
        ("product", |r| r.product = ignore()),
        ("report_version", |r| r.report_version = Rule::AtLeast(2)),
        ("report_version", |r| r.report_version = ignore()),
        ("provider", |r| {
            r.signing_key = Rule::Exact(SigningKey::Vlek)
        }),
        ("tcb.boot_loader", |r| r.tcb.boot_loader = ignore()),
        ("tcb.tee", |r| r.tcb.tee = ignore()),
        ("tcb.snp", |r| r.tcb.snp = ignore()),
        ("tcb.microcode", |r| r.tcb.microcode = ignore()),
        ("vmpl", |r| r.vmpl = ignore()),
        ("vmpl", |r| r.vmpl = Rule::AtLeast(0)),
        ("crl", |r| r.crl = Freshness::MaxAgeS(Seconds(401 * 86_400))),
        ("tcb.boot_loader", |r| r.tcb.boot_loader = Rule::AtLeast(0)),
        ("tcb.snp", |r| r.tcb.snp = Rule::AnyOf(vec![0, 25])),
        ("tcb.microcode", |r| r.tcb.microcode = Rule::AtLeast(0)),
        ("tcb.fmc", |r| {
            r.product = Rule::AnyOf(vec![Product::Genoa, Product::Turin])
        }),
        ("platform.other_bits", |r| r.platform.other_bits = ignore()),
        ("platform.other_bits", |r| {
            r.platform.other_bits = Rule::AtLeast(BitSet(0))
        }),
        ("platform.alias_check", |r| {
            r.platform.alias_check = Rule::AnyOf(vec![true, false])
        }),
        ("guest_policy.migrate_ma", |r| {
            r.guest_policy.migrate_ma = ignore()
        }),
        ("platform.alias_check", |r| {
            r.platform.alias_check = ignore()
        }),
    ];
    for (field, open) in cases {
        let mut value = mock();
        assert_eq!(
            ReferenceValue::SevSnp(Box::new(value.clone())).check_production(),
            Ok(())
        );
        open(&mut value);
        let found = ReferenceValue::SevSnp(Box::new(value)).check_production();
        assert_eq!(found.unwrap_err().field, field);
    }
}

#[test]
fn i3_production_leaves_nothing_open_on_other_hardware() {
    let find = |tee| {
        examples()
            .into_iter()
            .find(|value| value.tee() == tee)
            .unwrap()
    };
    let refused = |value: ReferenceValue| value.check_production().unwrap_err().field;
    let ReferenceValue::Tdx(tdx) = find(TeeKind::Tdx) else {
        panic!()
    };
    type Tdx = fn(&mut tdx::Reference);
    let cases: [(&str, Tdx); 16] = [
        ("quote.collateral", |r| {
            r.quote.collateral = Freshness::Ignore("a test".into())
        }),
        ("quote.tcb_evaluation_number", |r| {
            r.quote.tcb_evaluation_number = ignore()
        }),
        ("quote.tcb_status", |r| r.quote.tcb_status = ignore()),
        ("quote.advisories", |r| {
            r.quote.advisories = AdvisoryRule::Ignore("a test".into())
        }),
        ("quote.collateral", |r| {
            r.quote.collateral = Freshness::MaxAgeS(Seconds(61 * 86_400))
        }),
        ("quote.tcb_evaluation_number", |r| {
            r.quote.tcb_evaluation_number = Rule::AtLeast(0)
        }),
        ("quote.tcb_status", |r| {
            r.quote.tcb_status = Rule::AnyOf(vec!["UpToDate".into(), "Revoked".into()])
        }),
        ("tee_tcb_svn", |r| r.tee_tcb_svn = ignore()),
        ("mrservicetd", |r| r.mrservicetd = ignore()),
        ("mrtd", |r| r.mrtd = ignore()),
        ("xfam", |r| r.xfam = ignore()),
        ("mrservicetd", |r| r.mrservicetd = ignore()),
        ("rtmr0", |r| r.rtmr0 = ignore()),
        ("rtmr1", |r| r.rtmr1 = ignore()),
        ("rtmr2", |r| r.rtmr2 = ignore()),
        ("rtmr3", |r| r.rtmr3 = ignore()),
    ];
    for (field, open) in cases {
        let mut value = tdx.clone();
        open(&mut value);
        assert_eq!(refused(ReferenceValue::Tdx(value)), field);
    }
    // A log in place of exact registers: catches one that replays to anything.
    let event = |register, digest| EventRule {
        name: "a test".into(),
        register,
        kind: 6,
        digest,
        last: false,
    };
    let exactly = || Rule::Exact(Hex([1; 48]));
    for (events, open) in [
        (vec![], Some("rtmr1")),
        (vec![event(2, exactly())], Some("rtmr1")),
        (vec![event(1, ignore())], Some("rtmr1")),
        (vec![event(1, exactly()), event(1, ignore())], Some("rtmr1")),
        (vec![event(1, exactly()), event(1, exactly())], None),
    ] {
        let mut value = tdx.clone();
        value.rtmr1 = ignore();
        value.event_log = EventLogRule::Replay(events);
        let found = ReferenceValue::Tdx(value).check_production();
        assert_eq!(found.err().map(|open| open.field), open);
    }
    let ReferenceValue::Sgx(sgx) = find(TeeKind::Sgx) else {
        panic!()
    };
    let mut value = sgx.clone();
    value.mrenclave = ignore();
    assert_eq!(refused(ReferenceValue::Sgx(value)), "mrenclave");
    let mut value = sgx;
    value.attributes = ignore();
    assert_eq!(refused(ReferenceValue::Sgx(value)), "attributes");
    let ReferenceValue::AwsNitro(nitro) = find(TeeKind::AwsNitro) else {
        panic!()
    };
    type Nitro = fn(&mut nitro::Reference);
    let cases: [(&str, Nitro); 5] = [
        ("age", |r| r.age = Freshness::Ignore("a test".into())),
        ("age", |r| r.age = Freshness::MaxAgeS(Seconds(86_401))),
        ("pcr0", |r| r.pcr0 = ignore()),
        ("pcr1", |r| r.pcr1 = ignore()),
        ("pcr2", |r| r.pcr2 = ignore()),
    ];
    for (field, open) in cases {
        let mut value = nitro.clone();
        open(&mut value);
        assert_eq!(refused(ReferenceValue::AwsNitro(value)), field);
    }
}

// Catches a field that people are not shown, or an open one that looks demanded.
#[test]
fn every_field_is_listed_in_plain_words() {
    let [snp, tdx, ..] = &examples()[..] else {
        panic!()
    };
    let rules = snp.rules();
    let of = |field: &str| {
        let mut found = rules.iter().filter(|rule| rule.field == field);
        let rule = found.next().unwrap_or_else(|| panic!("{field}"));
        assert!(found.next().is_none());
        (rule.accepts.as_str(), rule.open)
    };
    assert_eq!(of("product"), ("exactly genoa", false));
    assert_eq!(of("crl"), ("at most 2592000 s old", false));
    assert_eq!(of("tcb.snp"), ("at least 25", false));
    assert_eq!(of("denied_chips"), ("nothing", false));
    assert_eq!(of("chip_id"), ("any chip of this generation", true));
    let fields = EXAMPLES[0].lines().filter(|line| {
        let name = line.split(" = ").next().unwrap_or_default();
        line.contains(" = ") && !line.starts_with('#') && name != "name"
    });
    assert_eq!(rules.len(), fields.count());
    assert!(
        tdx.rules()
            .iter()
            .any(|rule| rule.field == "quote.tcb_status")
    );
    // What an author writes moves no cursor.
    let mut value = mock();
    value.provider = Rule::Ignore("a\u{1b}[2Jb\nc".into());
    let listed = ReferenceValue::SevSnp(Box::new(value)).rules();
    assert!(listed.iter().any(|rule| rule.accepts == "a?[2Jb?c"));
}
