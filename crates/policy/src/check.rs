//! The rules that a policy must keep beyond its shape. Each has its own refusal.

use siegel_attest::{Profile, ReferenceValue};
use siegel_dp::zcdp;
use siegel_ident::Seconds;

use crate::PolicyError;
use crate::access::{AccessPolicy, Privacy};

/// Longest policy, in bytes.
pub const POLICY_MAX: usize = 64 * 1024;
/// Every integer is below this: 2⁵³ (RFC 8785 keeps no more).
pub const NUMBER_LIMIT: u64 = 1 << 53;
/// Shortest life of a key.
pub const KEY_TTL_MIN: Seconds = Seconds(1);
/// Longest life of a key: 72 hours.
pub const KEY_TTL_MAX: Seconds = Seconds(72 * 3600);
/// The counters that may be shown without noise. The number of uploads is public anyway.
pub const COUNTERS: &[&str] = &["blobs"];

const LIST_MAX: usize = 64;
const WITNESSES_MIN: u32 = 2;
const WITNESSES_MAX: u64 = 64;
const COLUMNS_MAX: usize = 16;
const ITEMS_MAX: u64 = 65_536;

impl AccessPolicy {
    pub(crate) fn check(&self) -> Result<(), PolicyError> {
        self.check_names()?;
        self.check_times()?;
        self.check_log_rule()?;
        self.check_parties()?;
        self.check_input()?;
        self.check_numbers()?;
        self.privacy.check()
    }

    fn check_names(&self) -> Result<(), PolicyError> {
        if self.schema != Self::SCHEMA {
            return Err(PolicyError::Schema {
                found: shown(&self.schema),
            });
        }
        text("name", &self.name, is_name(&self.name), NAME)?;
        text(
            "pipeline",
            &self.pipeline,
            is_dotted(&self.pipeline),
            DOTTED,
        )
    }

    fn check_times(&self) -> Result<(), PolicyError> {
        let (not_before, not_after) = (self.not_before, self.not_after);
        number("not_before", not_before.0, 0, NUMBER_LIMIT - 1)?;
        number("not_after", not_after.0, 0, NUMBER_LIMIT - 1)?;
        if not_before >= not_after {
            return Err(PolicyError::Window {
                not_before,
                not_after,
            });
        }
        number("key_ttl", self.key_ttl.0, KEY_TTL_MIN.0, KEY_TTL_MAX.0)
    }

    fn check_log_rule(&self) -> Result<(), PolicyError> {
        let origin = &self.log.origin;
        text("log.origin", origin, is_origin(origin), ORIGIN)?;
        let witnesses = self.log.witnesses;
        number("log.witnesses", witnesses.into(), 0, WITNESSES_MAX)?;
        if self.profile == Profile::Production && witnesses < WITNESSES_MIN {
            return Err(PolicyError::TooFewWitnesses { found: witnesses });
        }
        Ok(())
    }

    fn check_parties(&self) -> Result<(), PolicyError> {
        let (kms, roles) = (&self.kms.reference_values, &self.roles);
        for (field, values) in [
            ("kms.reference_values", kms),
            ("roles.root.reference_values", &roles.root.reference_values),
            (
                "roles.worker.reference_values",
                &roles.worker.reference_values,
            ),
        ] {
            reference_values(field, values, self.profile)?;
        }
        set("programs", &self.programs)?;
        set("recipients", &self.recipients)?;
        // May be empty: then the reference values alone decide.
        if !self.endorsers.is_empty() {
            set("endorsers", &self.endorsers)?;
        }
        if !self.sideloads.is_empty() {
            return Err(PolicyError::NotBuilt {
                field: "sideloads",
                must_be: "empty",
            });
        }
        if self.rebuilders != 0 {
            return Err(PolicyError::NotBuilt {
                field: "rebuilders",
                must_be: "0",
            });
        }
        Ok(())
    }

    fn check_input(&self) -> Result<(), PolicyError> {
        let columns = &self.input.columns;
        bounded("input.columns", columns.len(), COLUMNS_MAX)?;
        for (i, column) in columns.iter().enumerate() {
            text(
                "input.columns.name",
                &column.name,
                is_name(&column.name),
                NAME,
            )?;
            if columns
                .iter()
                .take(i)
                .any(|before| before.name == column.name)
            {
                return Err(PolicyError::DuplicateColumn {
                    name: column.name.clone(),
                });
            }
        }
        set("suites", &self.suites)?;
        match self.suites.iter().find(|s| !(1..=2).contains(*s)) {
            Some(suite) => Err(PolicyError::UnknownSuite { suite: *suite }),
            None => Ok(()),
        }
    }

    fn check_numbers(&self) -> Result<(), PolicyError> {
        let items = self.bounds.max_items_per_user;
        number("bounds.max_items_per_user", items.into(), 1, ITEMS_MAX)?;
        number("min_blobs", self.min_blobs, 1, NUMBER_LIMIT - 1)?;
        // May be empty: showing nothing is always fine.
        ascending("public_counters", &self.public_counters)?;
        match self
            .public_counters
            .iter()
            .find(|c| !COUNTERS.contains(&c.as_str()))
        {
            Some(name) => Err(PolicyError::UnknownCounter { name: shown(name) }),
            None => Ok(()),
        }
    }
}

impl Privacy {
    /// The smallest ε that may be stated: the conversion of the whole budget, rounded outwards.
    pub fn least_epsilon(&self) -> f64 {
        zcdp::epsilon_of(self.total, self.delta.lower())
    }

    fn check(&self) -> Result<(), PolicyError> {
        set("privacy.mechanisms", &self.mechanisms)?;
        number(
            "privacy.total.rho_nano",
            self.total.rho_nano.0,
            1,
            NUMBER_LIMIT - 1,
        )?;
        let delta = &self.delta;
        if delta.lower() <= 0.0 || delta.upper() >= 1.0 {
            return Err(PolicyError::DeltaRange {
                found: delta.clone(),
            });
        }
        if self.total.delta0.as_f64().next_up() >= delta.lower() {
            let (delta0, stated) = (self.total.delta0, delta.clone());
            return Err(PolicyError::Delta0TooLarge { delta0, stated });
        }
        let least = self.least_epsilon();
        // Not `stated < least`: a NaN must not pass.
        if self.epsilon.lower() >= least {
            return Ok(());
        }
        Err(PolicyError::EpsilonUnderstated {
            stated: self.epsilon.clone(),
            least,
            rho: self.total.rho_nano,
            delta: delta.clone(),
        })
    }
}

const NAME: &str = "1 to 64 characters of a-z, 0-9, -";
const DOTTED: &str = "1 to 128 characters of a-z, 0-9, -, in parts joined by points";
const ORIGIN: &str = "1 to 256 printable ASCII characters without spaces or +";

fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn is_dotted(text: &str) -> bool {
    text.len() <= 128 && text.split('.').all(is_name)
}

fn is_origin(text: &str) -> bool {
    (1..=256).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic() && b != b'+')
}

fn text(
    field: &'static str,
    found: &str,
    good: bool,
    expected: &'static str,
) -> Result<(), PolicyError> {
    if good {
        Ok(())
    } else {
        Err(PolicyError::Text {
            field,
            found: shown(found),
            expected,
        })
    }
}

fn number(field: &'static str, found: u64, min: u64, max: u64) -> Result<(), PolicyError> {
    match (min..=max).contains(&found) {
        true => Ok(()),
        false => Err(PolicyError::Number {
            field,
            found,
            min,
            max,
        }),
    }
}

fn bounded(field: &'static str, len: usize, max: usize) -> Result<(), PolicyError> {
    match len {
        0 => Err(PolicyError::Empty { field }),
        len if len > max => Err(PolicyError::TooMany { field, len, max }),
        _ => Ok(()),
    }
}

fn ascending<T: Ord>(field: &'static str, list: &[T]) -> Result<(), PolicyError> {
    match list.is_sorted_by(|a, b| a < b) {
        true => Ok(()),
        false => Err(PolicyError::NotAscending { field }),
    }
}

fn set<T: Ord>(field: &'static str, list: &[T]) -> Result<(), PolicyError> {
    bounded(field, list.len(), LIST_MAX)?;
    ascending(field, list)
}

/// In production each is of a real TEE, and leaves open nothing that matters (I3, I11).
fn reference_values(
    field: &'static str,
    list: &[ReferenceValue],
    profile: Profile,
) -> Result<(), PolicyError> {
    set(field, list)?;
    if profile == Profile::Simulation {
        return Ok(());
    }
    let checked = list.iter().try_for_each(ReferenceValue::check_production);
    checked.map_err(|source| PolicyError::ReferenceValue { field, source })
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests;
