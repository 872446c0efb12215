//! Text to words, on the device.

use std::ops::Range;

use zeroize::Zeroizing;

/// Longest word, in bytes, after lowering: that of a record.
pub const WORD_MAX: usize = 64;

/// The distinct words of some texts, in order of their bytes. Client data: no `Debug`, zeroised on
/// drop (I13).
///
/// A word is a longest run of letters (Unicode alphabetic), in lower case, with apostrophes between
/// two letters kept: `don't`, `o'er`; a typographic apostrophe (U+2019) becomes `'`. Digits,
/// hyphens and everything else divide words. Combining marks divide too, so bring text in NFC. A
/// word of more than 64 bytes is left out.
pub struct Words {
    text: Zeroizing<String>,
    spans: Vec<Range<usize>>,
}

impl Words {
    /// The words of one text.
    pub fn of(text: &str) -> Self {
        Self::of_all([text])
    }

    /// The words of several texts together, as of one user with many lines. Words do not run from
    /// one text into the next.
    pub fn of_all<'t>(texts: impl IntoIterator<Item = &'t str> + Clone) -> Self {
        // Lower case is at most 1.5 times as long (U+0130). A string that grew would leave
        // unzeroised copies behind (I13).
        let len: usize = texts
            .clone()
            .into_iter()
            .map(|text| 2 * text.len() + 1)
            .sum();
        let mut lowered = Zeroizing::new(String::with_capacity(len));
        for text in texts {
            for c in text.chars().map(|c| if c == '\u{2019}' { '\'' } else { c }) {
                lowered.extend(c.to_lowercase());
            }
            lowered.push('\n');
        }
        let mut spans = spans(&lowered);
        spans.sort_unstable_by(|a, b| lowered.get(a.clone()).cmp(&lowered.get(b.clone())));
        spans.dedup_by(|a, b| lowered.get(a.clone()) == lowered.get(b.clone()));
        Self {
            text: lowered,
            spans,
        }
    }

    /// The words, ascending and distinct.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.spans
            .iter()
            .filter_map(|span| self.text.get(span.clone()))
    }

    /// How many distinct words.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// True if there are none; such a user is a user all the same.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
}

fn spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut start = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let mut letter_follows = || chars.peek().is_some_and(|(_, next)| next.is_alphabetic());
        let inside = c.is_alphabetic() || (c == '\'' && start.is_some() && letter_follows());
        match (inside, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                if at - from <= WORD_MAX {
                    spans.push(from..at);
                }
                start = None;
            }
            _ => {}
        }
    }
    // Every text ends with a line feed, so no word is still open here.
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        Words::of(text).iter().map(str::to_owned).collect()
    }

    #[test]
    fn letters_and_inner_apostrophes_in_lower_case() {
        assert_eq!(words("The cat, THE hat."), ["cat", "hat", "the"]);
        assert_eq!(
            words("Don't 'quote' o\u{2019}er dogs' rock'n'roll"),
            ["dogs", "don't", "o'er", "quote", "rock'n'roll"]
        );
        assert_eq!(words("a''b 'a b' it's-a x1y"), ["a", "b", "it's", "x", "y"]);
        assert_eq!(words("Élan ÜBER straße"), ["straße", "élan", "über"]);
        assert_eq!(words("\u{130}stanbul"), ["i", "stanbul"]);
        assert!(words("").is_empty() && words("12 - ' !").is_empty());
        assert!(Words::of("").is_empty());
    }

    #[test]
    fn words_end_with_their_text() {
        let words = Words::of_all(["don", "t stop", "don"]);
        assert_eq!(words.iter().collect::<Vec<_>>(), ["don", "stop", "t"]);
        assert_eq!(words.len(), 3);
    }

    #[test]
    fn a_word_has_at_most_64_bytes() {
        assert_eq!(words(&"x".repeat(64)).len(), 1);
        assert!(words(&"x".repeat(65)).is_empty());
        assert!(words(&"é".repeat(33)).is_empty());
    }

    proptest! {
        /// I14. Whatever the text: no panic, and only words that a record takes.
        #[test]
        fn i14_any_text_gives_good_words(text in any::<String>()) {
            let words = words(&text);
            prop_assert!(words.is_sorted_by(|a, b| a < b));
            for word in &words {
                prop_assert!((1..=WORD_MAX).contains(&word.len()));
                prop_assert!(word.chars().all(|c| c.is_alphabetic() || c == '\''), "{word}");
                prop_assert!(!word.starts_with('\'') && !word.ends_with('\''));
            }
        }

        /// I13. The buffer never grows, so no stray copy of the text is left.
        #[test]
        fn i13_lower_case_fits_its_buffer(text in any::<String>()) {
            let lowered: usize = text.chars().flat_map(char::to_lowercase).map(char::len_utf8).sum();
            prop_assert!(lowered < 2 * text.len() + 1);
        }
    }
}
