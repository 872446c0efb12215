//! x86-64-v3, or nothing (I7): measured binaries are built for it.

use crate::PlatformError;

/// Refuses to go on where an instruction set is missing. The caller exits with code 4.
#[cfg(target_arch = "x86_64")]
pub fn check() -> Result<(), PlatformError> {
    macro_rules! missing {
        ($($feature:tt),*) => {{
            let mut missing: Vec<&str> = Vec::new();
            $(if !std::arch::is_x86_feature_detected!($feature) { missing.push($feature); })*
            missing
        }};
    }
    let missing = missing!(
        "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "avx", "avx2", "bmi1", "bmi2", "f16c",
        "fma", "lzcnt", "movbe", "xsave"
    );
    if missing.is_empty() {
        Ok(())
    } else {
        Err(PlatformError::Cpu {
            missing: missing.join(", "),
        })
    }
}

/// Refuses: only x86-64-v3 is supported.
#[cfg(not(target_arch = "x86_64"))]
pub fn check() -> Result<(), PlatformError> {
    Err(PlatformError::Cpu {
        missing: "the x86-64 instruction set".into(),
    })
}
