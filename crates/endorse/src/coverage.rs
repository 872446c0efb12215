//! A policy against the endorsements at hand.

use std::fmt;

use siegel_attest::{Profile, ReferenceValue};
use siegel_ident::{KeyDigest, ProgramDigest, Timestamp};
use siegel_policy::AccessPolicy;

use crate::{Part, Subject, Voice};

/// Something that a policy lets in, and that an endorser must have vouched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A measurement in a role.
    Binary {
        /// The role.
        part: Part,
        /// The policy's reference value.
        value: ReferenceValue,
    },
    /// A program.
    Program(ProgramDigest),
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binary { part, value } => {
                let (part, tee) = (part.as_str(), value.tee());
                write!(f, "{part} measuring {} ({tee})", value.digest())?;
                value.name().map_or(Ok(()), |name| write!(f, " {name:?}"))
            }
            Self::Program(digest) => write!(f, "program {digest}"),
        }
    }
}

/// Why a policy's endorsements do not suffice. In that order: the first that applies to all voices
/// about a thing is named.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotEndorsed {
    /// No endorsement names it.
    #[error("{thing} is endorsed by nobody (I3)")]
    Nobody {
        /// What.
        thing: Thing,
    },
    /// Only others than the policy's endorsers have endorsed it.
    #[error("{thing} is endorsed by {found}, who is not one of the policy's endorsers (I3)")]
    OtherEndorser {
        /// What.
        thing: Thing,
        /// One of those who have.
        found: KeyDigest,
    },
    /// It is endorsed as a build of the other flavour (I11).
    #[error("{thing} is endorsed as a build for {found}, the policy is for {expected} (I11)")]
    OtherFlavour {
        /// What.
        thing: Thing,
        /// Of the endorsement.
        found: Profile,
        /// Of the policy.
        expected: Profile,
    },
    /// No endorsement holds at this time (I9).
    #[error("{thing} is endorsed from {not_before} until {not_after}, now is {now} (I9)")]
    Window {
        /// What.
        thing: Thing,
        /// First second.
        not_before: Timestamp,
        /// First second after.
        not_after: Timestamp,
        /// Time of the check.
        now: Timestamp,
    },
}

impl NotEndorsed {
    /// A stable kebab-case code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Nobody { thing } | Self::OtherEndorser { thing, .. } => match thing {
                Thing::Binary { .. } => "binary-not-endorsed",
                Thing::Program(_) => "program-not-endorsed",
            },
            Self::OtherFlavour { .. } => "endorsed-other-flavour",
            Self::Window { .. } => "endorsement-expired",
        }
    }

    /// The invariant that it upholds.
    pub const fn invariant(&self) -> &'static str {
        match self {
            Self::Nobody { .. } | Self::OtherEndorser { .. } => "I3",
            Self::OtherFlavour { .. } => "I11",
            Self::Window { .. } => "I9",
        }
    }
}

/// Until when all that the policy lets in is endorsed: `None` if it demands no endorsements.
///
/// Every reference value and every program must be named by a voice of one of the policy's endorsers,
/// of the policy's flavour, that holds at `now`. Of several, the one that lasts longest counts. The
/// answer is the first second in which one of them lacks.
///
/// # Errors
/// [`NotEndorsed`] for the first thing that is not (I3, I9, I11).
pub fn endorsed_until(
    policy: &AccessPolicy,
    voices: &[Voice],
    now: Timestamp,
) -> Result<Option<Timestamp>, NotEndorsed> {
    if policy.endorsers.is_empty() {
        return Ok(None);
    }
    let mut until = None;
    for thing in things(policy) {
        let lasts = lasts(policy, thing, voices, now)?;
        until = Some(until.map_or(lasts, |until: Timestamp| until.min(lasts)));
    }
    Ok(until)
}

/// All that a policy lets in: each must be endorsed.
pub fn things(policy: &AccessPolicy) -> impl Iterator<Item = Thing> + '_ {
    let binaries = [
        (Part::Kms, &policy.kms.reference_values),
        (Part::Root, &policy.roles.root.reference_values),
        (Part::Worker, &policy.roles.worker.reference_values),
    ];
    let binaries = binaries.into_iter().flat_map(|(part, values)| {
        let thing = move |value: &ReferenceValue| Thing::Binary {
            part,
            value: value.clone(),
        };
        values.iter().map(thing)
    });
    binaries.chain(policy.programs.iter().copied().map(Thing::Program))
}

fn lasts(
    policy: &AccessPolicy,
    thing: Thing,
    voices: &[Voice],
    now: Timestamp,
) -> Result<Timestamp, NotEndorsed> {
    let about: Vec<&Voice> = voices.iter().filter(|voice| voice.names(&thing)).collect();
    let Some(any) = about.first() else {
        return Err(NotEndorsed::Nobody { thing });
    };
    let ours = |voice: &&&Voice| policy.endorsers.contains(&voice.endorser);
    let Some(own) = about.iter().find(ours) else {
        let found = any.endorser;
        return Err(NotEndorsed::OtherEndorser { thing, found });
    };
    let expected = policy.profile;
    let fits = |voice: &&&Voice| voice.flavour().is_none_or(|flavour| flavour == expected);
    let Some(fitting) = about.iter().filter(ours).find(fits) else {
        let found = own.flavour().unwrap_or(expected);
        return Err(NotEndorsed::OtherFlavour {
            thing,
            found,
            expected,
        });
    };
    let holding = about
        .iter()
        .filter(ours)
        .filter(fits)
        .filter(|voice| voice.endorsement.holds_at(now))
        .map(|voice| voice.endorsement.not_after);
    holding.max().ok_or(NotEndorsed::Window {
        thing,
        not_before: fitting.endorsement.not_before,
        not_after: fitting.endorsement.not_after,
        now,
    })
}

impl Voice {
    /// It is about this thing; says nothing about its key, flavour and window.
    pub fn names(&self, thing: &Thing) -> bool {
        match (&self.endorsement.subject, thing) {
            (Subject::Program(named), Thing::Program(program)) => named == program,
            (Subject::Binaries(binaries), Thing::Binary { part, value }) => binaries
                .files
                .iter()
                .any(|file| file.role == *part && file.measurements.contains(value)),
            _ => false,
        }
    }

    /// It counts for this thing under this policy, in its window: key and flavour are the policy's.
    pub fn counts_for(&self, policy: &AccessPolicy, thing: &Thing) -> bool {
        self.names(thing)
            && policy.endorsers.contains(&self.endorser)
            && self
                .flavour()
                .is_none_or(|flavour| flavour == policy.profile)
    }

    fn flavour(&self) -> Option<Profile> {
        match &self.endorsement.subject {
            Subject::Binaries(binaries) => Some(binaries.flavour),
            Subject::Program(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
