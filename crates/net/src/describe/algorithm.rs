//! The congestion control of a simulation: a built-in algorithm, or any other type that implements the same
//! trait.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use incast_cc::any::Visitor;
use incast_cc::params::{Described, Value};
use incast_cc::relative::{Origin, See};
use incast_cc::{
    Ack, AnyParams, CongestionControl, IntStack, Internal, Loss, Overhead, Path, Sent, Setup, SetupOf,
    Signals,
};
use incast_units::{Rate, Time};

use crate::describe::fault::Fault;

/// An algorithm with its parameters.
#[derive(Clone, Debug)]
pub struct Algorithm {
    kind: Arc<dyn Kind>,
    one_thread: bool,
    fault: Option<Fault>,
}

impl From<AnyParams> for Algorithm {
    fn from(params: AnyParams) -> Self {
        struct New(&'static str);
        impl Visitor for New {
            type Output = Algorithm;
            fn visit<C: CongestionControl>(self, params: &C::Params) -> Algorithm
            where
                C::Params: Described,
            {
                Algorithm::new::<C>(self.0, params.clone())
            }
        }
        params.visit(New(params.info().name))
    }
}

impl Algorithm {
    /// The algorithm `C` with these parameters; `name` is for labels. An algorithm that runs only in
    /// simulation need not follow the numeric rules of the built-in ones; results are the same on every
    /// machine only if its arithmetic is.
    pub fn new<C: CongestionControl>(name: impl Into<String>, params: C::Params) -> Self {
        let kind = Arc::new(Of::<C> { name: name.into(), params, setups: Arc::default() });
        Self { kind, one_thread: false, fault: None }
    }

    /// Restricts calls to the thread that starts the run, always in the same order.
    #[must_use]
    pub fn on_one_thread(self) -> Self {
        Self { one_thread: true, ..self }
    }

    /// Makes it report its errors during a run to `fault`.
    #[must_use]
    pub fn that_reports_to(self, fault: Fault) -> Self {
        Self { fault: Some(fault), ..self }
    }

    /// Returns its error during a run, if it reports errors.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref().filter(|fault| fault.is_raised())
    }

    /// Whether it is called only from the thread that starts the run.
    #[must_use]
    pub fn needs_one_thread(&self) -> bool {
        self.one_thread
    }

    /// Its name, for labels.
    #[must_use]
    pub fn name(&self) -> &str {
        self.kind.name()
    }

    /// The signals that it needs.
    #[must_use]
    pub fn signals(&self) -> Signals {
        self.kind.signals()
    }

    /// The header bytes that it adds.
    #[must_use]
    pub fn overhead(&self) -> Overhead {
        self.kind.overhead()
    }

    /// The internal quantities that a probe shows.
    #[must_use]
    pub fn internals(&self) -> &'static [Internal] {
        self.kind.internals()
    }

    /// A place for flows that use it.
    pub fn controllers(&self) -> Box<dyn Controllers> {
        self.kind.controllers()
    }
}

/// Object-safe interface to an algorithm of any type.
trait Kind: Send + Sync + fmt::Debug {
    fn name(&self) -> &str;
    fn signals(&self) -> Signals;
    fn overhead(&self) -> Overhead;
    fn internals(&self) -> &'static [Internal];
    fn controllers(&self) -> Box<dyn Controllers>;
}

/// Setups by path, shared by all hosts.
type Setups<C> = Arc<Mutex<HashMap<Path, Arc<SetupOf<C>>>>>;

/// The algorithm `C` with its parameters.
struct Of<C: CongestionControl> {
    name: String,
    params: C::Params,
    setups: Setups<C>,
}

impl<C: CongestionControl> fmt::Debug for Of<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(&self.name).field("params", &self.params).finish()
    }
}

impl<C: CongestionControl> Kind for Of<C> {
    fn name(&self) -> &str {
        &self.name
    }

    fn signals(&self) -> Signals {
        C::signals(&self.params)
    }

    fn overhead(&self) -> Overhead {
        C::overhead(&self.params)
    }

    fn internals(&self) -> &'static [Internal] {
        C::INTERNALS
    }

    fn controllers(&self) -> Box<dyn Controllers> {
        let (params, setups) = (self.params.clone(), Arc::clone(&self.setups));
        Box::new(Pool::<C> { params, setups, flows: Vec::new(), free: Vec::new() })
    }
}

/// Limits on what a flow may send until its controller is called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive {
    /// A packet may be sent while the bytes in flight are fewer than this.
    pub window: u64,
    /// Sending rate.
    pub rate: Rate,
    /// Time to call the controller's timer; [`Time::NEVER`] if it has none.
    pub deadline: Time,
}

/// The controllers of the flows of one algorithm at one host: each of the size of its own state.
///
/// These are the methods of [`CongestionControl`] for the flow with a given index. Each returns what the
/// flow may send afterwards, so that an event costs one dynamic call.
pub trait Controllers: Send {
    /// A flow starts on `path`; returns its index.
    fn start(&mut self, path: &Path, now: Time) -> (u32, Directive);
    /// A flow is done; its index may be reused.
    fn end(&mut self, place: u32);
    /// See [`CongestionControl::on_ack`].
    fn on_ack(&mut self, place: u32, ack: &Ack, int: &IntStack) -> Directive;
    /// See [`CongestionControl::on_cnp`].
    fn on_cnp(&mut self, place: u32, now: Time) -> Directive;
    /// See [`CongestionControl::on_loss`].
    fn on_loss(&mut self, place: u32, loss: &Loss) -> Directive;
    /// Whether it has to hear of packets that are sent. See [`CongestionControl::HEARS_SENT`].
    fn hears_sent(&self) -> bool;
    /// See [`CongestionControl::on_sent`]. Also returns the packet's tag.
    fn on_sent(&mut self, place: u32, sent: &Sent) -> (Directive, u32);
    /// See [`CongestionControl::on_timer`].
    fn on_timer(&mut self, place: u32, now: Time) -> Directive;
    /// The internal quantities that have a value, each with its index in
    /// [`CongestionControl::INTERNALS`]. See [`CongestionControl::probe`].
    fn internals(&self, place: u32) -> Vec<(u16, Value)>;
    /// See [`CongestionControl::relate`].
    fn relate(&self, place: u32, origin: &Origin, see: &mut dyn See);
}

impl fmt::Debug for dyn Controllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Controllers")
    }
}

/// The state of a flow, with the setup that it shares with others.
struct Flow<C: CongestionControl> {
    state: C,
    setup: Arc<SetupOf<C>>,
}

impl<C: CongestionControl> Flow<C> {
    #[inline]
    fn directive(&self) -> Directive {
        let allowance = self.state.allowance(&self.setup);
        Directive {
            window: allowance.window.get(),
            rate: allowance.rate.max(Rate::from_bps(1)),
            deadline: self.state.deadline(),
        }
    }
}

struct Pool<C: CongestionControl> {
    params: C::Params,
    setups: Setups<C>,
    flows: Vec<Flow<C>>,
    free: Vec<u32>,
}

impl<C: CongestionControl> Pool<C> {
    fn setup(&self, path: &Path) -> Arc<SetupOf<C>> {
        // Only a panic poisons the lock, and that ends the run anyway.
        let mut setups = self.setups.lock().unwrap_or_else(PoisonError::into_inner);
        let setup = setups.entry(*path).or_insert_with(|| Arc::new(Setup::new(self.params.clone(), *path)));
        Arc::clone(setup)
    }

    /// Calls a flow's method and returns what it may send afterwards.
    #[inline]
    fn call(&mut self, place: u32, event: impl FnOnce(&mut C, &SetupOf<C>)) -> Directive {
        let flow = &mut self.flows[place as usize];
        event(&mut flow.state, &flow.setup);
        flow.directive()
    }
}

impl<C: CongestionControl> Controllers for Pool<C> {
    fn start(&mut self, path: &Path, now: Time) -> (u32, Directive) {
        let setup = self.setup(path);
        let flow = Flow { state: C::new(&setup, now), setup };
        let directive = flow.directive();
        if let Some(place) = self.free.pop() {
            self.flows[place as usize] = flow;
            return (place, directive);
        }
        self.flows.push(flow);
        (self.flows.len() as u32 - 1, directive)
    }

    fn end(&mut self, place: u32) {
        self.free.push(place);
    }

    fn on_ack(&mut self, place: u32, ack: &Ack, int: &IntStack) -> Directive {
        self.call(place, |state, setup| state.on_ack(setup, ack, int))
    }

    fn on_cnp(&mut self, place: u32, now: Time) -> Directive {
        self.call(place, |state, setup| state.on_cnp(setup, now))
    }

    fn on_loss(&mut self, place: u32, loss: &Loss) -> Directive {
        self.call(place, |state, setup| state.on_loss(setup, loss))
    }

    fn hears_sent(&self) -> bool {
        C::HEARS_SENT || C::signals(&self.params).contains(Signals::PACKET_TAG)
    }

    fn on_sent(&mut self, place: u32, sent: &Sent) -> (Directive, u32) {
        let mut tag = 0;
        let directive = self.call(place, |state, setup| {
            state.on_sent(setup, sent);
            tag = state.tag(setup);
        });
        (directive, tag)
    }

    fn on_timer(&mut self, place: u32, now: Time) -> Directive {
        self.call(place, |state, setup| state.on_timer(setup, now))
    }

    fn relate(&self, place: u32, origin: &Origin, see: &mut dyn See) {
        let Flow { state, setup } = &self.flows[place as usize];
        state.relate(setup, origin, see);
    }

    fn internals(&self, place: u32) -> Vec<(u16, Value)> {
        let Flow { state, setup } = &self.flows[place as usize];
        let value = |index: u16| state.probe(setup, usize::from(index)).map(|value| (index, value));
        (0..C::INTERNALS.len() as u16).filter_map(value).collect()
    }
}
