//! A plugin as an algorithm of the simulator: its memory, its calls, and the checks after each of them.
#![expect(unsafe_code, reason = "functions of a library are called")]

use core::ffi::{CStr, c_void};
use core::fmt;
use std::sync::Arc;

use incast_cc::{Ack, Allowance, CongestionControl, IntStack, Loss, Overhead, Path, Sent, Setup, Signals};
use incast_lab::plugin::Parameters;
use incast_sim::describe::algorithm::Algorithm;
use incast_sim::describe::fault::Fault;
use incast_units::{Bytes, Rate, Time};

use crate::abi::incast_plugin;
use crate::crash::{self, Site};
use crate::description::Description;

/// The algorithm with the parameters of a scenario.
///
/// # Errors
/// What is wrong with them, for people.
pub(crate) fn make(
    site: &Arc<Site>,
    description: &Arc<Description>,
    written: &Parameters,
) -> Result<Algorithm, String> {
    let values = description.values(written);
    if let Some(check) = description.plugin.check {
        // SAFETY: there are as many values as the plugin has parameters.
        let wrong = crash::within(site, "check", Time::ZERO, || unsafe { check(values.as_ptr()) });
        if !wrong.is_null() {
            // SAFETY: a text that stays, as the header says.
            return Err(unsafe { CStr::from_ptr(wrong) }.to_string_lossy().into_owned());
        }
    }
    let fault = Fault::default();
    let instance = Instance {
        site: Arc::clone(site),
        description: Arc::clone(description),
        values: values.into(),
        fault: fault.clone(),
    };
    Ok(Algorithm::new::<Flow>(description.name, instance).that_reports_to(fault))
}

/// A plugin with its parameters.
#[derive(Clone, Debug)]
struct Instance {
    site: Arc<Site>,
    description: Arc<Description>,
    values: Arc<[u64]>,
    fault: Fault,
}

impl Instance {
    fn plugin(&self) -> &incast_plugin {
        &self.description.plugin
    }

    /// Reports what the plugin did wrong.
    fn wrong(&self, now: Time, function: &str, what: impl fmt::Display) {
        self.fault.raise(now, format!("{}: after {function} at {now} of simulated time {what}", self.site));
    }
}

impl incast_cc::Parameters for Instance {
    type Derived = Memory;

    fn derive(&self, path: &Path) -> Memory {
        let mut shared = Memory::new(self.plugin().shared_bytes);
        if let Some(share) = self.plugin().share {
            // SAFETY: the memory is as large as the plugin says.
            let call = || unsafe { share(shared.as_mut_ptr(), self.values.as_ptr(), path) };
            crash::watch();
            crash::within(&self.site, "share", Time::ZERO, call);
            if !shared.is_whole() {
                self.wrong(Time::ZERO, "share", "it had written beyond its shared_bytes");
            }
        }
        shared
    }
}

/// Memory for a plugin, aligned as `malloc` aligns, with a margin in which the plugin must not write.
struct Memory {
    words: Box<[u128]>,
    bytes: usize,
}

impl Memory {
    const WORD: usize = size_of::<u128>();
    const MARGIN: usize = 4 * Self::WORD;
    const MARK: u8 = 0xA5;

    /// Zero, but for the margin.
    fn new(bytes: usize) -> Self {
        let words = vec![0; (bytes + Self::MARGIN).div_ceil(Self::WORD)].into_boxed_slice();
        let mut memory = Self { words, bytes };
        // SAFETY: from the end of what the plugin has to the end of the memory.
        unsafe {
            let margin = memory.as_mut_ptr().cast::<u8>().add(bytes);
            margin.write_bytes(Self::MARK, memory.margin().len());
        }
        memory
    }

    fn as_ptr(&self) -> *const c_void {
        self.words.as_ptr().cast()
    }

    fn as_mut_ptr(&mut self) -> *mut c_void {
        self.words.as_mut_ptr().cast()
    }

    fn margin(&self) -> &[u8] {
        let all = size_of_val::<[u128]>(&self.words);
        // SAFETY: the rest of the same memory.
        unsafe { core::slice::from_raw_parts(self.as_ptr().cast::<u8>().add(self.bytes), all - self.bytes) }
    }

    /// Whether nothing was written in the margin.
    fn is_whole(&self) -> bool {
        self.margin().iter().all(|byte| *byte == Self::MARK)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of a plugin", self.bytes)
    }
}

/// The state of a flow. Its allowance and its deadline are asked for once after every call.
struct Flow {
    memory: Memory,
    allowance: Allowance,
    deadline: Time,
}

impl Flow {
    /// Allowance of a flow whose plugin is not called any more.
    const IDLE: Allowance = Allowance { window: Bytes::new(1), rate: Rate::from_bps(1) };

    /// Calls a function of the plugin, asks what the flow may do, and checks what it returned.
    fn call(
        &mut self,
        setup: &Setup<Instance>,
        function: &'static str,
        now: Time,
        call: impl FnOnce(*mut c_void, *const c_void),
    ) {
        let instance = &setup.params;
        if instance.fault.is_raised() {
            (self.allowance, self.deadline) = (Self::IDLE, Time::NEVER);
            return;
        }
        let plugin = instance.plugin();
        let (flow, shared) = (self.memory.as_mut_ptr(), setup.derived.as_ptr());
        crash::within(&instance.site, function, now, || call(flow, shared));
        let ask = |(): ()| {
            // SAFETY: the flow was started, and it goes with what it shares.
            let allowance = plugin.allowance.map(|allowance| unsafe { allowance(flow.cast_const(), shared) });
            let deadline = plugin.deadline.map(|deadline| unsafe { deadline(flow.cast_const(), shared) });
            (allowance, deadline)
        };
        let (allowance, deadline) = crash::within(&instance.site, "allowance or deadline", now, || ask(()));
        if let Some(allowance) = allowance {
            self.allowance = allowance;
        }
        self.deadline = deadline.map_or(Time::NEVER, Time::from_ps);
        let wrong = |what: fmt::Arguments<'_>| instance.wrong(now, function, what);
        let timer = function == "on_timer";
        if !self.memory.is_whole() {
            wrong(format_args!("it had written beyond its flow_bytes, {}", plugin.flow_bytes));
        } else if self.allowance.window == Bytes::ZERO {
            wrong(format_args!(
                "it gave a window of 0 bytes; the least is 1, which lets one packet be in flight"
            ));
        } else if self.allowance.rate == Rate::from_bps(0) {
            wrong(format_args!("it gave a rate of 0 bit/s; the least is 1"));
        } else if self.deadline < now {
            wrong(format_args!("it gave a deadline of {}, which is in the past", self.deadline));
        } else if timer && self.deadline == now {
            wrong(format_args!(
                "it gave the same time as its deadline again, so that time would not advance"
            ));
        }
    }
}

impl CongestionControl for Flow {
    type Params = Instance;

    fn signals(params: &Instance) -> Signals {
        params.description.signals
    }

    fn overhead(params: &Instance) -> Overhead {
        params.plugin().overhead
    }

    fn new(setup: &Setup<Instance>, now: Time) -> Self {
        crash::watch();
        let plugin = setup.params.plugin();
        let memory = Memory::new(plugin.flow_bytes);
        let mut flow = Self { memory, allowance: Self::IDLE, deadline: Time::NEVER };
        if let Some(start) = plugin.start {
            // SAFETY: the memory is as large as the plugin says, and zero.
            flow.call(setup, "start", now, |flow, shared| unsafe { start(flow, shared, now.ps()) });
        }
        flow
    }

    fn on_ack(&mut self, setup: &Setup<Instance>, ack: &Ack, int: &IntStack) {
        if let Some(on_ack) = setup.params.plugin().on_ack {
            // SAFETY: the flow was started.
            self.call(setup, "on_ack", ack.now, |flow, shared| unsafe { on_ack(flow, shared, ack, int) });
        }
    }

    fn on_cnp(&mut self, setup: &Setup<Instance>, now: Time) {
        if let Some(on_cnp) = setup.params.plugin().on_cnp {
            // SAFETY: the flow was started.
            self.call(setup, "on_cnp", now, |flow, shared| unsafe { on_cnp(flow, shared, now.ps()) });
        }
    }

    fn on_loss(&mut self, setup: &Setup<Instance>, loss: &Loss) {
        if let Some(on_loss) = setup.params.plugin().on_loss {
            // SAFETY: the flow was started.
            self.call(setup, "on_loss", loss.now, |flow, shared| unsafe { on_loss(flow, shared, loss) });
        }
    }

    fn on_sent(&mut self, setup: &Setup<Instance>, sent: &Sent) {
        if let Some(on_sent) = setup.params.plugin().on_sent {
            // SAFETY: the flow was started.
            self.call(setup, "on_sent", sent.now, |flow, shared| unsafe { on_sent(flow, shared, sent) });
        }
    }

    fn on_timer(&mut self, setup: &Setup<Instance>, now: Time) {
        if let Some(on_timer) = setup.params.plugin().on_timer {
            // SAFETY: the flow was started.
            self.call(setup, "on_timer", now, |flow, shared| unsafe { on_timer(flow, shared, now.ps()) });
        }
    }

    fn tag(&self, setup: &Setup<Instance>) -> u32 {
        let Some(tag) = setup.params.plugin().tag else { return 0 };
        if setup.params.fault.is_raised() {
            return 0;
        }
        // SAFETY: the flow was started.
        let call = || unsafe { tag(self.memory.as_ptr(), setup.derived.as_ptr()) };
        crash::within(&setup.params.site, "tag", Time::ZERO, call)
    }

    fn deadline(&self) -> Time {
        self.deadline
    }

    fn allowance(&self, _setup: &Setup<Instance>) -> Allowance {
        self.allowance
    }
}
