//! Two things timed against each other, in processor time of this thread: on a machine that others
//! use too, waiting for a core is nobody's cost.

use std::time::{Duration, Instant};

use clap::Args;
use rustix::time::{ClockId, clock_gettime};

/// About how long one slice lasts: short, so that both sides see the same neighbours.
const SLICE: Duration = Duration::from_millis(2);
/// Fewest slices of each side, however short the time.
const MIN_SLICES: usize = 9;

/// How long to measure.
#[derive(Debug, Clone, Args)]
pub struct Seconds {
    /// About how long the whole measurement takes, in seconds
    #[arg(long, value_name = "S", default_value_t = 6.0, value_parser = seconds)]
    pub seconds: f64,
}

impl Seconds {
    /// The share of one of `parts` equal parts.
    pub fn share(&self, parts: usize) -> Duration {
        Duration::from_secs_f64(self.seconds / parts.max(1) as f64)
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.01..=600.0).contains(&value) => Ok(value),
        _ => Err("a number from 0.01 to 600".to_owned()),
    }
}

/// Processor seconds per call of both sides.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// Median over the slices of ours.
    pub ours_s: f64,
    /// Median over the slices of the raw library.
    pub raw_s: f64,
}

impl Pair {
    /// Our speed over the raw library's: 1 is as fast, 0.5 takes twice as long.
    pub fn ratio(&self) -> f64 {
        self.raw_s / self.ours_s
    }
    /// Our calls per second.
    pub fn ours_per_s(&self) -> f64 {
        1.0 / self.ours_s
    }
}

/// Times `ours` against `raw` for about `time`, in short slices that take turns (ours first, then
/// raw first), and takes the median of each side: a neighbour who takes the core for a while hits
/// both alike.
pub fn interleaved<E>(
    time: Duration,
    mut ours: impl FnMut() -> Result<(), E>,
    mut raw: impl FnMut() -> Result<(), E>,
) -> Result<Pair, E> {
    let calls = (calls_per_slice(&mut ours)?, calls_per_slice(&mut raw)?);
    let (mut of_ours, mut of_raw) = (Vec::new(), Vec::new());
    let start = Instant::now();
    while start.elapsed() < time || of_ours.len() < MIN_SLICES {
        if of_ours.len() % 2 == 0 {
            of_ours.push(slice(calls.0, &mut ours)?);
            of_raw.push(slice(calls.1, &mut raw)?);
        } else {
            of_raw.push(slice(calls.1, &mut raw)?);
            of_ours.push(slice(calls.0, &mut ours)?);
        }
    }
    Ok(Pair {
        ours_s: median(&mut of_ours),
        raw_s: median(&mut of_raw),
    })
}

/// Warms up, and says how many calls fill a slice.
fn calls_per_slice<E>(call: &mut impl FnMut() -> Result<(), E>) -> Result<u32, E> {
    let (mut calls, end) = (0u32, cpu_seconds() + SLICE.as_secs_f64());
    while calls < 2 || (cpu_seconds() < end && calls < u32::MAX) {
        call()?;
        calls += 1;
    }
    Ok(calls)
}

/// Processor seconds per call.
fn slice<E>(calls: u32, call: &mut impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let start = cpu_seconds();
    for _ in 0..calls {
        call()?;
    }
    Ok((cpu_seconds() - start) / f64::from(calls))
}

/// In microseconds.
pub fn microseconds(seconds: f64) -> f64 {
    seconds * 1e6
}

/// Processor time of this thread so far, in seconds.
pub fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The median; of no values, NaN.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2).copied();
    let lower = values.get(values.len().saturating_sub(1) / 2).copied();
    match (lower, upper) {
        (Some(lower), Some(upper)) => (lower + upper) / 2.0,
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn medians() {
        assert!(median(&mut []).is_nan());
        assert_eq!(median(&mut [3.0]), 3.0);
        assert_eq!(median(&mut [4.0, 1.0]), 2.5);
        assert_eq!(median(&mut [9.0, 1.0, 2.0]), 2.0);
    }

    // Catches a ratio turned upside down: a side that takes longer must not look faster.
    #[test]
    fn the_ratio_is_raw_time_over_our_time() {
        let pair = Pair {
            ours_s: 0.5,
            raw_s: 0.25,
        };
        assert_eq!(pair.ratio(), 0.5);
        assert_eq!(pair.ours_per_s(), 2.0);
    }

    // Catches a loop that gives one side more slices, or none.
    #[test]
    fn both_sides_take_turns_however_short_the_time() {
        let turns = std::cell::RefCell::new(Vec::new());
        let call = |who: char| {
            let mut turns = turns.borrow_mut();
            if turns.last() != Some(&who) {
                turns.push(who);
            }
            let until = cpu_seconds() + SLICE.as_secs_f64() / 2.0;
            while cpu_seconds() < until {}
            Ok::<(), Infallible>(())
        };
        let Ok(pair) = interleaved(Duration::ZERO, || call('o'), || call('r'));
        assert!(pair.ours_s > 0.0 && pair.raw_s > 0.0);
        // Warm-up o r, then o r | r o | o r | …; equal neighbours fall together above.
        let expected: String = "or"
            .repeat(1 + MIN_SLICES)
            .chars()
            .take(turns.borrow().len())
            .collect();
        assert_eq!(turns.borrow().iter().collect::<String>(), expected);
        assert_eq!(turns.borrow().len(), 2 + MIN_SLICES + 1);
    }

    #[test]
    fn an_error_ends_the_measurement() {
        assert_eq!(
            interleaved(Duration::ZERO, || Ok(()), || Err("no")).err(),
            Some("no")
        );
    }

    #[test]
    fn seconds_have_bounds() {
        assert_eq!(seconds("2.5"), Ok(2.5));
        for bad in ["0", "-1", "NaN", "inf", "601", "x"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
