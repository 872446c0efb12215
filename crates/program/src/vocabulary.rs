//! A published list of words: the bins of a histogram. It is part of the program digest and never
//! taken from the data.

use crate::ProgramError;

/// The bin of everything that is not in the list. Always there, always last.
pub const OTHER: &str = "other";

/// Longest word, in bytes.
pub const MAX_WORD: usize = 64;

/// Most bins of a vocabulary, [`OTHER`] included.
pub const MAX_BINS: usize = 65_536;

/// The words in published order, then [`OTHER`].
pub struct Vocabulary<'a> {
    words: Vec<&'a str>,
}

impl<'a> Vocabulary<'a> {
    /// Reads one word a line: sorted by bytes, unique, lower-case, each line ended by `\n`. The
    /// word "other" is refused, since that is the name of the last bin.
    pub fn parse(text: &'a str) -> Result<Self, ProgramError> {
        let bad = |line: usize, what| Err(ProgramError::Vocabulary { line, what });
        let Some(lines) = text.strip_suffix('\n') else {
            return bad(text.lines().count(), "the file must end with a newline");
        };
        let mut words: Vec<&'a str> = Vec::new();
        for (i, word) in lines.split('\n').enumerate() {
            if let Some(what) = fault(word) {
                return bad(i + 1, what);
            }
            if words.last().is_some_and(|before| *before >= word) {
                return bad(i + 1, "not in ascending order, or twice");
            }
            if words.len() + 1 >= MAX_BINS {
                return bad(i + 1, "too many words: at most 65,535");
            }
            words.push(word);
        }
        Ok(Self { words })
    }

    /// How many bins, [`OTHER`] included.
    pub fn bins(&self) -> u32 {
        self.words.len() as u32 + 1
    }

    /// The bin of a word; that of [`OTHER`] if it is not in the list.
    pub fn bin_of(&self, word: &str) -> u32 {
        self.words.binary_search(&word).unwrap_or(self.words.len()) as u32
    }

    /// All labels in the order of the bins.
    pub fn labels(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.words.iter().copied().chain([OTHER])
    }
}

fn fault(word: &str) -> Option<&'static str> {
    if word.is_empty() {
        return Some("an empty line");
    }
    if word.len() > MAX_WORD {
        return Some("a word of more than 64 bytes");
    }
    if word == OTHER {
        return Some("\"other\" is the name of the implicit last bin");
    }
    // A comma or quote would need escaping in the table; white space would hide.
    let plain = |c: char| (c.is_alphanumeric() && !c.is_uppercase()) || c == '\'' || c == '-';
    (!word.chars().all(plain))
        .then_some("a character that is not a lower-case letter, digit, ' or -")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bins_follow_the_list_and_other_is_last() {
        let v = Vocabulary::parse("and\nthe\n").unwrap();
        assert_eq!(
            (v.bin_of("and"), v.bin_of("the"), v.bin_of("zebra")),
            (0, 1, 2)
        );
        assert_eq!(v.bins(), 3);
        assert_eq!(v.labels().collect::<Vec<_>>(), ["and", "the", "other"]);
    }

    #[test]
    fn lists_that_are_not_canonical_are_refused_with_their_line() {
        for (text, at) in [
            ("", 0),
            ("a", 1),
            ("a\n\n", 2),
            ("b\na\n", 2),
            ("a\na\n", 2),
            ("A\n", 1),
            ("a,b\n", 1),
            ("a b\n", 1),
            ("a\r\n", 1),
            ("nought\nother\n", 2),
            ("\n", 1),
        ] {
            match Vocabulary::parse(text).err() {
                Some(ProgramError::Vocabulary { line, .. }) => assert_eq!(line, at, "{text:?}"),
                _ => panic!("{text:?} must be refused"),
            }
        }
    }

    proptest! {
        // I14: no text makes the parser panic; what it takes, it gives back.
        #[test]
        fn hostile_text(text in "[a-c\nA\u{e9} ]{0,40}") {
            if let Ok(v) = Vocabulary::parse(&text) {
                let back: String = v.words.iter().map(|w| format!("{w}\n")).collect();
                prop_assert_eq!(back, text);
            }
        }
    }
}
