//! What the operating system says of this process.

use std::time::Duration;

/// A field of /proc/self/status, in bytes; zero where there is no such file.
fn status(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(field)?.strip_prefix(':'));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// The most memory that this process has had resident, in bytes.
pub(crate) fn peak_memory() -> u64 {
    status("VmHWM")
}

/// The memory that this process has resident now, in bytes.
pub(crate) fn memory() -> u64 {
    status("VmRSS")
}

/// CPU time of this process, all threads, user and system.
pub(crate) fn cpu_time() -> Duration {
    // Fields 14 and 15 of /proc/self/stat, in clock ticks of 10 ms (USER_HZ is 100 on Linux).
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|f| f.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// The first line of a command's output, or a dash.
pub(crate) fn first_line(command: &str, arguments: &[&str]) -> String {
    let output = std::process::Command::new(command).args(arguments).output().ok();
    let text = output.filter(|o| o.status.success()).map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    text.and_then(|t| t.lines().next().map(str::to_owned)).unwrap_or_else(|| "-".into())
}

/// The name of this machine's processor.
pub(crate) fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split_once(':').map(|(_, n)| n.trim().to_owned()));
    name.unwrap_or_else(|| "unknown".into())
}
