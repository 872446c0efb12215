//! Runs a program that builds, and listens to it.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, ExitStatus, Stdio};

use crate::RecipeError;

/// Lines of messages kept for an error.
const TAIL: usize = 40;

/// How it ended, and the end of its messages.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) tail: String,
}

/// Runs to the end; each line of standard error goes to `hear`.
pub(crate) fn listen(
    command: &mut Command,
    install: &'static str,
    hear: &mut dyn FnMut(&str),
) -> Result<Ended, RecipeError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let cannot = |source| RecipeError::NoProgram {
        program: program.clone(),
        source,
        install,
    };
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(cannot)?;
    let mut tail: VecDeque<String> = VecDeque::new();
    if let Some(messages) = child.stderr.take() {
        for line in BufReader::new(messages).lines().map_while(Result::ok) {
            hear(line.trim());
            if tail.len() == TAIL {
                tail.pop_front();
            }
            tail.push_back(line);
        }
    }
    let status = child.wait().map_err(cannot)?;
    let tail = Vec::from(tail).join("\n");
    Ok(Ended { status, tail })
}

/// The first line that a program prints about its version.
pub(crate) fn version(program: &str, install: &'static str) -> Result<String, RecipeError> {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|source| RecipeError::NoProgram {
            program: program.to_owned(),
            source,
            install,
        })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next().unwrap_or_default();
    let printable = |c: char| {
        if c.is_ascii_graphic() || c == ' ' {
            c
        } else {
            '?'
        }
    };
    Ok(line.chars().map(printable).collect())
}
