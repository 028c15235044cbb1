//! Hints to the processor that memory will be read soon.
//!
//! A packet and its INT stack were written when it was sent, a link's delay ago, and have left the first-level cache
//! since. The engine knows some packets ahead which it will read next.

/// Has the cache lines of `value` fetched, without waiting for them. Changes nothing but the time that a later access
/// takes; on processors other than x86-64 it does nothing.
#[inline(always)]
#[allow(unsafe_code, reason = "the instruction neither faults nor changes anything, whatever the address")]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        let first = std::ptr::from_ref(value).cast::<i8>();
        for line in (0..size_of::<T>()).step_by(LINE) {
            // SAFETY: the line begins within `value`, and nothing is read through the pointer.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(first.add(line)) };
        }
        // A value that need not begin a line may end in one more than its size would fill.
        if !align_of::<T>().is_multiple_of(LINE) && size_of::<T>() > 0 {
            // SAFETY: the last byte of `value`.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(first.add(size_of::<T>() - 1)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
