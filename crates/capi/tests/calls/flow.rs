//! Parameters and flows behind the functions of C, with memory of their own.

use std::ffi::{CString, c_char};
use std::ptr;

use incast_capi::flow::*;
use incast_capi::params::*;
use incast_capi::status::incast_status;
use incast_capi::status::incast_status::INCAST_OK;
use incast_capi::types::*;
use incast_cc::{Ack, Allowance, IntStack, Loss, Path, Sent};
use incast_units::{Bytes, Rate, Time};

/// Memory of this many bytes, aligned as malloc() does.
pub(crate) fn memory(bytes: usize) -> Vec<u64> {
    vec![0; bytes.div_ceil(8)]
}

pub(crate) fn c(text: &str) -> CString {
    CString::new(text).unwrap()
}

/// A text that C hands out.
pub(crate) fn text(string: incast_str) -> &'static str {
    // SAFETY: it lives as long as the program, and has this length.
    let bytes = unsafe { std::slice::from_raw_parts(string.text.cast(), string.length) };
    str::from_utf8(bytes).unwrap()
}

/// Returns the value that a function writes over the given one.
pub(crate) fn written<T>(mut out: T, call: impl FnOnce(*mut T) -> incast_status) -> Result<T, incast_status> {
    match call(&mut out) {
        INCAST_OK => Ok(out),
        failed => Err(failed),
    }
}

/// Returns the text that a function writes.
pub(crate) fn printed(call: impl FnOnce(*mut c_char, usize, *mut usize) -> incast_status) -> String {
    let (mut buffer, mut length) = (vec![0_u8; 4000], 0);
    assert_eq!(call(buffer.as_mut_ptr().cast(), buffer.len(), &mut length), INCAST_OK);
    assert_eq!(buffer.iter().position(|byte| *byte == 0), Some(length));
    buffer.truncate(length);
    String::from_utf8(buffer).unwrap()
}

/// Parameters.
#[derive(Clone, Copy)]
pub(crate) struct Params(pub(crate) incast_params);

impl Params {
    pub(crate) fn named(algorithm: &str, preset: Option<&str>) -> Result<Self, incast_status> {
        let (algorithm, preset) = (c(algorithm), preset.map(c));
        let preset = preset.as_ref().map_or(ptr::null(), |preset| preset.as_ptr());
        let empty = incast_params { opaque: [0; INCAST_PARAMS_WORDS] };
        // SAFETY: memory for parameters, and texts with a zero byte.
        written(empty, |out| unsafe { incast_params_named(out, algorithm.as_ptr(), preset) }).map(Self)
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) -> incast_status {
        // SAFETY: parameters, and texts with a zero byte.
        unsafe { incast_params_set(&mut self.0, c(name).as_ptr(), c(value).as_ptr()) }
    }

    pub(crate) fn explain(&self, name: &str, value: &str) -> String {
        let (name, value) = (c(name), c(value));
        // SAFETY: parameters, texts with a zero byte, and a buffer with its size.
        printed(|buffer, size, length| unsafe {
            incast_params_explain(&self.0, name.as_ptr(), value.as_ptr(), buffer, size, length)
        })
    }

    pub(crate) fn get(&self, name: &str) -> String {
        let name = c(name);
        // SAFETY: as above.
        printed(|buffer, size, length| unsafe {
            incast_params_get(&self.0, name.as_ptr(), buffer, size, length)
        })
    }

    pub(crate) fn range(&self, name: &str) -> String {
        let name = c(name);
        // SAFETY: as above.
        printed(|buffer, size, length| unsafe {
            incast_params_range(&self.0, name.as_ptr(), buffer, size, length)
        })
    }

    pub(crate) fn signals(&self) -> u32 {
        // SAFETY: parameters, and a place for the answer.
        written(0, |out| unsafe { incast_params_signals(&self.0, out) }).unwrap()
    }

    pub(crate) fn overhead(&self) -> incast_overhead {
        let empty = incast_overhead { data: 0, ack: 0 };
        // SAFETY: parameters, and a place for the answer.
        written(empty, |out| unsafe { incast_params_overhead(&self.0, out) }).unwrap()
    }
}

/// The path for C.
pub(crate) fn path(path: &Path) -> incast_path {
    incast_path {
        base_rtt: path.base_rtt.ps(),
        base_owd: path.base_owd.ps(),
        line_rate: path.line_rate.bps(),
        packet: path.packet.get(),
        payload: path.payload.get(),
        hops: path.hops,
    }
}

/// The acknowledgement for C.
pub(crate) fn ack(ack: &Ack) -> incast_ack {
    // SAFETY: both have the same layout, which types.rs checks.
    unsafe { ptr::from_ref(ack).cast::<incast_ack>().read() }
}

/// The telemetry for C.
pub(crate) fn telemetry(stack: &IntStack) -> incast_int_stack {
    let hops = stack.hops.map(|hop| incast_int_hop {
        at: hop.at.ps(),
        queue: hop.queue.get(),
        transmitted: hop.transmitted.get(),
        rate: hop.rate.bps(),
    });
    incast_int_stack { count: stack.count, hops }
}

/// The loss for C.
pub(crate) fn loss(loss: &Loss) -> incast_loss {
    incast_loss {
        now: loss.now.ps(),
        kind: loss.kind as u32,
        bytes: loss.bytes.get(),
        sent: loss.sent.ps(),
        sequence: loss.sequence,
        next_sequence: loss.next_sequence,
    }
}

/// A setup and a flow with it.
#[derive(Clone)]
pub(crate) struct Flow {
    pub(crate) setup: Vec<u64>,
    pub(crate) flow: Vec<u64>,
}

impl Flow {
    pub(crate) fn start(params: &Params, on: &Path, now: Time) -> Self {
        // SAFETY: parameters and a path; memory with its size.
        unsafe {
            let mut setup = memory(incast_setup_size(&params.0));
            let size = incast_setup_size(&params.0);
            let done = incast_setup_start(setup.as_mut_ptr().cast(), size, &params.0, &path(on));
            assert_eq!(done, INCAST_OK);
            let size = incast_flow_size(setup.as_ptr().cast());
            let mut flow = memory(size);
            let done = incast_flow_start(flow.as_mut_ptr().cast(), size, setup.as_ptr().cast(), now.ps());
            assert_eq!(done, INCAST_OK);
            Self { setup, flow }
        }
    }

    pub(crate) fn setup(&self) -> *const incast_setup {
        self.setup.as_ptr().cast()
    }

    fn seen(&self) -> *const incast_flow {
        self.flow.as_ptr().cast()
    }

    pub(crate) fn state(&mut self) -> *mut incast_flow {
        self.flow.as_mut_ptr().cast()
    }

    pub(crate) fn on_ack(&mut self, of: &Ack, stack: Option<&IntStack>) {
        let stack = stack.map(telemetry);
        let stack = stack.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: here and below: a flow with its setup.
        assert_eq!(unsafe { incast_flow_on_ack(self.state(), self.setup(), &ack(of), stack) }, INCAST_OK);
    }

    pub(crate) fn on_cnp(&mut self, now: Time) {
        // SAFETY: as above.
        assert_eq!(unsafe { incast_flow_on_cnp(self.state(), self.setup(), now.ps()) }, INCAST_OK);
    }

    pub(crate) fn on_loss(&mut self, of: &Loss) {
        // SAFETY: as above.
        assert_eq!(unsafe { incast_flow_on_loss(self.state(), self.setup(), &loss(of)) }, INCAST_OK);
    }

    pub(crate) fn on_sent(&mut self, of: &Sent) {
        let sent = incast_sent { now: of.now.ps(), bytes: of.bytes.get(), inflight: of.inflight.get() };
        // SAFETY: as above.
        assert_eq!(unsafe { incast_flow_on_sent(self.state(), self.setup(), &sent) }, INCAST_OK);
    }

    pub(crate) fn on_timer(&mut self, now: Time) {
        // SAFETY: as above.
        assert_eq!(unsafe { incast_flow_on_timer(self.state(), self.setup(), now.ps()) }, INCAST_OK);
    }

    pub(crate) fn deadline(&self) -> Time {
        // SAFETY: as above.
        let deadline = written(0, |out| unsafe { incast_flow_deadline(self.seen(), self.setup(), out) });
        Time::from_ps(deadline.unwrap())
    }

    pub(crate) fn tag(&self) -> u32 {
        // SAFETY: as above.
        written(0, |out| unsafe { incast_flow_tag(self.seen(), self.setup(), out) }).unwrap()
    }

    pub(crate) fn allowance(&self) -> Allowance {
        let empty = incast_allowance { window: 0, rate: 0 };
        // SAFETY: as above.
        let allowance =
            written(empty, |out| unsafe { incast_flow_allowance(self.seen(), self.setup(), out) });
        let allowance = allowance.unwrap();
        Allowance { window: Bytes::new(allowance.window), rate: Rate::from_bps(allowance.rate) }
    }

    pub(crate) fn probe(&self, place: usize) -> Result<incast_value, incast_status> {
        let empty = incast_value { kind: 99, number: 0 };
        // SAFETY: as above.
        written(empty, |out| unsafe { incast_flow_probe(self.seen(), self.setup(), place, out) })
    }
}
