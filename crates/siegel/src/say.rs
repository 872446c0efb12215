//! Standard output: results only. Standard error: everything else.

use std::io::{ErrorKind, Write as _};

use crate::failure::Failure;

/// Writes a result. A reader that went away (`| head`) wants no more of it and is no failure; a full
/// disk is one.
pub fn say(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed("output", "standard output", why, ""))
        }
        _ => Ok(()),
    }
}

/// The same, with a line end.
pub fn say_line(text: &str) -> Result<(), Failure> {
    say(&format!("{text}\n"))
}

/// Writes a line to standard error. If nobody can read it, nothing of the result is lost.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
