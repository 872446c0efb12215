//! The archive: objects by digest, many of them in one immutable pack.

mod committer;
mod index;
mod merge;
mod pack;
mod packs;
mod recent;

pub(crate) use committer::Archive;
pub use pack::{PackDirectory, PackEntry, PackError};
pub(crate) use packs::Packs;

#[cfg(test)]
mod tests;
