//! A published list of characters: the symbols of a text model. It is part of the program digest
//! and never taken from the data.

use std::collections::BTreeMap;

use siegel_ident::secret::Wiped;

use crate::ProgramError;

const DOCUMENT: &str = "alphabet";

/// Most symbols, padding and "other" included: a symbol is one byte.
pub const MAX_SYMBOLS: usize = 256;
/// What stands before the start of a text.
pub const PADDING: u8 = 0;

/// Characters in published order are the symbols 1, 2, …; symbol 0 is the padding and the last
/// symbol stands for every character that is not in the list.
pub struct Alphabet {
    symbols: BTreeMap<char, u8>,
}

impl Alphabet {
    /// Reads one line of distinct characters, ended by `\n`. A space stands for all white space.
    pub fn parse(text: &str) -> Result<Self, ProgramError> {
        let fail = |what: &str| Err(ProgramError::invalid(DOCUMENT, what));
        let Some(line) = text.strip_suffix('\n') else {
            return fail("the file must be one line with a newline at its end");
        };
        let mut symbols = BTreeMap::new();
        for (character, symbol) in line.chars().zip(1..=u8::MAX) {
            if character.is_control() || (character.is_whitespace() && character != ' ') {
                return fail("a control character, or white space that is not a space");
            }
            if symbols.insert(character, symbol).is_some() {
                return fail("a character twice");
            }
        }
        match line.chars().count() {
            1..=254 if symbols.len() == line.chars().count() => Ok(Self { symbols }),
            _ => fail("expected 1 to 254 characters"),
        }
    }

    /// How many symbols there are, padding and "other" included.
    pub fn symbols(&self) -> u32 {
        self.symbols.len() as u32 + 2
    }

    /// The symbols of the first `most` characters of a text.
    pub fn encode(&self, text: &str, most: usize) -> Wiped<u8> {
        // Exact capacity: a vector that grows would leave copies behind (I13).
        let mut out = Vec::with_capacity(text.len().min(most));
        out.extend(text.chars().take(most).map(|c| self.symbol(c)));
        Wiped::new(out)
    }

    fn symbol(&self, character: char) -> u8 {
        let plain = match character.is_whitespace() {
            true => ' ',
            false => character,
        };
        let other = self.symbols.len() as u8 + 1;
        self.symbols.get(&plain).copied().unwrap_or(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn characters_are_numbered_in_order() {
        let alphabet = Alphabet::parse("bé a\n").unwrap();
        assert_eq!(alphabet.symbols(), 6);
        assert_eq!(alphabet.encode("abé\n\tz", 99)[..], [4, 1, 2, 3, 3, 5]);
        assert_eq!(alphabet.encode("abé", 2)[..], [4, 1]);
        assert!(alphabet.encode("", 9).is_empty());
    }

    #[test]
    fn other_forms_are_refused() {
        for bad in ["", "\n", "ab", "aba\n", "a\tb\n", "a\nb\n", "a\u{a0}\n"] {
            assert!(Alphabet::parse(bad).is_err(), "{bad:?}");
        }
        let line = |n: u32| {
            let letters = (0..n).filter_map(|i| char::from_u32(0x4e00 + i));
            letters.collect::<String>() + "\n"
        };
        assert_eq!(Alphabet::parse(&line(254)).unwrap().symbols(), 256);
        assert!(Alphabet::parse(&line(255)).is_err());
        assert!(Alphabet::parse(&line(600)).is_err());
    }

    proptest! {
        // Catches a symbol that a model's embedding does not have.
        #[test]
        fn symbols_are_in_range(text in any::<String>()) {
            let alphabet = Alphabet::parse("ab \n").unwrap();
            let encoded = alphabet.encode(&text, 1000);
            prop_assert!(encoded.iter().all(|s| (1..5).contains(s)));
        }
    }
}
