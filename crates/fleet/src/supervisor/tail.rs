//! The end of a log, for an error message.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Bytes and lines shown of each file.
const BYTES: u64 = 4096;
const LINES: usize = 12;

/// The last lines of each file that has any, with its name; ready to stand after a message.
pub(super) fn of(files: &[&Path]) -> String {
    let mut out = String::new();
    for path in files {
        let lines = last_lines(path).unwrap_or_default();
        if !lines.is_empty() {
            out.push_str(&format!("\n  last lines of {}:", path.display()));
            lines
                .iter()
                .for_each(|line| out.push_str(&format!("\n    {line}")));
        }
    }
    out
}

fn last_lines(path: &Path) -> std::io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let from = file.metadata()?.len().saturating_sub(BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
    Ok(lines.into_iter().rev().take(LINES).rev().collect())
}
