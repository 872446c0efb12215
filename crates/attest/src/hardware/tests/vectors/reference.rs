//! The documented reference values: every field is there, no other is, and none can be left out (I2).

use toml::{Table, Value};

use super::cases::reference_text;
use crate::hardware::ReferenceValues;

const KINDS: [&str; 3] = ["tdx", "sgx", "nitro"];

fn parses(table: &Table) -> bool {
    toml::from_str::<ReferenceValues>(&table.to_string()).is_ok()
}

/// The path of every table below `table`.
fn tables(table: &Table, at: &[String], found: &mut Vec<Vec<String>>) {
    found.push(at.to_vec());
    for (key, value) in table {
        let below = [at, std::slice::from_ref(key)].concat();
        match value {
            Value::Table(table) => tables(table, &below, found),
            Value::Array(all) => {
                if let Some(Value::Table(table)) = all.first() {
                    tables(table, &below, found);
                }
            }
            _ => {}
        }
    }
}

fn table_at<'a>(table: &'a mut Table, path: &[String]) -> &'a mut Table {
    path.iter().fold(table, |table, key| match &mut table[key] {
        Value::Table(table) => table,
        Value::Array(all) => all[0].as_table_mut().unwrap(),
        other => panic!("{key}: {other}"),
    })
}

#[test]
fn i2_reference_values_are_named_in_full() {
    for kind in KINDS {
        let good: Table = reference_text(kind).parse().unwrap();
        assert!(parses(&good), "{kind}");
        let mut paths = Vec::new();
        tables(&good, &[], &mut paths);
        assert!(paths.len() > 10, "{kind}");
        for path in paths {
            let mut more = good.clone();
            table_at(&mut more, &path).insert("more".to_owned(), Value::Integer(1));
            assert!(!parses(&more), "{kind}: {path:?} with a field more");
            // The list of kinds may lack one: a kind without reference values is refused as a whole.
            if path.is_empty() {
                continue;
            }
            let keys: Vec<String> = table_at(&mut good.clone(), &path).keys().cloned().collect();
            for key in keys {
                let mut less = good.clone();
                table_at(&mut less, &path).remove(&key);
                assert!(!parses(&less), "{kind}: {path:?} without {key}");
            }
        }
    }
}
