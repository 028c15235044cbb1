//! Powers and logarithms of two of [`Fixed`].

use incast_units::math::mul_div;

use crate::Fixed;

/// lnⁿ(2)/n!, n from 10 to 0: the series of 2^x. At |x| ≤ 1/2 the first term left out is below 3 · 10⁻¹³.
const POWER: [Fixed; 11] = [
    Fixed::from_bits(30),
    Fixed::from_bits(437),
    Fixed::from_bits(5_676),
    Fixed::from_bits(65_510),
    Fixed::from_bits(661_577),
    Fixed::from_bits(5_726_720),
    Fixed::from_bits(41_309_550),
    Fixed::from_bits(238_388_332),
    Fixed::from_bits(1_031_764_991),
    Fixed::from_bits(2_977_044_472),
    Fixed::ONE,
];

/// 2/(n·ln 2), n = 11, 9, … 1: the series of log₂((1 + z)/(1 − z)) without its factors z. At |z| ≤ 0.1716,
/// which is √2, the first term left out is below 3 · 10⁻¹¹.
const LOGARITHM: [Fixed; 6] = [
    Fixed::from_bits(1_126_605_094),
    Fixed::from_bits(1_376_961_782),
    Fixed::from_bits(1_770_379_434),
    Fixed::from_bits(2_478_531_207),
    Fixed::from_bits(4_130_885_346),
    Fixed::from_bits(12_392_656_037),
];

/// √2, in units of 2⁻⁶².
const SQRT_2: u64 = 6_521_908_912_666_391_106;

fn polynomial(coefficients: &[Fixed], x: Fixed) -> Fixed {
    coefficients.iter().fold(Fixed::ZERO, |sum, coefficient| sum * x + *coefficient)
}

impl Fixed {
    /// 2 to the power of this number, to 2 · 10⁻⁹ of it or three units of the resolution; saturating.
    #[must_use]
    pub fn exp2(self) -> Self {
        let nearest = self.bits().saturating_add(1 << 31) >> 32;
        let power = polynomial(&POWER, self - Self::from_bits(nearest << 32)).bits();
        match nearest {
            ..-33 => Self::ZERO,
            -33..0 => Self::from_bits(power >> -nearest),
            0..31 => Self::from_bits(power << nearest),
            31 if power < 1 << 32 => Self::from_bits(power << 31),
            _ => Self::MAX,
        }
    }
}

/// The logarithm to base 2, to five units of the resolution (z is cut to one, which counts 2.9 times, the rest
/// rounds); the smallest number for zero and below.
pub(crate) fn log2(value: Fixed) -> Fixed {
    /// 1 in the units of `number`.
    const ONE: u64 = 1 << 62;
    if value <= Fixed::ZERO {
        return Fixed::MIN;
    }
    let bits = value.bits().unsigned_abs();
    let zeros = bits.leading_zeros();
    // The value is 2^exponent times a number from √½ to √2.
    let (mut exponent, mut number) = (31 - i64::from(zeros), (bits << zeros) >> 1);
    if number > SQRT_2 {
        exponent += 1;
        number >>= 1;
    }
    let z = Fixed::from_bits(mul_div(number.abs_diff(ONE), 1 << 32, number + ONE) as i64);
    let magnitude = z * polynomial(&LOGARITHM, z * z);
    Fixed::from_bits(exponent << 32) + if number < ONE { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::testing::float;

    /// Numbers of every length of bits.
    fn numbers() -> impl Iterator<Item = Fixed> {
        let mut x = 0x9e37_79b9_7f4a_7c15_u64;
        (0..20_000).map(move |i| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Fixed::from_bits((x >> (1 + i % 62)) as i64)
        })
    }

    // Logarithm and power of the standard library, which are right to some 1e-16.
    fn real_log2(value: f64) -> f64 {
        std::f64::consts::LOG2_E * value.ln()
    }

    #[test]
    fn powers_of_two_are_exact() {
        for n in 0..31_u64 {
            let (power, n) = (Fixed::whole(1 << n), Fixed::whole(n));
            assert_eq!((n.exp2(), log2(power)), (power, n));
            let part = Fixed::ONE / power;
            assert_eq!(((-n).exp2(), log2(part)), (part, -n));
        }
        assert_eq!((log2(Fixed::ZERO), log2(-Fixed::ONE)), (Fixed::MIN, Fixed::MIN));
    }

    #[test]
    fn logarithms_are_right_to_five_units() {
        let mut worst = 0.0_f64;
        for value in numbers().filter(|v| *v > Fixed::ZERO) {
            worst = worst.max((float(log2(value)) - real_log2(float(value))).abs());
        }
        assert!(worst < 5.0 / 4_294_967_296.0, "{worst:e}");
        // By hand: log2(10) = 3.32192809488736, log2(0.001) = −9.965784285 (0.001 is 2.3e-7 of itself too small).
        assert!((float(log2(Fixed::whole(10))) - std::f64::consts::LOG2_10).abs() < 1e-9);
        assert!((float(log2(Fixed::ratio(1, 1000))) + 9.965_784_285).abs() < 4e-7);
    }

    #[test]
    fn powers_are_right_to_a_share_of_themselves_or_to_the_resolution() {
        for x in numbers() {
            // From −32 to 31.
            let x = Fixed::from_bits(x.bits() % (63 << 32)) - Fixed::whole(32);
            let real = (float(x) * std::f64::consts::LN_2).exp();
            let off = (float(x.exp2()) - real).abs();
            assert!(off < (2e-9 * real).max(3.0 / 4_294_967_296.0), "2^{x}: {off:e} of {real}");
        }
        // By hand: √2, and e^0.25 = 2^(0.25/ln 2) = 2^0.360673760 = 1.284025417.
        assert!((float(Fixed::ratio(1, 2).exp2()) - std::f64::consts::SQRT_2).abs() < 2e-9);
        assert!((float(Fixed::ratio(360_673_760, 1_000_000_000).exp2()) - 1.284_025_417).abs() < 2e-9);
    }

    #[test]
    fn powers_beyond_the_range_saturate() {
        let just = Fixed::from_bits((31 << 32) - 1);
        assert!(just.exp2() > Fixed::whole((1 << 31) - 2), "{}", just.exp2());
        for above in [Fixed::whole(31), Fixed::whole(32), Fixed::MAX] {
            assert_eq!(above.exp2(), Fixed::MAX, "{above}");
        }
        for below in [-Fixed::whole(34), -Fixed::whole(1000), Fixed::MIN] {
            assert_eq!(below.exp2(), Fixed::ZERO, "{below}");
        }
    }
}
