//! Nothing hostile grows the state (I14).

use crate::Refusal;

/// Keeps a detail short, so that a hostile input cannot fill the state with its own echo (I14).
pub(crate) fn detail(error: &impl std::fmt::Display) -> String {
    error.to_string().chars().take(300).collect()
}

/// Refuses what is over its bound; every field of a request is asked (I14).
pub(crate) fn bounded(
    field: &str,
    value: impl TryInto<u64>,
    max: impl TryInto<u64>,
) -> Result<(), Refusal> {
    let value = value.try_into().unwrap_or(u64::MAX);
    let max = max.try_into().unwrap_or(u64::MAX);
    if value <= max {
        return Ok(());
    }
    Err(Refusal::OutOfBounds {
        field: field.to_owned(),
        value,
        max,
    })
}
