//! How much memory a process has taken.

/// Peak resident memory of a process, where the system tells.
pub(super) fn peak_megabytes(pid: Option<u32>) -> Option<f64> {
    #[expect(clippy::disallowed_methods, reason = "the command line's edge looks at a process")]
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid?)).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1_024.0)
}
