//! The setup of an algorithm as the functions in the kernel read it, and the state of a flow as they leave it.

use incast_cc::any::Visitor;
use incast_cc::params::Described;
use incast_cc::{AnyParams, CongestionControl, Path, Setup};

/// The names of the signals that an algorithm needs with these parameters, and `median` if it is behind a median: the
/// functions in the kernel have none.
pub(crate) fn signals(params: &AnyParams) -> Vec<&'static str> {
    params.signals().names().chain(params.has_median().then_some("median")).collect()
}

/// Returns the bytes of the setup for these parameters on this path. The layout is C's, and the same on
/// x86-64 as in the kernel's BPF: both are little-endian and align eight bytes to eight.
pub(crate) fn setup(params: &AnyParams, path: Path) -> Vec<u8> {
    params.visit(Memory(path))
}

struct Memory(Path);

impl Visitor for Memory {
    type Output = Vec<u8>;

    fn visit<C>(self, params: &C::Params) -> Vec<u8>
    where
        C: CongestionControl + Copy + core::fmt::Debug,
        C::Params: Described + Copy,
    {
        bytes(&Setup::<C::Params>::new(*params, self.0))
    }
}

/// An internal quantity of a flow: its index in [`CongestionControl::INTERNALS`], and the kind and the bits of its
/// value ([`Value::bits`](incast_cc::params::Value::bits)).
pub(crate) type InternalValue = (u16, u8, u64);

/// The internal quantities that have a value in each of these states of flows on this path, as they lie in memory: what
/// a probe of the simulator shows of such a flow. Nothing where one is shorter than a state.
///
/// # Safety
/// Each must have been written by this algorithm's functions, in this version: every field is then a value of its type.
/// Bytes after the state are ignored.
#[expect(unsafe_code, reason = "states of the kernel come as bytes")]
pub(crate) unsafe fn internals(
    params: &AnyParams,
    path: Path,
    states: &[Vec<u8>],
) -> Option<Vec<Vec<InternalValue>>> {
    params.visit(Shown(path, states))
}

struct Shown<'a>(Path, &'a [Vec<u8>]);

impl Visitor for Shown<'_> {
    type Output = Option<Vec<Vec<InternalValue>>>;

    fn visit<C>(self, params: &C::Params) -> Self::Output
    where
        C: CongestionControl + Copy + core::fmt::Debug,
        C::Params: Described + Copy,
    {
        let Self(path, states) = self;
        let setup = Setup::<C::Params>::new(*params, path);
        let of = |bytes: &Vec<u8>| {
            if bytes.len() < size_of::<C>() {
                return None;
            }
            // SAFETY: there are enough bytes, at any address, and `internals` requires that they are those of a `C`.
            #[expect(unsafe_code, reason = "states of the kernel come as bytes")]
            let state = unsafe { bytes.as_ptr().cast::<C>().read_unaligned() };
            let value = |index: u16| {
                let (kind, bits) = state.probe(&setup, usize::from(index))?.bits();
                Some((index, kind, bits))
            };
            Some((0..C::INTERNALS.len() as u16).filter_map(value).collect())
        };
        states.iter().map(of).collect()
    }
}

/// The bytes of a value in memory. Those between its fields, which nobody reads, can be anything.
fn bytes<T>(value: &T) -> Vec<u8> {
    let start = core::ptr::from_ref(value).cast::<u8>();
    let byte = |place| {
        // SAFETY: within the value, to which there is a reference. Volatile: bytes between fields need not have
        // been written, and nothing may be inferred from what they are.
        #[expect(unsafe_code, reason = "the standard library offers it in no other way")]
        unsafe {
            start.add(place).read_volatile()
        }
    };
    (0..size_of::<T>()).map(byte).collect()
}
