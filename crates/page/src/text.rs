//! A stranger's text, made fit to be read (I14), and a few spellings.

use siegel_ident::{Digest, Seconds};

/// Longest text in characters that is shown whole.
const MAX: usize = 2000;

/// One line: no controls, nothing that turns the reading direction, not longer than [`MAX`]. Escaping
/// is the template's.
pub(crate) fn clean(text: &str) -> String {
    cut(text, |c| c.is_control() || turns(c))
}

/// The same, keeping line ends.
pub(crate) fn clean_lines(text: &str) -> String {
    cut(text, |c| c != '\n' && (c.is_control() || turns(c)))
}

fn cut(text: &str, bad: impl Fn(char) -> bool) -> String {
    let plain = |c| {
        if bad(c) {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    };
    let mut shown: String = text.chars().take(MAX).map(plain).collect();
    let more = text.chars().skip(MAX).count();
    if more > 0 {
        shown.push_str(&format!(" … ({more} more characters)"));
    }
    shown
}

/// Marks, embeddings, overrides and isolates of the bidirectional algorithm: with them a text can look
/// like another one.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The first digits, where the whole digest stands elsewhere on the page.
pub(crate) fn short(digest: &Digest) -> String {
    digest.to_string().chars().take(16).collect()
}

/// A length of time in the largest unit that is exact.
pub(crate) fn length(seconds: Seconds) -> String {
    match seconds.0 {
        s if s % 86_400 == 0 && s > 86_400 => format!("{} days", s / 86_400),
        s if s % 3600 == 0 => format!("{} h", s / 3600),
        s if s % 60 == 0 => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}

/// `1 upload`, `2 uploads`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    }
}

/// One word of a POSIX shell's command line.
pub(crate) fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/.:-_".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i14_a_strangers_text_is_cut_and_plain() {
        assert_eq!(
            clean("a\u{1b}[31m\n\u{202e}b"),
            "a\u{fffd}[31m\u{fffd}\u{fffd}b"
        );
        assert_eq!(clean_lines("a\n\tb"), "a\n\u{fffd}b");
        let long = clean(&"ü".repeat(MAX + 3));
        assert!(long.ends_with("ü … (3 more characters)"), "{long}");
        assert_eq!(clean(&"ü".repeat(MAX)).chars().count(), MAX);
    }

    #[test]
    fn words_of_a_shell_stay_one_word() {
        assert_eq!(shell("http://127.0.0.1:80/x"), "http://127.0.0.1:80/x");
        assert_eq!(shell("a b; rm"), "'a b; rm'");
        assert_eq!(shell("it's $(x)"), r"'it'\''s $(x)'");
        assert_eq!(shell(""), "''");
    }

    #[test]
    fn lengths_and_counts() {
        let said = [60, 90, 3600, 86_400, 172_800].map(|s| length(Seconds(s)));
        assert_eq!(said, ["1 min", "90 s", "1 h", "24 h", "2 days"]);
        assert_eq!(
            (
                counted(1, "entry", "entries"),
                counted(0, "entry", "entries")
            ),
            ("1 entry".into(), "0 entries".into())
        );
    }
}
