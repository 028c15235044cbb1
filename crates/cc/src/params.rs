//! Descriptions of an algorithm's parameters: a scenario file can set them with their units, an error can
//! name the one that is meant, and a page can list them with their source.

use incast_units::{Bytes, Rate, Time};

use crate::Fixed;
use crate::path::Path;
use crate::receiver::Acknowledging;
use crate::signals::Signals;

/// The value of a parameter, with its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A span of time, in text `"12us"`.
    Time(Time),
    /// An amount of data, in text `"75KB"`.
    Bytes(Bytes),
    /// A rate, in text `"40Mbps"`.
    Rate(Rate),
    /// A number without dimension, in text `1.5`.
    Ratio(Fixed),
    /// A whole number, in text `5`.
    Count(u64),
    /// Yes or no, in text `true`.
    Flag(bool),
    /// One of a few words, by its place in [`Kind::Choice`].
    Choice(usize),
}

impl Value {
    /// Returns its kind, in the order above from 0 on, and its 64 bits.
    #[must_use]
    pub const fn bits(self) -> (u8, u64) {
        match self {
            Self::Time(time) => (0, time.ps()),
            Self::Bytes(bytes) => (1, bytes.get()),
            Self::Rate(rate) => (2, rate.bps()),
            Self::Ratio(ratio) => (3, ratio.bits().cast_unsigned()),
            Self::Count(count) => (4, count),
            Self::Flag(flag) => (5, flag as u64),
            Self::Choice(choice) => (6, choice as u64),
        }
    }

    /// The value with these [`bits`](Self::bits); `None` for a kind that there is not.
    #[must_use]
    pub const fn from_bits(kind: u8, bits: u64) -> Option<Self> {
        Some(match kind {
            0 => Self::Time(Time::from_ps(bits)),
            1 => Self::Bytes(Bytes::new(bits)),
            2 => Self::Rate(Rate::from_bps(bits)),
            3 => Self::Ratio(Fixed::from_bits(bits.cast_signed())),
            4 => Self::Count(bits),
            5 => Self::Flag(bits != 0),
            6 => Self::Choice(bits as usize),
            _ => return None,
        })
    }
}

/// Kind of value that a parameter takes, with its range (both ends allowed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A [`Value::Time`].
    Time(Time, Time),
    /// A [`Value::Bytes`].
    Bytes(Bytes, Bytes),
    /// A [`Value::Rate`].
    Rate(Rate, Rate),
    /// A [`Value::Ratio`].
    Ratio(Fixed, Fixed),
    /// A [`Value::Count`].
    Count(u64, u64),
    /// A [`Value::Flag`].
    Flag,
    /// A [`Value::Choice`] among these words.
    Choice(&'static [&'static str]),
}

impl Kind {
    /// Whether `value` is of this kind and within its range.
    #[must_use]
    pub fn admits(&self, value: Value) -> bool {
        match (*self, value) {
            (Self::Time(low, high), Value::Time(v)) => low <= v && v <= high,
            (Self::Bytes(low, high), Value::Bytes(v)) => low <= v && v <= high,
            (Self::Rate(low, high), Value::Rate(v)) => low <= v && v <= high,
            (Self::Ratio(low, high), Value::Ratio(v)) => low <= v && v <= high,
            (Self::Count(low, high), Value::Count(v)) => low <= v && v <= high,
            (Self::Flag, Value::Flag(_)) => true,
            (Self::Choice(words), Value::Choice(v)) => v < words.len(),
            _ => false,
        }
    }
}

/// The class of the evidence for a value: how firmly it belongs to the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// A paper or a standard has it.
    Printed,
    /// Public code has it, of the authors or of another simulator.
    Artifact,
    /// It was chosen here by measurement.
    Measured,
    /// It follows from what is printed or published.
    Derived,
    /// It was chosen here.
    Ours,
}

impl Evidence {
    /// Every class, from the firmest on.
    pub const ALL: [Self; 5] = [Self::Printed, Self::Artifact, Self::Measured, Self::Derived, Self::Ours];

    /// Its name in lists.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::Artifact => "artifact",
            Self::Measured => "measured",
            Self::Derived => "derived",
            Self::Ours => "ours",
        }
    }

    /// Returns its meaning, in a few words.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Printed => "a paper or a standard has it, as a number or in the algorithm as it is printed",
            Self::Artifact => "public code has it: the authors' or another simulator's",
            Self::Measured => "chosen here, by measurements of several values",
            Self::Derived => "follows from what is printed, by calculation or as one reading of it",
            Self::Ours => "chosen here",
        }
    }
}

/// One parameter of an algorithm whose parameters are a `P`.
#[derive(Clone, Copy, Debug)]
pub struct Param<P> {
    /// Its name in scenario files: lower case, words joined by `_`.
    pub name: &'static str,
    /// Its kind and range.
    pub kind: Kind,
    /// One sentence of meaning.
    pub meaning: &'static str,
    /// Class of the evidence for its default.
    pub evidence: Evidence,
    /// Source of its default: paper, section, table or equation.
    pub source: &'static str,
    /// Reads it.
    pub get: fn(&P) -> Value,
    /// Writes it; called only with a value that [`Kind::admits`].
    pub set: fn(&mut P, Value),
}

/// A named set of parameters.
#[derive(Clone, Copy, Debug)]
pub struct Preset<P> {
    /// Its name in scenario files.
    pub name: &'static str,
    /// Its meaning and its source.
    pub meaning: &'static str,
    /// The parameters.
    pub params: fn() -> P,
    /// The acknowledgements with which it is used.
    pub acknowledging: Acknowledging,
}

/// The group of an algorithm in lists: what it decides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Delays, from timestamps of the end hosts.
    Delay,
    /// ECN marks.
    Ecn,
    /// Measurements that switches write into packets.
    Telemetry,
    /// Feedback of packets that are sprayed over many paths.
    Spraying,
    /// Losses.
    Loss,
    /// Nothing: a fixed window and rate.
    Fixed,
    /// Knowledge that no network gives: for comparison, in the simulator only.
    Oracle,
}

impl Family {
    /// Every group, in the order of lists.
    pub const ALL: [Self; 7] =
        [Self::Delay, Self::Ecn, Self::Telemetry, Self::Spraying, Self::Loss, Self::Fixed, Self::Oracle];

    /// Its name in lists.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::Ecn => "ECN",
            Self::Telemetry => "telemetry",
            Self::Spraying => "spraying",
            Self::Loss => "loss",
            Self::Fixed => "fixed",
            Self::Oracle => "oracle",
        }
    }

    /// Returns the signal by which its algorithms decide, in a few words.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Delay => "delays, from timestamps of the end hosts",
            Self::Ecn => "marks that switches set in packets",
            Self::Telemetry => "measurements that switches write into packets",
            Self::Spraying => "feedback of packets that are spread over many paths",
            Self::Loss => "lost packets",
            Self::Fixed => "no signal; window and rate are fixed",
            Self::Oracle => "what no network tells; for comparison, in the simulator only",
        }
    }
}

/// An algorithm in the Linux kernel: what `bpf/build.sh` makes of it, and what `incast kernel` knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    name: &'static str,
    signals: Signals,
}

impl Kernel {
    /// An algorithm of this name in the kernel, with the signals that its presets need and the kernel has: ECN marks, and
    /// in a TCP option either one-way delays or telemetry of one switch port. A preset that needs another signal is
    /// refused when it is loaded.
    ///
    /// # Panics
    /// In a constant, and so when it is compiled: at a name that does not begin with `incast_` or that has more than the
    /// kernel's 15 characters, and at signals that the kernel does not have.
    #[must_use]
    pub const fn new(name: &'static str, signals: Signals) -> Self {
        let begins = matches!(name.as_bytes(), [b'i', b'n', b'c', b'a', b's', b't', b'_', _, ..]);
        assert!(begins && name.len() <= 15, "a name in the kernel is incast_ and at most eight characters");
        assert!(Signals::ECN.and(Signals::ONE_WAY_DELAY).and(Signals::INT).contains(signals));
        assert!(
            !signals.contains(Signals::ONE_WAY_DELAY.and(Signals::INT)),
            "one TCP option carries one of them"
        );
        Self { name, signals }
    }

    /// Its name in the kernel.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The signals that it gets there.
    #[must_use]
    pub const fn signals(&self) -> Signals {
        self.signals
    }
}

/// An algorithm's names and place in lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name in scenario files, lower case: `oscar`, `theta-powertcp`.
    pub name: &'static str,
    /// Its name in text and pictures: `OSCAR`, `θ-PowerTCP`.
    pub title: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Its group in lists.
    pub family: Family,
    /// One line: what it needs from hosts and switches, and since when equipment has it.
    pub needs: &'static str,
}

/// Named sets of an algorithm's parameters, as `presets!` declares them.
pub trait Presets: Sized + 'static {
    /// The presets, the default first.
    const PRESETS: &'static [Preset<Self>];

    /// Returns the parameters of the preset called `name`.
    #[must_use]
    fn preset(name: &str) -> Option<Self> {
        Self::PRESETS.iter().find(|preset| preset.name == name).map(|preset| (preset.params)())
    }
}

/// An algorithm's entry in the catalogue.
pub trait Described: Presets {
    /// Its names, and its place in lists.
    const ABOUT: About;
    /// The parameters, in the order of the paper.
    const PARAMS: &'static [Param<Self>];
    /// Its entry in the Linux kernel; `None` for an algorithm that does not run there.
    const KERNEL: Option<Kernel> = None;

    /// The delay from which on a flow sends less although it is alone on this path and fills it, and the parameter that
    /// sets it; `None` for an algorithm without such a delay. It must exceed the path's base RTT.
    #[must_use]
    fn delay_limit(&self, _path: &Path) -> Option<(Time, &'static str)> {
        None
    }

    /// The largest window of a flow on this path, and the parameter that sets it; `None` for an algorithm without one.
    #[must_use]
    fn window_limit(&self, _path: &Path) -> Option<(Bytes, &'static str)> {
        None
    }

    /// The queueing delay that a flow on this path aims at, and the parameter that makes it depend on the path; `None` for an
    /// algorithm whose flows share a queue evenly although their paths differ. Of flows that share a queue, those that aim at
    /// less yield to the others.
    #[must_use]
    fn target_queue(&self, _path: &Path) -> Option<(Time, &'static str)> {
        None
    }
}

/// The presets of an algorithm's parameters. Each has a name in scenario files, a meaning with its source, and a function
/// that returns the parameters; the first one is the default. A name may be followed by `acknowledging` and a constant of
/// [`Acknowledging`]; without it every packet is acknowledged.
macro_rules! presets {
    (impl $params:ty {
        $($name:literal $(acknowledging $acknowledging:ident)?: $meaning:literal, $(#[$attribute:meta])* $visibility:vis fn $function:ident() -> Self $values:block)+
    }) => {
        impl $params {
            $($(#[$attribute])* $visibility fn $function() -> Self $values)+
        }

        impl $crate::params::Presets for $params {
            const PRESETS: &'static [$crate::params::Preset<Self>] =
                &[$($crate::params::Preset {
                    name: $name,
                    meaning: $meaning,
                    params: Self::$function,
                    acknowledging: $crate::params::presets!(@acknowledging $($acknowledging)?),
                },)+];
        }

        impl Default for $params {
            fn default() -> Self {
                $crate::params::presets!(@first $($function)+)
            }
        }
    };
    (@first $first:ident $($other:ident)*) => {
        Self::$first()
    };
    (@acknowledging) => {
        $crate::receiver::Acknowledging::EACH
    };
    (@acknowledging $acknowledging:ident) => {
        $crate::receiver::Acknowledging::$acknowledging
    };
}
pub(crate) use presets;

/// One [`Param`], from its kind, its name in scenario files, its field (or one of a field, as `law.ai`), its range,
/// its meaning, the [`Evidence`] for its default, and the default's source.
macro_rules! param {
    (choice $name:literal, $($field:ident).+, $choice:ty, $meaning:expr, $evidence:ident, $source:expr) => {
        $crate::params::Param {
            name: $name,
            kind: $crate::params::Kind::Choice(<$choice>::WORDS),
            meaning: $meaning,
            evidence: $crate::params::Evidence::$evidence,
            source: $source,
            get: |p| $crate::params::Value::Choice(p.$($field).+.place()),
            set: |p, v| {
                if let $crate::params::Value::Choice(v) = v
                    && let Some(choice) = <$choice>::at(v)
                {
                    p.$($field).+ = choice;
                }
            },
        }
    };
    (Flag $name:literal, $($field:ident).+, $meaning:expr, $evidence:ident, $source:expr) => {
        $crate::params::param!(@one Flag, $name, $($field).+, $crate::params::Kind::Flag, $meaning, $evidence, $source)
    };
    ($kind:ident $name:literal, $($field:ident).+, $low:expr, $high:expr, $meaning:expr, $evidence:ident, $source:expr) => {
        $crate::params::param!(
            @one $kind, $name, $($field).+, $crate::params::Kind::$kind($low, $high), $meaning, $evidence, $source
        )
    };
    (@one $kind:ident, $name:literal, $($field:ident).+, $range:expr, $meaning:expr, $evidence:ident, $source:expr) => {
        $crate::params::Param {
            name: $name,
            kind: $range,
            meaning: $meaning,
            evidence: $crate::params::Evidence::$evidence,
            source: $source,
            get: |p| $crate::params::Value::$kind(p.$($field).+),
            set: |p, v| {
                if let $crate::params::Value::$kind(v) = v {
                    p.$($field).+ = v;
                }
            },
        }
    };
}
pub(crate) use param;

/// An enum whose variants are the words of a [`Kind::Choice`], in their order.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            pub(crate) const WORDS: &'static [&'static str] = &[$($word,)+];

            pub(crate) fn place(self) -> usize {
                self as usize
            }

            pub(crate) fn at(place: usize) -> Option<Self> {
                [$(Self::$variant,)+].get(place).copied()
            }
        }
    };
}
pub(crate) use choice;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_after_their_bits() {
        // Kinds are numbered in their order; a negative ratio is in two's complement.
        let minus = Value::Ratio(Fixed::from_bits(-3));
        assert_eq!(minus.bits(), (3, u64::MAX - 2));
        assert_eq!(Value::Flag(true).bits(), (5, 1));
        for value in one(7).into_iter().chain([minus, Value::Flag(true), Value::Choice(2)]) {
            let (kind, bits) = value.bits();
            assert_eq!(Value::from_bits(kind, bits), Some(value));
        }
        assert_eq!(Value::from_bits(7, 0), None);
    }

    /// Returns a value of each kind.
    fn one(x: u64) -> [Value; 5] {
        [
            Value::Time(Time::from_ps(x)),
            Value::Bytes(Bytes::new(x)),
            Value::Rate(Rate::from_bps(x)),
            Value::Ratio(Fixed::from_bits(x as i64)),
            Value::Count(x),
        ]
    }

    #[test]
    fn a_range_admits_both_of_its_ends_and_nothing_beyond() {
        let kinds = [
            Kind::Time(Time::from_ps(3), Time::from_ps(5)),
            Kind::Bytes(Bytes::new(3), Bytes::new(5)),
            Kind::Rate(Rate::from_bps(3), Rate::from_bps(5)),
            Kind::Ratio(Fixed::from_bits(3), Fixed::from_bits(5)),
            Kind::Count(3, 5),
        ];
        for (place, kind) in kinds.into_iter().enumerate() {
            for x in 0..8 {
                for (other, value) in one(x).into_iter().enumerate() {
                    let admitted = other == place && (3..=5).contains(&x);
                    assert_eq!(kind.admits(value), admitted, "{kind:?} {value:?}");
                }
            }
            assert!(!kind.admits(Value::Flag(true)) && !kind.admits(Value::Choice(4)), "{kind:?}");
        }
    }

    #[test]
    fn a_flag_is_any_flag_and_a_choice_one_of_its_words() {
        assert!(Kind::Flag.admits(Value::Flag(true)) && Kind::Flag.admits(Value::Flag(false)));
        let words = Kind::Choice(&["none", "bdp"]);
        assert!(words.admits(Value::Choice(0)) && words.admits(Value::Choice(1)));
        assert!(!words.admits(Value::Choice(2)));
        for value in one(1) {
            assert!(!Kind::Flag.admits(value) && !words.admits(value), "{value:?}");
        }
        assert!(!Kind::Flag.admits(Value::Choice(1)) && !words.admits(Value::Flag(true)));
    }
}
