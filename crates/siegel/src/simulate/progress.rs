//! Progress on stderr: bars on a terminal, plain lines elsewhere.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressStyle};

/// One phase after the other.
pub struct Progress {
    terminal: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            bar: None,
        }
    }

    /// A phase without a count.
    pub fn phase(&mut self, what: &str) {
        self.finish();
        if self.terminal {
            let bar = ProgressBar::new_spinner().with_message(what.to_owned());
            bar.enable_steady_tick(std::time::Duration::from_millis(120));
            self.bar = Some(bar);
        } else {
            eprintln!("{what}");
        }
    }

    /// A counted phase.
    pub fn counted(&mut self, what: &str, total: u64) {
        self.finish();
        if self.terminal {
            let bar = ProgressBar::new(total).with_message(what.to_owned());
            if let Ok(style) =
                ProgressStyle::with_template("{msg:28} {bar:30} {pos}/{len} {per_sec} {eta}")
            {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        } else {
            eprintln!("{what} ({total})");
        }
    }

    /// Where a counted phase stands.
    pub fn at(&self, done: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        }
    }

    /// A word about the phase that goes on.
    pub fn note(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.to_owned());
        }
    }

    /// What prints a line beside the bar, from any thread.
    pub fn teller(&self) -> impl Fn(&str) + Send + Sync + 'static {
        // To the start of the line, and the bar's text away; the bar draws itself again.
        let clear = if self.terminal { "\r\x1b[2K" } else { "" };
        move |line| eprintln!("{clear}{line}")
    }

    /// Takes the bar away.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
