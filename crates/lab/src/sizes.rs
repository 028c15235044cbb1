//! Flow sizes: cumulative distributions with linear interpolation, built in or from a user's file.
//!
//! A distribution is a list of points (size, share of the flows that are no larger). Between two
//! points the sizes are uniform. Two points with the same size are a step: that share of the flows
//! has exactly this size. Two points with the same share are a gap: no flow is between the two.
//!
//! All arithmetic is on integers, so that a draw gives the same size on every machine.

use incast_units::Bytes;
use incast_units::math::{mul_div, mul_wide};

use crate::problem::Problem;

/// Size of the smallest frame of Ethernet; hardly any workload has mostly messages below it.
const SMALLEST_FRAME: Bytes = Bytes::new(64);

/// Shares are counted in parts of this many: a percentage has 16 decimals.
const WHOLE: u64 = 1_000_000_000_000_000_000;

/// A distribution that comes with the lab.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence of meaning.
    pub meaning: &'static str,
    /// Source of its points.
    pub source: &'static str,
    /// Size in bytes and cumulative share in ten-thousandths (hundredths of a percent).
    points: &'static [(u64, u64)],
}

/// The distributions that come with the lab.
pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: "WebSearch",
        meaning: "a web search cluster: many flows above 1 MB; mean 1.71 MB",
        source: "Alizadeh et al., DCTCP, SIGCOMM 2010; points as in the public artifact of HPCC, SIGCOMM 2019",
        points: &[
            (0, 0),
            (10_000, 1500),
            (20_000, 2000),
            (30_000, 3000),
            (50_000, 4000),
            (80_000, 5300),
            (200_000, 6000),
            (1_000_000, 7000),
            (2_000_000, 8000),
            (5_000_000, 9000),
            (10_000_000, 9700),
            (30_000_000, 10_000),
        ],
    },
    BuiltIn {
        name: "Hadoop",
        meaning: "Facebook's Hadoop clusters: most flows below 1 KB; mean 120 KB",
        source: "Roy et al., SIGCOMM 2015; points (FbHdp) as in the public artifact of HPCC, SIGCOMM 2019",
        points: &[
            (0, 0),
            (100, 100),
            (200, 200),
            (300, 500),
            (350, 1500),
            (400, 2000),
            (500, 3000),
            (600, 4000),
            (700, 5000),
            (1_000, 6000),
            (2_000, 6700),
            (7_000, 7000),
            (30_000, 7200),
            (50_000, 8200),
            (80_000, 8700),
            (120_000, 9000),
            (300_000, 9500),
            (1_000_000, 9750),
            (2_000_000, 9900),
            (10_000_000, 10_000),
        ],
    },
    BuiltIn {
        name: "CacheFollower",
        meaning: "Facebook's cache followers inside a cluster: half below 30 KB, half up to 3.8 MB; mean 0.69 MB",
        source: "Roy et al., SIGCOMM 2015; points of the public artifact of Homa, SIGCOMM 2018, condensed from 331 to 48",
        points: &[
            (50, 0),
            (107, 327),
            (144, 409),
            (279, 792),
            (340, 1803),
            (455, 2577),
            (490, 2770),
            (601, 3100),
            (639, 3178),
            (707, 3532),
            (983, 3721),
            (1_110, 3996),
            (1_391, 4111),
            (2_000, 4368),
            (3_271, 4557),
            (5_785, 4695),
            (10_000, 4777),
            (17_478, 4881),
            (28_270, 5000),
            (50_838, 5129),
            (62_583, 5186),
            (87_774, 5282),
            (102_060, 5335),
            (124_109, 5450),
            (147_279, 5595),
            (156_563, 5651),
            (193_520, 5888),
            (212_537, 6022),
            (241_157, 6189),
            (267_023, 6338),
            (326_042, 6580),
            (470_507, 6878),
            (531_696, 6952),
            (588_724, 7138),
            (698_631, 7150),
            (1_385_457, 7200),
            (1_503_111, 7230),
            (1_630_758, 7490),
            (1_842_836, 7974),
            (2_125_366, 8346),
            (2_329_467, 8717),
            (2_553_169, 9276),
            (2_659_370, 9462),
            (2_827_011, 9740),
            (3_006_219, 9888),
            (3_260_426, 9944),
            (3_595_441, 9978),
            (3_837_698, 10_000),
        ],
    },
    BuiltIn {
        name: "AliStorage",
        meaning: "Alibaba's block storage: no flow above 2 MB; mean 41 KB",
        source: "points (AliStorage2019) as in the public artifact of HPCC, SIGCOMM 2019",
        points: &[
            (0, 0),
            (4_000, 2293),
            (8_000, 6921),
            (16_000, 8061),
            (32_000, 9047),
            (64_000, 9353),
            (128_000, 9677),
            (256_000, 9753),
            (2_000_000, 10_000),
        ],
    },
];

/// The scale of a file's cumulative shares, determined by its last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// 0 to 1.
    Fraction,
    /// 0 to 100.
    Percent,
}

/// A cumulative distribution of flow sizes. See the [module](self) for what its points mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeDistribution {
    /// Size in bytes and cumulative share in parts of [`WHOLE`]; neither ever falls, the first
    /// share is zero, the last is the whole.
    points: Vec<(u64, u64)>,
    scale: Scale,
}

impl SizeDistribution {
    /// The distribution of [`BUILT_IN`] with this name (case-sensitive).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let built_in = BUILT_IN.iter().find(|b| b.name == name)?;
        let points = built_in.points.iter().map(|&(size, share)| (size, share * (WHOLE / 10_000)));
        Some(Self { points: points.collect(), scale: Scale::Percent })
    }

    /// Reads a distribution from the text of a file: a size and a cumulative share on each
    /// line, separated by blanks or a comma; `#` begins a comment. Shares are percentages when the
    /// last is 100 and fractions when it is 1 ([`scale`](Self::scale) says which). `file` is for
    /// messages.
    ///
    /// # Errors
    /// With the line, when a line is not two numbers, a size is negative or not whole, a size or a
    /// share falls, the first share is not 0, the last is neither 1 nor 100, or there are fewer than
    /// two points.
    pub fn from_text(text: &str, file: &str) -> Result<Self, Problem> {
        let mut points: Vec<(u64, u64)> = Vec::new();
        let mut lines = Vec::new();
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.split('#').next().unwrap_or_default();
            let fields: Vec<&str> = content.split([' ', '\t', ',', '\r']).filter(|f| !f.is_empty()).collect();
            let &[size, share] = fields.as_slice() else {
                if fields.is_empty() {
                    continue;
                }
                return Err(Problem::new(format!("\"{}\": not a size and a share", content.trim()))
                    .in_file(file)
                    .on_line(line)
                    .with_hint(
                        "write two numbers: a size in bytes and the share of flows up to it, like `10000 15`",
                    ));
            };
            let at = |message: String| Problem::new(message).in_file(file).on_line(line);
            let size = number(size, 0, true).map_err(|e| at(format!("size \"{size}\": {}", e.of_size())))?;
            // Shares stand for percentages here; a fraction is scaled by 100 at the end.
            let share =
                number(share, 16, false).map_err(|e| at(format!("share \"{share}\": {}", e.of_share())))?;
            if let Some(&(last_size, last_share)) = points.last() {
                if size < last_size {
                    return Err(at(format!("size {size} B after {last_size} B: sizes must not decrease")));
                }
                if share < last_share {
                    return Err(at(format!(
                        "share {} after {}: a cumulative share must not decrease",
                        shown(share),
                        shown(last_share)
                    )));
                }
            } else if share != 0 {
                return Err(at(format!("the first share is {} and not 0", shown(share))).with_hint(format!(
                    "add a first line: `0 0` to spread these flows over 0 to {size} bytes, or `{size} 0` to \
                     give them all {size} bytes"
                )));
            }
            points.push((size, share));
            lines.push(line);
        }
        let (Some(&(largest, last)), Some(&line)) = (points.last(), lines.last()) else {
            return Err(Problem::new("no points: the file is empty").in_file(file));
        };
        let at_end = |message: String| Problem::new(message).in_file(file).on_line(line);
        if points.len() < 2 {
            return Err(at_end("one point is not a distribution".into())
                .with_hint(format!("for flows of one size write `{largest} 0` and `{largest} 1`")));
        }
        let scale = match last {
            WHOLE => Scale::Percent,
            share if share == WHOLE / 100 => Scale::Fraction,
            _ => {
                return Err(at_end(format!(
                    "the last share is {}: it must be 1 (fractions) or 100 (percentages)",
                    shown(last)
                )));
            }
        };
        if largest == 0 {
            return Err(at_end("every flow has 0 bytes".into()));
        }
        if scale == Scale::Fraction {
            points.iter_mut().for_each(|point| point.1 *= 100);
        }
        Ok(Self { points, scale })
    }

    /// Returns the distribution in bytes when each of its sizes counts units of that many bytes; without a unit
    /// they are bytes. `file` is for messages.
    ///
    /// # Errors
    /// When a size is too large, or there is no unit and the sizes may well count packets.
    pub fn in_units(mut self, unit: Option<Bytes>, file: &str) -> Result<Self, Problem> {
        let Some(unit) = unit else {
            return match self.doubt() {
                Some(doubt) => Err(Problem { file: Some(file.to_owned()), ..doubt }),
                None => Ok(self),
            };
        };
        for (size, _) in &mut self.points {
            let bytes = size.checked_mul(unit.get()).filter(|&bytes| bytes <= u64::MAX / 2);
            *size = bytes.ok_or_else(|| {
                Problem::new(format!("size {size} in units of {unit}: {}", Malformed::TooLarge.of_size()))
                    .in_file(file)
            })?;
        }
        Ok(self)
    }

    /// Returns a problem if its sizes, taken for bytes, look like packets: the median would be below what the
    /// smallest frame of Ethernet carries.
    #[must_use]
    pub fn doubt(&self) -> Option<Problem> {
        let (median, mean) = (self.quantile(1 << 63), self.mean());
        (median < SMALLEST_FRAME).then(|| {
            let message = format!(
                "half of the flows would have at most {median} and the mean would be {mean:.0} B: its sizes may \
                 count packets"
            );
            Problem::new(message).with_hint(format!(
                "name the unit of its sizes: sizes = {{ file = \"FILE\", unit = \"1460B\" }} gives a mean of {:.0} B, and \
                 unit = \"1B\" is for bytes",
                mean * 1460.0
            ))
        })
    }

    /// Returns the scale in which its shares are written: [`Scale::Percent`] for the built-in ones.
    #[must_use]
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The points: size and cumulative share from 0 to 1.
    pub fn points(&self) -> impl Iterator<Item = (Bytes, f64)> {
        self.points.iter().map(|&(size, share)| (Bytes::new(size), share as f64 / WHOLE as f64))
    }

    /// The size at `u` of 2⁶⁴: with `u` uniform over all 64 bits, a draw. Rounded down to whole
    /// bytes, and at least 1 byte.
    #[must_use]
    pub fn quantile(&self, u: u64) -> Bytes {
        let (share, _) = mul_wide(u, WHOLE);
        // The last point whose share is not above; there is one after it, for `share` < WHOLE.
        let next = self.points.partition_point(|point| point.1 <= share);
        let [(size, from), (next_size, to)] = [self.points[next - 1], self.points[next]];
        let beyond = mul_div(next_size - size, share - from, to - from);
        Bytes::new((size + beyond).max(1))
    }

    /// The mean in bytes, by the trapezoid rule: exact for the distribution itself. Draws are up to
    /// a byte smaller, as [`quantile`](Self::quantile) rounds down.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let twice: u128 = self
            .points
            .windows(2)
            .map(|pair| (u128::from(pair[0].0) + u128::from(pair[1].0)) * u128::from(pair[1].1 - pair[0].1))
            .sum();
        twice as f64 / 2.0 / WHOLE as f64
    }
}

/// The error in a number.
enum Malformed {
    NotANumber,
    Negative,
    Fraction,
    TooLarge,
}

impl Malformed {
    fn of_size(&self) -> &'static str {
        match self {
            Self::NotANumber => "not a number; sizes are bytes, without a unit",
            Self::Negative => "a size cannot be negative",
            Self::Fraction => "a size is a whole number of bytes",
            Self::TooLarge => "too large; the largest size is 9 EB",
        }
    }

    fn of_share(&self) -> &'static str {
        match self {
            Self::NotANumber => "not a number; a share is a fraction or a percentage, without a sign",
            Self::Negative => "a share cannot be negative",
            Self::Fraction | Self::TooLarge => "too large; the largest is 100 (percent)",
        }
    }
}

/// Reads an unsigned decimal number (`0.15`, `1e-05`) times 10^`decimals`. Digits below that are
/// dropped, or an error where the value is to be `exact`.
fn number(text: &str, decimals: i64, exact: bool) -> Result<u64, Malformed> {
    if text.starts_with('-') && text.len() > 1 {
        return Err(Malformed::Negative);
    }
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| Malformed::NotANumber)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Malformed::NotANumber);
    }
    if digits.iter().all(|&d| d == b'0') {
        return Ok(0);
    }
    // How many digits stand before the point once it has moved.
    let kept = usize::try_from(whole.len() as i64 + i64::from(exponent) + decimals).unwrap_or(0);
    if exact && digits.iter().skip(kept).any(|&d| d != b'0') {
        return Err(Malformed::Fraction);
    }
    let mut value = 0_u64;
    for digit in digits.iter().copied().chain(core::iter::repeat(b'0')).take(kept) {
        let ten = value.checked_mul(10).ok_or(Malformed::TooLarge)?;
        value = ten.checked_add(u64::from(digit - b'0')).ok_or(Malformed::TooLarge)?;
    }
    // Half of the range, so that sums and differences of sizes stay inside.
    if value > u64::MAX / 2 { Err(Malformed::TooLarge) } else { Ok(value) }
}

/// A share as it was written, from its value times 10^16.
fn shown(share: u64) -> f64 {
    share as f64 / (WHOLE / 100) as f64
}

#[cfg(test)]
mod tests;
