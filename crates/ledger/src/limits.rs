//! Bounds on everything the ledger keeps, so that no sequence of entries grows it without end (I14).

use siegel_ident::Seconds;

/// Length of an encoded entry in bytes. The longest is a policy with its proof and all its
/// endorsements, spelled in hex.
pub const MAX_ENTRY: usize = 3 << 19;
/// Length of a log bundle (Sigstore v0.3 JSON) in bytes.
pub const MAX_BUNDLE: usize = 64 * 1024;
/// Endorsements that come with one policy.
pub const MAX_ENDORSEMENTS: usize = 16;
/// Length of them all, documents and bundles, in bytes.
pub const MAX_ENDORSEMENT_BYTES: usize = 512 * 1024;
/// Length of a wrapped secret in bytes.
pub const MAX_WRAPPED: usize = 1024;
/// Length of a public key of a workload in bytes (X-Wing: 2 + 1,216).
pub const MAX_KEY: usize = 2048;
/// Length of the header of a sealed release in bytes.
pub const MAX_RELEASE_HEADER: usize = 4096;
/// Length of one receipt body in bytes.
pub const MAX_RECEIPT: usize = 4096;
/// Policies per cluster, superseded ones included.
pub const MAX_POLICIES: usize = 256;
/// Epochs that one run may read.
pub const MAX_RUN_EPOCHS: usize = 8;
/// Runs whose secrets are kept (at most 4 MiB of release headers each).
pub const MAX_LIVE_RUNS: usize = 64;
/// Runs remembered in all; beyond it the oldest one without secrets is forgotten.
pub const MAX_RUNS: usize = 1024;
/// Worker incarnations per run.
pub const MAX_WORKERS: usize = 256;
/// Receipt bodies kept for the courier; older ones must be in the log by then.
pub const RECEIPTS_KEPT: usize = 16_384;
/// Remembered requests; the oldest one goes first.
pub const REQUESTS_KEPT: usize = 4096;
/// Statements of vendors that are remembered.
pub const MAX_MARKS: usize = 1024;
/// Statements of vendors that one piece of evidence rests on.
pub const MAX_MARKS_EACH: usize = 8;
/// Times and budgets must fit the integers of canonical JSON.
pub const MAX_INTEGER: u64 = (1 << 53) - 1;
/// How long a worker may start blocks after a renewal, on its own clock from when it asked (I9).
pub const LEASE: Seconds = Seconds(30);
