//! Generated protobuf messages, and tonic services behind the feature `rpc`.
//!
//! Wire types stop here: every crate turns them into its own types in one `convert` module. What is
//! signed or hashed travels inside as `bytes` and is never re-encoded (I2).

/// Messages and services of `siegel.v1`.
#[allow(missing_docs, clippy::all, clippy::pedantic, unreachable_pub)]
pub mod v1 {
    include!(concat!(env!("OUT_DIR"), "/siegel.v1.rs"));
}
