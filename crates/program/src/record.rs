//! The inside of an upload: who, and columns of typed values.
//!
//! `u8` version ‖ 32 bytes privacy id ‖ `u32` number of columns ‖ per column: LP name ‖ `u8` kind ‖
//! values. Words (kind 1): `u32` number ‖ LP words. Text (2): LP text. Floats (3): `u32` number ‖
//! `f32` little-endian each. LP = `u32` big-endian length, then the bytes.

use siegel_ident::lp::Reader;
use siegel_ident::secret::Wiped;
use siegel_ident::{PrivacyId, SecretBytes};

use crate::ProgramError;
use crate::bundle::is_name;
use crate::vocabulary::MAX_WORD;

const VERSION: u8 = 2;
const WORDS: u8 = 1;
const TEXT: u8 = 2;
const FLOATS: u8 = 3;

/// Longest encoded record, in bytes.
pub const MAX_RECORD: usize = 1 << 20;
/// Most columns of a record.
pub const MAX_COLUMNS: usize = 16;
/// Most words of one column.
pub const MAX_WORDS: usize = 65_536;

/// One upload's content, borrowed from the plaintext so that no second copy of it exists (I13);
/// only numbers are copied, into memory that is zeroised. Plaintext: no `Debug`.
pub struct Record<'a> {
    /// The user's pseudonym under this pipeline (I4).
    pub privacy_id: PrivacyId,
    /// The columns, in the order of the client.
    pub columns: Vec<Column<'a>>,
}

/// A named column.
pub struct Column<'a> {
    /// Its name in the policy's input schema.
    pub name: &'a str,
    /// What it holds.
    pub values: Values<'a>,
}

/// The values of a column.
pub enum Values<'a> {
    /// Words; each 1 to 64 bytes of UTF-8. Repeats are allowed and count once.
    Words(Vec<&'a str>),
    /// One text.
    Text(&'a str),
    /// Numbers, rows one after the other. Any bits: whoever computes with them must bear NaN.
    Floats(Wiped<f32>),
}

impl<'a> Column<'a> {
    /// A column of words.
    pub fn words(name: &'a str, words: Vec<&'a str>) -> Self {
        let values = Values::Words(words);
        Self { name, values }
    }

    /// A column of text.
    pub fn text(name: &'a str, text: &'a str) -> Self {
        let values = Values::Text(text);
        Self { name, values }
    }

    /// A column of numbers.
    pub fn floats(name: &'a str, floats: Vec<f32>) -> Self {
        let values = Values::Floats(Wiped::new(floats));
        Self { name, values }
    }
}

impl<'a> Record<'a> {
    /// The bytes to be sealed. Errors are for the client itself.
    pub fn encode(&self) -> Result<SecretBytes, ProgramError> {
        self.check()?;
        let len = self.encoded_len();
        if len > MAX_RECORD {
            return Err(ProgramError::Record("longer than 1 MiB; send less"));
        }
        // Exact capacity: a vector that grows would leave unzeroised copies behind (I13).
        let mut out = Vec::with_capacity(len);
        out.push(VERSION);
        out.extend_from_slice(self.privacy_id.as_bytes());
        count(&mut out, self.columns.len());
        for column in &self.columns {
            text(&mut out, column.name);
            match &column.values {
                Values::Words(words) => {
                    out.push(WORDS);
                    count(&mut out, words.len());
                    words.iter().for_each(|word| text(&mut out, word));
                }
                Values::Text(whole) => {
                    out.push(TEXT);
                    text(&mut out, whole);
                }
                Values::Floats(floats) => {
                    out.push(FLOATS);
                    count(&mut out, floats.len());
                    floats
                        .iter()
                        .for_each(|float| out.extend_from_slice(&float.to_le_bytes()));
                }
            }
        }
        Ok(out.into())
    }

    /// Reads a record. A worker drops the error and counts zero: it says too much (I12).
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ProgramError> {
        if bytes.len() > MAX_RECORD {
            return Err(ProgramError::Record("longer than 1 MiB"));
        }
        let mut reader = Reader::new(bytes);
        if reader.u8("version")? != VERSION {
            return Err(ProgramError::Record("not version 2"));
        }
        let privacy_id = PrivacyId::from_bytes(reader.array("privacy id")?);
        let columns = bounded(reader.u32("columns")?, MAX_COLUMNS, "more than 16 columns")?;
        let columns = (0..columns)
            .map(|_| column(&mut reader))
            .collect::<Result<_, _>>()?;
        reader.finish()?;
        let record = Self {
            privacy_id,
            columns,
        };
        record.check()?;
        Ok(record)
    }

    /// The words of a column; none if the record has no such column of words.
    pub fn words(&self, name: &str) -> &[&'a str] {
        match self.values(name) {
            Some(Values::Words(words)) => words,
            _ => &[],
        }
    }

    /// The text of a column; empty if the record has no such column of text.
    pub fn text(&self, name: &str) -> &'a str {
        match self.values(name) {
            Some(Values::Text(text)) => text,
            _ => "",
        }
    }

    /// The numbers of a column; none if the record has no such column of numbers.
    pub fn floats(&self, name: &str) -> &[f32] {
        match self.values(name) {
            Some(Values::Floats(floats)) => floats,
            _ => &[],
        }
    }

    fn values(&self, name: &str) -> Option<&Values<'a>> {
        let found = self.columns.iter().find(|column| column.name == name);
        found.map(|column| &column.values)
    }

    fn check(&self) -> Result<(), ProgramError> {
        let fail = |what| Err(ProgramError::Record(what));
        if self.columns.len() > MAX_COLUMNS {
            return fail("more than 16 columns");
        }
        for (i, column) in self.columns.iter().enumerate() {
            if !is_name(column.name) {
                return fail("a column name that is not 1 to 64 of a-z, 0-9, -");
            }
            let mut before = self.columns.iter().take(i);
            if before.any(|before| before.name == column.name) {
                return fail("two columns of one name");
            }
            if let Values::Words(words) = &column.values {
                if words.len() > MAX_WORDS {
                    return fail("more than 65,536 words in a column");
                }
                if words.iter().any(|w| w.is_empty() || w.len() > MAX_WORD) {
                    return fail("a word that is not 1 to 64 bytes long");
                }
            }
        }
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        let values = |c: &Column<'_>| match &c.values {
            Values::Words(words) => 4 + words.iter().map(|w| 4 + w.len()).sum::<usize>(),
            Values::Text(text) => 4 + text.len(),
            Values::Floats(floats) => 4 + 4 * floats.len(),
        };
        let columns = self.columns.iter().map(|c| 5 + c.name.len() + values(c));
        1 + PrivacyId::LEN + 4 + columns.sum::<usize>()
    }
}

fn column<'a>(reader: &mut Reader<'a>) -> Result<Column<'a>, ProgramError> {
    let name = utf8(reader.bytes("column name", MAX_WORD)?)?;
    let values = match reader.u8("kind of a column")? {
        WORDS => Values::Words(words(reader)?),
        TEXT => Values::Text(utf8(reader.bytes("text", MAX_RECORD)?)?),
        FLOATS => Values::Floats(floats(reader)?),
        _ => return Err(ProgramError::Record("a column of an unknown kind")),
    };
    Ok(Column { name, values })
}

fn words<'a>(reader: &mut Reader<'a>) -> Result<Vec<&'a str>, ProgramError> {
    let many = "more than 65,536 words in a column";
    let words = bounded(reader.u32("words")?, MAX_WORDS, many)?;
    // Not `with_capacity(words)`: the claimed number is hostile until the bytes are there (I14).
    let words = (0..words).map(|_| utf8(reader.bytes("word", MAX_WORD)?));
    words.collect()
}

fn floats(reader: &mut Reader<'_>) -> Result<Wiped<f32>, ProgramError> {
    let many = "more numbers than a record holds";
    let floats = bounded(reader.u32("numbers")?, MAX_RECORD / 4, many)?;
    // Whole before it is used, at an exact capacity that the bytes bear out (I13, I14).
    let bytes = reader.fixed("numbers", floats * 4)?;
    let (fours, _) = bytes.as_chunks::<4>();
    let floats = fours.iter().map(|four| f32::from_le_bytes(*four));
    Ok(Wiped::new(floats.collect()))
}

fn utf8(bytes: &[u8]) -> Result<&str, ProgramError> {
    std::str::from_utf8(bytes).map_err(|_| ProgramError::Record("a text that is not UTF-8"))
}

fn bounded(value: u32, max: usize, what: &'static str) -> Result<usize, ProgramError> {
    let value = value as usize;
    if value > max {
        Err(ProgramError::Record(what))
    } else {
        Ok(value)
    }
}

fn count(out: &mut Vec<u8>, n: usize) {
    out.extend_from_slice(&(n as u32).to_be_bytes());
}

fn text(out: &mut Vec<u8>, text: &str) {
    count(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record<'a>(words: &[&'a str]) -> Record<'a> {
        Record {
            privacy_id: PrivacyId::from_bytes([7; 32]),
            columns: vec![Column::words("words", words.to_vec())],
        }
    }

    #[test]
    fn golden() {
        let bytes = record(&["the", "é"]).encode().unwrap();
        let mut expected = vec![2];
        expected.extend_from_slice(&[7; 32]);
        expected.extend_from_slice(
            b"\0\0\0\x01\0\0\0\x05words\x01\0\0\0\x02\0\0\0\x03the\0\0\0\x02\xc3\xa9",
        );
        assert_eq!(bytes.expose(), expected);
        let back = Record::decode(bytes.expose()).ok().unwrap();
        assert_eq!(back.words("words"), ["the", "é"]);
        assert!(back.words("none").is_empty());
    }

    // I14: each bound is checked on both sides.
    #[test]
    fn bounds() {
        assert!(record(&[""]).encode().is_err());
        assert!(record(&[&"x".repeat(65)]).encode().is_err());
        assert!(record(&vec!["x"; MAX_WORDS + 1]).encode().is_err());
        assert!(
            record(&vec!["x".repeat(64).as_str(); 20_000])
                .encode()
                .is_err()
        );
        assert!(record(&vec!["x"; MAX_WORDS]).encode().is_ok());
        let twice = Record {
            privacy_id: PrivacyId::from_bytes([0; 32]),
            columns: (0..2).map(|_| Column::words("a", vec![])).collect(),
        };
        assert!(twice.encode().is_err());
    }

    // Every bit of a number survives, NaN and denormals too: hostile ones are the leaf's to bear.
    #[test]
    fn text_and_numbers() {
        let numbers = vec![1.5, f32::NAN, -0.0, 1e-45, f32::INFINITY];
        let record = Record {
            privacy_id: PrivacyId::from_bytes([7; 32]),
            columns: vec![
                Column::text("text", "ho, é"),
                Column::floats("rows", numbers.clone()),
            ],
        };
        let bytes = record.encode().unwrap();
        let back = Record::decode(bytes.expose()).ok().unwrap();
        assert_eq!(back.text("text"), "ho, é");
        let bits = |floats: &[f32]| floats.iter().map(|f| f.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(back.floats("rows")), bits(&numbers));
        // A column of another kind is as good as none.
        assert!(back.words("text").is_empty() && back.text("rows").is_empty());
        assert!(back.floats("text").is_empty());
        let text = "x".repeat(MAX_RECORD);
        let columns = vec![Column::text("text", &text)];
        assert!(Record { columns, ..record }.encode().is_err());
    }

    #[test]
    fn truncated_extended_or_of_another_version_is_refused() {
        let bytes = record(&["the", "of"]).encode().unwrap();
        let bytes = bytes.expose();
        for n in 0..bytes.len() {
            assert!(Record::decode(&bytes[..n]).is_err(), "{n}");
        }
        assert!(Record::decode(&[bytes, &[0]].concat()).is_err());
        let mut other = bytes.to_vec();
        other[0] = 1;
        assert!(Record::decode(&other).is_err());
        // A count of 4 billion columns must not allocate.
        let mut huge = bytes.to_vec();
        huge[33..37].copy_from_slice(&[255; 4]);
        assert!(Record::decode(&huge).is_err());
    }

    proptest! {
        #[test]
        fn round_trip(words in prop::collection::vec("[a-zé]{1,20}", 0..40)) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let bytes = record(&words).encode().unwrap();
            let back = Record::decode(bytes.expose()).ok().unwrap();
            prop_assert_eq!(back.words("words"), &words[..]);
        }

        #[test]
        fn hostile_bytes_never_panic(mut bytes in any::<Vec<u8>>(), head in any::<bool>()) {
            if head {
                let mut framed = vec![VERSION; 33];
                framed.extend_from_slice(b"\0\0\0\x01\0\0\0\x01a");
                framed.push(bytes.len() as u8 % 5);
                framed.extend_from_slice(b"\0\0\0\x01");
                framed.append(&mut bytes);
                bytes = framed;
            }
            if let Ok(record) = Record::decode(&bytes) {
                // One value has one encoding.
                let again = record.encode().unwrap();
                prop_assert_eq!(again.expose(), &bytes[..]);
            }
        }
    }
}
