//! Reading and printing quantities: a decimal number and a unit, nothing else.

use core::fmt;
use core::str::FromStr;

use crate::math::mul_div;
use crate::{Bytes, PS_PER_SECOND, Rate, Time};

/// The kind of quantity of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A [`Time`].
    Time,
    /// An amount of [`Bytes`].
    Bytes,
    /// A [`Rate`].
    Rate,
}

impl Quantity {
    /// The units that this quantity can be written in, largest last, each with its size in the
    /// quantity's integer unit (ps, B, bit/s).
    #[must_use]
    pub const fn units(self) -> &'static [(&'static str, u64)] {
        match self {
            Self::Time => {
                &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", PS_PER_SECOND)]
            }
            Self::Bytes => &[
                ("B", 1),
                ("KB", 1_000),
                ("KiB", 1 << 10),
                ("MB", 1_000_000),
                ("MiB", 1 << 20),
                ("GB", 1_000_000_000),
                ("GiB", 1 << 30),
                ("TB", 1_000_000_000_000),
                ("TiB", 1 << 40),
            ],
            Self::Rate => &[
                ("bps", 1),
                ("Kbps", 1_000),
                ("Mbps", 1_000_000),
                ("Gbps", 1_000_000_000),
                ("Tbps", 1_000_000_000_000),
            ],
        }
    }

    /// A well-formed example, for messages.
    #[must_use]
    pub const fn example(self) -> &'static str {
        match self {
            Self::Time => "12us",
            Self::Bytes => "32MB",
            Self::Rate => "100Gbps",
        }
    }

    /// Its name in messages: "a time".
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Time => "a time",
            Self::Bytes => "a number of bytes",
            Self::Rate => "a rate",
        }
    }

    /// Reads `text` as this quantity, in its integer unit.
    ///
    /// # Errors
    /// When there is no number, no unit, a unit of another quantity, or when the value is not a
    /// whole number of the integer unit or does not fit.
    pub fn read(self, text: &str) -> Result<u64, ParseError> {
        let fail = |cause| ParseError { quantity: self, cause };
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
        let (number, unit) = (&text[..end], text[end..].trim());
        if text.starts_with('-') {
            return Err(fail(Cause::Negative));
        }
        if number.is_empty() {
            return Err(fail(Cause::NoNumber));
        }
        if unit.is_empty() {
            return Err(fail(Cause::NoUnit));
        }
        let Some(&(_, size)) = self.units().iter().find(|(name, _)| *name == unit) else {
            if let Some(cause) = self.factor_of_eight(number, unit) {
                return Err(fail(cause));
            }
            let known = |q: Self| q.units().iter().any(|(name, _)| *name == unit);
            let other = [Self::Time, Self::Bytes, Self::Rate].into_iter().find(|&q| known(q));
            let near = self.units().iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
            return Err(fail(match (other, near) {
                (Some(other), _) => Cause::OtherQuantity(other),
                (None, Some(&(name, _))) => Cause::Spelling(name),
                (None, None) => Cause::UnknownUnit,
            }));
        };
        scaled(number, size).map_err(fail)
    }
}

impl Quantity {
    /// Returns the error for bits and bytes mixed up: `12.5GBps` or `12.5GB/s` for a rate, `600Kb` or
    /// `600Kbit` for an amount.
    fn factor_of_eight(self, number: &str, unit: &str) -> Option<Cause> {
        const PREFIXES: [(&str, u64); 10] = [
            ("", 1),
            ("K", 1_000),
            ("k", 1_000),
            ("M", 1_000_000),
            ("G", 1_000_000_000),
            ("T", 1_000_000_000_000),
            ("Ki", 1 << 10),
            ("Mi", 1 << 20),
            ("Gi", 1 << 30),
            ("Ti", 1 << 40),
        ];
        let size = |endings: &[&str]| {
            let prefix = endings.iter().find_map(|ending| unit.strip_suffix(ending))?;
            PREFIXES.iter().find(|(name, _)| *name == prefix).map(|(_, size)| *size)
        };
        match self {
            Self::Rate => {
                let size = size(&["Bps", "B/s"])?;
                let value = scaled(number, size.checked_mul(8)?).ok()?;
                Some(Cause::BytesPerSecond(Rate(value)))
            }
            Self::Bytes => {
                let size = size(&["bit", "bits", "b"])?;
                let value = scaled(number, size).ok()?;
                Some(Cause::Bits(Bytes(value / 8), value.is_multiple_of(8)))
            }
            Self::Time => None,
        }
    }
}

/// `number` (decimal digits with at most one point) times `size`, exactly.
fn scaled(number: &str, size: u64) -> Result<u64, Cause> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return Err(Cause::NoNumber);
    }
    let mut value = 0_u64;
    for digit in whole.bytes().filter(u8::is_ascii_digit) {
        value = value
            .checked_mul(10)
            .and_then(|v| v.checked_add(u64::from(digit - b'0')))
            .ok_or(Cause::TooLarge)?;
    }
    let value = value.checked_mul(size).ok_or(Cause::TooLarge)?;
    let (mut numerator, mut denominator) = (0_u64, 1_u64);
    for digit in fraction.trim_end_matches('0').bytes().filter(u8::is_ascii_digit) {
        // More digits than fit in 64 bits are finer than any unit's integer step.
        numerator = numerator
            .checked_mul(10)
            .and_then(|n| n.checked_add(u64::from(digit - b'0')))
            .ok_or(Cause::TooFine)?;
        denominator = denominator.checked_mul(10).ok_or(Cause::TooFine)?;
    }
    let part = mul_div(numerator, size, denominator);
    // The remainder is smaller than the denominator, so comparing modulo 2^64 is exact.
    if part.wrapping_mul(denominator) != numerator.wrapping_mul(size) {
        return Err(Cause::TooFine);
    }
    value.checked_add(part).ok_or(Cause::TooLarge)
}

/// Reason for which a text is not a quantity. Its `Display` gives what would be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseError {
    quantity: Quantity,
    cause: Cause,
}

impl ParseError {
    /// The quantity that was expected.
    #[must_use]
    pub const fn expected(&self) -> Quantity {
        self.quantity
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Negative,
    NoNumber,
    NoUnit,
    UnknownUnit,
    Spelling(&'static str),
    /// A rate in bytes per second; the same in bits.
    BytesPerSecond(Rate),
    /// An amount in bits; the same in bytes, and whether it is a whole number of them.
    Bits(Bytes, bool),
    OtherQuantity(Quantity),
    TooFine,
    TooLarge,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (noun, example) = (self.quantity.noun(), self.quantity.example());
        match self.cause {
            Cause::Negative => write!(f, "{noun} cannot be negative; write it like \"{example}\""),
            Cause::NoNumber => write!(f, "{noun} starts with a number, like \"{example}\""),
            Cause::NoUnit => write!(f, "{noun} needs its unit, like \"{example}\""),
            Cause::UnknownUnit => {
                write!(f, "unknown unit for {noun}; use one of")?;
                for (i, (name, _)) in self.quantity.units().iter().enumerate() {
                    write!(f, "{}{name}", if i == 0 { " " } else { ", " })?;
                }
                Ok(())
            }
            Cause::Spelling(name) => write!(f, "the unit is written \"{name}\", like \"{example}\""),
            Cause::BytesPerSecond(rate) => write!(f, "that is in bytes per second; write \"{rate}\""),
            Cause::Bits(bytes, true) => write!(f, "that is in bits; write \"{bytes}\""),
            Cause::Bits(_, false) => {
                write!(f, "that is in bits, and not a whole number of bytes; write {noun} like \"{example}\"")
            }
            Cause::OtherQuantity(other) => {
                write!(f, "that is {}; expected {noun}, like \"{example}\"", other.noun())
            }
            Cause::TooFine => {
                let (name, _) = self.quantity.units()[0];
                write!(f, "finer than 1 {name}, the smallest step of {noun}")
            }
            Cause::TooLarge => write!(f, "too large for {noun}"),
        }
    }
}

impl core::error::Error for ParseError {}

/// Prints `value` in the largest of `units` that it reaches, with all the decimals that it has, so
/// that what is printed reads back as the same value. The units' sizes are powers of 1000.
fn print(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let reached = units.iter().rev().find(|(_, size)| value >= *size);
    let (name, size) = reached.or(units.first()).copied().unwrap_or(("", 1));
    let (whole, mut fraction) = (value / size, value % size);
    if fraction == 0 {
        return write!(f, "{whole}{name}");
    }
    let mut width = size.ilog10() as usize;
    while fraction.is_multiple_of(10) {
        fraction /= 10;
        width -= 1;
    }
    write!(f, "{whole}.{fraction:0width$}{name}")
}

macro_rules! text {
    ($name:ident, $quantity:expr) => {
        impl FromStr for $name {
            type Err = ParseError;
            fn from_str(text: &str) -> Result<Self, ParseError> {
                $quantity.read(text).map(Self)
            }
        }
    };
}

text!(Time, Quantity::Time);
text!(Bytes, Quantity::Bytes);
text!(Rate, Quantity::Rate);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER {
            return f.write_str("never");
        }
        print(f, self.0, Quantity::Time.units())
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::UNLIMITED {
            return f.write_str("unlimited");
        }
        let decimal =
            [("B", 1), ("KB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000)];
        let binary = [("KiB", 1_u64 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];
        // A whole number of a binary unit that is no short decimal was written in binary.
        if let Some((name, size)) =
            binary.iter().rev().find(|(_, size)| self.0 >= *size && self.0.is_multiple_of(*size))
            && !self.0.is_multiple_of(1000)
        {
            return write!(f, "{}{name}", self.0 / size);
        }
        print(f, self.0, &decimal)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self.0, Quantity::Rate.units())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn reads_what_people_write() {
        assert_eq!("100Gbps".parse(), Ok(Rate::from_gbps(100)));
        assert_eq!("2.5 Gbps".parse(), Ok(Rate::from_mbps(2_500)));
        assert_eq!("12us".parse(), Ok(Time::from_us(12)));
        assert_eq!("0.5us".parse(), Ok(Time::from_ns(500)));
        assert_eq!("1.0s".parse(), Ok(Time::from_s(1)));
        assert_eq!("32MB".parse(), Ok(Bytes::new(32_000_000)));
        assert_eq!("32MiB".parse(), Ok(Bytes::new(32 << 20)));
        assert_eq!("1.5KiB".parse(), Ok(Bytes::new(1536)));
        assert_eq!("1_000B".parse(), Ok(Bytes::new(1000)));
        assert_eq!("0.75KiB".parse(), Ok(Bytes::new(768)));
    }

    #[test]
    fn says_what_would_be_right() {
        let message = |r: Result<u64, ParseError>| r.unwrap_err().to_string();
        assert_eq!(message(Quantity::Time.read("12")), "a time needs its unit, like \"12us\"");
        assert_eq!(
            message(Quantity::Time.read("-12us")),
            "a time cannot be negative; write it like \"12us\""
        );
        assert_eq!(message(Quantity::Rate.read("fast")), "a rate starts with a number, like \"100Gbps\"");
        assert_eq!(message(Quantity::Rate.read("100gbps")), "the unit is written \"Gbps\", like \"100Gbps\"");
        // A factor of 8 between what is written and what the nearest unit would mean: 12.5 GB/s are
        // 12.5 · 8 = 100 Gbit/s, 600 kbit are 600 / 8 = 75 KB.
        for text in ["12.5GBps", "12.5 GB/s"] {
            assert_eq!(message(Quantity::Rate.read(text)), "that is in bytes per second; write \"100Gbps\"");
        }
        for text in ["600Kb", "600kb", "600 Kbit"] {
            assert_eq!(message(Quantity::Bytes.read(text)), "that is in bits; write \"75KB\"");
        }
        assert_eq!(message(Quantity::Bytes.read("1Mib")), "that is in bits; write \"128KiB\"");
        assert!(
            message(Quantity::Bytes.read("12b"))
                .starts_with("that is in bits, and not a whole number of bytes")
        );
        assert_eq!(
            message(Quantity::Bytes.read("12us")),
            "that is a time; expected a number of bytes, like \"32MB\""
        );
        assert_eq!(
            message(Quantity::Time.read("3 parsecs")),
            "unknown unit for a time; use one of ps, ns, us, ms, s"
        );
        assert_eq!(message(Quantity::Time.read("0.0001ns")), "finer than 1 ps, the smallest step of a time");
        assert_eq!(message(Quantity::Time.read("99999999999s")), "too large for a time");
        assert_eq!(message(Quantity::Time.read("1.2.3us")), "a time starts with a number, like \"12us\"");
    }

    #[test]
    fn what_is_printed_reads_back() {
        for value in [0, 1, 999, 1_000, 1_500, 12_000_000, 12_180_000, 1_234_567, 3 * PS_PER_SECOND + 1] {
            let (t, b, r) = (Time(value), Bytes(value), Rate(value));
            assert_eq!(t.to_string().parse(), Ok(t), "{t}");
            assert_eq!(b.to_string().parse(), Ok(b), "{b}");
            assert_eq!(r.to_string().parse(), Ok(r), "{r}");
        }
        assert_eq!(Time::from_ps(12_180_000).to_string(), "12.18us");
        assert_eq!(Time::from_ps(29_638_880).to_string(), "29.63888us");
        assert_eq!(Bytes::new(32 << 20).to_string(), "32MiB");
        assert_eq!(Bytes::new(150_000).to_string(), "150KB");
        assert_eq!(Rate::from_gbps(100).to_string(), "100Gbps");
        assert_eq!(Rate::from_mbps(2500).to_string(), "2.5Gbps");
    }
}
