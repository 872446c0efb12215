//! The documented reference value, and what may not be written.

use super::*;

fn parse(value: &toml::Table) -> Result<ReferenceValues, toml::de::Error> {
    value.clone().try_into()
}

fn table() -> toml::Table {
    EXAMPLE.parse().unwrap()
}

/// The `[[sev-snp]]` table of a document.
fn inner(document: &mut toml::Table) -> &mut toml::Table {
    document["sev-snp"][0].as_table_mut().unwrap()
}

fn sections(reference: &toml::Table) -> Vec<(Option<String>, String)> {
    let mut all = Vec::new();
    for (key, value) in reference {
        all.push((None, key.clone()));
        if ["tcb", "guest_policy", "platform", "identity"].contains(&key.as_str()) {
            let fields = value.as_table().unwrap().keys();
            all.extend(fields.map(|field| (Some(key.clone()), field.clone())));
        }
    }
    all
}

#[test]
fn the_example_parses_and_survives_json() {
    let all: ReferenceValues = toml::from_str(EXAMPLE).unwrap();
    let json = serde_json::to_string(&all).unwrap();
    assert_eq!(serde_json::from_str::<ReferenceValues>(&json).unwrap(), all);
    let again = toml::to_string(&all).unwrap();
    assert_eq!(toml::from_str::<ReferenceValues>(&again).unwrap(), all);
}

#[test]
fn i2_no_field_can_be_left_out_or_added() {
    let all = sections(inner(&mut table()));
    assert_eq!(
        all.len(),
        18 + 5 + 9 + 7 + 5,
        "every field of the reference value"
    );
    for (section, field) in all {
        let mut without = table();
        let place = inner(&mut without);
        let place = match &section {
            Some(section) => place[section].as_table_mut().unwrap(),
            None => place,
        };
        let value = place.remove(&field).unwrap();
        assert!(parse(&without).is_err(), "{section:?}.{field} left out");
        let mut more = table();
        let place = inner(&mut more);
        let place = match &section {
            Some(section) => place[section].as_table_mut().unwrap(),
            None => place,
        };
        place.insert(format!("{field}_"), value);
        assert!(parse(&more).is_err(), "{section:?}.{field}_ added");
    }
    let mut other = table();
    other.insert("sev-es".to_owned(), toml::Value::Array(Vec::new()));
    assert!(parse(&other).is_err(), "unknown kind");
}

#[test]
fn rules_that_nobody_means_do_not_parse() {
    for (field, bad) in [
        ("name", "''"),
        ("name", "' '"),
        ("product", "{ any_of = [] }"),
        ("product", "{ at_least = 'milan' }"),
        ("product", "{ exact = 'Milan' }"),
        ("product", "{ exact = 'milan', ignore = 'why' }"),
        ("product", "{}"),
        ("product", "'milan'"),
        ("product", "{ at_most = 'milan' }"),
        ("signing_key", "{ at_least = 'vcek' }"),
        ("provider", "{ at_least = 'a' }"),
        ("report_version", "{ ignore = '' }"),
        ("report_version", "{ ignore = ' ' }"),
        ("report_version", "{ ignore = true }"),
        ("report_version", "{ exact = -1 }"),
        ("report_version", "{ exact = 4294967296 }"),
        ("measurement", "{ at_least = '00' }"),
        ("measurement", "{ exact = '00' }"),
        ("crl", "{ ignore = '' }"),
        ("crl", "{ max_age_s = -1 }"),
        ("crl", "{}"),
        ("launch_mitigations", "{ exact = 1 }"),
        ("launch_mitigations", "{ exact = '1' }"),
        ("launch_mitigations", "{ exact = '0x00000000000001' }"),
        ("launch_mitigations", "{ exact = '000000000000000A' }"),
        ("denied_chips", "['00']"),
    ] {
        let mut document = table();
        let value: toml::Table = format!("value = {bad}").parse().unwrap();
        inner(&mut document).insert(field.to_owned(), value["value"].clone());
        assert!(parse(&document).is_err(), "{field} = {bad}");
    }
}

/// Integers above 2^53 do not survive every JSON reader, and none above 2^63 TOML: bit sets are text.
#[test]
fn i2_bit_sets_have_one_spelling() {
    for (bits, text) in [
        (0, "\"0000000000000000\""),
        (0x40, "\"0000000000000040\""),
        ((1 << 53) + 1, "\"0020000000000001\""),
        (u64::MAX, "\"ffffffffffffffff\""),
    ] {
        assert_eq!(serde_json::to_string(&BitSet(bits)).unwrap(), text);
        assert_eq!(serde_json::from_str::<BitSet>(text).unwrap(), BitSet(bits));
        assert_eq!(format!("\"{}\"", BitSet(bits)), text);
    }
}

/// "at least" of bits means all of them; of versions, part by part.
#[test]
fn at_least_means_no_part_less() {
    let bits = Rule::AtLeast(BitSet(0b101));
    assert!(bits.allows(&BitSet(0b111)) && !bits.allows(&BitSet(0b110)));
    let abi = Rule::AtLeast(AbiVersion { major: 1, minor: 5 });
    for (major, minor, good) in [(1, 5, true), (1, 4, false), (2, 0, true), (0, 9, false)] {
        assert_eq!(
            abi.allows(&AbiVersion { major, minor }),
            good,
            "{major}.{minor}"
        );
    }
    let genoa = TcbVersion::read([9, 9, 0, 0, 0, 0, 9, 9], Product::Genoa).unwrap();
    let turin = TcbVersion::read([9, 9, 9, 9, 0, 0, 0, 9], Product::Turin).unwrap();
    assert!(genoa.at_least(&genoa) && turin.at_least(&turin));
    assert!(
        !turin.at_least(&genoa) && !genoa.at_least(&turin),
        "two layouts"
    );
}
