//! The parameters of an algorithm: named, set and read as text.
#![expect(unsafe_code, reason = "C calls these functions, with pointers of its own")]
#![expect(clippy::missing_safety_doc, reason = "the crate's documentation says it for all functions")]

use core::ffi::c_char;
use core::fmt::{self, Display};

use incast_cc::AnyParams;
use incast_cc::any::ParamInfo;
use incast_cc::params::Value;

use crate::memory;
use crate::status::incast_status::{
    INCAST_BAD_VALUE, INCAST_NOT_STARTED, INCAST_OUT_OF_RANGE, INCAST_UNKNOWN_ALGORITHM,
    INCAST_UNKNOWN_PARAMETER, INCAST_UNKNOWN_PRESET,
};
use crate::status::{Result, incast_status, status};
use crate::text::{self, Range, Refusal, Shown};
use crate::types::{INCAST_PARAMS_WORDS, incast_overhead, incast_value};

/// An algorithm with its parameters. Memory of the caller's, for whose contents there are functions: it may be
/// copied as a whole, and needs no end.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct incast_params {
    /// Not for the caller.
    pub opaque: [u64; INCAST_PARAMS_WORDS],
}

/// Contents of that memory.
#[repr(C)]
struct Named {
    /// [`MARK`].
    mark: u64,
    params: AnyParams,
}

/// Mark of memory that holds parameters: "incastPA".
const MARK: u64 = 0x696e_6361_7374_5041;

const _: () = assert!(size_of::<Named>() <= size_of::<incast_params>());
const _: () = assert!(align_of::<Named>() <= align_of::<incast_params>());

/// Writes the parameters of an algorithm in one of its presets to params. A null preset is the default one.
///
/// INCAST_UNKNOWN_ALGORITHM; INCAST_UNKNOWN_PRESET; INCAST_NULL_POINTER; INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_params_named(
    params: *mut incast_params,
    algorithm: *const c_char,
    preset: *const c_char,
) -> incast_status {
    status(|| {
        memory::aligned(params)?;
        // SAFETY: the caller keeps to the crate's requirements.
        let algorithm = unsafe { memory::text(algorithm)? }.ok_or(INCAST_UNKNOWN_ALGORITHM)?;
        let mut named = AnyParams::named(algorithm, None).ok_or(INCAST_UNKNOWN_ALGORITHM)?;
        if !preset.is_null() {
            // SAFETY: as above.
            let preset = unsafe { memory::text(preset)? }.ok_or(INCAST_UNKNOWN_PRESET)?;
            named = AnyParams::named(algorithm, Some(preset)).ok_or(INCAST_UNKNOWN_PRESET)?;
        }
        // SAFETY: it is large and aligned enough, and as above.
        unsafe { memory::write(params.cast(), Named { mark: MARK, params: named }) }
    })
}

/// Sets a parameter, both given as text: "target_queue", "75KB". incast_params_explain() says in words why a
/// text is refused.
///
/// INCAST_UNKNOWN_PARAMETER; INCAST_BAD_VALUE; INCAST_OUT_OF_RANGE; INCAST_NOT_STARTED; INCAST_NULL_POINTER;
/// INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_params_set(
    params: *mut incast_params,
    name: *const c_char,
    value: *const c_char,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements.
        let (mut changed, name, value) =
            unsafe { (*held(params)?, memory::text(name)?, memory::text(value)?) };
        let (info, _) = find(&changed, name)?;
        let value = value.ok_or(INCAST_BAD_VALUE)?;
        let value = text::read(info.kind, value).map_err(|refusal| match refusal {
            Refusal::Range(_) => INCAST_OUT_OF_RANGE,
            Refusal::Quantity(_) | Refusal::Number(_) | Refusal::Word(_) => INCAST_BAD_VALUE,
        })?;
        if !changed.set(info.name, value) {
            return Err(INCAST_OUT_OF_RANGE);
        }
        // SAFETY: as above.
        unsafe { memory::write(params.cast(), Named { mark: MARK, params: changed }) }
    })
}

/// Writes what incast_params_set() says to this name and this value, as a sentence for people, into a buffer
/// of size bytes; nothing is set. Of a text that does not fit as much is written as does. The length of the
/// whole text, without the zero byte, goes to length, which may be null; buffer may be null if size is 0.
///
/// INCAST_TOO_SMALL when it does not fit; INCAST_NOT_STARTED; INCAST_NULL_POINTER; INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_params_explain(
    params: *const incast_params,
    name: *const c_char,
    value: *const c_char,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements.
        let (params, name, value) = unsafe { (held(params)?, memory::text(name)?, memory::text(value)?) };
        let answer = Answer { params, name, value };
        // SAFETY: as above.
        unsafe { memory::print(&answer, buffer, size, length) }
    })
}

/// Writes the present value of a parameter as text into a buffer of size bytes, as incast_params_explain()
/// does: "75KB". incast_params_set() reads it.
///
/// INCAST_UNKNOWN_PARAMETER; INCAST_TOO_SMALL; INCAST_NOT_STARTED; INCAST_NULL_POINTER; INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_params_get(
    params: *const incast_params,
    name: *const c_char,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements.
        let (info, value) = unsafe { find(held(params)?, memory::text(name)?)? };
        // SAFETY: as above.
        unsafe { memory::print(&Shown::new(info.kind, value), buffer, size, length) }
    })
}

/// Writes the range of a parameter into a buffer of size bytes, as incast_params_explain() does: "0B to 1GB",
/// of a choice its words, "none, bdp".
///
/// INCAST_UNKNOWN_PARAMETER; INCAST_TOO_SMALL; INCAST_NOT_STARTED; INCAST_NULL_POINTER; INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_params_range(
    params: *const incast_params,
    name: *const c_char,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements.
        let (info, _) = unsafe { find(held(params)?, memory::text(name)?)? };
        // SAFETY: as above.
        unsafe { memory::print(&Range(info.kind), buffer, size, length) }
    })
}

/// Writes the signals that the algorithm needs with these parameters to out: the sum of their constants
/// (INCAST_SIGNAL_ECN and so on). It needs send and receive times and counts of bytes in any case.
///
/// INCAST_NOT_STARTED; INCAST_NULL_POINTER; INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_params_signals(params: *const incast_params, out: *mut u32) -> incast_status {
    // SAFETY: the caller keeps to the crate's requirements.
    status(|| unsafe { memory::write(out, held(params)?.signals().bits()) })
}

/// Writes the header bytes that the algorithm adds to packets with these parameters to out.
///
/// INCAST_NOT_STARTED; INCAST_NULL_POINTER; INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_params_overhead(
    params: *const incast_params,
    out: *mut incast_overhead,
) -> incast_status {
    // SAFETY: the caller keeps to the crate's requirements.
    status(|| unsafe { memory::write(out, held(params)?.overhead().into()) })
}

/// Writes a value as text with its unit into a buffer of size bytes, as incast_params_explain() does. That of
/// a choice, whose words it does not know, is a number.
///
/// INCAST_BAD_VALUE for a kind that there is not; INCAST_TOO_SMALL; INCAST_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_value_text(
    value: *const incast_value,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements.
        let value = unsafe { memory::refer(value)? }.value().ok_or(INCAST_BAD_VALUE)?;
        // SAFETY: as above.
        unsafe { memory::print(&Shown::from(value), buffer, size, length) }
    })
}

/// The parameters in this memory.
///
/// # Safety
/// As the crate's documentation says.
pub(crate) unsafe fn held<'a>(params: *const incast_params) -> Result<&'a AnyParams> {
    memory::aligned(params)?;
    let named = params.cast::<Named>();
    // SAFETY: it is neither null nor misaligned, and large enough. Only the mark is read at first, and not as
    // a part of the whole, which might be none.
    if unsafe { (&raw const (*named).mark).read_volatile() } != MARK {
        return Err(INCAST_NOT_STARTED);
    }
    // SAFETY: with the mark comes what was written with it.
    Ok(unsafe { &(*named).params })
}

/// The parameter with this name, and its value.
fn find(params: &AnyParams, name: Option<&str>) -> Result<(ParamInfo, Value)> {
    let mut found = None;
    params.params(|info, value| {
        if Some(info.name) == name {
            found = Some((info, value));
        }
    });
    found.ok_or(INCAST_UNKNOWN_PARAMETER)
}

/// Answer to an attempt to set a parameter.
struct Answer<'a> {
    params: &'a AnyParams,
    name: Option<&'a str>,
    value: Option<&'a str>,
}

impl Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let algorithm = self.params.info().name;
        let Ok((info, _)) = find(self.params, self.name) else {
            match self.name {
                Some(name) => write!(f, "{algorithm} has no parameter {name:?}; it has ")?,
                None => write!(f, "{algorithm} has no parameter of this name; it has ")?,
            }
            let (mut before, mut result) = ("", Ok(()));
            self.params.params(|info, _| {
                result = result.and_then(|()| write!(f, "{before}{}", info.name));
                before = ", ";
            });
            return result;
        };
        let name = info.name;
        let Some(value) = self.value else {
            return write!(f, "{name} of {algorithm}: no value is as long as this, or it is not UTF-8");
        };
        match text::read(info.kind, value) {
            Ok(value) => write!(f, "{name} of {algorithm} can be {}", Shown::new(info.kind, value)),
            Err(refusal) => write!(f, "{name} of {algorithm}: {value:?}: {refusal}"),
        }
    }
}
