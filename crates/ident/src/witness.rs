//! Who watches a log: witnesses, their operators, and how many of them are enough.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::Seconds;

/// An Ed25519 key under its name in signed notes (C2SP signed-note), and who runs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedKey {
    /// Name in signature lines: 1 to 255 bytes, no spaces, controls or `+`.
    pub name: String,
    /// Who runs it. Two keys of one operator are one voice (I1).
    pub operator: String,
    /// Ed25519 public key, 32 bytes (hex in JSON).
    #[serde(with = "crate::hex_serde")]
    pub key: [u8; 32],
}

/// How many witnesses of distinct operators must have cosigned a checkpoint, how recently, and which
/// ones count (I1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WitnessQuorum {
    /// Distinct operators that must have cosigned. 0: the log is UNWITNESSED.
    pub required: u32,
    /// Oldest cosignature that counts, by the verifier's clock.
    pub max_age: Seconds,
    /// The witnesses that count, strictly ascending by name.
    pub witnesses: Vec<NamedKey>,
}

/// Why no verifier could enforce a quorum.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuorumError {
    /// More are asked for than there are.
    #[error("{required} witnesses of distinct operators are required, {operators} are named (I1)")]
    TooFew {
        /// As asked.
        required: u32,
        /// Distinct operators named.
        operators: u32,
    },
    /// More than a verifier looks at.
    #[error("{count} witnesses are named, at most {max} are allowed")]
    TooMany {
        /// As named.
        count: usize,
        /// The bound.
        max: usize,
    },
    /// Not sorted, or one twice.
    #[error("witnesses must be strictly ascending by name; {name:?} is not")]
    Order {
        /// The one that is out of order.
        name: String,
    },
    /// Two names for one key would be two voices.
    #[error("witness {name:?} has the key of another witness (I1)")]
    SharedKey {
        /// The second of them.
        name: String,
    },
    /// A name that no signature line can have, or an operator that is not one line.
    #[error("witness {name:?}: {why}")]
    Name {
        /// As given.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Nothing could ever be fresh enough, or anything would be.
    #[error("the largest age of a cosignature must be 1 s to 366 days, it is {found}")]
    MaxAge {
        /// As given.
        found: Seconds,
    },
}

impl WitnessQuorum {
    /// Most witnesses that a verifier looks at.
    pub const MAX: usize = 16;
    /// The largest age that a quorum may put up with.
    pub const MAX_AGE: Seconds = Seconds(366 * 86_400);

    /// No witnesses: everything signed by the log counts, whatever its age.
    pub const fn none() -> Self {
        Self {
            required: 0,
            max_age: Seconds(0),
            witnesses: Vec::new(),
        }
    }

    /// True if nobody but the log's operator vouches for the log.
    pub const fn is_none(&self) -> bool {
        self.required == 0
    }

    /// Checks that the quorum can be enforced.
    ///
    /// # Errors
    /// [`QuorumError`] says which rule is broken.
    pub fn check(&self) -> Result<(), QuorumError> {
        let count = self.witnesses.len();
        if count > Self::MAX {
            let max = Self::MAX;
            return Err(QuorumError::TooMany { count, max });
        }
        self.witnesses.iter().try_for_each(NamedKey::check)?;
        for (before, witness) in self.witnesses.iter().zip(self.witnesses.iter().skip(1)) {
            let name = || witness.name.clone();
            if before.name >= witness.name {
                return Err(QuorumError::Order { name: name() });
            }
        }
        let mut keys = BTreeSet::new();
        if let Some(twice) = self.witnesses.iter().find(|w| !keys.insert(w.key)) {
            let name = twice.name.clone();
            return Err(QuorumError::SharedKey { name });
        }
        let operators: BTreeSet<_> = self.witnesses.iter().map(|w| &w.operator).collect();
        let (required, operators) = (self.required, operators.len() as u32);
        if required > operators {
            return Err(QuorumError::TooFew {
                required,
                operators,
            });
        }
        let ages = Seconds(1)..=Self::MAX_AGE;
        match required == 0 || ages.contains(&self.max_age) {
            true => Ok(()),
            false => Err(QuorumError::MaxAge {
                found: self.max_age,
            }),
        }
    }
}

impl NamedKey {
    /// Checks that signature lines can carry the name.
    ///
    /// # Errors
    /// [`QuorumError::Name`].
    pub fn check(&self) -> Result<(), QuorumError> {
        let bad = |why| {
            let name = self.name.clone();
            Err(QuorumError::Name { name, why })
        };
        let length = |text: &str| (1..=255).contains(&text.len());
        let unfit = |c: char| c.is_whitespace() || c.is_control() || c == '+';
        if !length(&self.name) || self.name.chars().any(unfit) {
            return bad("a name has 1 to 255 bytes, no spaces, controls or '+'");
        }
        match length(&self.operator) && !self.operator.chars().any(char::is_control) {
            true => Ok(()),
            false => bad("an operator is one line of 1 to 255 bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quorum() -> WitnessQuorum {
        let key = |n: u8| NamedKey {
            name: format!("w{n}.example.test"),
            operator: format!("operator {n}"),
            key: [n; 32],
        };
        WitnessQuorum {
            required: 2,
            max_age: Seconds(60),
            witnesses: vec![key(1), key(2), key(3)],
        }
    }

    fn broken(change: impl FnOnce(&mut WitnessQuorum)) -> QuorumError {
        let mut quorum = quorum();
        change(&mut quorum);
        quorum.check().unwrap_err()
    }

    // I1: catches a quorum that one person could fill alone, or nobody ever.
    #[test]
    fn i1_a_quorum_counts_operators() {
        quorum().check().unwrap();
        WitnessQuorum::none().check().unwrap();
        let one =
            |q: &mut WitnessQuorum| q.witnesses.iter_mut().for_each(|w| w.operator = "x".into());
        assert!(matches!(
            broken(one),
            QuorumError::TooFew {
                required: 2,
                operators: 1
            }
        ));
        assert!(matches!(
            broken(|q| q.required = 4),
            QuorumError::TooFew { .. }
        ));
        assert!(matches!(
            broken(|q| q.witnesses[1].key = [1; 32]),
            QuorumError::SharedKey { .. }
        ));
        assert!(matches!(
            broken(|q| q.witnesses.swap(0, 1)),
            QuorumError::Order { .. }
        ));
        let twice = |q: &mut WitnessQuorum| q.witnesses[1].name = q.witnesses[0].name.clone();
        assert!(matches!(broken(twice), QuorumError::Order { .. }));
        for age in [0, 367 * 86_400] {
            assert!(matches!(
                broken(|q| q.max_age = Seconds(age)),
                QuorumError::MaxAge { .. }
            ));
        }
        for name in ["", "a b", "a+b", "a\n", &"x".repeat(256)] {
            assert!(matches!(
                broken(|q| q.witnesses[0].name = name.into()),
                QuorumError::Name { .. }
            ));
        }
        assert!(matches!(
            broken(|q| q.witnesses[0].operator = "a\nb".into()),
            QuorumError::Name { .. }
        ));
        let many = |q: &mut WitnessQuorum| q.witnesses = vec![q.witnesses[0].clone(); 17];
        assert!(matches!(broken(many), QuorumError::TooMany { .. }));
    }
}
