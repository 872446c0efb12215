//! Files of the measurement. All are bounded (I14); a kernel for SEV-SNP and an initrd are only streamed.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use ring::digest::{Algorithm, Context, Digest};

use super::super::files;
use crate::failure::Failure;

/// Most bytes of firmware.
pub(super) const FIRMWARE_MAX: usize = 64 << 20;
/// Most bytes of a kernel.
pub(super) const KERNEL_MAX: u64 = 512 << 20;
/// Most bytes of an initrd.
pub(super) const INITRD_MAX: u64 = 4 << 30;

/// The firmware's bytes.
pub(super) fn firmware(path: &Path) -> Result<Vec<u8>, Failure> {
    files::read(path, "firmware", FIRMWARE_MAX)
}

/// A file's digest and length, read piece by piece.
pub(super) fn digest(
    path: &Path,
    what: &str,
    max: u64,
    algorithm: &'static Algorithm,
) -> Result<(Digest, u64), Failure> {
    let unreadable = |why| files::cannot_read(path, what, &why);
    let file = File::open(path).map_err(unreadable)?;
    let mut file = file.take(max.saturating_add(1));
    let (mut context, mut total) = (Context::new(algorithm), 0u64);
    let mut piece = vec![0; 1 << 16];
    loop {
        let read = match file.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(why) if why.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(why) => return Err(unreadable(why)),
        };
        context.update(piece.get(..read).unwrap_or_default());
        total = total.saturating_add(read as u64);
    }
    if total == 0 || total > max {
        let at = path.display().to_string();
        let (code, message) = match total {
            0 => ("empty", format!("the {what} is empty")),
            _ => ("too-long", format!("the {what} is longer than {max} bytes")),
        };
        return Err(Failure::usage(
            code,
            &at,
            message,
            "is this the right file?",
        ));
    }
    Ok((context.finish(), total))
}
