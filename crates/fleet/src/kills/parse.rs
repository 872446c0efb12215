//! The text of one kill.

use std::time::Duration;

use siegel_ident::Step;

use super::{Bounds, Kill, KillFault, Moment, Victim};
use crate::{Part, ProcessName};

/// A run holds its keys for an hour at most: nothing is left to kill after that.
const LONGEST: Duration = Duration::from_secs(3_600);

pub(super) fn kill(item: &str, bounds: Bounds) -> Result<Kill, KillFault> {
    let (who, when) = item.split_once(':').ok_or(KillFault::Shape)?;
    Ok(Kill {
        who: victim(who, bounds)?,
        when: moment(when, bounds)?,
    })
}

/// One process dies once at one moment; several followers are several processes.
pub(super) fn fits(before: &[Kill], kill: Kill, bounds: Bounds) -> Result<(), KillFault> {
    let same = before.iter().filter(|other| **other == kill).count();
    let followers = bounds.kms.saturating_sub(1);
    match kill.who {
        Victim::KmsFollower if (same as u32) < followers => Ok(()),
        Victim::KmsFollower => Err(KillFault::Followers(followers)),
        _ if same > 0 => Err(KillFault::Twice),
        _ => Ok(()),
    }
}

fn victim(text: &str, bounds: Bounds) -> Result<Victim, KillFault> {
    let (role, number) = match text.split_once('#') {
        Some((role, number)) => (role, Some(number)),
        None => (text, None),
    };
    let only = |part: Part, name: &'static str| match number {
        None => Ok(Victim::Process(ProcessName::new(part, 1))),
        Some(_) => Err(KillFault::NoNumber(name)),
    };
    let of_many = |part: Part, count: u32| {
        let name = part.as_str();
        let text = number.ok_or(KillFault::Which { part: name, count })?;
        let found = whole(text).filter(|n| (1..=u64::from(count)).contains(n));
        match found.and_then(|n| u32::try_from(n).ok()) {
            Some(number) => Ok(Victim::Process(ProcessName::new(part, number))),
            None => Err(KillFault::Number {
                part: name,
                number: text.to_owned(),
                count,
            }),
        }
    };
    let by_rank = |victim: Victim, name: &'static str| match number {
        None => Ok(victim),
        Some(_) => Err(KillFault::NoNumber(name)),
    };
    match role {
        "root" => only(Part::Root, "root"),
        "depot" => only(Part::Depot, "depot"),
        "log" => only(Part::Log, "log"),
        "worker" => of_many(Part::Worker, bounds.workers),
        "kms" => of_many(Part::Kms, bounds.kms),
        "witness" => of_many(Part::Witness, bounds.witnesses),
        "kms-leader" => by_rank(Victim::KmsLeader, "kms-leader"),
        "kms-follower" => by_rank(Victim::KmsFollower, "kms-follower"),
        other => Err(KillFault::Role(other.to_owned())),
    }
}

fn moment(text: &str, bounds: Bounds) -> Result<Moment, KillFault> {
    let wrong = || KillFault::When(text.to_owned());
    match text.split_once('=').ok_or_else(wrong)? {
        ("step", step) => {
            let found = whole(step).filter(|n| (1..=bounds.rounds).contains(n));
            let no_such = || KillFault::Step {
                step: step.to_owned(),
                rounds: bounds.rounds,
            };
            Ok(Moment::Step(Step(found.ok_or_else(no_such)?)))
        }
        ("t", time) => {
            let no_time = || KillFault::Duration(time.to_owned());
            Ok(Moment::After(duration(time).ok_or_else(no_time)?))
        }
        _ => Err(wrong()),
    }
}

fn duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(unit_at)?;
    let number = whole(number)?;
    let millis = match unit {
        "ms" => number,
        "s" => number.checked_mul(1_000)?,
        "m" => number.checked_mul(60_000)?,
        _ => return None,
    };
    Some(Duration::from_millis(millis)).filter(|time| *time <= LONGEST)
}

/// Digits only: `parse` alone would take a plus sign.
fn whole(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}
