//! `[impairments]`: clocks that are not exact, and a base RTT that is not the path's.

use incast_cc::{Fixed, Signals};
use incast_sim::describe::impairments::{self as described, NoiseKind, Share};
use incast_units::Time;

use super::scope::{Effect, Idle, Scope, Sections};
use super::transport::name_of;
use crate::grammar::reading::Reading;
use crate::grammar::section::{choice, section};
use crate::grammar::setting::{Bound, Setting, Shape, wrong_type};
use crate::grammar::tree::{Node, Value};
use crate::grammar::write::Out;
use crate::problem::fault;

choice!(NoiseKind);

/// Units of a share, with their powers of ten.
const UNITS: [(&str, i32); 2] = [("%", -2), ("ppm", -6)];

/// Reads a share exactly.
fn read_share(text: &str) -> Option<Share> {
    let unit = UNITS.iter().find_map(|(unit, power)| Some((text.strip_suffix(unit)?.trim_end(), *power)));
    let (number, unit) = unit.unwrap_or((text, 0));
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i64 = format!("{whole}{fraction}").parse().ok()?;
    let power = exponent.parse::<i32>().ok()?.checked_add(unit)? - i32::try_from(fraction.len()).ok()? + 18;
    let factor = 10_i64.checked_pow(power.unsigned_abs());
    if power >= 0 {
        return Some(Share::of_attos(digits.checked_mul(factor?)?));
    }
    // A share with more digits than there are is no share that can be written back.
    factor.filter(|factor| digits % factor == 0).map(|factor| Share::of_attos(digits / factor))
}

impl Setting for Share {
    fn shape() -> Shape {
        Shape::Either(vec![Shape::Text("a share like \"-20%\" or \"100ppm\""), Shape::Ratio])
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        let text = match &node.value {
            Value::Integer(number) => number.to_string(),
            Value::Decimal(text) | Value::Text(text) => text.clone(),
            _ => return wrong_type(node, key, reading),
        };
        let share = read_share(text.trim());
        if share.is_none() {
            let message = format!(
                "{text:?} is no share; write a number, or a text like \"-20%\" or \"100ppm\", from -9 to 9 with at \
                 most 18 decimals"
            );
            reading.wrong(node.place, key, message);
        }
        share
    }

    fn write(&self) -> Option<Out> {
        Some(Out::text(self))
    }

    fn within(&self, bound: Bound) -> bool {
        // As a number would be read.
        let bits = (i128::from(self.attos()) << 32) / i128::from(Self::ONE.attos());
        let number = Fixed::from_bits(bits as i64);
        match bound {
            Bound::Positive => self.attos() > 0,
            Bound::Ratio(low, high) => low <= number && number <= high,
            Bound::Between(low, high) => low < number && number < high,
            Bound::Any | Bound::Count(..) => true,
        }
    }
}

section! {
    /// Departures from the ideal: clocks that are not exact, and a base RTT that is not the path's.
    pub(crate) struct Impairments {
        /// Amount of the errors of time stamps: the stamp of a data packet is made this long before it leaves, at
        /// random, so that every RTT and one-way delay seems longer.
        timestamp_noise: Time = Time::ZERO,
        /// Distribution of these errors.
        timestamp_noise_kind: NoiseKind = NoiseKind::Exponential,
        /// The clock of each host is wrong by a time from minus this to this, drawn by the seed. It shows in one-way
        /// delays alone.
        clock_offset: Time = Time::ZERO,
        /// The clock of each host is fast by a share from minus this to this, drawn by the seed. RTTs and one-way
        /// delays are measured by these clocks.
        clock_drift: Share = Share::ZERO; Bound::Ratio(Fixed::ZERO, Fixed::ratio(1, 100)),
        /// The base RTT that algorithms are given is longer than the true one by this share, or shorter.
        base_rtt_error: Share = Share::ZERO; Bound::Ratio(-Fixed::ratio(99, 100), Fixed::whole(8)),
    }
}

impl Effect for Impairments {
    fn idle(&self, sections: &Sections<'_>, idle: &mut Idle) {
        if self.timestamp_noise == Time::ZERO {
            idle.add("impairments.timestamp_noise_kind", "has no effect: impairments.timestamp_noise is 0");
        }
        let kind = sections.transport.kind;
        if !kind.is_controlled() {
            let reason = format!(
                "has no effect: transport.kind = \"{}\" has no congestion control that measures delays",
                name_of(kind)
            );
            for key in
                ["timestamp_noise", "timestamp_noise_kind", "clock_offset", "clock_drift", "base_rtt_error"]
            {
                idle.add(&format!("impairments.{key}"), &reason);
            }
        }
    }

    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        let reads_one_way = scope.algorithms.iter().any(|cc| cc.signals().contains(Signals::ONE_WAY_DELAY));
        if self.clock_offset > Time::ZERO && !reads_one_way && !scope.algorithms.is_empty() {
            let message = "has no effect on RTTs, which one clock measures, and no algorithm here is declared to read \
                           one-way delays";
            let hint = "cc.one_way_delay = true makes OSCAR read them; leave the offset out for the others";
            reading.warn("impairments", fault("clock_offset", message).with_hint(hint));
        }
    }
}

/// Returns what is not ideal in the simulation.
pub(crate) fn settings(section: Option<&Impairments>) -> described::Impairments {
    let Some(section) = section else { return described::Impairments::default() };
    let Impairments { timestamp_noise, timestamp_noise_kind, clock_offset, clock_drift, base_rtt_error } =
        section;
    described::Impairments {
        timestamp_noise: *timestamp_noise,
        timestamp_noise_kind: *timestamp_noise_kind,
        clock_offset: *clock_offset,
        clock_drift: *clock_drift,
        base_rtt_error: *base_rtt_error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_exactly_and_back() {
        for (text, attos) in [
            ("-20%", -200_000_000_000_000_000),
            ("100ppm", 100_000_000_000_000),
            ("100 ppm", 100_000_000_000_000),
            ("1e-9", 1_000_000_000),
            ("0.0001", 100_000_000_000_000),
            ("1.5e-12", 1_500_000),
            ("1e-18", 1),
            ("9", 9_000_000_000_000_000_000),
            ("-0.5", -500_000_000_000_000_000),
        ] {
            let share = Share::of_attos(attos);
            assert_eq!(read_share(text), Some(share), "{text}");
            assert_eq!(read_share(&share.to_string()), Some(share), "{share}");
        }
        for text in ["", "%", "10", "1e-19", "1us", "ppm", "1e99999999999", "nan", "1.2.3", "--1", "1e-2147483647%"]
        {
            assert_eq!(read_share(text), None, "{text}");
        }
    }
}
