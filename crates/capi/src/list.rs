//! Lists of the algorithms, and of the presets, parameters and internals of each.
#![expect(unsafe_code, reason = "C calls these functions, with pointers of its own")]
#![expect(clippy::missing_safety_doc, reason = "the crate's documentation says it for all functions")]

use core::ffi::{CStr, c_char};

use incast_cc::AnyParams;
use incast_cc::any::CATALOGUE;

use crate::flow::Sizes;
use crate::memory;
use crate::status::incast_status::{INCAST_NO_SUCH_PLACE, INCAST_UNKNOWN_ALGORITHM};
use crate::status::{Result, incast_status, status};
use crate::types::{INCAST_CC_ABI, incast_info, incast_named, incast_parameter, incast_value};

/// The version of the project, with the zero byte of a C text.
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// The number of the binary interface of the library in use: INCAST_CC_ABI of the header that it was built
/// with. A program that finds another number must not call it.
#[unsafe(no_mangle)]
pub extern "C" fn incast_cc_abi() -> u32 {
    INCAST_CC_ABI
}

/// The version of the library in use, "0.1.0": a constant text that ends with a zero byte.
#[unsafe(no_mangle)]
pub extern "C" fn incast_cc_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Returns the number of algorithms. Their places in the list, from 0, do not change while the program runs;
/// another version of the library may have others.
#[unsafe(no_mangle)]
pub extern "C" fn incast_cc_count() -> usize {
    CATALOGUE.len()
}

/// Writes the place of the algorithm with this name to out.
///
/// INCAST_UNKNOWN_ALGORITHM; INCAST_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_cc_find(name: *const c_char, out: *mut usize) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements.
        let name = unsafe { memory::text(name)? };
        let place = CATALOGUE.iter().position(|info| Some(info.name) == name);
        // SAFETY: as above.
        unsafe { memory::write(out, place.ok_or(INCAST_UNKNOWN_ALGORITHM)?) }
    })
}

/// Describes the algorithm at a place of the list.
///
/// INCAST_NO_SUCH_PLACE; INCAST_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_cc_describe(algorithm: usize, out: *mut incast_info) -> incast_status {
    status(|| {
        let params = at(algorithm)?;
        let info = params.info();
        let (mut presets, mut parameters) = (0, 0);
        params.presets(|_, _| presets += 1);
        params.params(|_, _| parameters += 1);
        let sizes = params.visit(Sizes);
        let described = incast_info {
            name: info.name.into(),
            title: info.title.into(),
            summary: info.summary.into(),
            family: info.family.name().into(),
            needs: info.needs.into(),
            flow_bytes: sizes.flow,
            setup_bytes: sizes.setup,
            presets,
            parameters,
            internals: info.internals.len(),
        };
        // SAFETY: the caller keeps to the crate's requirements.
        unsafe { memory::write(out, described) }
    })
}

/// Describes a preset of an algorithm, both by their places; place 0 is the default.
///
/// INCAST_NO_SUCH_PLACE; INCAST_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_cc_preset(
    algorithm: usize,
    place: usize,
    out: *mut incast_named,
) -> incast_status {
    status(|| {
        let (mut found, mut here) = (None, 0);
        at(algorithm)?.presets(|name, meaning| {
            if here == place {
                found = Some(incast_named::new(name, meaning));
            }
            here += 1;
        });
        // SAFETY: the caller keeps to the crate's requirements.
        unsafe { memory::write(out, found.ok_or(INCAST_NO_SUCH_PLACE)?) }
    })
}

/// Describes a parameter of an algorithm, both by their places.
///
/// INCAST_NO_SUCH_PLACE; INCAST_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_cc_parameter(
    algorithm: usize,
    place: usize,
    out: *mut incast_parameter,
) -> incast_status {
    status(|| {
        let (mut found, mut here) = (None, 0);
        at(algorithm)?.params(|info, value| {
            if here == place {
                found = Some(incast_parameter {
                    name: info.name.into(),
                    meaning: info.meaning.into(),
                    source: info.source.into(),
                    kind: incast_value::from(value).kind,
                });
            }
            here += 1;
        });
        // SAFETY: the caller keeps to the crate's requirements.
        unsafe { memory::write(out, found.ok_or(INCAST_NO_SUCH_PLACE)?) }
    })
}

/// Writes the class of the evidence for the default of a parameter of an algorithm, both given by their places: its
/// name, one of printed, artifact, measured, derived and ours, and its meaning.
///
/// INCAST_NO_SUCH_PLACE; INCAST_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_cc_evidence(
    algorithm: usize,
    place: usize,
    out: *mut incast_named,
) -> incast_status {
    status(|| {
        let (mut found, mut here) = (None, 0);
        at(algorithm)?.params(|info, _| {
            if here == place {
                found = Some(incast_named::new(info.evidence.name(), info.evidence.meaning()));
            }
            here += 1;
        });
        // SAFETY: the caller keeps to the crate's requirements.
        unsafe { memory::write(out, found.ok_or(INCAST_NO_SUCH_PLACE)?) }
    })
}

/// Describes an internal quantity of an algorithm, both given by their places, as in incast_flow_probe().
///
/// INCAST_NO_SUCH_PLACE; INCAST_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_cc_internal(
    algorithm: usize,
    place: usize,
    out: *mut incast_named,
) -> incast_status {
    status(|| {
        let info = CATALOGUE.get(algorithm).ok_or(INCAST_NO_SUCH_PLACE)?;
        let internal = info.internals.get(place).ok_or(INCAST_NO_SUCH_PLACE)?;
        // SAFETY: the caller keeps to the crate's requirements.
        unsafe { memory::write(out, (*internal).into()) }
    })
}

/// The algorithm at this place, with its default parameters.
fn at(algorithm: usize) -> Result<AnyParams> {
    let info = CATALOGUE.get(algorithm).ok_or(INCAST_NO_SUCH_PLACE)?;
    AnyParams::named(info.name, None).ok_or(INCAST_NO_SUCH_PLACE)
}
