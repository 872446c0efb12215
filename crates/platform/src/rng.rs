//! The operating system's random numbers.

use getrandom::SysRng;
use rand_core::{TryRng as _, UnwrapErr};

use crate::PlatformError;

/// A [`rand_core::CryptoRng`] over `getrandom(2)`; make one wherever one is needed.
///
/// rand_core models a generator that can fail as `TryCryptoRng`, and turns it into an infallible
/// `CryptoRng` with `UnwrapErr`, which panics on failure. That is the safe answer here: a task that
/// goes on without randomness would make weak keys. The panic ends the task, not the process.
/// On Linux `getrandom(2)` cannot fail once it has worked, and [`check`] tries it at the start.
pub type OsRng = UnwrapErr<SysRng>;

/// A new handle.
pub fn os_rng() -> OsRng {
    UnwrapErr(SysRng)
}

/// Draws once, so that a machine without randomness is a clear error at the start.
pub fn check() -> Result<(), PlatformError> {
    let mut sample = [0u8; 32];
    SysRng
        .try_fill_bytes(&mut sample)
        .map_err(|e| PlatformError::NoRandomness(e.to_string()))?;
    if sample == [0u8; 32] {
        return Err(PlatformError::NoRandomness("32 zero bytes".into()));
    }
    Ok(())
}
