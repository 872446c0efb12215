//! Peak memory of a process.

/// `VmHWM` of `/proc/PID/status` in bytes: the largest resident set so far. `None` for a process
/// that is gone, or a zombie.
pub fn peak_rss_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    #[test]
    fn own_memory_is_known() {
        let bytes = super::peak_rss_bytes(std::process::id()).unwrap();
        assert!((1 << 20..1 << 40).contains(&bytes), "{bytes}");
        assert_eq!(super::peak_rss_bytes(u32::MAX), None);
    }
}
