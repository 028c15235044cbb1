//! From pointers of C to references, values and texts, and back.
//!
//! All functions here rely on what the crate's documentation requires of the caller: a pointer that is not
//! null leads to memory of the size that its type, or the size beside it, says.
#![expect(unsafe_code, reason = "memory of the caller's is read and written here")]

use core::ffi::c_char;
use core::fmt::{self, Display, Write as _};
use core::slice;

use crate::status::Result;
use crate::status::incast_status::{INCAST_MISALIGNED, INCAST_NULL_POINTER, INCAST_TOO_SMALL};

/// The longest text that is read. No name and no value is longer.
const LONGEST: usize = 255;

/// Borrows the value that `pointer` leads to.
///
/// # Safety If it is neither null nor misaligned: it leads to a valid `T`, which nothing changes during the
/// borrow.
#[inline]
pub(crate) unsafe fn refer<'a, T>(pointer: *const T) -> Result<&'a T> {
    aligned(pointer)?;
    // SAFETY: it is not null and aligned, and the rest is what the caller promises.
    Ok(unsafe { &*pointer })
}

/// Writes `value` where `pointer` leads.
///
/// # Safety
/// If it is neither null nor misaligned: a `T` may be written there.
#[inline]
pub(crate) unsafe fn write<T>(pointer: *mut T, value: T) -> Result<()> {
    aligned(pointer)?;
    // SAFETY: it is not null and aligned, and the rest is what the caller promises.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Refuses a pointer that is null, or not aligned for its type.
#[inline]
pub(crate) fn aligned<T>(pointer: *const T) -> Result<()> {
    if pointer.is_null() {
        Err(INCAST_NULL_POINTER)
    } else if !pointer.is_aligned() {
        Err(INCAST_MISALIGNED)
    } else {
        Ok(())
    }
}

/// Refuses memory of `size` bytes in which there is no room for a `T`.
pub(crate) fn room<T>(memory: *mut T, size: usize) -> Result<()> {
    aligned(memory)?;
    if size < size_of::<T>() { Err(INCAST_TOO_SMALL) } else { Ok(()) }
}

/// A text that ends with a zero byte; `None` for one that is longer than any name or value, or not UTF-8.
///
/// # Safety
/// If the pointer is not null: bytes may be read up to the first that is zero.
pub(crate) unsafe fn text<'a>(pointer: *const c_char) -> Result<Option<&'a str>> {
    if pointer.is_null() {
        return Err(INCAST_NULL_POINTER);
    }
    let start = pointer.cast::<u8>();
    for length in 0..=LONGEST {
        // SAFETY: no byte before this one is zero, so this one may be read.
        if unsafe { start.add(length).read() } == 0 {
            // SAFETY: these bytes have just been read.
            let bytes = unsafe { slice::from_raw_parts(start, length) };
            return Ok(str::from_utf8(bytes).ok());
        }
    }
    Ok(None)
}

/// Writes a text into a buffer of C, as `snprintf` does: what has no room is cut, a zero byte follows. Where
/// `length` leads goes the length of the whole text without that byte; it may be null.
///
/// # Safety
/// `size` bytes may be written to `buffer`, and a number to `length` if that is not null.
pub(crate) unsafe fn print(
    what: &dyn Display,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
) -> Result<()> {
    if buffer.is_null() && size > 0 {
        return Err(INCAST_NULL_POINTER);
    }
    let mut out = Buffer { start: buffer.cast(), room: size.saturating_sub(1), used: 0, length: 0 };
    // A buffer takes every text, and no value here refuses to be printed.
    let _ = write!(out, "{what}");
    if size > 0 {
        // SAFETY: `used` is at most `room`, which is below `size`.
        unsafe { out.start.add(out.used).write(0) };
    }
    if !length.is_null() {
        // SAFETY: it is not null, and the caller promises the rest.
        unsafe { write(length, out.length)? };
    }
    if out.length < size { Ok(()) } else { Err(INCAST_TOO_SMALL) }
}

/// A buffer of C that takes a text.
struct Buffer {
    start: *mut u8,
    /// Bytes of text for which there is room. None after a cut, so that nothing follows it.
    room: usize,
    used: usize,
    /// Length of the whole text so far.
    length: usize,
}

impl fmt::Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.length = self.length.saturating_add(text.len());
        let mut fits = text.len().min(self.room - self.used);
        if fits < text.len() {
            // Not in the middle of a character.
            while !text.is_char_boundary(fits) {
                fits -= 1;
            }
            self.room = self.used + fits;
        }
        for (place, byte) in text.bytes().take(fits).enumerate() {
            // SAFETY: `used + fits` is at most `room`, and so many bytes may be written.
            unsafe { self.start.add(self.used + place).write(byte) };
        }
        self.used += fits;
        Ok(())
    }
}
