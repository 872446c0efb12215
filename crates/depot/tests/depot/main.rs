//! The depot: its service, its group commit, its segments.

#![allow(clippy::unwrap_used)]

mod commit;
mod reading;
mod segments;
mod service;
mod setting;
