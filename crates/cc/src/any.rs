//! The parameters of every algorithm behind one type, and the catalogue that lists them.
//!
//! Both are made from the list of algorithms, [`for_each_algorithm`]. Algorithms whose signal may go through a
//! [`median`](crate::median) have its options behind their own parameters.

use core::ops::Deref;

use incast_units::{Bytes, Time};

use crate::contract::{CongestionControl, Internal, Overhead, Path, Signals};
use crate::median::{Filtered, Median, MedianOf, MedianParams, Signal};
use crate::params::{About, Described, Evidence, Kernel, Kind, Param, Preset, Value};
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
    /// Class of the evidence for its default, the value in the first preset.
    pub evidence: Evidence,
    /// Source of its default, and of the values of other presets.
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

/// The parameters of any algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnyParams {
    own: Own,
    /// The options of the median, for an algorithm that has them.
    median: MedianParams,
}

macro_rules! algorithms {
    ($($module:ident: $flow:ident;)+) => {
        $(use crate::$module::$flow;)+

        /// Every algorithm, in the order of the lists.
        pub const CATALOGUE: &[Info] = &[$(Info::of::<$flow>(),)+];

        /// The own parameters of any algorithm.
        #[derive(Clone, Copy, Debug, PartialEq)]
        enum Own {
            $($flow(<$flow as CongestionControl>::Params),)+
        }

        impl AnyParams {
            /// The parameters of the algorithm called `name` in its preset called `preset` (`None`:
            /// its default preset).
            #[must_use]
            pub fn named(name: &str, preset: Option<&str>) -> Option<Self> {
                let of = |own| Self { own, median: MedianParams::OFF };
                $(if name == Info::of::<$flow>().name {
                    return found::<<$flow as CongestionControl>::Params>(preset).map(|p| of(Own::$flow(p)));
                })+
                None
            }

            /// The presets of this algorithm: names and meanings, the default first.
            pub fn presets(&self, mut each: impl FnMut(&'static str, &'static str)) {
                match &self.own {
                    $(Own::$flow(p) => presets(p).iter().for_each(|p| each(p.name, p.meaning)),)+
                }
            }

            /// The acknowledgements with which this preset of the algorithm is used; `None` without such a preset.
            #[must_use]
            pub fn acknowledging(&self, preset: &str) -> Option<Acknowledging> {
                match &self.own {
                    $(Own::$flow(p) => {
                        presets(p).iter().find(|p| p.name == preset).map(|p| p.acknowledging)
                    })+
                }
            }

            /// The parameters of this algorithm with their present values.
            pub fn params(&self, mut each: impl FnMut(ParamInfo, Value)) {
                match &self.own {
                    $(Own::$flow(p) => list(params(p), p, &mut each),)+
                }
                if let Some(signal) = self.filtered() {
                    let options = MedianParams::PARAMS;
                    list(options, &self.median, |info, value| {
                        if signal.has(info.name) {
                            each(info, value);
                        }
                    });
                }
            }

            /// Sets the parameter called `name`. Returns whether it exists and admits the value.
            pub fn set(&mut self, name: &str, value: Value) -> bool {
                let own = match &mut self.own {
                    $(Own::$flow(p) => set(params(p), p, name, value),)+
                };
                own || self.filtered().is_some_and(|signal| signal.has(name))
                    && set(MedianParams::PARAMS, &mut self.median, name, value)
            }

            /// See [`Described::delay_limit`].
            #[must_use]
            pub fn delay_limit(&self, path: &Path) -> Option<(Time, &'static str)> {
                match &self.own {
                    $(Own::$flow(p) => p.delay_limit(path),)+
                }
            }

            /// See [`Described::window_limit`].
            #[must_use]
            pub fn window_limit(&self, path: &Path) -> Option<(Bytes, &'static str)> {
                match &self.own {
                    $(Own::$flow(p) => p.window_limit(path),)+
                }
            }

            /// See [`Described::target_queue`].
            #[must_use]
            pub fn target_queue(&self, path: &Path) -> Option<(Time, &'static str)> {
                match &self.own {
                    $(Own::$flow(p) => p.target_queue(path),)+
                }
            }

            /// See [`CongestionControl::signals`].
            #[must_use]
            pub fn signals(&self) -> Signals {
                match &self.own {
                    $(Own::$flow(p) => $flow::signals(p),)+
                }
            }

            /// See [`CongestionControl::overhead`].
            #[must_use]
            pub fn overhead(&self) -> Overhead {
                match &self.own {
                    $(Own::$flow(p) => $flow::overhead(p),)+
                }
            }

            /// The algorithm's entry in the catalogue. Behind a median it has another state, and none in the kernel.
            #[must_use]
            pub fn info(&self) -> Info {
                struct Entry;
                impl Visitor for Entry {
                    type Output = Info;
                    fn visit<C>(self, _: &C::Params) -> Info
                    where
                        C: CongestionControl + Copy + core::fmt::Debug,
                        C::Params: Described + Copy,
                    {
                        Info::of::<C>()
                    }
                }
                self.visit(Entry)
            }

            /// Calls `visitor` with the type of the algorithm and its parameters.
            pub fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
                let visitor = match self.visit_median(visitor) {
                    Ok(output) => return output,
                    Err(visitor) => visitor,
                };
                match &self.own {
                    $(Own::$flow(p) => visitor.visit::<$flow>(p),)+
                }
            }
        }
    };
}

macro_rules! filtered {
    ($($module:ident: $flow:ident;)+) => {
        impl AnyParams {
            /// Whether its signal goes through a median.
            #[must_use]
            pub const fn has_median(&self) -> bool {
                self.median.is_on() && self.filtered().is_some()
            }

            /// The signal that may go through a median, if this algorithm has one.
            #[must_use]
            pub const fn filtered(&self) -> Option<Signal> {
                match &self.own {
                    $(Own::$flow(_) => Some(<$flow as Filtered>::SIGNAL),)+
                    _ => None,
                }
            }

            /// Calls `visitor` with the algorithm behind a median, if there is one.
            fn visit_median<V: Visitor>(&self, visitor: V) -> Result<V::Output, V> {
                let median = self.median;
                match &self.own {
                    $(Own::$flow(p) if median.is_on() => {
                        Ok(visitor.visit::<Median<$flow>>(&MedianOf { params: *p, median }))
                    })+
                    _ => Err(visitor),
                }
            }
        }
    };
}

// By its name alone: the list is above the modules in `lib.rs`.
for_each_algorithm!(algorithms);
for_each_filtered!(filtered);

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

/// Lists these parameters with their values.
fn list<P>(params: &[Param<P>], of: &P, mut each: impl FnMut(ParamInfo, Value)) {
    for param in params {
        let Param { name, kind, meaning, evidence, source, .. } = *param;
        each(ParamInfo { name, kind, meaning, evidence, source }, (param.get)(of));
    }
}

/// Sets one of these parameters. Returns whether it exists and admits the value.
fn set<P>(params: &[Param<P>], of: &mut P, name: &str, value: Value) -> bool {
    match params.iter().find(|param| param.name == name) {
        Some(param) if param.kind.admits(value) => {
            (param.set)(of, value);
            true
        }
        _ => false,
    }
}
