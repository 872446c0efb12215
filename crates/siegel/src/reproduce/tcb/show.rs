//! The count for people: a table.

use comfy_table::{Cell, CellAlignment, Table, presets};

use super::{Measured, Tcb, Totals};

/// Crates in the list of the heaviest.
const HEAVIEST: usize = 10;

/// The totals, and on request the heaviest crates of each binary.
pub fn text(tcb: &Tcb, heaviest: bool) -> String {
    let mut table = table(&["binary", "whose", "crates", "lines", "unsafe"]);
    for measured in &tcb.binaries {
        table.add_row(row(measured.name, "ours", &measured.ours));
        table.add_row(row("", "others", &measured.others));
    }
    let mut text = format!(
        "what one trusts with each measured binary, flavour {}, {}\n{table}\n\
         lines of Rust without blanks and comments; tests in src and code for other platforms are\n\
         counted too; the standard library, generated code, C and assembly are not\n",
        tcb.flavour, tcb.target
    );
    if heaviest {
        for measured in &tcb.binaries {
            text.push_str(&list(measured));
        }
    }
    for path in &tcb.not_lexed {
        let path = path.display();
        text.push_str(&format!(
            "guessed: {path} has a comment or string without an end\n"
        ));
    }
    text
}

fn list(measured: &Measured) -> String {
    let mut table = table(&[measured.name, "whose", "version", "lines", "unsafe"]);
    for weight in measured.crates.iter().take(HEAVIEST) {
        let whose = if weight.ours { "ours" } else { "others" };
        table.add_row(vec![
            Cell::new(&weight.name),
            Cell::new(whose),
            Cell::new(&weight.version),
            number(weight.lines),
            number(weight.unsafe_tokens),
        ]);
    }
    format!("\n{table}\n")
}

fn row(name: &str, whose: &str, totals: &Totals) -> Vec<Cell> {
    vec![
        Cell::new(name),
        Cell::new(whose),
        number(totals.crates),
        number(totals.lines),
        number(totals.unsafe_tokens),
    ]
}

fn number(value: u64) -> Cell {
    Cell::new(value).set_alignment(CellAlignment::Right)
}

fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    table.set_header(head);
    table
}
