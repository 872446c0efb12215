//! `{"client": "...", "text": "..."}`, one per line; lines of one client join.

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};

use serde::Deserialize;

use super::{ClientData, DataError, Dataset};

/// Longest line in bytes (I14).
pub const MAX_LINE: usize = 16 * 1024 * 1024;
/// Longest client name in bytes.
const MAX_NAME: usize = 256;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    client: String,
    text: String,
}

/// Reads a whole file. With a `cap`, only the first `cap` clients are kept; every line is checked
/// all the same. `file` names the source in errors. White lines are skipped, and a byte order mark
/// before the first line.
pub fn read_jsonl(
    mut from: impl BufRead,
    file: &str,
    cap: Option<usize>,
) -> Result<Dataset, DataError> {
    let cap = cap.unwrap_or(usize::MAX);
    let mut clients: Vec<ClientData> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for line in 1.. {
        let Some(row) = next_row(&mut from, file, line)? else {
            break;
        };
        let Some(Row { client, text }) = row else {
            continue;
        };
        let at = match known.get(&client) {
            Some(at) => *at,
            None if clients.len() >= cap => continue,
            None => {
                known.insert(client.clone(), clients.len());
                clients.push(ClientData {
                    name: client,
                    texts: Vec::new(),
                });
                clients.len() - 1
            }
        };
        if let Some(client) = clients.get_mut(at) {
            client.texts.push(text);
        }
    }
    if clients.is_empty() {
        return Err(DataError::Empty { file: file.into() });
    }
    Ok(Dataset::of(clients))
}

/// The next line's row; `Some(None)` for a white line, `None` at the end.
fn next_row(
    from: &mut impl BufRead,
    file: &str,
    line: usize,
) -> Result<Option<Option<Row>>, DataError> {
    let bad = |why: String| DataError::Line {
        file: file.into(),
        line,
        why,
    };
    let mut bytes = Vec::new();
    from.by_ref()
        .take(MAX_LINE as u64 + 1)
        .read_until(b'\n', &mut bytes)
        .map_err(|source| DataError::Read {
            file: file.into(),
            source,
        })?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.len() > MAX_LINE {
        return Err(bad(format!("longer than {MAX_LINE} bytes")));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| bad("not UTF-8".into()))?;
    let text = match line {
        1 => text.strip_prefix('\u{feff}').unwrap_or(text),
        _ => text,
    };
    if text.trim().is_empty() {
        return Ok(Some(None));
    }
    let row: Row = serde_json::from_str(text).map_err(|e| bad(shorten(&e)))?;
    if row.client.is_empty() || row.client.len() > MAX_NAME {
        return Err(bad(format!("\"client\" must have 1 to {MAX_NAME} bytes")));
    }
    Ok(Some(Some(row)))
}

/// serde_json counts lines inside the row, which is always 1; only the column says something.
fn shorten(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    format!("{what} (column {})", error.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], cap: Option<usize>) -> Result<Dataset, DataError> {
        read_jsonl(text, "in.jsonl", cap)
    }

    // Catches lines of a client that do not join, and a client without words that is lost.
    #[test]
    fn lines_of_a_client_join() {
        let text = br#"{"client":"b","text":"The CAT's 'paw'"}

{"text":"","client":"a"}
{"client":"b","text":"the end-of it"}"#;
        let data = read(text, None).ok().unwrap();
        let names: Vec<_> = data.clients.iter().map(|c| c.name.clone()).collect();
        assert_eq!(names, ["b", "a"]);
        let words: Vec<_> = data
            .clients
            .get(0)
            .unwrap()
            .words()
            .iter()
            .map(str::to_owned)
            .collect();
        assert_eq!(words, ["cat's", "end", "it", "of", "paw", "the"]);
        assert_eq!(
            (
                data.clients.get(1).unwrap().texts.len(),
                data.clients.get(1).unwrap().words().len()
            ),
            (1, 0)
        );
        let capped = read(text, Some(1)).ok().unwrap();
        assert_eq!(
            (
                capped.clients.len(),
                capped.clients.get(0).unwrap().words().len()
            ),
            (1, 6)
        );
    }

    // I14: catches an error without its line, and a reader that skips what it does not understand.
    #[test]
    fn every_malformed_line_is_named() {
        let good = r#"{"client":"a","text":"x"}"#;
        for bad in [
            "{",
            "[]",
            "3",
            "null",
            r#"{"client":"a"}"#,
            r#"{"client":"a","text":1}"#,
            r#"{"client":"a","text":"x","more":1}"#,
            r#"{"client":"","text":"x"}"#,
            r#"{"client":"a","text":"x"} {"client":"a","text":"x"}"#,
            r#"{"client":"a","client":"b","text":"x"}"#,
        ] {
            let text = format!("{good}\n\n{bad}\n{good}\n");
            match read(text.as_bytes(), Some(1)) {
                Err(error @ DataError::Line { line, .. }) => {
                    assert_eq!(line, 3, "{bad}");
                    let shown = error.to_string();
                    assert!(shown.starts_with("in.jsonl, line 3: "), "{shown}");
                }
                _ => panic!("{bad} must be refused"),
            }
        }
        let not_utf8 = [good.as_bytes(), b"\n\"\xff\"\n"].concat();
        assert!(matches!(
            read(&not_utf8, None),
            Err(DataError::Line { line: 2, .. })
        ));
    }

    // Editors of some systems begin a file with a byte order mark; elsewhere it is an error.
    #[test]
    fn a_byte_order_mark_may_begin_the_file() {
        let row = r#"{"client":"a","text":"x"}"#;
        let data = read(format!("\u{feff}{row}\n").as_bytes(), None)
            .ok()
            .unwrap();
        assert_eq!(data.clients.get(0).unwrap().name, "a");
        let later = format!("{row}\n\u{feff}{row}\n");
        assert!(matches!(
            read(later.as_bytes(), None),
            Err(DataError::Line { line: 2, .. })
        ));
        let twice = format!("\u{feff}\u{feff}{row}\n");
        assert!(matches!(
            read(twice.as_bytes(), None),
            Err(DataError::Line { line: 1, .. })
        ));
    }

    #[test]
    fn no_data_is_an_error() {
        for empty in [&b""[..], b"\n\n  \n", b"\xef\xbb\xbf"] {
            assert!(matches!(read(empty, None), Err(DataError::Empty { .. })));
        }
    }
}
