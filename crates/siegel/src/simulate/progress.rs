//! Progress on stderr: bars on a terminal, plain lines elsewhere.

use std::fmt;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::say::note;

/// Where there is no terminal, a line about a phase that goes on comes at most so often.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// One phase after the other.
pub struct Progress {
    terminal: bool,
    bar: Option<ProgressBar>,
    phase: Phase,
}

/// The phase under way.
struct Phase {
    what: String,
    total: u64,
    begun: Instant,
    /// Of the last plain line.
    told: Instant,
}

impl Phase {
    fn begin(what: &str, total: u64) -> Self {
        let (what, begun) = (what.to_owned(), Instant::now());
        Self {
            what,
            total,
            begun,
            told: begun,
        }
    }

    /// True at most once in [`LINE_EVERY`].
    fn is_due(&mut self) -> bool {
        let due = self.told.elapsed() >= LINE_EVERY;
        if due {
            self.told = Instant::now();
        }
        due
    }
}

impl Progress {
    pub fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            bar: None,
            phase: Phase::begin("", 0),
        }
    }

    /// A phase without a count.
    pub fn phase(&mut self, what: &str) {
        self.begin(what, 0);
        if self.terminal {
            let bar = ProgressBar::new_spinner().with_message(what.to_owned());
            bar.enable_steady_tick(Duration::from_millis(120));
            self.bar = Some(bar);
        } else {
            note(what);
        }
    }

    /// A counted phase.
    pub fn counted(&mut self, what: &str, total: u64) {
        self.begin(what, total);
        if self.terminal {
            let bar = ProgressBar::new(total).with_message(what.to_owned());
            let style = "{msg:28} {bar:30} {pos}/{len}, {per_sec}, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(style) {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(250));
            self.bar = Some(bar);
        } else {
            note(&format!("{what} ({total})"));
        }
    }

    /// Where a counted phase stands.
    pub fn at(&mut self, done: u64) {
        let Phase { total, begun, .. } = self.phase;
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        } else if done < total && self.phase.is_due() {
            let took = begun.elapsed();
            note(&format!(
                "{}: {}",
                self.phase.what,
                Pace { done, total, took }
            ));
        }
    }

    /// A word about the phase that goes on.
    pub fn note(&mut self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.to_owned());
        } else if self.phase.total == 0 && self.phase.is_due() {
            note(&format!("{}: {text}", self.phase.what));
        }
    }

    /// What prints a line beside the bar, from any thread.
    pub fn teller(&self) -> impl Fn(&str) + Send + Sync + 'static {
        // To the start of the line, and the bar's text away; the bar draws itself again.
        let clear = if self.terminal { "\r\x1b[2K" } else { "" };
        move |line| note(&format!("{clear}{line}"))
    }

    /// Takes the bar away.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn begin(&mut self, what: &str, total: u64) {
        self.finish();
        self.phase = Phase::begin(what, total);
    }
}

/// How far, how fast, how long still, if it goes on as it went so far.
struct Pace {
    done: u64,
    total: u64,
    took: Duration,
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { done, total, took } = self;
        write!(f, "{done} of {total}")?;
        let rate = *done as f64 / took.as_secs_f64().max(1e-3);
        if *done == 0 {
            return Ok(());
        }
        let digits = if rate < 10.0 { 2 } else { 0 };
        write!(f, ", {rate:.digits$}/s")?;
        let left = total.saturating_sub(*done) as f64 / rate;
        match left.ceil() as u64 {
            seconds if seconds < 100 => write!(f, ", {seconds} s left"),
            seconds => write!(f, ", {} min left", seconds.div_ceil(60)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Catches a rate that is upside down, and a remaining time that counts what is done.
    #[test]
    fn a_pace_says_how_far_how_fast_and_how_long_still() {
        for (done, total, seconds, said) in [
            (5_000, 20_000, 5, "5000 of 20000, 1000/s, 15 s left"),
            (3, 20, 4, "3 of 20, 0.75/s, 23 s left"),
            (1, 1_000, 60, "1 of 1000, 0.02/s, 999 min left"),
            (0, 20, 4, "0 of 20"),
            (20, 20, 4, "20 of 20, 5.00/s, 0 s left"),
        ] {
            let took = Duration::from_secs(seconds);
            assert_eq!(Pace { done, total, took }.to_string(), said);
        }
    }

    // Catches a line for every client where nobody watches a bar.
    #[test]
    fn plain_lines_are_rare() {
        let mut phase = Phase::begin("x", 3);
        assert!(!phase.is_due());
        phase.told = Instant::now().checked_sub(LINE_EVERY).unwrap();
        assert!(phase.is_due() && !phase.is_due());
    }
}
