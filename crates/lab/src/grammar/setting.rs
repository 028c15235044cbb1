//! The values of a scenario: how each type is read, checked, written back and described.

use core::fmt::Display;
use core::str::FromStr;

use incast_cc::Fixed;
use incast_units::{Bytes, ParseError, Quantity, Rate, Time};

use super::reading::Reading;
use super::section::KeyInfo;
use super::tree::{Node, Value};
use super::write::Out;

/// Values that a key accepts.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Count,
    /// A number without dimension.
    Ratio,
    /// A quantity with its unit, as a text.
    Quantity(Quantity),
    /// A text; what it means.
    Text(&'static str),
    /// One of these words, each with its meaning.
    Choice(Vec<(&'static str, &'static str)>),
    /// Any of these.
    Either(Vec<Self>),
    /// A list of such values.
    List(Box<Self>),
    /// A table with these keys.
    Table(Vec<KeyInfo>),
    /// A table whose keys depend on its first key, called as given here; one entry per variant.
    Variants(&'static str, Vec<super::section::Entry>),
    /// An algorithm with its parameters.
    Algorithm,
}

impl Shape {
    /// Describes how to write a value at `path`, for a key that is missing.
    pub(crate) fn wanted(&self, path: &str) -> String {
        match self {
            Self::Table(_) | Self::Variants(..) | Self::Algorithm => format!("a section [{path}]"),
            Self::List(of) if matches!(**of, Self::Variants(..)) => {
                format!("blocks [[{path}]], each with its kind")
            }
            _ => self.noun(),
        }
    }

    /// The description of such a value in messages: `a time like "12us"`.
    #[must_use]
    pub fn noun(&self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Count => "a whole number".to_owned(),
            Self::Ratio => "a number".to_owned(),
            Self::Quantity(quantity) => format!("{} like \"{}\"", quantity.noun(), quantity.example()),
            Self::Text(meaning) => (*meaning).to_owned(),
            Self::Choice(words) => {
                words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ")
            }
            Self::Either(shapes) => shapes.iter().map(Self::noun).collect::<Vec<_>>().join(" or "),
            Self::List(of) => match &**of {
                Self::Table(keys) => {
                    let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
                    format!("a list, each entry a table with the keys {}", names.join(", "))
                }
                other => format!("a list, each entry {}", other.noun()),
            },
            Self::Table(_) | Self::Variants(..) => "a table".to_owned(),
            Self::Algorithm => "a table with an algorithm and its parameters".to_owned(),
        }
    }
}

/// The range of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Any value of the type.
    Any,
    /// More than zero.
    Positive,
    /// A whole number from the first to the second, both allowed.
    Count(u64, u64),
    /// A number from the first to the second, both allowed.
    Ratio(Fixed, Fixed),
    /// More than the first, less than the second.
    Between(Fixed, Fixed),
}

impl Display for Bound {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Any => f.write_str("anything"),
            Self::Positive => f.write_str("more than zero"),
            Self::Count(low, u64::MAX) => write!(f, "at least {low}"),
            Self::Count(low, high) => write!(f, "{low} to {high}"),
            Self::Ratio(low, high) if *high == Fixed::MAX => write!(f, "at least {}", write_decimal(*low)),
            Self::Ratio(low, high) => write!(f, "{} to {}", write_decimal(*low), write_decimal(*high)),
            Self::Between(low, high) => {
                write!(f, "more than {} and less than {}", write_decimal(*low), write_decimal(*high))
            }
        }
    }
}

/// A type that a key of a scenario can have.
pub(crate) trait Setting: Sized {
    /// Returns the values that it accepts.
    fn shape() -> Shape;

    /// Summary and keys of a type that is a section.
    fn section() -> Option<(String, Vec<KeyInfo>)> {
        None
    }

    /// Reads it; `key` is its path, for messages. `None` after a problem was reported.
    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self>;

    /// Writes the value so that it reads back as the same value; `None` to leave the key out.
    fn write(&self) -> Option<Out>;

    /// Whether it is within a bound.
    fn within(&self, _bound: Bound) -> bool {
        true
    }

    /// Of a list the first element that is not.
    fn first_outside(&self, _bound: Bound) -> Option<usize> {
        None
    }
}

/// Reports that `node` is not a `T`.
pub(crate) fn wrong_type<T: Setting>(node: &Node, key: &str, reading: &mut Reading) -> Option<T> {
    let message = format!("{} does not belong here; write {}", node.value.shown(), T::shape().noun());
    reading.wrong(node.place, key, message);
    None
}

fn quantity<T: FromStr<Err = ParseError> + Setting>(
    node: &Node,
    key: &str,
    reading: &mut Reading,
) -> Option<T> {
    let text = match &node.value {
        Value::Text(text) | Value::Decimal(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        _ => return wrong_type(node, key, reading),
    };
    match text.parse() {
        Ok(value) => Some(value),
        Err(error) => {
            reading.wrong(node.place, key, format!("{}: {error}", node.value.shown()));
            None
        }
    }
}

macro_rules! quantities {
    ($($type:ident),+) => {$(
        impl Setting for $type {
            fn shape() -> Shape {
                Shape::Quantity(Quantity::$type)
            }

            fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
                quantity(node, key, reading)
            }

            fn write(&self) -> Option<Out> {
                Some(Out::text(self))
            }

            fn within(&self, bound: Bound) -> bool {
                bound != Bound::Positive || *self > Self::ZERO
            }
        }
    )+};
}

quantities!(Time, Bytes, Rate);

/// A count as a message shows it.
fn count<T: TryFrom<i128> + Setting>(
    node: &Node,
    key: &str,
    most: &dyn Display,
    reading: &mut Reading,
) -> Option<T> {
    match &node.value {
        Value::Integer(number) => match T::try_from(*number) {
            Ok(value) => Some(value),
            Err(_) => {
                let wrong = match *number < 0 {
                    true => "less than zero".to_owned(),
                    false => format!("too large; the largest is {most}"),
                };
                reading.wrong(node.place, key, format!("{number} is {wrong}"));
                None
            }
        },
        _ => wrong_type(node, key, reading),
    }
}

macro_rules! counts {
    ($($type:ty),+) => {$(
        impl Setting for $type {
            fn shape() -> Shape {
                Shape::Count
            }

            fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
                // TOML's own integers end at 2^63 - 1.
                count(node, key, &u64::from(Self::MAX).min(i64::MAX as u64), reading)
            }

            fn write(&self) -> Option<Out> {
                Some(Out::plain(self))
            }

            fn within(&self, bound: Bound) -> bool {
                let value = u64::from(*self);
                match bound {
                    Bound::Count(low, high) => low <= value && value <= high,
                    Bound::Positive => value > 0,
                    _ => true,
                }
            }
        }
    )+};
}

counts!(u8, u16, u32, u64);

impl Setting for bool {
    fn shape() -> Shape {
        Shape::Flag
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        match node.value {
            Value::Flag(flag) => Some(flag),
            _ => wrong_type(node, key, reading),
        }
    }

    fn write(&self) -> Option<Out> {
        Some(Out::plain(self))
    }
}

impl Setting for String {
    fn shape() -> Shape {
        Shape::Text("a string")
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        match &node.value {
            Value::Text(text) => Some(text.clone()),
            _ => wrong_type(node, key, reading),
        }
    }

    fn write(&self) -> Option<Out> {
        Some(Out::text(self))
    }
}

impl Setting for Fixed {
    fn shape() -> Shape {
        Shape::Ratio
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        let text = match &node.value {
            Value::Integer(number) => number.to_string(),
            Value::Decimal(text) => text.clone(),
            _ => return wrong_type(node, key, reading),
        };
        match read_decimal(&text) {
            Ok(value) => Some(value),
            Err(message) => {
                reading.wrong(node.place, key, format!("{text} {message}"));
                None
            }
        }
    }

    fn write(&self) -> Option<Out> {
        Some(Out::plain(&write_decimal(*self)))
    }

    fn within(&self, bound: Bound) -> bool {
        match bound {
            Bound::Positive => *self > Self::ZERO,
            Bound::Ratio(low, high) => low <= *self && *self <= high,
            Bound::Between(low, high) => low < *self && *self < high,
            _ => true,
        }
    }
}

impl<T: Setting> Setting for Option<T> {
    fn shape() -> Shape {
        T::shape()
    }

    fn section() -> Option<(String, Vec<KeyInfo>)> {
        T::section()
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        // `pfc = false` is how an override takes a section away.
        if matches!((&node.value, T::shape()), (Value::Flag(false), Shape::Table(_))) {
            return Some(None);
        }
        T::read(node, key, reading).map(Some)
    }

    fn write(&self) -> Option<Out> {
        self.as_ref()?.write()
    }

    fn within(&self, bound: Bound) -> bool {
        self.as_ref().is_none_or(|value| value.within(bound))
    }
}

impl<T: Setting> Setting for Vec<T> {
    fn shape() -> Shape {
        Shape::List(Box::new(T::shape()))
    }

    fn section() -> Option<(String, Vec<KeyInfo>)> {
        T::section()
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        let Value::List(items) = &node.value else { return wrong_type(node, key, reading) };
        // Every element is read, so that all problems are found, before the result is judged.
        let read: Vec<Option<T>> = items
            .iter()
            .enumerate()
            .map(|(i, item)| {
                let step = item.name().map_or_else(|| i.to_string(), str::to_owned);
                let key = format!("{key}.{step}");
                reading.places.insert(key.clone(), item.place);
                T::read(item, &key, reading)
            })
            .collect();
        read.into_iter().collect()
    }

    fn write(&self) -> Option<Out> {
        Some(Out::List(self.iter().filter_map(T::write).collect()))
    }

    fn within(&self, bound: Bound) -> bool {
        self.first_outside(bound).is_none()
    }

    fn first_outside(&self, bound: Bound) -> Option<usize> {
        self.iter().position(|value| !value.within(bound))
    }
}

/// A value that may be computed automatically, written `"auto"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Auto<T>(pub(crate) Option<T>);

impl<T> From<Option<T>> for Auto<T> {
    fn from(value: Option<T>) -> Self {
        Self(value)
    }
}

impl<T> From<Auto<T>> for Option<T> {
    fn from(Auto(value): Auto<T>) -> Self {
        value
    }
}

impl<T: Setting> Setting for Auto<T> {
    fn shape() -> Shape {
        Shape::Either(vec![T::shape(), Shape::Choice(vec![("auto", "computed")])])
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text == "auto" => Some(Self(None)),
            _ => T::read(node, key, reading).map(|value| Self(Some(value))),
        }
    }

    fn write(&self) -> Option<Out> {
        self.0.as_ref().map_or_else(|| Some(Out::text(&"auto")), T::write)
    }

    fn within(&self, bound: Bound) -> bool {
        self.0.as_ref().is_none_or(|value| value.within(bound))
    }
}

/// Reads a decimal number exactly, rounded down to the resolution of [`Fixed`].
fn read_decimal(text: &str) -> Result<Fixed, &'static str> {
    const DIGITS: &str = "has more digits than a number can hold";
    const LARGE: &str = "is too large; the largest number is 2147483647";
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| "is not a number")?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let mut digits = 0_u128;
    for digit in whole.chars().chain(fraction.chars()) {
        let digit = digit.to_digit(10).ok_or("is not a number")?;
        digits = digits * 10 + u128::from(digit);
        if digits >= 10_u128.pow(28) {
            return Err(DIGITS);
        }
    }
    let scale = i64::from(exponent) - fraction.len() as i64;
    let bits = if digits == 0 {
        0
    } else if scale >= 0 {
        let factor = u32::try_from(scale).ok().and_then(|s| 10_u128.checked_pow(s)).ok_or(LARGE)?;
        digits.checked_mul(factor).and_then(|value| value.checked_mul(1 << 32)).ok_or(LARGE)?
    } else {
        let divisor = u32::try_from(-scale).ok().and_then(|s| 10_u128.checked_pow(s));
        divisor.map_or(0, |divisor| (digits << 32) / divisor)
    };
    if digits != 0 && bits == 0 {
        return Err("is too small; the smallest step of a number is 2^-32, about 2.3e-10");
    }
    let bits = i64::try_from(bits).map_err(|_| LARGE)?;
    Ok(Fixed::from_bits(if negative { -bits } else { bits }))
}

/// The shortest decimal that reads back as `value`.
pub(crate) fn write_decimal(value: Fixed) -> String {
    let magnitude = u128::from(value.bits().unsigned_abs());
    let sign = if value.is_negative() { "-" } else { "" };
    // Ten digits resolve 2^-32, so the search always ends.
    for width in 1_usize..=10 {
        let power = 10_u128.pow(width as u32);
        let scaled = (magnitude * power).div_ceil(1 << 32);
        if (scaled << 32) / power == magnitude {
            return format!("{sign}{}.{:0width$}", scaled / power, scaled % power);
        }
    }
    format!("{sign}{value}")
}

/// A number as the decimal that scenario files have for it.
pub(crate) fn decimal(value: Fixed) -> f64 {
    write_decimal(value).parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_exactly() {
        assert_eq!(read_decimal("0.2"), Ok(Fixed::ratio(1, 5)));
        assert_eq!(read_decimal("1e-3"), Ok(Fixed::ratio(1, 1000)));
        assert_eq!(read_decimal("-1.50"), Ok(-Fixed::ratio(3, 2)));
        assert_eq!(read_decimal("+25e2"), Ok(Fixed::whole(2500)));
        assert_eq!(read_decimal("0"), Ok(Fixed::ZERO));
        for text in ["inf", "nan", "1e99", "3000000000", "1e-30", "0.00000000000000000000000000000001"] {
            assert!(read_decimal(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_shortest_decimal_reads_back() {
        let mut bits = 1_i64;
        for i in 0..2000_i64 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i);
            for value in [Fixed::from_bits(bits), Fixed::from_bits(bits >> 31), Fixed::ratio(i as u64, 1000)]
            {
                assert_eq!(read_decimal(&write_decimal(value)), Ok(value), "{}", write_decimal(value));
            }
        }
        assert_eq!(write_decimal(Fixed::ratio(1, 5)), "0.2");
        assert_eq!(write_decimal(Fixed::ratio(1, 256)), "0.00390625");
        assert_eq!(write_decimal(-Fixed::whole(3)), "-3.0");
    }
}
