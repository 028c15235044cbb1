//! Powers of two of [`Fixed`]; the logarithm is in `fixed.rs`.

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

    #[test]
    fn powers_of_two_are_exact() {
        for n in 0..31_u64 {
            let (power, n) = (Fixed::whole(1 << n), Fixed::whole(n));
            assert_eq!((n.exp2(), power.log2()), (power, n));
            let part = Fixed::ONE / power;
            assert_eq!(((-n).exp2(), part.log2()), (part, -n));
        }
    }

    #[test]
    fn power_and_logarithm_undo_each_other() {
        // The logarithm is up to one unit of 2^-32 too small, which is 1.6e-10 of the number; the power is right to
        // 2e-9 of it or three units.
        for x in numbers().filter(|x| *x > Fixed::ZERO) {
            let (value, back) = (float(x), float(x.log2().exp2()));
            assert!((back - value).abs() <= (2.2e-9 * value).max(4.0 / 4_294_967_296.0), "{value}: {back}");
        }
        // By hand: log2(0.001) = -9.965784285 (0.001 is 2.3e-7 of itself too small).
        assert!((float(Fixed::ratio(1, 1000).log2()) + 9.965_784_285).abs() < 4e-7);
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
