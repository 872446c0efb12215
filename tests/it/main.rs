//! End to end, by invariant.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod i11_mock;
mod i11_production;
mod i12_sizes;
mod i14_hostile;
mod i1_endorsements;
mod i1_publish_first;
mod i1_remote_log;
mod i1_witnesses;
mod i3_no_policy_no_key;
mod i3_suites;
mod i4_one_voice;
mod i5_hostile_numbers;
mod i5_only_dp;
mod i6_budgets;
mod i6_one_result;
mod i7_same_bytes;
mod i7_training;
mod i8_kills;
mod i9_time;
