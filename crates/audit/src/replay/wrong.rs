//! What a check found, before it is known where it is said.

/// Id, invariant and words of an error finding.
pub(crate) struct Wrong {
    pub(crate) id: &'static str,
    pub(crate) invariant: &'static str,
    pub(crate) why: String,
}

impl Wrong {
    pub(crate) fn new(id: &'static str, invariant: &'static str, why: impl ToString) -> Self {
        let why = why.to_string();
        Self { id, invariant, why }
    }
}

/// `Ok` if it holds.
pub(crate) fn require(
    holds: bool,
    id: &'static str,
    invariant: &'static str,
    why: impl ToString,
) -> Result<(), Wrong> {
    match holds {
        true => Ok(()),
        false => Err(Wrong::new(id, invariant, why)),
    }
}
