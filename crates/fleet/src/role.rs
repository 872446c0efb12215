//! The parts of a pipeline as processes.

use std::fmt;
use std::str::FromStr;

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The transparency log and its archive.
    Log,
    /// A witness of the log.
    Witness,
    /// The untrusted store.
    Depot,
    /// A key service node.
    Kms,
    /// A worker.
    Worker,
    /// The root.
    Root,
}

impl Part {
    /// As in `--kill` and in process names.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Witness => "witness",
            Self::Depot => "depot",
            Self::Kms => "kms",
            Self::Worker => "worker",
            Self::Root => "root",
        }
    }

    /// Name of the measured binary, which is also its `argv[0]`; none for log, witnesses and depot.
    pub const fn binary(self) -> Option<&'static str> {
        match self {
            Self::Kms => Some("siegel-kms"),
            Self::Worker => Some("siegel-worker"),
            Self::Root => Some("siegel-root"),
            Self::Log | Self::Witness | Self::Depot => None,
        }
    }
}

/// One process: `kms#2`, `worker#1`, `witness#2`; log, depot and root are `#1` and written without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessName {
    /// What it does.
    pub part: Part,
    /// From 1.
    pub number: u32,
}

impl ProcessName {
    /// The `number`th process of this part.
    pub const fn new(part: Part, number: u32) -> Self {
        Self { part, number }
    }

    /// As a file name: `kms-2`.
    pub fn file_stem(self) -> String {
        self.to_string().replace('#', "-")
    }
}

impl fmt::Display for ProcessName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Part::Kms | Part::Worker | Part::Witness => {
                write!(f, "{}#{}", self.part.as_str(), self.number)
            }
            Part::Log | Part::Depot | Part::Root => f.write_str(self.part.as_str()),
        }
    }
}

impl FromStr for ProcessName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (part, number) = text.split_once('#').unwrap_or((text, "1"));
        let singles = [Part::Log, Part::Depot, Part::Root];
        let parts = [Part::Witness, Part::Kms, Part::Worker];
        let part = singles
            .into_iter()
            .chain(parts)
            .find(|p| p.as_str() == part);
        let number = number.parse().ok().filter(|n| *n > 0);
        part.zip(number)
            .map(|(part, number)| Self { part, number })
            .ok_or_else(|| {
                format!("{text:?} is not log, depot, root, kms#N, worker#N or witness#N")
            })
    }
}
