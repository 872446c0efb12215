//! The lexer against `proc-macro2`, and the count of this very checkout.

use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

use super::linked::parse_tree;
use super::{Measured, Tcb, Totals, Weight, count::count, tcb, text};
use crate::reproduce::Flavour;

fn lines_and_unsafe(source: &str) -> (u64, u64) {
    let counted = count(source.as_bytes());
    assert!(counted.whole, "{source}");
    (counted.lines, counted.unsafe_tokens)
}

/// I16. Catches: words in comments and strings taken for tokens, and comments taken for lines.
#[test]
fn i16_only_tokens_and_lines_of_code_count() {
    let cases = [
        ("", 0, 0),
        ("\n \n\t\n", 0, 0),
        ("unsafe {}", 1, 1),
        (
            "// unsafe\n/* unsafe /* nested */ unsafe\n*/\n/// unsafe\n",
            0,
            0,
        ),
        ("fn f() {} // unsafe\n", 1, 0),
        ("/* one */ unsafe /* two\n three */ fn f() {}\n", 2, 1),
        ("\"unsafe // \\\" unsafe\"; unsafe", 1, 1),
        ("r#\"unsafe \" unsafe\"#; br\"\\\"; unsafe", 1, 1),
        ("let r#unsafe = not_unsafe + unsafety;", 1, 0),
        ("'\"'; '\\''; b'\"'; '§'; unsafe", 1, 1),
        (
            "fn f<'a>(x: &'a str, y: &'static str) { unsafe { \"\" } }",
            1,
            1,
        ),
        ("#[unsafe(no_mangle)]\npub extern \"C\" fn f() {}", 2, 1),
        ("let s = \"a\n\n b\";\n", 2, 0),
        ("macro_rules! m { () => { unsafe { } } }", 1, 1),
    ];
    for (source, lines, tokens) in cases {
        assert_eq!(lines_and_unsafe(source), (lines, tokens), "{source:?}");
    }
    for torn in ["/* no end", "\"no end", "r#\"no end\"", "'\\"] {
        assert!(!count(torn.as_bytes()).whole, "{torn:?}");
    }
}

/// I16. Every file of this workspace: as many `unsafe` tokens as a full lexer finds.
#[test]
fn i16_the_count_is_that_of_a_full_lexer() {
    let mut files = Vec::new();
    rust_files(&checkout().join("crates"), &mut files);
    let mut seen = 0;
    for file in &files {
        let source = std::fs::read_to_string(file).unwrap();
        let stream: TokenStream = source.parse().unwrap();
        let (lines, tokens) = lines_and_unsafe(&source);
        assert_eq!(tokens, unsafe_in(stream), "{}", file.display());
        assert!(lines <= source.lines().count() as u64);
        seen += tokens;
    }
    assert!(files.len() > 100 && seen > 0);
}

fn unsafe_in(stream: TokenStream) -> u64 {
    let count = |tree| match tree {
        TokenTree::Group(group) => unsafe_in(group.stream()),
        TokenTree::Ident(ident) => u64::from(ident == "unsafe"),
        _ => 0,
    };
    stream.into_iter().map(count).sum()
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
}

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn i14_cargos_answer_is_read_or_refused() {
    let text = b"siegel-kms v0.1.0 (/a folder/kms)\nring v0.17.14\nring v0.17.14 (*)\n\n";
    let found = parse_tree(text).unwrap();
    let ring = ("ring".to_owned(), "0.17.14".to_owned());
    assert!(found.len() == 2 && found.contains(&ring));
    assert!(parse_tree(b"warning: something\n").is_err());
}

/// I16, I11. The production worker links no simulator code beyond the simulation flavour's, each
/// binary has its own crate, and the sums are those of the list.
#[test]
fn i16_this_checkout_counts() {
    let production = tcb(&checkout(), Flavour::Production, true).unwrap();
    assert_eq!(production.not_lexed, Vec::<PathBuf>::new());
    for measured in &production.binaries {
        let own = |weight: &&Weight| weight.name == measured.name;
        let own = measured.crates.iter().find(own).unwrap();
        assert!(own.ours && own.lines > 100);
        let (ours, others) = (measured.ours, measured.others);
        assert_eq!(
            (ours.crates + others.crates) as usize,
            measured.crates.len()
        );
        let lines: u64 = measured.crates.iter().map(|weight| weight.lines).sum();
        assert_eq!(ours.lines + others.lines, lines);
        // What runs in the compiler is not in the binary.
        let macros = ["serde_derive", "thiserror-impl", "syn"];
        assert!(!measured.crates.iter().any(|w| macros.contains(&&*w.name)));
    }
    let crates = |tcb: &Tcb| tcb.binaries.iter().map(|b| b.crates.len()).sum::<usize>();
    let simulation = tcb(&checkout(), Flavour::Simulation, true).unwrap();
    assert!(crates(&simulation) >= crates(&production));
}

#[test]
fn the_table_names_totals_and_on_request_the_heaviest() {
    let weight = |name: &str, ours, lines| Weight {
        name: name.to_owned(),
        version: "1.2.3".to_owned(),
        ours,
        lines,
        unsafe_tokens: 7,
    };
    let crates = (0..12).map(|n| weight(&format!("crate-{n:02}"), n == 0, n + 1));
    let measured = Measured::of("siegel-kms", crates.collect());
    let expected = Totals {
        crates: 11,
        lines: 77,
        unsafe_tokens: 77,
    };
    assert_eq!(measured.others, expected);
    let tcb = Tcb {
        schema: "siegel/tcb/v1",
        flavour: Flavour::Production,
        target: "t",
        binaries: vec![measured],
        not_lexed: vec!["odd.rs".into()],
    };
    let short = text(&tcb, false);
    assert!(short.contains("siegel-kms") && short.contains("77") && short.contains("odd.rs"));
    assert!(!short.contains("crate-11"));
    let long = text(&tcb, true);
    assert!(long.contains("crate-11") && long.contains("crate-02") && !long.contains("crate-01"));
}
