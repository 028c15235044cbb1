//! Status codes of the calls.
#![expect(non_camel_case_types, reason = "the names are those that C has")]
#![expect(unsafe_code, reason = "a function that C calls has the name that it has in the header")]

use core::ffi::{CStr, c_char};

/// Status of a call: success, or the reason of the failure. A call that fails changes only what its
/// description names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum incast_status {
    /// Done.
    INCAST_OK = 0,
    /// A pointer is null that must not be.
    INCAST_NULL_POINTER = 1,
    /// No algorithm has this name.
    INCAST_UNKNOWN_ALGORITHM = 2,
    /// The algorithm has no preset of this name.
    INCAST_UNKNOWN_PRESET = 3,
    /// The algorithm has no parameter of this name.
    INCAST_UNKNOWN_PARAMETER = 4,
    /// A text is no value of the parameter's kind, or a number in a field has no meaning there.
    INCAST_BAD_VALUE = 5,
    /// The value is outside of the parameter's range.
    INCAST_OUT_OF_RANGE = 6,
    /// The memory or the buffer is too small.
    INCAST_TOO_SMALL = 7,
    /// The memory is not aligned as it must be.
    INCAST_MISALIGNED = 8,
    /// No path has these properties; incast_path says what they must be.
    INCAST_BAD_PATH = 9,
    /// The memory holds no parameters, or no setup.
    INCAST_NOT_STARTED = 10,
    /// There is nothing at this place of the list; it is beyond the end.
    INCAST_NO_SUCH_PLACE = 11,
    /// The internal quantity has no value yet.
    INCAST_NO_VALUE = 12,
}

/// The status of each number, as a sentence.
const TEXTS: [&CStr; 13] = [
    c"done",
    c"a pointer is null",
    c"no algorithm has this name",
    c"the algorithm has no preset of this name",
    c"the algorithm has no parameter of this name",
    c"this is no value of the kind that is expected",
    c"the value is out of range",
    c"the memory or the buffer is too small",
    c"the memory is not aligned as it must be",
    c"no path has these properties",
    c"the memory holds no parameters, or no setup",
    c"there is nothing at this place of the list",
    c"the quantity has no value yet",
];

/// A status in words, for people: a constant text that ends with a zero byte. For any other number:
/// "unknown status".
#[unsafe(no_mangle)]
pub extern "C" fn incast_status_text(status: u32) -> *const c_char {
    let text = usize::try_from(status).ok().and_then(|status| TEXTS.get(status));
    text.unwrap_or(&c"unknown status").as_ptr()
}

/// Result of the work of a call, before C sees it.
pub(crate) type Result<T> = core::result::Result<T, incast_status>;

/// The status of what `work` gives.
#[inline]
pub(crate) fn status(work: impl FnOnce() -> Result<()>) -> incast_status {
    work().err().unwrap_or(incast_status::INCAST_OK)
}
