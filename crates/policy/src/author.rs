//! Policies as people write them: TOML that names binaries by role and programs by name. Building
//! one fills in digests, window and ρ. Only the command line links this.

mod error;
mod file;

use std::collections::BTreeMap;

use siegel_attest::{DocumentError, Genesis, ReferenceValue};
use siegel_dp::zcdp;
use siegel_ident::{
    Budget, ClusterId, ConfigDigest, Delta, KeyDigest, ProgramDigest, Seconds, Timestamp,
};

pub use error::AuthorError;

use crate::{
    AccessPolicy, Bounds, InputSchema, KmsRule, LogRule, Policy, PolicyError, Privacy, RoleRule,
    Roles,
};
use error::Source;
use file::{Endorsements, Located, PolicyFile};

/// Most days that a policy may be valid.
pub const VALID_DAYS_MAX: u64 = 3660;

/// What a policy names and its author does not write: digests and the cluster.
#[derive(Clone, Debug)]
pub struct Facts {
    /// First second of use.
    pub now: Timestamp,
    /// The cluster that will hold the keys.
    pub cluster_id: ClusterId,
    /// Its configuration digest.
    pub kms_config: ConfigDigest,
    /// Origin of its log.
    pub log_origin: String,
    /// Witnesses that it checks. The file may demand fewer or as many, by `[log] witnesses`.
    pub witnesses: u32,
    /// What each named binary measures.
    pub binaries: BTreeMap<String, Vec<ReferenceValue>>,
    /// The digest of each named program.
    pub programs: BTreeMap<String, ProgramDigest>,
    /// Whose endorsements count, for a file that says `endorsements = "required"`.
    pub endorsers: Vec<KeyDigest>,
}

impl Facts {
    /// The cluster's part from its genesis; binaries and programs are added by the caller.
    pub fn of_genesis(genesis: &Genesis, now: Timestamp) -> Result<Self, DocumentError> {
        Ok(Self {
            now,
            cluster_id: genesis.cluster_id()?,
            kms_config: genesis.config.digest()?,
            log_origin: genesis.config.log_origin.clone(),
            witnesses: genesis.config.witnesses.required,
            binaries: BTreeMap::new(),
            programs: BTreeMap::new(),
            endorsers: Vec::new(),
        })
    }
}

/// The names that a file uses, so that the caller knows which binaries and programs to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Binary of the root.
    pub root: String,
    /// Binary of the workers.
    pub worker: String,
    /// Binary of the key service.
    pub kms: String,
    /// Programs, in the order of the file.
    pub programs: Vec<String>,
}

/// Reads only the names out of a file; refuses what [`build`] would refuse to read.
pub fn names(text: &str) -> Result<Names, AuthorError> {
    let file = Source(text).read()?;
    Ok(Names {
        root: file.roles.root.into_inner(),
        worker: file.roles.worker.into_inner(),
        kms: file.roles.kms.into_inner(),
        programs: file.programs.into_iter().map(Located::into_inner).collect(),
    })
}

/// Builds the policy: digests and window from `facts`, the largest ρ that the stated (ε, δ) allows.
///
/// # Errors
/// An [`AuthorError`] that names the line of the file.
pub fn build(text: &str, facts: &Facts) -> Result<Policy, AuthorError> {
    let source = Source(text);
    let file = source.read()?;
    let mut programs = file
        .programs
        .iter()
        .map(|name| source.look_up("program", name, &facts.programs))
        .collect::<Result<Vec<_>, _>>()?;
    programs.sort_unstable();
    let values = |name: &Located<String>| -> Result<Vec<ReferenceValue>, AuthorError> {
        let mut values = source.look_up("binary", name, &facts.binaries)?;
        values.sort_unstable();
        values.dedup();
        Ok(values)
    };
    let rules = AccessPolicy {
        schema: AccessPolicy::SCHEMA.into(),
        name: file.name.clone(),
        pipeline: file.pipeline.clone(),
        predecessor: file.predecessor,
        not_before: facts.now,
        not_after: facts.now.plus(validity(source, &file)?),
        profile: file.profile,
        log: LogRule {
            origin: facts.log_origin.clone(),
            witnesses: file
                .log
                .as_ref()
                .map_or(facts.witnesses, |log| log.witnesses),
        },
        kms: KmsRule {
            cluster_id: facts.cluster_id,
            config: facts.kms_config,
            reference_values: values(&file.roles.kms)?,
        },
        roles: Roles {
            root: RoleRule {
                reference_values: values(&file.roles.root)?,
            },
            worker: RoleRule {
                reference_values: values(&file.roles.worker)?,
            },
        },
        programs,
        sideloads: Vec::new(),
        input: InputSchema {
            columns: file.input.columns.clone(),
        },
        suites: sorted(&file.suites),
        key_ttl: Seconds(file.key_ttl_seconds),
        privacy: privacy(source, &file)?,
        bounds: Bounds {
            max_items_per_user: file.bounds.max_items_per_user,
        },
        min_blobs: file.min_blobs,
        public_counters: sorted(&file.public_counters),
        recipients: sorted(&file.recipients),
        endorsers: endorsers(source, &file, facts)?,
        rebuilders: 0,
    };
    rules.compile().map_err(|error| source.rule(error))
}

/// A file that requires endorsements, built without an endorser, would require none.
fn endorsers(
    source: Source<'_>,
    file: &PolicyFile,
    facts: &Facts,
) -> Result<Vec<KeyDigest>, AuthorError> {
    match file.endorsements.get_ref() {
        Endorsements::None => Ok(Vec::new()),
        Endorsements::Required if facts.endorsers.is_empty() => {
            let message = "endorsements are required, but no endorser's key is given".to_owned();
            Err(source.value(&file.endorsements, message))
        }
        Endorsements::Required => {
            let mut keys = sorted(&facts.endorsers);
            keys.dedup();
            Ok(keys)
        }
    }
}

fn validity(source: Source<'_>, file: &PolicyFile) -> Result<Seconds, AuthorError> {
    let days = *file.valid_days.get_ref();
    if (1..=VALID_DAYS_MAX).contains(&days) {
        return Ok(Seconds(days * 86_400));
    }
    let message = format!("valid_days is {days}; expected 1 to {VALID_DAYS_MAX}");
    Err(source.value(&file.valid_days, message))
}

fn privacy(source: Source<'_>, file: &PolicyFile) -> Result<Privacy, AuthorError> {
    let stated = &file.privacy;
    let (epsilon, delta) = (stated.epsilon.get_ref(), stated.delta.get_ref());
    if delta.lower() <= 0.0 || delta.upper() >= 1.0 {
        let error = PolicyError::DeltaRange {
            found: delta.clone(),
        };
        return Err(source.value(&stated.delta, error.to_string()));
    }
    // The same rounding as the check, so that what is filled in always parses.
    let rho_nano = zcdp::max_rho(epsilon.lower(), delta.lower());
    if rho_nano.0 == 0 || rho_nano.0 >= crate::NUMBER_LIMIT {
        let message = format!("epsilon = {epsilon} at delta = {delta} gives no usable rho");
        return Err(source.value(&stated.epsilon, message));
    }
    Ok(Privacy {
        unit: stated.unit,
        adjacency: stated.adjacency,
        mechanisms: sorted(&stated.mechanisms),
        total: Budget {
            rho_nano,
            delta0: Delta(0),
        },
        epsilon: epsilon.clone(),
        delta: delta.clone(),
    })
}

/// Sets are written in any order; duplicates stay and are refused by the check.
fn sorted<T: Ord + Clone>(list: &[T]) -> Vec<T> {
    let mut list = list.to_vec();
    list.sort_unstable();
    list
}

#[cfg(test)]
mod tests;
