//! The operating system's numbers on this process.

use std::process::Command;
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
    let output = Command::new(command).args(arguments).output().ok();
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

/// Has the C library copy memory by the instructions that every x86-64 processor has, so that counts do not depend on
/// the processor.
const COPIES: &str = "glibc.cpu.hwcaps=-AVX_Fast_Unaligned_Load,-AVX512F,-AVX512VL,-ERMS,-FSRM";

/// Runs a build of this program with these arguments; its output. Under `wrapper`, if there is one, which counts.
pub(crate) fn call(program: &str, wrapper: &[&str], arguments: &[&str]) -> Result<String, String> {
    let mut words: Vec<&str> = wrapper.to_vec();
    words.push(program);
    words.extend(arguments);
    let mut command = Command::new(words[0]);
    if !wrapper.is_empty() {
        command.env("GLIBC_TUNABLES", COPIES);
    }
    let output = command.args(&words[1..]).output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a build of this program under callgrind, with these options of callgrind. Returns its output and the
/// instructions.
pub(crate) fn instructions(
    program: &str,
    options: &[&str],
    arguments: &[&str],
) -> Result<(String, u64), String> {
    let out = std::env::temp_dir().join(format!("incast-bench-{}.callgrind", std::process::id()));
    let file = format!("--callgrind-out-file={}", out.display());
    let wrapper = [&["valgrind", "--tool=callgrind", "-q", &file], options].concat();
    let said = call(program, &wrapper, arguments)?;
    let text = std::fs::read_to_string(&out).map_err(|e| e.to_string())?;
    std::fs::remove_file(&out).ok();
    let summary = text.lines().find_map(|l| l.strip_prefix("summary: ").or(l.strip_prefix("totals: ")));
    let count = summary.and_then(|s| s.trim().parse().ok()).ok_or("callgrind says no total")?;
    Ok((said, count))
}
