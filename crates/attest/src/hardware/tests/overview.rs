//! `OVERVIEW.md` lists every check once, and the tests that it names are there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::hardware::Check;

const OVERVIEW: &str = include_str!("../../../OVERVIEW.md");

/// Names of the source files, and of the functions that are tests.
struct Sources {
    files: BTreeSet<String>,
    tests: BTreeSet<String>,
}

impl Sources {
    fn read() -> Self {
        let mut all = Self {
            files: BTreeSet::new(),
            tests: BTreeSet::new(),
        };
        all.collect(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src"));
        all
    }

    fn collect(&mut self, folder: &Path) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.collect(&path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.file_name().unwrap().to_str().unwrap();
                self.files.insert(name.to_owned());
                self.tests
                    .extend(tests(&std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
}

/// The first function after each `#[test]`.
fn tests(source: &str) -> impl Iterator<Item = String> {
    source.split("#[test]").skip(1).filter_map(|after| {
        let (_, named) = after.split_once("fn ")?;
        Some(named.split('(').next()?.to_owned())
    })
}

/// What stands between backticks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The first column of the tables of checks.
fn listed(overview: &str) -> Vec<&str> {
    let mut listed = Vec::new();
    let mut inside = false;
    for line in overview.lines() {
        inside = line.starts_with("| check |") || inside && line.starts_with('|');
        if inside {
            listed.extend(code(line.split('|').nth(1).unwrap()));
        }
    }
    listed
}

/// Tests have names of three words or more, and nothing else that the document names has.
fn is_a_test(name: &str) -> bool {
    let words: Vec<_> = name.split('_').collect();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    words.len() > 2
        && words
            .iter()
            .all(|word| !word.is_empty() && word.chars().all(plain))
}

fn complaints(overview: &str, sources: &Sources) -> Vec<String> {
    let listed = listed(overview);
    let mut complaints = Vec::new();
    for check in Check::ALL {
        match listed.iter().filter(|id| **id == check.id()).count() {
            1 => {}
            count => complaints.push(format!("{check}: listed {count} times")),
        }
    }
    let known = |id: &&&str| Check::ALL.iter().any(|check| check.id() == **id);
    let unknown = listed.iter().filter(|id| !known(id));
    complaints.extend(unknown.map(|id| format!("{id}: no check")));
    for name in code(overview) {
        if is_a_test(name) && !sources.tests.contains(name) {
            complaints.push(format!("{name}: no test"));
        }
        let file = name.rsplit('/').next().unwrap();
        if file.ends_with(".rs") && !sources.files.contains(file) {
            complaints.push(format!("{name}: no file"));
        }
    }
    complaints
}

#[test]
fn the_overview_lists_every_check_and_names_tests_that_exist() {
    let sources = Sources::read();
    assert_eq!(complaints(OVERVIEW, &sources), Vec::<String>::new());
    assert_eq!(listed(OVERVIEW).len(), Check::ALL.len());
    let named = code(OVERVIEW).filter(|name| is_a_test(name)).count();
    assert!(named > 30, "{named} tests are named");
}

/// Catches a comparison that compares nothing.
#[test]
fn an_overview_with_a_flaw_is_found_out() {
    let sources = Sources::read();
    for (from, to, complaint) in [
        ("| `snp-crl` |", "| `snp-clr` |", "snp-crl: listed 0 times"),
        (
            "| `snp-crl` |",
            "| `snp-clr`, `snp-crl` |",
            "snp-clr: no check",
        ),
        (
            "| `snp-crl` |",
            "| `snp-chain` |",
            "snp-chain: listed 2 times",
        ),
        (", `nitro-binding` |", " |", "nitro-binding: listed 0 times"),
        (
            "only_inside_the_window",
            "only_inside_a_window",
            "only_inside_a_window: no test",
        ),
        ("hostile.rs", "hostiles.rs", "hostiles.rs: no file"),
    ] {
        assert!(OVERVIEW.contains(from), "{from}");
        let found = complaints(&OVERVIEW.replacen(from, to, 1), &sources);
        assert!(
            found.iter().any(|found| found == complaint),
            "{to}: {found:?}"
        );
    }
}
