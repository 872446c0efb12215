//! Following a log: what was seen of it before, by this auditor and by others, and what is kept when
//! it contradicts itself (I1).

mod ahead;
mod evidence;
mod folder;
mod observers;
mod observing;
mod seen;
mod state;
#[cfg(test)]
mod tests;

pub use ahead::Ahead;
pub use evidence::{Evidence, SignedNote};
pub use folder::{Place, StateError, StateFolder};
pub use seen::Seen;
pub use state::State;

pub(crate) use observers::{Remembering, compare};
pub(crate) use observing::observe;
