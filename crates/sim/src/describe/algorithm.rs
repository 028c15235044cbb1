//! The congestion control of a simulation: an algorithm of the catalogue, or one from outside.

use std::fmt;
use std::sync::Arc;

use incast_cc::{
    Ack, Allowance, AnyController, AnyParams, CongestionControl, IntStack, Loss, Overhead, Path, Sent,
    Signals,
};
use incast_units::Time;

/// An algorithm with its parameters.
#[derive(Clone, Debug)]
pub enum Algorithm {
    /// One of [`incast_cc::any::CATALOGUE`].
    Known(AnyParams),
    /// Any other.
    Other(Arc<dyn OtherAlgorithm>),
}

impl From<AnyParams> for Algorithm {
    fn from(params: AnyParams) -> Self {
        Self::Known(params)
    }
}

impl Algorithm {
    /// An algorithm from outside that implements the same trait as those of the catalogue.
    pub fn from_outside<C>(name: impl Into<String>, params: C::Params) -> Self
    where
        C: CongestionControl + Send + 'static,
        C::Params: Send + Sync + fmt::Debug + 'static,
    {
        Self::Other(Arc::new(FromOutside::<C> { name: name.into(), params: Arc::new(params) }))
    }

    /// Its name, for labels.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Known(params) => params.info().name,
            Self::Other(other) => other.name(),
        }
    }

    /// The signals that it needs.
    #[must_use]
    pub fn signals(&self) -> Signals {
        match self {
            Self::Known(params) => params.signals(),
            Self::Other(other) => other.signals(),
        }
    }

    /// The header bytes that it adds.
    #[must_use]
    pub fn overhead(&self) -> Overhead {
        match self {
            Self::Known(params) => params.overhead(),
            Self::Other(other) => other.overhead(),
        }
    }

    pub(crate) fn start(&self, path: &Path, now: Time) -> Control {
        match self {
            Self::Known(params) => Control::Known(params.start(path, now)),
            Self::Other(other) => Control::Other(other.start(path, now)),
        }
    }
}

/// An algorithm from outside the catalogue, with its parameters. It only ever runs in simulation and
/// is free of the catalogue's numeric rules; to keep results the same everywhere, its arithmetic has
/// to be.
pub trait OtherAlgorithm: Send + Sync + fmt::Debug {
    /// Its name, for labels.
    fn name(&self) -> &str;
    /// The signals that it needs.
    fn signals(&self) -> Signals;
    /// The header bytes that it adds.
    fn overhead(&self) -> Overhead {
        Overhead::default()
    }
    /// The state of a flow that starts at `now` on `path`.
    fn start(&self, path: &Path, now: Time) -> Box<dyn OtherFlow>;
}

/// The state of one flow of an algorithm from outside; the calls are those of
/// [`CongestionControl`], with the parameters and the path inside.
pub trait OtherFlow: Send {
    /// An acknowledgement arrived.
    fn on_ack(&mut self, ack: &Ack, int: &IntStack);
    /// The receiver reports congestion.
    fn on_cnp(&mut self, _now: Time) {}
    /// The transport found a loss and is about to send again.
    fn on_loss(&mut self, _loss: &Loss) {}
    /// A packet begins to leave.
    fn on_sent(&mut self, _sent: &Sent) {}
    /// The deadline has come.
    fn on_timer(&mut self, _now: Time) {}
    /// When `on_timer` is to be called next.
    fn deadline(&self) -> Time {
        Time::NEVER
    }
    /// What the flow may do now.
    fn allowance(&self) -> Allowance;
}

/// The state of one flow, of whichever algorithm.
#[allow(
    clippy::large_enum_variant,
    reason = "the known ones are the rule, and a box would cost a miss per packet"
)]
pub(crate) enum Control {
    Known(AnyController),
    Other(Box<dyn OtherFlow>),
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(known) => known.fmt(f),
            Self::Other(_) => f.write_str("Other"),
        }
    }
}

macro_rules! call {
    ($self:ident, $algorithm:ident, $path:ident, $method:ident($($argument:expr),*)) => {
        match ($self, $algorithm) {
            (Control::Known(known), Algorithm::Known(params)) => known.$method(params, $path, $($argument),*),
            (Control::Other(other), _) => other.$method($($argument),*),
            // A flow is started by its own algorithm and asked with it.
            (Control::Known(_), Algorithm::Other(_)) => {}
        }
    };
}

impl Control {
    #[inline]
    pub(crate) fn on_ack(&mut self, algorithm: &Algorithm, path: &Path, ack: &Ack, int: &IntStack) {
        call!(self, algorithm, path, on_ack(ack, int));
    }

    pub(crate) fn on_cnp(&mut self, algorithm: &Algorithm, path: &Path, now: Time) {
        call!(self, algorithm, path, on_cnp(now));
    }

    pub(crate) fn on_loss(&mut self, algorithm: &Algorithm, path: &Path, loss: &Loss) {
        call!(self, algorithm, path, on_loss(loss));
    }

    #[inline]
    pub(crate) fn on_sent(&mut self, algorithm: &Algorithm, path: &Path, sent: &Sent) {
        call!(self, algorithm, path, on_sent(sent));
    }

    pub(crate) fn on_timer(&mut self, algorithm: &Algorithm, path: &Path, now: Time) {
        call!(self, algorithm, path, on_timer(now));
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        match self {
            Self::Known(known) => known.deadline(),
            Self::Other(other) => other.deadline(),
        }
    }

    #[inline]
    pub(crate) fn allowance(&self, algorithm: &Algorithm, path: &Path) -> Allowance {
        match (self, algorithm) {
            (Self::Known(known), Algorithm::Known(params)) => known.allowance(params, path),
            (Self::Other(other), _) => other.allowance(),
            (Self::Known(_), Algorithm::Other(_)) => Allowance { window: path.bdp(), rate: path.line_rate },
        }
    }
}

/// A [`CongestionControl`] from outside, made to fit.
struct FromOutside<C: CongestionControl> {
    name: String,
    params: Arc<C::Params>,
}

impl<C: CongestionControl> fmt::Debug for FromOutside<C>
where
    C::Params: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(&self.name).field("params", &self.params).finish()
    }
}

impl<C> OtherAlgorithm for FromOutside<C>
where
    C: CongestionControl + Send + 'static,
    C::Params: Send + Sync + fmt::Debug + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn signals(&self) -> Signals {
        C::signals(&self.params)
    }

    fn overhead(&self) -> Overhead {
        C::overhead(&self.params)
    }

    fn start(&self, path: &Path, now: Time) -> Box<dyn OtherFlow> {
        let flow = C::new(&self.params, path, now);
        Box::new(FlowFromOutside { flow, params: Arc::clone(&self.params), path: *path })
    }
}

struct FlowFromOutside<C: CongestionControl> {
    flow: C,
    params: Arc<C::Params>,
    path: Path,
}

impl<C> OtherFlow for FlowFromOutside<C>
where
    C: CongestionControl + Send,
    C::Params: Send + Sync,
{
    fn on_ack(&mut self, ack: &Ack, int: &IntStack) {
        self.flow.on_ack(&self.params, &self.path, ack, int);
    }
    fn on_cnp(&mut self, now: Time) {
        self.flow.on_cnp(&self.params, &self.path, now);
    }
    fn on_loss(&mut self, loss: &Loss) {
        self.flow.on_loss(&self.params, &self.path, loss);
    }
    fn on_sent(&mut self, sent: &Sent) {
        self.flow.on_sent(&self.params, &self.path, sent);
    }
    fn on_timer(&mut self, now: Time) {
        self.flow.on_timer(&self.params, &self.path, now);
    }
    fn deadline(&self) -> Time {
        self.flow.deadline()
    }
    fn allowance(&self) -> Allowance {
        self.flow.allowance(&self.params, &self.path)
    }
}
