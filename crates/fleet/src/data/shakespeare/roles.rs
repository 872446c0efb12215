//! Who says what in a play.
//!
//! A speech is a *label* on a line of its own and the lines under it, up to an empty line:
//!
//! ```text
//! HAMLET.
//! O, that this too too solid flesh would melt,
//! ```
//!
//! A label is a short line of letters, apostrophes and spaces that begins with a capital, is not
//! right under another label, and ends with a period or, after an empty line and with text under
//! it, is all in capitals (`THESEUS`). Labels are taken as they are printed, without regard to
//! case: `Ham.` and `HAMLET.` are two roles. In the middle of a speech a sentence may look like a
//! label (`It is strange.` alone on its line): the rest then counts as another role's. So one
//! client in five or so is a piece of a real role; every line belongs to exactly one client all the
//! same.

use std::collections::BTreeMap;

/// Longest label in bytes, without its period.
const MAX_LABEL: usize = 29;
/// How headings begin.
const HEADINGS: [&str; 5] = ["ACT", "Act", "SCENE", "Scene", "THE "];

/// A role and its lines, trimmed, without directions in brackets.
pub(super) type Role = (String, Vec<String>);

/// The roles of a Latin-1 text, in the order of their first line. A role without a line is none.
pub(super) fn roles(text: &[u8]) -> Vec<Role> {
    let text: String = text.iter().map(|byte| char::from(*byte)).collect();
    let mut reader = Reader::default();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let more = lines.peek().is_some_and(|next| !next.trim().is_empty());
        reader.line(line, more);
    }
    reader.roles
}

#[derive(Default)]
struct Reader {
    roles: Vec<Role>,
    known: BTreeMap<String, usize>,
    speaker: Option<String>,
    /// The speaker has said something since its label.
    spoke: bool,
    /// Inside a direction that goes over several lines.
    direction: bool,
    /// The line before was not empty.
    after_text: bool,
    /// The line before was a label.
    after_label: bool,
}

impl Reader {
    /// One more line; `more` if there is text on the line after it.
    fn line(&mut self, line: &str, more: bool) {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            self.direction = false;
            self.after_text = false;
            self.after_label = false;
            if self.spoke {
                self.speaker = None;
            }
            return;
        }
        if self.direction || trimmed.starts_with('[') {
            self.direction = !trimmed.contains(']');
            return;
        }
        let first = !self.after_text;
        self.after_text = true;
        if !std::mem::take(&mut self.after_label)
            && !line.starts_with("  ")
            && let Some(label) = label(trimmed, first && more)
        {
            self.speaker = Some(label);
            self.spoke = false;
            self.after_label = true;
        } else if let Some(role) = &self.speaker
            && !trimmed.starts_with("ACT")
            && !trimmed.starts_with("SCENE")
        {
            self.spoke = true;
            let next = self.roles.len();
            let at = *self.known.entry(role.clone()).or_insert(next);
            if at == next {
                self.roles.push((role.clone(), Vec::new()));
            }
            if let Some((_, lines)) = self.roles.get_mut(at) {
                lines.push(trimmed.to_owned());
            }
        }
    }
}

/// The role that a line names, in capitals. Where a speech may begin, a line in capitals needs no
/// period.
fn label(line: &str, may_begin: bool) -> Option<String> {
    let (name, dotted) = match line.strip_suffix('.') {
        Some(name) => (name, true),
        None => (line, false),
    };
    let fits = (2..=MAX_LABEL).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name
            .chars()
            .all(|c| c.is_ascii_alphabetic() || c == '\'' || c == ' ')
        && !HEADINGS.iter().any(|heading| name.starts_with(heading));
    let capitals = !name.contains(|c: char| c.is_ascii_lowercase());
    (fits && (dotted || (may_begin && capitals))).then(|| name.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(String, String)> {
        let roles = roles(text.as_bytes()).into_iter();
        roles.map(|(role, lines)| (role, lines.join("|"))).collect()
    }

    fn expect(text: &str, expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(a, b)| ((*a).into(), (*b).into()))
            .collect();
        assert_eq!(all(text), expected, "{text}");
    }

    // Catches speeches that run into each other, lost lines, and roles told apart by case.
    #[test]
    fn a_label_and_the_lines_under_it() {
        expect(
            "A Play\nby nobody\n\nFIRST CLERK.\nThe kettle is on.\nIs it?\n\nMag's Boy.\nIt is\n\n\
             first clerk.\n\nFirst Clerk.\n  Then pour.\n",
            &[
                ("FIRST CLERK", "The kettle is on.|Is it?|Then pour."),
                ("MAG'S BOY", "It is"),
            ],
        );
        // An empty line between label and speech, and line ends of another system.
        expect(
            "Ann.\r\n\r\nYes, sir.\r\n\r\nnobody's\r\n",
            &[("ANN", "Yes, sir.")],
        );
    }

    #[test]
    fn directions_and_headings_are_no_speech() {
        expect(
            "Ann.\nGo in,\n[She points,\nBob. laughs]\nnow.\n[Exit.]\nACT II.\n\nSCENE. A room\n\n\
             [Enter\n\nBob.\nWhat?\n",
            &[("ANN", "Go in,|now."), ("BOB", "What?")],
        );
    }

    #[test]
    fn capitals_need_no_period_where_a_speech_begins() {
        expect(
            "ANN\nOne,\nTWO\nthree.\n\nBOB\n\nnot his\n\nTHE END\nof it\n\nCy\nno label\n",
            &[("ANN", "One,|TWO|three.")],
        );
    }

    // Says what the rule cannot tell apart; see the module's words.
    #[test]
    fn a_sentence_that_looks_like_a_label_is_one() {
        expect(
            "Ann.\nI know.\nIt is odd.\nWho is it?\n",
            &[("ANN", "I know."), ("IT IS ODD", "Who is it?")],
        );
    }

    // I14: catches a panic on odd bytes and lengths.
    #[test]
    fn i14_any_bytes() {
        for text in [
            &b""[..],
            b"\xff\n\xfe.\n",
            b"[",
            b".\n.\n",
            b"A.\n",
            b"\xc9l.\nx",
        ] {
            assert!(roles(text).iter().all(|(_, lines)| !lines.is_empty()));
        }
        expect("Ann.\ncaf\u{e9}", &[("ANN", "caf\u{c3}\u{a9}")]);
        let long = "A".repeat(MAX_LABEL + 1);
        expect(&format!("{long}.\nx\n"), &[]);
        expect(&format!("{}.\nx\n", &long[1..]), &[(&long[1..], "x")]);
    }
}
