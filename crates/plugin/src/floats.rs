//! The mode of floating-point arithmetic: a library that was built with `-Ofast` or `-ffast-math` sets it when it is
//! opened, so that the smallest numbers of the whole process would become zero.
#![expect(unsafe_code, reason = "the mode is in a register of the processor")]

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use core::arch::asm;

/// Calls a function, and gives this thread the mode from before. Threads that begin later have the mode of the thread
/// that starts them.
pub(crate) fn kept<T>(call: impl FnOnce() -> T) -> T {
    let before = mode();
    let result = call();
    set(before);
    result
}

#[cfg(target_arch = "x86_64")]
fn mode() -> u32 {
    let mut register = 0_u32;
    // SAFETY: it writes four bytes to a place of four bytes.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut register, options(nostack, preserves_flags)) };
    register
}

#[cfg(target_arch = "x86_64")]
fn set(mode: u32) {
    // SAFETY: the value was in this register, so none of its reserved bits is set.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const mode, options(nostack, readonly, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
fn mode() -> u64 {
    let register: u64;
    // SAFETY: it reads a register.
    unsafe { asm!("mrs {}, fpcr", out(reg) register, options(nomem, nostack, preserves_flags)) };
    register
}

#[cfg(target_arch = "aarch64")]
fn set(mode: u64) {
    // SAFETY: the value was in this register.
    unsafe { asm!("msr fpcr, {}", in(reg) mode, options(nomem, nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn mode() {}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn set((): ()) {}
