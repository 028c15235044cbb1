//! The algorithm of one flow, of any type.

use std::fmt;

use incast_cc::any::Visitor;
use incast_cc::params::Described;
use incast_cc::{
    Ack, Allowance, AnyParams, CongestionControl, IntStack, Loss, Path, Sent, Setup, SetupOf, Signals,
};
use incast_units::Time;

/// An algorithm cannot run here: a signal that it needs does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The name of the signal.
    pub signal: &'static str,
    /// Reason for which there is none.
    pub reason: &'static str,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} needs the signal {}: {}", self.algorithm, self.signal, self.reason)
    }
}

impl std::error::Error for Unsupported {}

/// The signals that the sender measures, or that the receiver returns.
const PRESENT: Signals = Signals::ECN
    .and(Signals::CNP)
    .and(Signals::ONE_WAY_DELAY)
    .and(Signals::PACKET_TAG)
    .and(Signals::DELAYED_RUN);

/// Returns the reason for which there is no such signal.
fn absence(signal: Signals) -> &'static str {
    match signal {
        Signals::INT => "no switch on the path writes telemetry into the packets",
        Signals::HOP_DELAY => "no switch on the path writes its delay into the packets",
        Signals::RECEIVER_FLOWS => {
            "a receiver knows of one message only (SQCC can estimate the number: count=estimate)"
        }
        Signals::CIRCUIT => "no switch on the path announces circuits",
        _ => "neither the sender nor the receiver measures it",
    }
}

/// Whether an algorithm can run with these parameters.
///
/// # Errors
///
/// When it needs a signal that does not exist.
pub fn supported(params: &AnyParams) -> Result<(), Unsupported> {
    let needed = params.signals();
    let missing = |(signal, ..): &&(Signals, _, _)| needed.contains(*signal) && !PRESENT.contains(*signal);
    match Signals::ALL.iter().find(missing) {
        Some((signal, name, _)) => {
            Err(Unsupported { algorithm: params.info().name, signal: name, reason: absence(*signal) })
        }
        None => Ok(()),
    }
}

/// The algorithm of one flow. Each method is the method of [`CongestionControl`] of that name.
pub(crate) trait Control: Send {
    fn on_ack(&mut self, ack: &Ack);
    fn on_cnp(&mut self, now: Time);
    fn on_loss(&mut self, loss: &Loss);
    /// Returns the word to store with the packet.
    fn on_sent(&mut self, sent: &Sent) -> u32;
    fn on_timer(&mut self, now: Time);
    fn deadline(&self) -> Time;
    fn allowance(&self) -> Allowance;
}

struct Flow<C: CongestionControl> {
    setup: SetupOf<C>,
    state: C,
}

impl<C: CongestionControl> Control for Flow<C> {
    fn on_ack(&mut self, ack: &Ack) {
        self.state.on_ack(&self.setup, ack, &IntStack::EMPTY);
    }

    fn on_cnp(&mut self, now: Time) {
        self.state.on_cnp(&self.setup, now);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.state.on_loss(&self.setup, loss);
    }

    fn on_sent(&mut self, sent: &Sent) -> u32 {
        self.state.on_sent(&self.setup, sent);
        self.state.tag(&self.setup)
    }

    fn on_timer(&mut self, now: Time) {
        self.state.on_timer(&self.setup, now);
    }

    fn deadline(&self) -> Time {
        self.state.deadline()
    }

    fn allowance(&self) -> Allowance {
        self.state.allowance(&self.setup)
    }
}

/// A flow of this algorithm that starts at `now`.
pub(crate) fn start(params: &AnyParams, path: Path, now: Time) -> Box<dyn Control> {
    struct Start(Path, Time);
    impl Visitor for Start {
        type Output = Box<dyn Control>;
        fn visit<C>(self, params: &C::Params) -> Box<dyn Control>
        where
            C: CongestionControl + Copy + fmt::Debug,
            C::Params: Described + Copy,
        {
            let setup = Setup::<C::Params>::new(*params, self.0);
            let state = C::new(&setup, self.1);
            Box::new(Flow { setup, state })
        }
    }
    params.visit(Start(path, now))
}
