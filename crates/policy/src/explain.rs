//! A policy in plain words.

use std::fmt::{self, Write};

use siegel_attest::ReferenceValue;
use siegel_ident::{Seconds, Timestamp};

use crate::access::{Adjacency, ColumnKind, Mechanism, Recipient, Unit};
use crate::{AccessPolicy, Decimal};

/// Says what the policy allows, promises and demands, for someone who has never read one. Starts
/// with INSECURE SIMULATION, UNWITNESSED and SIMULATED WITNESSES where they apply (I1, I11).
pub fn explain(policy: &AccessPolicy) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(policy, &mut text);
    text
}

/// What the policy promises, alone: a sentence or two each.
pub fn promises(policy: &AccessPolicy) -> Vec<String> {
    let mut text = String::new();
    let _ = promise(policy, &mut text);
    let mut promises: Vec<String> = Vec::new();
    // Below the title each point begins with a dash; what does not goes on with the point before.
    for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
        match (line.strip_prefix("- "), promises.last_mut()) {
            (Some(point), _) => promises.push(point.to_owned()),
            (None, Some(point)) => {
                point.push(' ');
                point.push_str(line.trim());
            }
            (None, None) => promises.push(line.trim().to_owned()),
        }
    }
    promises
}

fn write_all(policy: &AccessPolicy, out: &mut String) -> fmt::Result {
    warnings(policy, out)?;
    what(policy, out)?;
    promise(policy, out)?;
    parties(policy, out)
}

fn warnings(policy: &AccessPolicy, out: &mut String) -> fmt::Result {
    if policy.is_simulation() {
        out.write_str(
            "INSECURE SIMULATION: no hardware protects anything here. Whoever runs the simulation \
             can read every upload.\n",
        )?;
    }
    if policy.is_unwitnessed() {
        out.write_str(
            "UNWITNESSED: only the log's operator vouches that everyone sees the same log.\n",
        )?;
    }
    if policy.has_simulated_witnesses() {
        out.write_str(
            "SIMULATED WITNESSES: whoever runs the simulation runs the witnesses of its log, if that is its own.\n",
        )?;
    }
    if policy.is_simulation() || policy.is_unwitnessed() {
        out.write_char('\n')
    } else {
        Ok(())
    }
}

fn what(policy: &AccessPolicy, out: &mut String) -> fmt::Result {
    let version = match policy.predecessor {
        None => "its first version".to_owned(),
        Some(digest) => format!("replaces {digest}"),
    };
    writeln!(
        out,
        "Policy {:?} of pipeline {:?}, {version}.",
        policy.name, policy.pipeline
    )?;
    let (from, until) = (Utc(policy.not_before), Utc(policy.not_after));
    writeln!(out, "In use from {from} until {until}.\n")?;
    writeln!(out, "What a user gives")?;
    for column in &policy.input.columns {
        let kind = match column.kind {
            ColumnKind::Words => "a list of words",
            ColumnKind::Text => "a text",
            ColumnKind::Floats => "rows of numbers",
        };
        writeln!(out, "- column {:?}: {kind}", column.name)?;
    }
    let suites: Vec<&str> = policy
        .suites
        .iter()
        .map(|s| if *s == 2 { "X-Wing" } else { "X25519" })
        .collect();
    writeln!(
        out,
        "- sealed on the device with {}, before anything is sent",
        suites.join(" or ")
    )?;
    let ttl = Length(policy.key_ttl);
    writeln!(
        out,
        "- the key that opens it exists for at most {ttl} and is then erased\n"
    )
}

fn promise(policy: &AccessPolicy, out: &mut String) -> fmt::Result {
    let privacy = &policy.privacy;
    let unit = match privacy.unit {
        Unit::Installation => "one installation, with all that it ever uploads to this pipeline",
    };
    let adjacency = match privacy.adjacency {
        Adjacency::ZeroOut => "whether its contributions are counted or taken as zero",
    };
    writeln!(out, "What is promised")?;
    writeln!(out, "- protected: {unit}")?;
    writeln!(
        out,
        "- from all results of all runs together nobody learns {adjacency}, beyond (epsilon, \
         delta) = ({}, {})",
        privacy.epsilon, privacy.delta
    )?;
    odds(&privacy.epsilon, &privacy.delta, out)?;
    writeln!(
        out,
        "- the budget behind it: rho = {} (zCDP), which gives epsilon = {:.6} at that delta",
        privacy.total.rho_nano,
        privacy.least_epsilon()
    )?;
    for mechanism in &privacy.mechanisms {
        let name = match mechanism {
            Mechanism::DiscreteGaussian => "exact discrete Gaussian noise",
        };
        writeln!(out, "- results carry {name}")?;
    }
    let items = policy.bounds.max_items_per_user;
    writeln!(
        out,
        "- at most {items} items (distinct words, characters or rows) of one user count"
    )?;
    writeln!(out, "- a run needs at least {} uploads\n", policy.min_blobs)
}

/// What ε means for a suspicion of one in two, by Bayes: e^ε / (1 + e^ε).
fn odds(epsilon: &Decimal, delta: &Decimal, out: &mut String) -> fmt::Result {
    let percent = 100.0 / (1.0 + (-epsilon.nearest()).exp());
    writeln!(
        out,
        "  (someone who holds it for 50 % likely that a user contributed something may reach \
         {percent:.0} %, except with probability {delta})"
    )
}

/// What it must have measured, or how its rules are called.
fn described(value: &ReferenceValue) -> String {
    let digest = value.digest();
    match value.name() {
        None => format!("measuring {digest}"),
        Some(name) => format!("{name:?}, whose rules are {digest}"),
    }
}

/// What is left open comes last, with the author's reasons.
fn rules(value: &ReferenceValue, out: &mut String) -> fmt::Result {
    let (open, demanded): (Vec<_>, Vec<_>) = value.rules().into_iter().partition(|rule| rule.open);
    for rule in demanded {
        writeln!(out, "    {}: {}", rule.field, rule.accepts)?;
    }
    for rule in open {
        writeln!(out, "    {}: OPEN, {}", rule.field, rule.accepts)?;
    }
    Ok(())
}

fn parties(policy: &AccessPolicy, out: &mut String) -> fmt::Result {
    writeln!(out, "Who may do what")?;
    writeln!(out, "- keys are held by cluster {}", policy.kms.cluster_id)?;
    let kms = &policy.kms.reference_values;
    let roles = &policy.roles;
    for (role, values) in [
        ("key service", kms),
        ("root", &roles.root.reference_values),
        ("worker", &roles.worker.reference_values),
    ] {
        for value in values {
            writeln!(out, "- {role}: {} TEE {}", value.tee(), described(value))?;
            if value.name().is_some() {
                rules(value, out)?;
            }
        }
    }
    for program in &policy.programs {
        writeln!(out, "- program {program}")?;
    }
    for key in &policy.endorsers {
        writeln!(
            out,
            "- binaries and programs need an endorsement in the log, valid at the time, by key {key}"
        )?;
    }
    for recipient in &policy.recipients {
        match recipient {
            Recipient::Public => writeln!(out, "- results may be read by anyone")?,
        }
    }
    if !policy.public_counters.is_empty() {
        let counters = policy.public_counters.join(", ");
        writeln!(out, "- shown without noise: number of {counters}")?;
    }
    let (origin, witnesses) = (&policy.log.origin, policy.log.witnesses);
    writeln!(
        out,
        "- it must stand in the log {origin}, seen by {witnesses} witnesses"
    )
}

/// A moment as UTC, for people.
pub struct Utc(pub Timestamp);

impl fmt::Display for Utc {
    /// Civil date from days by Howard Hinnant's `civil_from_days`; years from 1970 on.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, seconds) = (self.0.0 / 86_400 + 719_468, self.0.0 % 86_400);
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC"
        )
    }
}

/// A length of time in the largest unit that is exact.
struct Length(Seconds);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.0 {
            s if s % 3600 == 0 => write!(f, "{} h", s / 3600),
            s if s % 60 == 0 => write!(f, "{} min", s / 60),
            s => write!(f, "{s} s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{production, sample};

    /// I11, I1. Catches an explanation that keeps quiet about either.
    #[test]
    fn i11_says_insecure_simulation_and_unwitnessed() {
        let text = explain(&sample());
        assert!(text.starts_with("INSECURE SIMULATION"), "{text}");
        assert!(text.contains("\nUNWITNESSED"), "{text}");
        let text = explain(&production());
        assert!(
            !text.contains("INSECURE") && !text.contains("WITNESSE"),
            "{text}"
        );
        let mut lone = sample();
        lone.log.witnesses = 2;
        let text = explain(&lone);
        assert!(
            text.contains("INSECURE") && !text.contains("UNWITNESSED"),
            "{text}"
        );
        assert!(text.contains("\nSIMULATED WITNESSES"), "{text}");
    }

    /// Catches a promise that is lost, split or joined on the way into a list.
    #[test]
    fn promises_are_those_of_the_explanation() {
        let policy = sample();
        let text = explain(&policy);
        let promises = promises(&policy);
        assert_eq!(promises.len(), 6, "{promises:#?}");
        assert!(promises[1].contains("(2, 0.000001) (someone who holds"));
        for promise in promises {
            assert!(!promise.starts_with("- "), "{promise}");
            for part in promise.split(" (someone") {
                let part = part.trim_end_matches(')');
                assert!(text.contains(part), "{part}");
            }
        }
    }

    /// Everything a reader decides on is in the words.
    #[test]
    fn names_what_matters() {
        let policy = sample();
        let text = explain(&policy);
        for part in [
            "2027-01-15 08:00:00 UTC",
            "2027-02-14 08:00:00 UTC",
            "(2, 0.000001)",
            "88 %",
            "24 h",
            "at most 32 items",
            "at least 100 uploads",
            "log.example.org",
            &policy.programs[1].to_string(),
            &policy.roles.worker.reference_values[1].digest().to_string(),
            &policy.kms.cluster_id.to_string(),
            &policy.privacy.total.rho_nano.to_string(),
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    #[test]
    fn dates() {
        let show = |t| Utc(Timestamp(t)).to_string();
        assert_eq!(show(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(show(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(show(4_107_542_399), "2100-02-28 23:59:59 UTC");
        assert_eq!(show(4_107_542_400), "2100-03-01 00:00:00 UTC");
    }
}
