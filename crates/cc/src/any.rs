//! Every algorithm behind one type, and the catalogue that lists them.
//!
//! To add an algorithm: write its module, and add one line to the `algorithms!` list below.

use incast_units::Time;

use crate::contract::{Ack, Allowance, CongestionControl, IntStack, Loss, Overhead, Path, Sent, Signals};
use crate::params::{Described, Kind, Value};

/// What a list or an error message says of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name in scenario files.
    pub name: &'static str,
    /// Its kind and range.
    pub kind: Kind,
    /// One sentence of meaning.
    pub meaning: &'static str,
    /// Where its default comes from.
    pub source: &'static str,
}

/// What a list says of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its name in scenario files.
    pub name: &'static str,
    /// Its name in text and pictures.
    pub title: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Size of one flow's state in bytes.
    pub state_bytes: usize,
}

macro_rules! algorithms {
    ($($(#[$doc:meta])* $variant:ident: $controller:ty, $params:ty;)+) => {
        /// The state of one flow, of whichever algorithm.
        #[allow(clippy::large_enum_variant, reason = "without allocation there is nothing to box")]
        #[derive(Clone, Copy, Debug)]
        pub enum AnyController {
            $($(#[$doc])* $variant($controller),)+
        }

        /// The parameters of whichever algorithm.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum AnyParams {
            $($(#[$doc])* $variant($params),)+
        }

        /// Every algorithm, in the order of the lists.
        pub const CATALOGUE: &[Info] = &[$(Info {
            name: <$params>::NAME,
            title: <$params>::TITLE,
            summary: <$params>::SUMMARY,
            state_bytes: size_of::<$controller>(),
        },)+];

        impl AnyParams {
            /// The parameters of the algorithm called `name` in its preset called `preset` (`None`:
            /// its default preset).
            #[must_use]
            pub fn named(name: &str, preset: Option<&str>) -> Option<Self> {
                $(if name == <$params>::NAME {
                    let mut presets = <$params>::PRESETS.iter();
                    let found = match preset {
                        Some(preset) => presets.find(|p| p.name == preset),
                        None => presets.next(),
                    };
                    return found.map(|p| Self::$variant((p.params)()));
                })+
                None
            }

            /// The algorithm's entry in the catalogue.
            #[must_use]
            pub fn info(&self) -> Info {
                match self {
                    $(Self::$variant(_) => Info {
                        name: <$params>::NAME,
                        title: <$params>::TITLE,
                        summary: <$params>::SUMMARY,
                        state_bytes: size_of::<$controller>(),
                    },)+
                }
            }

            /// The presets of this algorithm: names and meanings, the default first.
            pub fn presets(&self, mut each: impl FnMut(&'static str, &'static str)) {
                match self {
                    $(Self::$variant(_) => <$params>::PRESETS.iter().for_each(|p| each(p.name, p.meaning)),)+
                }
            }

            /// The parameters of this algorithm with their present values.
            pub fn params(&self, mut each: impl FnMut(ParamInfo, Value)) {
                match self {
                    $(Self::$variant(p) => {
                        for q in <$params>::PARAMS {
                            let info =
                                ParamInfo { name: q.name, kind: q.kind, meaning: q.meaning, source: q.source };
                            each(info, (q.get)(p));
                        }
                    })+
                }
            }

            /// Sets the parameter called `name`. Says whether there is one and it admits the value.
            pub fn set(&mut self, name: &str, value: Value) -> bool {
                match self {
                    $(Self::$variant(p) => match <$params>::PARAMS.iter().find(|q| q.name == name) {
                        Some(q) if q.kind.admits(value) => {
                            (q.set)(p, value);
                            true
                        }
                        _ => false,
                    })+
                }
            }

            /// See [`CongestionControl::signals`].
            #[must_use]
            pub fn signals(&self) -> Signals {
                match self {
                    $(Self::$variant(p) => <$controller>::signals(p),)+
                }
            }

            /// See [`CongestionControl::overhead`].
            #[must_use]
            pub fn overhead(&self) -> Overhead {
                match self {
                    $(Self::$variant(p) => <$controller>::overhead(p),)+
                }
            }

            /// The state of a flow that starts at `now`.
            #[must_use]
            pub fn start(&self, path: &Path, now: Time) -> AnyController {
                match self {
                    $(Self::$variant(p) => AnyController::$variant(<$controller>::new(p, path, now)),)+
                }
            }
        }

        /// The calls of [`CongestionControl`]. A call with another algorithm's parameters does
        /// nothing (and allows nothing): whoever pairs them wrongly sees it at once.
        impl AnyController {
            /// See [`CongestionControl::on_ack`].
            pub fn on_ack(&mut self, params: &AnyParams, path: &Path, ack: &Ack, int: &IntStack) {
                match (self, params) {
                    $((Self::$variant(c), AnyParams::$variant(p)) => c.on_ack(p, path, ack, int),)+
                    #[allow(unreachable_patterns, reason = "reached only with more than one algorithm")]
                    _ => {}
                }
            }

            /// See [`CongestionControl::on_cnp`].
            pub fn on_cnp(&mut self, params: &AnyParams, path: &Path, now: Time) {
                match (self, params) {
                    $((Self::$variant(c), AnyParams::$variant(p)) => c.on_cnp(p, path, now),)+
                    #[allow(unreachable_patterns, reason = "reached only with more than one algorithm")]
                    _ => {}
                }
            }

            /// See [`CongestionControl::on_loss`].
            pub fn on_loss(&mut self, params: &AnyParams, path: &Path, loss: &Loss) {
                match (self, params) {
                    $((Self::$variant(c), AnyParams::$variant(p)) => c.on_loss(p, path, loss),)+
                    #[allow(unreachable_patterns, reason = "reached only with more than one algorithm")]
                    _ => {}
                }
            }

            /// See [`CongestionControl::on_sent`].
            pub fn on_sent(&mut self, params: &AnyParams, path: &Path, sent: &Sent) {
                match (self, params) {
                    $((Self::$variant(c), AnyParams::$variant(p)) => c.on_sent(p, path, sent),)+
                    #[allow(unreachable_patterns, reason = "reached only with more than one algorithm")]
                    _ => {}
                }
            }

            /// See [`CongestionControl::on_timer`].
            pub fn on_timer(&mut self, params: &AnyParams, path: &Path, now: Time) {
                match (self, params) {
                    $((Self::$variant(c), AnyParams::$variant(p)) => c.on_timer(p, path, now),)+
                    #[allow(unreachable_patterns, reason = "reached only with more than one algorithm")]
                    _ => {}
                }
            }

            /// See [`CongestionControl::deadline`].
            #[must_use]
            pub fn deadline(&self) -> Time {
                match self {
                    $(Self::$variant(c) => c.deadline(),)+
                }
            }

            /// See [`CongestionControl::allowance`].
            #[must_use]
            pub fn allowance(&self, params: &AnyParams, path: &Path) -> Allowance {
                match (self, params) {
                    $((Self::$variant(c), AnyParams::$variant(p)) => c.allowance(p, path),)+
                    #[allow(unreachable_patterns, reason = "reached only with more than one algorithm")]
                    _ => Allowance { window: incast_units::Bytes::ZERO, rate: incast_units::Rate::ZERO },
                }
            }
        }
    };
}

algorithms! {
    /// [`crate::constant`].
    Constant: crate::constant::Constant, crate::constant::ConstantParams;
    /// [`crate::oscar`].
    Oscar: crate::oscar::Oscar, crate::oscar::OscarParams;
    /// [`crate::hpcc`].
    Hpcc: crate::hpcc::Hpcc, crate::hpcc::HpccParams;
    /// [`crate::powertcp`].
    PowerTcp: crate::powertcp::PowerTcp, crate::powertcp::PowerTcpParams;
    /// [`crate::theta_powertcp`].
    ThetaPowerTcp: crate::theta_powertcp::ThetaPowerTcp, crate::theta_powertcp::ThetaPowerTcpParams;
    /// [`crate::dcqcn`].
    Dcqcn: crate::dcqcn::Dcqcn, crate::dcqcn::DcqcnParams;
    /// [`crate::dctcp`].
    Dctcp: crate::dctcp::Dctcp, crate::dctcp::DctcpParams;
    /// [`crate::swift`].
    Swift: crate::swift::Swift, crate::swift::SwiftParams;
    /// [`crate::timely`].
    Timely: crate::timely::Timely, crate::timely::TimelyParams;
}
