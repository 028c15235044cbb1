//! The parameters of every algorithm behind one type, and the catalogue that lists them.
//!
//! Both are made from the list of algorithms, [`for_each_algorithm`].

use core::ops::Deref;

use incast_units::Time;

use crate::contract::{CongestionControl, Internal, Overhead, Path, Signals};
use crate::params::{About, Described, Kernel, Kind, Param, Preset, Value};
use crate::receiver::Acknowledging;

/// The description of a parameter for lists and error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name in scenario files.
    pub name: &'static str,
    /// Its kind and range.
    pub kind: Kind,
    /// One sentence of meaning.
    pub meaning: &'static str,
    /// Source of its default.
    pub source: &'static str,
}

/// The description of an algorithm for lists. It has the fields of [`About`] too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its names, and its place in lists.
    pub about: About,
    /// Size of one flow's state in bytes.
    pub state_bytes: usize,
    /// The internal quantities that a probe shows.
    pub internals: &'static [Internal],
    /// Its entry in the Linux kernel, where it can run there.
    pub kernel: Option<Kernel>,
}

impl Info {
    /// The entry of the algorithm `C`.
    #[must_use]
    pub const fn of<C: CongestionControl<Params: Described>>() -> Self {
        Self {
            about: C::Params::ABOUT,
            state_bytes: size_of::<C>(),
            internals: C::INTERNALS,
            kernel: C::Params::KERNEL,
        }
    }
}

impl Deref for Info {
    type Target = About;

    fn deref(&self) -> &About {
        &self.about
    }
}

/// An operation on an algorithm whose type is only known at run time ([`AnyParams::visit`]).
///
/// The state of a flow has the type of its algorithm, so that no flow needs memory for the largest state;
/// code that keeps flows of any algorithm is generic over it and is called through this trait.
pub trait Visitor {
    /// The result.
    type Output;

    /// Performs it with the algorithm `C` and these parameters.
    fn visit<C>(self, params: &C::Params) -> Self::Output
    where
        C: CongestionControl + Copy + core::fmt::Debug,
        C::Params: Described + Copy;
}

macro_rules! algorithms {
    ($($module:ident: $flow:ident;)+) => {
        $(use crate::$module::$flow;)+

        /// The parameters of any algorithm.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum AnyParams {
            $(
                #[doc = concat!("Of [`", stringify!($module), "`](crate::", stringify!($module), ").")]
                $flow(<$flow as CongestionControl>::Params),
            )+
        }

        /// Every algorithm, in the order of the lists.
        pub const CATALOGUE: &[Info] = &[$(Info::of::<$flow>(),)+];

        impl AnyParams {
            /// The parameters of the algorithm called `name` in its preset called `preset` (`None`:
            /// its default preset).
            #[must_use]
            pub fn named(name: &str, preset: Option<&str>) -> Option<Self> {
                $(if name == Info::of::<$flow>().name {
                    return found::<<$flow as CongestionControl>::Params>(preset).map(Self::$flow);
                })+
                None
            }

            /// The algorithm's entry in the catalogue.
            #[must_use]
            pub fn info(&self) -> Info {
                match self {
                    $(Self::$flow(_) => Info::of::<$flow>(),)+
                }
            }

            /// The presets of this algorithm: names and meanings, the default first.
            pub fn presets(&self, mut each: impl FnMut(&'static str, &'static str)) {
                match self {
                    $(Self::$flow(p) => presets(p).iter().for_each(|p| each(p.name, p.meaning)),)+
                }
            }

            /// The acknowledgements with which this preset of the algorithm is used; `None` without such a preset.
            #[must_use]
            pub fn acknowledging(&self, preset: &str) -> Option<Acknowledging> {
                match self {
                    $(Self::$flow(p) => {
                        presets(p).iter().find(|p| p.name == preset).map(|p| p.acknowledging)
                    })+
                }
            }

            /// The parameters of this algorithm with their present values.
            pub fn params(&self, mut each: impl FnMut(ParamInfo, Value)) {
                match self {
                    $(Self::$flow(p) => {
                        for q in params(p) {
                            let info =
                                ParamInfo { name: q.name, kind: q.kind, meaning: q.meaning, source: q.source };
                            each(info, (q.get)(p));
                        }
                    })+
                }
            }

            /// Sets the parameter called `name`. Returns whether it exists and admits the value.
            pub fn set(&mut self, name: &str, value: Value) -> bool {
                match self {
                    $(Self::$flow(p) => match params(p).iter().find(|q| q.name == name) {
                        Some(q) if q.kind.admits(value) => {
                            (q.set)(p, value);
                            true
                        }
                        _ => false,
                    })+
                }
            }

            /// See [`Described::delay_limit`].
            #[must_use]
            pub fn delay_limit(&self, path: &Path) -> Option<(Time, &'static str)> {
                match self {
                    $(Self::$flow(p) => p.delay_limit(path),)+
                }
            }

            /// See [`CongestionControl::signals`].
            #[must_use]
            pub fn signals(&self) -> Signals {
                match self {
                    $(Self::$flow(p) => $flow::signals(p),)+
                }
            }

            /// See [`CongestionControl::overhead`].
            #[must_use]
            pub fn overhead(&self) -> Overhead {
                match self {
                    $(Self::$flow(p) => $flow::overhead(p),)+
                }
            }

            /// Calls `visitor` with the type of the algorithm and its parameters.
            pub fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
                match self {
                    $(Self::$flow(p) => visitor.visit::<$flow>(p),)+
                }
            }
        }
    };
}

// By its name alone: the list is above the modules in `lib.rs`.
for_each_algorithm!(algorithms);

/// The parameters of a preset; without a name of the default preset.
fn found<P: Described + Default>(preset: Option<&str>) -> Option<P> {
    preset.map_or_else(|| Some(P::default()), P::preset)
}

/// The presets of these parameters.
fn presets<P: Described>(_: &P) -> &'static [Preset<P>] {
    P::PRESETS
}

/// The descriptions of these parameters.
fn params<P: Described>(_: &P) -> &'static [Param<P>] {
    P::PARAMS
}
