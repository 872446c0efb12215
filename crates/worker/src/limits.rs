//! How much of its machine a worker uses.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

/// Memory for opened uploads: a hundred thousand records of 2 KiB, and little for a machine that
/// trains.
const CACHE_BYTES: usize = 256 * 1024 * 1024;
/// Beyond that, fetching is what takes the time, and more workers help more than more threads.
const THREADS: usize = 16;

/// Limits of one process. Not measured: they change the speed and no byte of a result (I7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Memory for the opened uploads of all runs, in bytes of sealed uploads. A run whose uploads
    /// do not fit is computed as well, but reads them anew for each question.
    pub cache_bytes: usize,
    /// Threads that open uploads and compute.
    pub threads: NonZeroUsize,
}

impl Default for Limits {
    fn default() -> Self {
        let threads = available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self {
            cache_bytes: CACHE_BYTES,
            threads: threads.min(NonZeroUsize::MIN.saturating_add(THREADS - 1)),
        }
    }
}
