//! The structures that a shared library with plugins fills in: the part of `incast_cc.h` that is about plugins is
//! made from this file (crates/capi/tests/header.rs), as are the names of its types.
#![expect(unsafe_code, reason = "the functions of a plugin lead into a library")]

use core::ffi::{c_char, c_void};

// What C knows by these names is laid out as the types of the contract are, which `incast-capi` asserts.
use incast_cc::{
    Ack as incast_ack, Allowance as incast_allowance, IntStack as incast_int_stack, Loss as incast_loss,
    Overhead as incast_overhead, Path as incast_path, Sent as incast_sent,
};

use crate::names::incast_time;

/// A parameter of a plugin. Its numbers are in the unit of its kind, as in incast_value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct incast_plugin_parameter {
    /// Its name in scenarios, in lower case: letters, digits and _.
    pub name: *const c_char,
    /// One sentence of meaning.
    pub meaning: *const c_char,
    /// Its kind: one of incast_kind, but no choice.
    pub kind: u32,
    /// Its value where a scenario has none.
    pub initial: u64,
    /// The least value that is allowed.
    pub least: u64,
    /// The greatest value that is allowed.
    pub most: u64,
}

/// An algorithm in a shared library, which the simulator loads (`incast run --plugin ./mine.so`). All of it stays
/// where it is and as it is for as long as the program runs.
///
/// The memory of a flow belongs to the simulator and is zero before start. Several threads call the functions at
/// the same time, but for a flow one thread at a time: what a function changes is in the memory of its flow and
/// nowhere else, or results are not the same in every run. Functions that are optional may be null.
///
/// After each call the simulator asks for allowance and deadline. It stops the run and names the plugin when the
/// window or the rate is zero, when the deadline is before the time of the call, or at that time after on_timer,
/// and when a function wrote beyond the memory of its flow.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct incast_plugin {
    /// INCAST_CC_ABI.
    pub abi: u32,
    /// The signals that it needs: the sum of their constants (INCAST_SIGNAL_ECN and so on).
    pub signals: u32,
    /// Its name in scenarios: letters, digits, - and _; not the name of an algorithm of the library.
    pub name: *const c_char,
    /// One line for lists.
    pub summary: *const c_char,
    /// Its parameters, parameter_count of them; null if there are none.
    pub parameters: *const incast_plugin_parameter,
    /// Number of its parameters.
    pub parameter_count: usize,
    /// Header bytes that it adds to packets.
    pub overhead: incast_overhead,
    /// Bytes of what flows with the same parameters and the same path share; may be zero.
    pub shared_bytes: usize,
    /// Bytes of a flow.
    pub flow_bytes: usize,
    /// Optional. Checks the parameters together, in the order of their list, before anything runs. Returns
    /// null if they are possible, and if not, the reason as a text that stays valid.
    pub check: Option<unsafe extern "C" fn(parameters: *const u64) -> *const c_char>,
    /// Optional. Fills in what flows share from the parameters and the path; it is zero before. It is constant
    /// afterwards.
    pub share:
        Option<unsafe extern "C" fn(shared: *mut c_void, parameters: *const u64, path: *const incast_path)>,
    /// A flow starts.
    pub start: Option<unsafe extern "C" fn(flow: *mut c_void, shared: *const c_void, now: incast_time)>,
    /// An acknowledgement arrived. Telemetry has no records without INCAST_SIGNAL_INT; it is never null.
    pub on_ack: Option<
        unsafe extern "C" fn(
            flow: *mut c_void,
            shared: *const c_void,
            ack: *const incast_ack,
            telemetry: *const incast_int_stack,
        ),
    >,
    /// Optional. The receiver reports congestion (only with INCAST_SIGNAL_CNP).
    pub on_cnp: Option<unsafe extern "C" fn(flow: *mut c_void, shared: *const c_void, now: incast_time)>,
    /// Optional. The transport detected a loss and is about to retransmit.
    pub on_loss:
        Option<unsafe extern "C" fn(flow: *mut c_void, shared: *const c_void, loss: *const incast_loss)>,
    /// Optional. Transmission of a packet begins.
    pub on_sent:
        Option<unsafe extern "C" fn(flow: *mut c_void, shared: *const c_void, sent: *const incast_sent)>,
    /// Optional. The deadline is reached.
    pub on_timer: Option<unsafe extern "C" fn(flow: *mut c_void, shared: *const c_void, now: incast_time)>,
    /// Optional. When on_timer is to be called next; INCAST_NEVER without a timer.
    pub deadline: Option<unsafe extern "C" fn(flow: *const c_void, shared: *const c_void) -> incast_time>,
    /// Returns what the flow may send now.
    pub allowance:
        Option<unsafe extern "C" fn(flow: *const c_void, shared: *const c_void) -> incast_allowance>,
    /// Optional. The word to keep with a packet whose transmission begins (only with
    /// INCAST_SIGNAL_PACKET_TAG).
    pub tag: Option<unsafe extern "C" fn(flow: *const c_void, shared: *const c_void) -> u32>,
}

// SAFETY: all that the pointers lead to is constant.
unsafe impl Send for incast_plugin {}
// SAFETY: as above.
unsafe impl Sync for incast_plugin {}

unsafe extern "C" {
    /// The function that a shared library with plugins has, and that this one does not: the plugin at this place
    /// of its list, from 0; null beyond the end.
    pub fn incast_plugin_at(place: usize) -> *const incast_plugin;
}
