//! The parameters of every algorithm behind one type, and the catalogue that lists them.
//!
//! To add an algorithm: write its module, and add one line to the `algorithms!` list below.

use crate::contract::{CongestionControl, Internal, Overhead, Signals};
use crate::params::{Described, Family, Kind, Value};

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

/// The description of an algorithm for lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its name in scenario files.
    pub name: &'static str,
    /// Its name in text and pictures.
    pub title: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Its group in lists.
    pub family: Family,
    /// One line: what it needs from hosts and switches, and since when equipment has it.
    pub needs: &'static str,
    /// Size of one flow's state in bytes.
    pub state_bytes: usize,
    /// The internal quantities that a probe shows.
    pub internals: &'static [Internal],
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
    ($($(#[$doc:meta])* $variant:ident: $controller:ty, $params:ty;)+) => {
        /// The parameters of any algorithm.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum AnyParams {
            $($(#[$doc])* $variant($params),)+
        }

        /// Every algorithm, in the order of the lists.
        pub const CATALOGUE: &[Info] = &[$(Info {
            name: <$params>::NAME,
            title: <$params>::TITLE,
            summary: <$params>::SUMMARY,
            family: <$params>::FAMILY,
            needs: <$params>::NEEDS,
            state_bytes: size_of::<$controller>(),
            internals: <$controller>::INTERNALS,
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
                        family: <$params>::FAMILY,
                        needs: <$params>::NEEDS,
                        state_bytes: size_of::<$controller>(),
                        internals: <$controller>::INTERNALS,
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

            /// Sets the parameter called `name`. Returns whether it exists and admits the value.
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

            /// Calls `visitor` with the type of the algorithm and its parameters.
            pub fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
                match self {
                    $(Self::$variant(p) => visitor.visit::<$controller>(p),)+
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
    /// [`crate::newreno`].
    NewReno: crate::newreno::NewReno, crate::newreno::NewRenoParams;
    /// [`crate::lswift`].
    LSwift: crate::lswift::LSwift, crate::lswift::LSwiftParams;
    /// [`crate::mswift`].
    MSwift: crate::mswift::MSwift, crate::mswift::MSwiftParams;
    /// [`crate::timely`].
    Timely: crate::timely::Timely, crate::timely::TimelyParams;
    /// [`crate::ccc`].
    Ccc: crate::ccc::Ccc, crate::ccc::CccParams;
    /// [`crate::patched_timely`].
    PatchedTimely: crate::patched_timely::PatchedTimely, crate::patched_timely::PatchedTimelyParams;
    /// [`crate::sqcc`].
    Sqcc: crate::sqcc::Sqcc, crate::sqcc::SqccParams;
    /// [`crate::retcp`].
    ReTcp: crate::retcp::ReTcp, crate::retcp::ReTcpParams;
    /// [`crate::oracle`].
    Oracle: crate::oracle::Oracle, crate::oracle::OracleParams;
    /// [`crate::poseidon`].
    Poseidon: crate::poseidon::Poseidon, crate::poseidon::PoseidonParams;
    /// [`crate::nscc`].
    Nscc: crate::nscc::Nscc, crate::nscc::NsccParams;
    /// [`crate::mnscc`].
    Mnscc: crate::mnscc::Mnscc, crate::mnscc::MnsccParams;
    /// [`crate::smartt`].
    Smartt: crate::smartt::Smartt, crate::smartt::SmarttParams;
}
