//! `--kill`: whom to kill, and when.
//!
//! `'ROLE[#n]:step=N|t=DUR[;…]'`: SIGKILL after step N (counted from 1) is committed, or DUR after
//! the clients began to upload.

mod parse;

use std::fmt;
use std::time::Duration;

use siegel_ident::Step;

use crate::{Part, ProcessName};

/// What a fleet has that could be killed, and how many rounds there are to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Workers.
    pub workers: u32,
    /// Nodes of the key service.
    pub kms: u32,
    /// Witnesses of the log.
    pub witnesses: u32,
    /// Steps of the run.
    pub rounds: u64,
}

/// All kills that were ordered, in their order on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KillPlan {
    kills: Vec<Kill>,
}

/// One ordered kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kill {
    /// Whom.
    pub who: Victim,
    /// When.
    pub when: Moment,
}

/// Who is to be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Victim {
    /// This process.
    Process(ProcessName),
    /// The node of the key service that leads at that moment.
    KmsLeader,
    /// A node of the key service that does not lead at that moment.
    KmsFollower,
}

/// When somebody is to be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// After this step is committed.
    Step(Step),
    /// So long after the clients began to upload.
    After(Duration),
}

/// What is wrong with a `--kill`, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{item:?} (kill {at}): {what}")]
pub struct KillError {
    /// Which kill, from 1, over all `--kill` options.
    pub at: usize,
    /// As given.
    pub item: String,
    /// What is wrong, and what is allowed.
    pub what: KillFault,
}

/// What is wrong with one kill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KillFault {
    /// Not two halves.
    #[error("expected ROLE:step=N or ROLE:t=DURATION, as in root:step=3 or worker#1:t=300ms")]
    Shape,
    /// A role that does not exist.
    #[error(
        "there is no role {0:?}; roles are root, worker#N, kms#N, kms-leader, kms-follower, depot, \
         log, witness#N"
    )]
    Role(String),
    /// A role of which there are several.
    #[error("say which one: {part}#1 to {part}#{count}")]
    Which {
        /// `worker` or `kms`.
        part: &'static str,
        /// How many there are.
        count: u32,
    },
    /// A number where there is only one.
    #[error("{0} takes no number")]
    NoNumber(&'static str),
    /// A number that is not one of those there are.
    #[error("there is no {part}#{number}; this run has {part}#1 to {part}#{count}")]
    Number {
        /// `worker` or `kms`.
        part: &'static str,
        /// As given.
        number: String,
        /// How many there are.
        count: u32,
    },
    /// Neither `step=` nor `t=`.
    #[error("when? expected step=N (from 1) or t=DURATION (300ms, 2s, 1m), got {0:?}")]
    When(String),
    /// A step that never comes.
    #[error("there is no step {step:?}; this run has steps 1 to {rounds}")]
    Step {
        /// As given.
        step: String,
        /// How many there are.
        rounds: u64,
    },
    /// Not a duration, or too long.
    #[error("{0:?} is no duration up to an hour: write 300ms, 2s or 1m")]
    Duration(String),
    /// The same kill again.
    #[error("it is there twice; one process dies once at one moment")]
    Twice,
    /// More followers than there are.
    #[error("there are only {0} followers to kill at one moment")]
    Followers(u32),
}

impl KillPlan {
    /// Reads all `--kill` options of a command line.
    ///
    /// Two nodes of the key service at one moment are allowed: the run then ends for want of a
    /// quorum, and says so.
    ///
    /// # Errors
    /// [`KillError`] of the first kill that makes no sense here.
    pub fn parse(options: &[impl AsRef<str>], bounds: Bounds) -> Result<Self, KillError> {
        let items = options.iter().flat_map(|option| option.as_ref().split(';'));
        let mut kills: Vec<Kill> = Vec::new();
        for (n, item) in items.enumerate() {
            let item = item.trim();
            let fault = |what| KillError {
                at: n + 1,
                item: item.to_owned(),
                what,
            };
            let kill = parse::kill(item, bounds).map_err(fault)?;
            parse::fits(&kills, kill, bounds).map_err(fault)?;
            kills.push(kill);
        }
        Ok(Self { kills })
    }

    /// Nobody is killed.
    pub fn is_empty(&self) -> bool {
        self.kills.is_empty()
    }

    /// All of them, as they were ordered.
    pub fn kills(&self) -> &[Kill] {
        &self.kills
    }

    /// Who dies together after this step.
    pub fn after_step(&self, step: Step) -> Vec<Kill> {
        self.at(Moment::Step(step))
    }

    /// Who dies at which time, the earliest first.
    pub fn timed(&self) -> Vec<(Duration, Vec<Kill>)> {
        let mut times: Vec<Duration> = self
            .kills
            .iter()
            .filter_map(|kill| match kill.when {
                Moment::After(time) => Some(time),
                Moment::Step(_) => None,
            })
            .collect();
        times.sort_unstable();
        times.dedup();
        let together = |time| (time, self.at(Moment::After(time)));
        times.into_iter().map(together).collect()
    }

    fn at(&self, when: Moment) -> Vec<Kill> {
        let together = self.kills.iter().filter(|kill| kill.when == when);
        together.copied().collect()
    }
}

impl Victim {
    /// True for every node of the key service, by number or by what it does.
    pub fn is_kms(self) -> bool {
        match self {
            Self::Process(name) => name.part == Part::Kms,
            Self::KmsLeader | Self::KmsFollower => true,
        }
    }
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.who, self.when)
    }
}

impl fmt::Display for Victim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(name) => name.fmt(f),
            Self::KmsLeader => f.write_str("kms-leader"),
            Self::KmsFollower => f.write_str("kms-follower"),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(step) => write!(f, "step={}", step.0),
            Self::After(time) => match time.as_millis() {
                ms if ms > 0 && ms.is_multiple_of(60_000) => write!(f, "t={}m", ms / 60_000),
                ms if ms > 0 && ms.is_multiple_of(1_000) => write!(f, "t={}s", ms / 1_000),
                ms => write!(f, "t={ms}ms"),
            },
        }
    }
}

#[cfg(test)]
mod tests;
