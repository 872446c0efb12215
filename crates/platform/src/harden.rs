//! Keys live in memory only (I10): no core file, no debugger of the same user.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

use crate::PlatformError;

/// Sets the core file limit to zero, hard and soft, and makes the process not dumpable: no
/// `ptrace`, and `/proc/PID/mem` only for the administrator.
///
/// Memory is not locked: a page may still reach swap. A confidential VM encrypts that too.
pub fn no_core_dumps() -> Result<(), PlatformError> {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none).map_err(|e| PlatformError::Harden(e.into()))?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|e| PlatformError::Harden(e.into()))
}

/// A panic message may quote the value that caused it, and that may be plaintext (I12): only the
/// place is told.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        let (file, line) = info
            .location()
            .map_or(("unknown", 0), |at| (at.file(), at.line()));
        eprintln!("a task panicked at {file}:{line}");
        tracing::error!(file, line, "a task panicked; its message is withheld (I12)");
    }));
}
