//! The released table and its CSV: same bytes, same size (I7, I12).

use std::fmt::Write;

use crate::ProgramError;
use crate::bundle::is_name;
use crate::vocabulary::MAX_BINS;

const DOCUMENT: &str = "table";
const HEAD: &str = "bin,count,standard_error\n";
/// Wide enough for every `i64` with its sign: the size tells nothing about the counts.
const COUNT_WIDTH: usize = 20;

/// Noisy counts with their labels, in published order.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name of the table, kebab-case.
    pub name: String,
    /// One row per bin.
    pub rows: Vec<Row>,
}

/// One bin.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Label of the bin; no comma, quote or line end.
    pub label: String,
    /// The noisy count: it may be negative.
    pub count: i64,
    /// Its standard error, from the public noise scale.
    pub standard_error: f64,
}

impl Table {
    /// The CSV. Counts are right-aligned in 20 columns, so its length depends on labels and noise
    /// scale alone; trim fields when reading.
    pub fn to_csv(&self) -> Result<Vec<u8>, ProgramError> {
        let fail = |what: &str| Err(ProgramError::invalid(DOCUMENT, what));
        if !is_name(&self.name) || self.rows.is_empty() || self.rows.len() > MAX_BINS {
            return fail("expected a name of a-z, 0-9, - and 1 to 65,536 rows");
        }
        let mut out = HEAD.to_owned();
        for Row {
            label,
            count,
            standard_error,
        } in &self.rows
        {
            if label.is_empty() || label.contains([',', '"', '\n', '\r']) {
                return fail("a label that is empty or would need quotes");
            }
            if !standard_error.is_finite() || *standard_error < 0.0 {
                return fail("a standard error that is not a number");
            }
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{label},{count:>COUNT_WIDTH$},{standard_error:.6}");
        }
        Ok(out.into_bytes())
    }

    /// Reads the CSV back, for plots and checks. The name is not in it.
    pub fn from_csv(name: &str, csv: &str) -> Result<Self, ProgramError> {
        let bad = |line: usize| {
            ProgramError::invalid(
                DOCUMENT,
                format!("line {line}: expected bin,count,standard_error"),
            )
        };
        let body = csv.strip_prefix(HEAD).ok_or_else(|| bad(1))?;
        let read = |line: &str| -> Option<Row> {
            let mut fields = line.split(',');
            let row = Row {
                label: fields.next()?.to_owned(),
                count: fields.next()?.trim_start().parse().ok()?,
                standard_error: fields.next()?.parse().ok()?,
            };
            fields.next().is_none().then_some(row)
        };
        let rows = body.lines().take(MAX_BINS).enumerate();
        let rows = rows.map(|(i, line)| read(line).ok_or_else(|| bad(i + 2)));
        Ok(Self {
            name: name.to_owned(),
            rows: rows.collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(counts: &[i64]) -> Table {
        let row = |&count| Row {
            label: "a".into(),
            count,
            standard_error: 4.5,
        };
        Table {
            name: "words".into(),
            rows: counts.iter().map(row).collect(),
        }
    }

    #[test]
    fn golden() {
        let csv = table(&[-3]).to_csv().unwrap();
        assert_eq!(
            csv,
            b"bin,count,standard_error\na,                  -3,4.500000\n"
        );
        let mut bad = table(&[1]);
        bad.rows[0].label = "a,b".into();
        assert!(bad.to_csv().is_err());
        assert!(table(&[]).to_csv().is_err());
    }

    proptest! {
        // I12: catches a count that shows in the size.
        #[test]
        fn size_does_not_depend_on_counts(a: i64, b: i64) {
            let (one, two) = (table(&[a]).to_csv().unwrap(), table(&[b]).to_csv().unwrap());
            prop_assert_eq!(one.len(), two.len());
            let back = Table::from_csv("words", std::str::from_utf8(&one).unwrap()).unwrap();
            prop_assert_eq!(back, table(&[a]));
        }

        #[test]
        fn hostile_text_never_panics(text in "\\PC{0,40}") {
            let _ = Table::from_csv("x", &format!("{HEAD}{text}"));
        }
    }
}
