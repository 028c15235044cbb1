//! Setups, flows and their calls.
//!
//! A setup starts with a pointer to the functions of its algorithm, so a call costs one indirect call. The
//! state of a flow is the algorithm's state and nothing else.
#![expect(non_camel_case_types, reason = "the names are those that C has")]
#![expect(unsafe_code, reason = "C calls these functions, with pointers of its own")]
#![expect(clippy::missing_safety_doc, reason = "the crate's documentation says it for all functions")]

use core::marker::PhantomData;
use core::mem::needs_drop;

use incast_cc::any::Visitor;
use incast_cc::params::Value;
use incast_cc::{Ack, Allowance, CongestionControl, IntStack, Loss, Parameters, Path, Sent, Setup};
use incast_units::Time;

use crate::memory;
use crate::params::{held, incast_params};
use crate::status::incast_status::{
    INCAST_BAD_PATH, INCAST_BAD_VALUE, INCAST_MISALIGNED, INCAST_NO_SUCH_PLACE, INCAST_NO_VALUE,
    INCAST_NOT_STARTED, INCAST_NULL_POINTER, INCAST_TOO_SMALL,
};
use crate::status::{Result, incast_status, status};
use crate::types::{
    INCAST_INT_HOPS, incast_ack, incast_allowance, incast_int_stack, incast_loss, incast_loss_kind,
    incast_path, incast_sent, incast_time, incast_value,
};

/// A setup: the data shared by all flows that have the same parameters and paths with the same properties. It
/// is constant after its start, so any number of threads may use it at the same time. The memory is the
/// caller's. It may be copied as a whole within a process, and needs no end.
pub struct incast_setup {
    _private: [u8; 0],
}

/// The state of a flow. Memory of the caller's, one for each flow. It may be copied as a whole and needs no
/// end. One thread at a time may use it.
pub struct incast_flow {
    _private: [u8; 0],
}

/// The bytes that the setup of these parameters needs; 0 if params holds none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_setup_size(params: *const incast_params) -> usize {
    // SAFETY: the caller keeps to the crate's requirements.
    unsafe { held(params) }.map_or(0, |params| params.visit(Sizes).setup)
}

/// Returns the alignment of that memory; 0 if params holds none. It is at most 8, so memory from malloc() is
/// aligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_setup_align(params: *const incast_params) -> usize {
    // SAFETY: the caller keeps to the crate's requirements.
    unsafe { held(params) }.map_or(0, |params| params.visit(Sizes).setup_align)
}

/// Starts a setup in memory of size bytes. It keeps no pointer to params or path.
///
/// INCAST_BAD_PATH; INCAST_TOO_SMALL; INCAST_MISALIGNED; INCAST_NOT_STARTED if params holds none;
/// INCAST_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_setup_start(
    setup: *mut incast_setup,
    size: usize,
    params: *const incast_params,
    path: *const incast_path,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements.
        let (params, path) = unsafe { (held(params)?, memory::refer(path)?) };
        if !path.is_possible() {
            return Err(INCAST_BAD_PATH);
        }
        params.visit(Start { setup, size, path: path.into() })
    })
}

/// The bytes that a flow with this setup needs; 0 if setup holds none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_flow_size(setup: *const incast_setup) -> usize {
    // SAFETY: the caller keeps to the crate's requirements.
    unsafe { calls(setup) }.map_or(0, |calls| calls.size)
}

/// Returns the alignment of that memory; 0 if setup holds none. It is at most 8, so memory from malloc() is
/// aligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_flow_align(setup: *const incast_setup) -> usize {
    // SAFETY: the caller keeps to the crate's requirements.
    unsafe { calls(setup) }.map_or(0, |calls| calls.align)
}

/// Starts a flow at the time now in memory of size bytes. Time never goes back from one call of a flow to the
/// next. The setup must be there, or a copy of it, for every later call of the flow.
///
/// INCAST_TOO_SMALL; INCAST_MISALIGNED; INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_flow_start(
    flow: *mut incast_flow,
    size: usize,
    setup: *const incast_setup,
    now: incast_time,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements, the state is aligned and there is room for it.
        unsafe {
            let calls = calls(setup)?;
            let flow = calls.state(flow)?;
            if size < calls.size {
                return Err(INCAST_TOO_SMALL);
            }
            (calls.start)(flow, setup, Time::from_ps(now));
        }
        Ok(())
    })
}

/// An acknowledgement arrived. Telemetry is null for an algorithm that did not ask for INCAST_SIGNAL_INT, or
/// when none came.
///
/// INCAST_BAD_VALUE if telemetry has too many records, or if hole or circuit is neither true nor false;
/// INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER; INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_flow_on_ack(
    flow: *mut incast_flow,
    setup: *const incast_setup,
    ack: *const incast_ack,
    telemetry: *const incast_int_stack,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements. The types of C and of the contract have the
        // same layout, and what would be no truth value is refused before it is read as one.
        unsafe {
            let calls = calls(setup)?;
            let flow = calls.state(flow)?;
            memory::aligned(ack)?;
            let truths = [(&raw const (*ack).hole).cast::<u8>(), (&raw const (*ack).circuit).cast()];
            if truths.into_iter().any(|truth| truth.read() > 1) {
                return Err(INCAST_BAD_VALUE);
            }
            let ack = memory::refer(ack.cast::<Ack>())?;
            let telemetry = if telemetry.is_null() {
                &IntStack::EMPTY
            } else {
                memory::refer(telemetry.cast::<IntStack>())?
            };
            if telemetry.count as usize > INCAST_INT_HOPS {
                return Err(INCAST_BAD_VALUE);
            }
            (calls.on_ack)(flow, setup, ack, telemetry);
        }
        Ok(())
    })
}

/// The receiver reports congestion (only with INCAST_SIGNAL_CNP).
///
/// INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER; INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_flow_on_cnp(
    flow: *mut incast_flow,
    setup: *const incast_setup,
    now: incast_time,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements.
        unsafe {
            let calls = calls(setup)?;
            (calls.on_cnp)(calls.state(flow)?, setup, Time::from_ps(now));
        }
        Ok(())
    })
}

/// The transport detected a loss and is about to retransmit.
///
/// INCAST_BAD_VALUE if its kind is none of incast_loss_kind; INCAST_NOT_STARTED if setup holds none;
/// INCAST_NULL_POINTER; INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_flow_on_loss(
    flow: *mut incast_flow,
    setup: *const incast_setup,
    loss: *const incast_loss,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements. The types of C and of the contract have the
        // same layout, and a kind that there is not is refused before it is read as one.
        unsafe {
            let calls = calls(setup)?;
            let flow = calls.state(flow)?;
            if memory::refer(loss)?.kind > incast_loss_kind::INCAST_LOSS_TRIM as u32 {
                return Err(INCAST_BAD_VALUE);
            }
            (calls.on_loss)(flow, setup, memory::refer(loss.cast::<Loss>())?);
        }
        Ok(())
    })
}

/// Transmission of a packet begins.
///
/// INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER; INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_flow_on_sent(
    flow: *mut incast_flow,
    setup: *const incast_setup,
    sent: *const incast_sent,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements, and the types have the same layout.
        unsafe {
            let calls = calls(setup)?;
            (calls.on_sent)(calls.state(flow)?, setup, memory::refer(sent.cast::<Sent>())?);
        }
        Ok(())
    })
}

/// The deadline of incast_flow_deadline() is reached.
///
/// INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER; INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_flow_on_timer(
    flow: *mut incast_flow,
    setup: *const incast_setup,
    now: incast_time,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements.
        unsafe {
            let calls = calls(setup)?;
            (calls.on_timer)(calls.state(flow)?, setup, Time::from_ps(now));
        }
        Ok(())
    })
}

/// Writes the time at which incast_flow_on_timer() must be called next to out, INCAST_NEVER without a timer.
/// To be asked after every other call: it may change in either direction.
///
/// INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER; INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_flow_deadline(
    flow: *const incast_flow,
    setup: *const incast_setup,
    out: *mut incast_time,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements.
        unsafe {
            let calls = calls(setup)?;
            memory::write(out, (calls.deadline)(calls.state(flow.cast_mut())?).ps())
        }
    })
}

/// Writes what the flow may send now to out.
///
/// INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER; INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_flow_allowance(
    flow: *const incast_flow,
    setup: *const incast_setup,
    out: *mut incast_allowance,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements.
        unsafe {
            let calls = calls(setup)?;
            memory::write(out, (calls.allowance)(calls.state(flow.cast_mut())?, setup).into())
        }
    })
}

/// Writes the word to keep with a packet whose transmission begins to out (only with
/// INCAST_SIGNAL_PACKET_TAG). It comes back in incast_ack.tag.
///
/// INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER; INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_flow_tag(
    flow: *const incast_flow,
    setup: *const incast_setup,
    out: *mut u32,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements.
        unsafe {
            let calls = calls(setup)?;
            memory::write(out, (calls.tag)(calls.state(flow.cast_mut())?, setup))
        }
    })
}

/// Writes the internal quantity at this place (incast_cc_internal()) to out.
///
/// INCAST_NO_SUCH_PLACE; INCAST_NO_VALUE if it has none yet; INCAST_NOT_STARTED if setup holds none;
/// INCAST_NULL_POINTER; INCAST_MISALIGNED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_flow_probe(
    flow: *const incast_flow,
    setup: *const incast_setup,
    place: usize,
    out: *mut incast_value,
) -> incast_status {
    status(|| {
        // SAFETY: the caller keeps to the crate's requirements.
        unsafe {
            let calls = calls(setup)?;
            let flow = calls.state(flow.cast_mut())?;
            if place >= calls.internals {
                return Err(INCAST_NO_SUCH_PLACE);
            }
            memory::write(out, (calls.probe)(flow, setup, place).ok_or(INCAST_NO_VALUE)?.into())
        }
    })
}

/// Contents of the memory of a setup.
#[repr(C)]
pub(crate) struct Started<P: Parameters> {
    head: Head,
    setup: Setup<P>,
}

/// The fields that every setup begins with, whatever its algorithm.
#[repr(C)]
struct Head {
    /// [`MARK`].
    mark: u64,
    calls: &'static Calls,
}

/// Mark of memory that holds a setup: "incastSE".
const MARK: u64 = 0x696e_6361_7374_5345;

/// The functions of an algorithm.
///
/// They require a state that [`Calls::state`] has let pass, that was started with this setup, and a setup of
/// this algorithm: one whose head leads here.
struct Calls {
    size: usize,
    align: usize,
    internals: usize,
    start: unsafe fn(State, *const incast_setup, Time),
    on_ack: unsafe fn(State, *const incast_setup, &Ack, &IntStack),
    on_cnp: unsafe fn(State, *const incast_setup, Time),
    on_loss: unsafe fn(State, *const incast_setup, &Loss),
    on_sent: unsafe fn(State, *const incast_setup, &Sent),
    on_timer: unsafe fn(State, *const incast_setup, Time),
    deadline: unsafe fn(State) -> Time,
    allowance: unsafe fn(State, *const incast_setup) -> Allowance,
    tag: unsafe fn(State, *const incast_setup) -> u32,
    probe: unsafe fn(State, *const incast_setup, usize) -> Option<Value>,
}

/// Memory of a flow, neither null nor misaligned for its algorithm.
#[derive(Clone, Copy)]
struct State(*mut incast_flow);

/// The functions of the algorithm of this setup.
///
/// # Safety
/// As the crate's documentation says.
#[inline]
unsafe fn calls(setup: *const incast_setup) -> Result<&'static Calls> {
    let head = setup.cast::<Head>();
    memory::aligned(head)?;
    // SAFETY: it is neither null nor misaligned. Only the mark is read at first, and not as a part of the
    // whole, which might be none.
    if unsafe { (&raw const (*head).mark).read_volatile() } != MARK {
        return Err(INCAST_NOT_STARTED);
    }
    // SAFETY: with the mark comes what was written with it.
    Ok(unsafe { (*head).calls })
}

impl Calls {
    /// The memory of a flow of this algorithm, which may not be started yet.
    #[inline]
    fn state(&self, flow: *mut incast_flow) -> Result<State> {
        if flow.is_null() {
            Err(INCAST_NULL_POINTER)
        } else if flow.addr() & (self.align - 1) != 0 {
            Err(INCAST_MISALIGNED)
        } else {
            Ok(State(flow))
        }
    }
}

/// Bytes of a flow of `C`; at least one, so that memory for it has an address.
pub(crate) const fn flow_bytes<C: CongestionControl>() -> usize {
    if size_of::<C>() == 0 { 1 } else { size_of::<C>() }
}

/// The functions of `C`.
struct Of<C>(PhantomData<C>);

impl<C: CongestionControl> Of<C> {
    const CALLS: &'static Calls = {
        // What C copies and forgets, in memory that malloc() gave it.
        assert!(!needs_drop::<C>() && !needs_drop::<Started<C::Params>>());
        assert!(align_of::<C>() <= 8 && align_of::<Started<C::Params>>() <= 8);
        &Calls {
            size: flow_bytes::<C>(),
            align: align_of::<C>(),
            internals: C::INTERNALS.len(),
            start: Self::start,
            on_ack: Self::on_ack,
            on_cnp: Self::on_cnp,
            on_loss: Self::on_loss,
            on_sent: Self::on_sent,
            on_timer: Self::on_timer,
            deadline: Self::deadline,
            allowance: Self::allowance,
            tag: Self::tag,
            probe: Self::probe,
        }
    };

    /// The setup of `C` in this memory.
    ///
    /// # Safety
    /// The head of the setup leads to the functions of `C`.
    unsafe fn setup<'a>(setup: *const incast_setup) -> &'a Setup<C::Params> {
        // SAFETY: a head that leads here was written together with a setup of `C`.
        unsafe { &(*setup.cast::<Started<C::Params>>()).setup }
    }

    /// The state of `C` in this memory, to change it.
    ///
    /// # Safety It holds one, and nothing else uses it during the borrow.
    unsafe fn state<'a>(flow: State) -> &'a mut C {
        // SAFETY: it is neither null nor misaligned, and the rest is what the caller promises.
        unsafe { &mut *flow.0.cast::<C>() }
    }

    /// The state of `C` in this memory, to read it.
    ///
    /// # Safety It holds one, and nothing changes it during the borrow.
    unsafe fn seen<'a>(flow: State) -> &'a C {
        // SAFETY: it is neither null nor misaligned, and the rest is what the caller promises.
        unsafe { &*flow.0.cast::<C>() }
    }

    unsafe fn start(flow: State, setup: *const incast_setup, now: Time) {
        // SAFETY: as `Calls` requires; nothing is read of the state that is written.
        unsafe { flow.0.cast::<C>().write(C::new(Self::setup(setup), now)) }
    }

    unsafe fn on_ack(flow: State, setup: *const incast_setup, ack: &Ack, telemetry: &IntStack) {
        // SAFETY: as `Calls` requires.
        unsafe { Self::state(flow).on_ack(Self::setup(setup), ack, telemetry) }
    }

    unsafe fn on_cnp(flow: State, setup: *const incast_setup, now: Time) {
        // SAFETY: as `Calls` requires.
        unsafe { Self::state(flow).on_cnp(Self::setup(setup), now) }
    }

    unsafe fn on_loss(flow: State, setup: *const incast_setup, loss: &Loss) {
        // SAFETY: as `Calls` requires.
        unsafe { Self::state(flow).on_loss(Self::setup(setup), loss) }
    }

    unsafe fn on_sent(flow: State, setup: *const incast_setup, sent: &Sent) {
        // SAFETY: as `Calls` requires.
        unsafe { Self::state(flow).on_sent(Self::setup(setup), sent) }
    }

    unsafe fn on_timer(flow: State, setup: *const incast_setup, now: Time) {
        // SAFETY: as `Calls` requires.
        unsafe { Self::state(flow).on_timer(Self::setup(setup), now) }
    }

    unsafe fn deadline(flow: State) -> Time {
        // SAFETY: as `Calls` requires.
        unsafe { Self::seen(flow).deadline() }
    }

    unsafe fn allowance(flow: State, setup: *const incast_setup) -> Allowance {
        // SAFETY: as `Calls` requires.
        unsafe { Self::seen(flow).allowance(Self::setup(setup)) }
    }

    unsafe fn tag(flow: State, setup: *const incast_setup) -> u32 {
        // SAFETY: as `Calls` requires.
        unsafe { Self::seen(flow).tag(Self::setup(setup)) }
    }

    unsafe fn probe(flow: State, setup: *const incast_setup, place: usize) -> Option<Value> {
        // SAFETY: as `Calls` requires.
        unsafe { Self::seen(flow).probe(Self::setup(setup), place) }
    }
}

/// Size and alignment of the memory of an algorithm.
pub(crate) struct Sizes;

/// For flows and setups of an algorithm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needs {
    pub(crate) flow: usize,
    pub(crate) setup: usize,
    pub(crate) setup_align: usize,
}

impl Visitor for Sizes {
    type Output = Needs;

    fn visit<C: CongestionControl>(self, _: &C::Params) -> Needs {
        Needs {
            flow: flow_bytes::<C>(),
            setup: size_of::<Started<C::Params>>(),
            setup_align: align_of::<Started<C::Params>>(),
        }
    }
}

/// A setup that is to be started here.
struct Start {
    setup: *mut incast_setup,
    size: usize,
    path: Path,
}

impl Visitor for Start {
    type Output = Result<()>;

    fn visit<C: CongestionControl>(self, params: &C::Params) -> Result<()> {
        let place = self.setup.cast::<Started<C::Params>>();
        memory::room(place, self.size)?;
        let head = Head { mark: MARK, calls: Of::<C>::CALLS };
        // SAFETY: there is room for it, and the caller of `incast_setup_start` lets it be written.
        unsafe { memory::write(place, Started { head, setup: Setup::new(params.clone(), self.path) }) }
    }
}
