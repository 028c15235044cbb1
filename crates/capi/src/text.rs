//! Values of parameters as text: with units, as in scenario files.

use core::fmt::{self, Display};
use core::num::{IntErrorKind, ParseIntError};

use incast_cc::Fixed;
use incast_cc::params::{Kind, Value};
use incast_units::math::shift_div;
use incast_units::{Bytes, ParseError, Rate, Time};

const NEVER: &str = "never";
const UNLIMITED: &str = "unlimited";

/// No limit, in bits per second.
const ANY_RATE: Rate = Rate::from_bps(u64::MAX);

/// Reason for which a text is not accepted as the value of a parameter. As text it gives the accepted values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is no quantity of this kind.
    Quantity(ParseError),
    /// It is no number; with what is wrong.
    Number(&'static str),
    /// It is none of these words.
    Word(&'static [&'static str]),
    /// It is a value out of this range.
    Range(Kind),
}

/// Reads a value of this kind.
pub(crate) fn read(kind: Kind, text: &str) -> Result<Value, Refusal> {
    let text = text.trim();
    let word = |words: &'static [&'static str]| {
        words.iter().position(|word| *word == text).ok_or(Refusal::Word(words))
    };
    let value = match kind {
        Kind::Time(..) if text == NEVER => Value::Time(Time::NEVER),
        Kind::Time(..) => Value::Time(text.parse().map_err(Refusal::Quantity)?),
        Kind::Bytes(..) if text == UNLIMITED => Value::Bytes(Bytes::UNLIMITED),
        Kind::Bytes(..) => Value::Bytes(text.parse().map_err(Refusal::Quantity)?),
        Kind::Rate(..) if text == UNLIMITED => Value::Rate(ANY_RATE),
        Kind::Rate(..) => Value::Rate(text.parse().map_err(Refusal::Quantity)?),
        Kind::Ratio(..) => Value::Ratio(decimal(kind, text)?),
        Kind::Count(..) => Value::Count(whole(kind, text)?),
        Kind::Flag => Value::Flag(word(&["false", "true"])? == 1),
        Kind::Choice(words) => Value::Choice(word(words)?),
    };
    if kind.admits(value) { Ok(value) } else { Err(Refusal::Range(kind)) }
}

/// A whole number for a parameter of this kind.
fn whole(kind: Kind, text: &str) -> Result<u64, Refusal> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => Refusal::Range(kind),
        _ => Refusal::Number("a whole number is expected, like \"5\""),
    })
}

/// A decimal number, rounded down to the resolution of [`Fixed`].
fn decimal(kind: Kind, text: &str) -> Result<Fixed, Refusal> {
    /// A power of ten beyond which the digits of a fraction do not fit.
    const DIGITS: usize = 19;
    let no_number = Refusal::Number("a number is expected, like \"1.5\"");
    let (negative, magnitude) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return Err(no_number);
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > DIGITS {
        return Err(Refusal::Number("the number has more digits than can be told apart"));
    }
    let whole: u64 = whole.parse().map_err(|_| Refusal::Range(kind))?;
    if whole >= 1 << 31 {
        return Err(Refusal::Range(kind));
    }
    // Below 2^32, as the numerator is below the denominator.
    let numerator = fraction.bytes().fold(0_u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let part = shift_div(numerator, 10_u64.pow(fraction.len() as u32));
    if whole == 0 && numerator != 0 && part == 0 {
        return Err(Refusal::Number("the number is too small; the smallest step is 2^-32, about 2.3e-10"));
    }
    let value = Fixed::whole(whole) + Fixed::from_bits(part.cast_signed());
    Ok(if negative { -value } else { value })
}

impl Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantity(error) => error.fmt(f),
            Self::Number(message) => f.write_str(message),
            Self::Word(words) => write!(f, "expected is one of: {}", List(words)),
            Self::Range(kind) => write!(f, "out of range: allowed is {}", Range(*kind)),
        }
    }
}

/// A value as text that [`read`] reads back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    pub(crate) value: Value,
    /// The words of a choice. A choice without its words is the place of its word.
    pub(crate) words: &'static [&'static str],
}

impl Shown {
    /// The value of a parameter of this kind.
    pub(crate) fn new(kind: Kind, value: Value) -> Self {
        Self { value, words: if let Kind::Choice(words) = kind { words } else { &[] } }
    }
}

impl From<Value> for Shown {
    fn from(value: Value) -> Self {
        Self { value, words: &[] }
    }
}

impl Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Value::Time(time) => time.fmt(f),
            Value::Bytes(bytes) => bytes.fmt(f),
            Value::Rate(rate) if rate == ANY_RATE => f.write_str(UNLIMITED),
            Value::Rate(rate) => rate.fmt(f),
            Value::Ratio(ratio) => Decimal(ratio).fmt(f),
            Value::Count(count) => count.fmt(f),
            Value::Flag(flag) => flag.fmt(f),
            Value::Choice(place) => match self.words.get(place) {
                Some(word) => f.write_str(word),
                None => place.fmt(f),
            },
        }
    }
}

/// The range of a parameter, for people: `0ps to 10ms`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range(pub(crate) Kind);

impl Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high, endless) = match self.0 {
            Kind::Time(low, high) => (Value::Time(low), Value::Time(high), high == Time::NEVER),
            Kind::Bytes(low, high) => (Value::Bytes(low), Value::Bytes(high), high == Bytes::UNLIMITED),
            Kind::Rate(low, high) => (Value::Rate(low), Value::Rate(high), high == ANY_RATE),
            Kind::Ratio(low, high) => (Value::Ratio(low), Value::Ratio(high), high == Fixed::MAX),
            Kind::Count(low, high) => (Value::Count(low), Value::Count(high), high == u64::MAX),
            Kind::Flag => return f.write_str("true or false"),
            Kind::Choice(words) => return List(words).fmt(f),
        };
        write!(f, "{} to ", Shown::from(low))?;
        if endless { f.write_str("no limit") } else { Shown::from(high).fmt(f) }
    }
}

/// Words, one after another.
struct List(&'static [&'static str]);

impl Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, word) in self.0.iter().enumerate() {
            write!(f, "{}{word}", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// The shortest decimal that reads back as this number.
struct Decimal(Fixed);

impl Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = u128::from(self.0.bits().unsigned_abs());
        let sign = if self.0.is_negative() { "-" } else { "" };
        // Ten digits resolve 2^-32, so one of these reads back.
        for width in 0..=10_usize {
            let power = 10_u128.pow(width as u32);
            let scaled = (bits * power).div_ceil(1 << 32);
            if (scaled << 32) / power == bits {
                let (whole, fraction) = (scaled / power, scaled % power);
                return match width {
                    0 => write!(f, "{sign}{whole}"),
                    _ => write!(f, "{sign}{whole}.{fraction:0width$}"),
                };
            }
        }
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    const RATIO: Kind = Kind::Ratio(Fixed::MIN, Fixed::MAX);

    fn ratio(text: &str) -> Result<Value, Refusal> {
        read(RATIO, text)
    }

    #[test]
    fn decimals_are_read_exactly() {
        let values = [
            ("0.2", Fixed::ratio(1, 5)),
            ("-1.50", -Fixed::ratio(3, 2)),
            ("0", Fixed::ZERO),
            ("0.000000000000000000000", Fixed::ZERO),
            ("2147483647", Fixed::whole(2_147_483_647)),
            // 2^-32 = 0.00000000023283064365386962890625: above it reads as one step, below as none.
            ("0.0000000002328306437", Fixed::from_bits(1)),
            // All digits that there is room for.
            ("0.9999999999999999999", Fixed::from_bits((1 << 32) - 1)),
        ];
        for (text, value) in values {
            assert_eq!(ratio(text), Ok(Value::Ratio(value)), "{text}");
        }
        let none = ["", ".", "1.", ".5", "1e3", "+1", "--1", "1.2.3", "1,5", "inf"];
        for text in none.into_iter().chain(["0.0000000002328306436", "0.12345678901234567890123"]) {
            assert!(matches!(ratio(text), Err(Refusal::Number(_))), "{text}: {:?}", ratio(text));
        }
        for text in ["2147483648", "99999999999999999999999"] {
            assert_eq!(ratio(text), Err(Refusal::Range(RATIO)), "{text}");
        }
    }

    #[test]
    fn the_shortest_decimal_reads_back() {
        let mut bits = 1_i64;
        for i in 0..2000_i64 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i);
            for value in [Fixed::from_bits(bits), Fixed::from_bits(bits >> 31), Fixed::ratio(i as u64, 1000)]
            {
                let text = Decimal(value).to_string();
                assert_eq!(ratio(&text), Ok(Value::Ratio(value)), "{text}");
            }
        }
        assert_eq!(Decimal(Fixed::ratio(1, 5)).to_string(), "0.2");
        assert_eq!(Decimal(Fixed::ratio(1, 256)).to_string(), "0.00390625");
        assert_eq!(Decimal(-Fixed::whole(3)).to_string(), "-3");
    }

    #[test]
    fn both_ends_of_a_range_are_read_and_nothing_beyond() {
        let us = Time::from_us;
        let kinds = [
            (Kind::Time(us(3), us(5)), "3us", "5us", "2.9us", "5.1us"),
            (Kind::Bytes(Bytes::new(3), Bytes::new(5)), "3B", "5B", "2B", "6B"),
            (Kind::Rate(Rate::from_mbps(3), Rate::from_mbps(5)), "3Mbps", "5Mbps", "2Mbps", "unlimited"),
            (Kind::Ratio(Fixed::whole(3), Fixed::whole(5)), "3", "5", "2.9", "5.1"),
            (Kind::Count(3, 5), "3", "5", "2", "99999999999999999999"),
        ];
        for (kind, low, high, below, above) in kinds {
            for text in [low, high] {
                assert_eq!(Shown::from(read(kind, text).unwrap()).to_string(), text);
            }
            for text in [below, above] {
                assert_eq!(read(kind, text), Err(Refusal::Range(kind)), "{text}");
            }
        }
    }

    #[test]
    fn no_limit_has_a_word() {
        let kinds = [
            (Kind::Time(Time::ZERO, Time::NEVER), "never", "0ps to no limit"),
            (Kind::Bytes(Bytes::ZERO, Bytes::UNLIMITED), "unlimited", "0B to no limit"),
            (Kind::Rate(Rate::ZERO, ANY_RATE), "unlimited", "0bps to no limit"),
        ];
        for (kind, word, range) in kinds {
            assert_eq!(Shown::from(read(kind, word).unwrap()).to_string(), word);
            assert_eq!(Range(kind).to_string(), range);
        }
    }

    #[test]
    fn refusals_say_what_would_be_right() {
        let why = |kind, text| read(kind, text).unwrap_err().to_string();
        let time = Kind::Time(Time::ZERO, Time::from_ms(10));
        assert_eq!(why(time, "12"), "a time needs its unit, like \"12us\"");
        assert_eq!(why(time, "1s"), "out of range: allowed is 0ps to 10ms");
        assert_eq!(why(Kind::Count(1, 5), "two"), "a whole number is expected, like \"5\"");
        assert_eq!(why(RATIO, "half"), "a number is expected, like \"1.5\"");
        assert_eq!(why(Kind::Flag, "yes"), "expected is one of: false, true");
        let words = Kind::Choice(&["none", "bdp"]);
        assert_eq!(why(words, "rate"), "expected is one of: none, bdp");
        assert_eq!(read(words, "bdp"), Ok(Value::Choice(1)));
        assert_eq!(Shown::new(words, Value::Choice(1)).to_string(), "bdp");
        assert_eq!(Shown::from(Value::Choice(1)).to_string(), "1");
        assert_eq!(read(Kind::Flag, " true "), Ok(Value::Flag(true)));
    }
}
