//! No control: a fixed rate and a fixed window, for reference and for tests.

use incast_units::{Bytes, Rate, Time};

use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Overhead, Parameters, Path, Setup, Signals,
};
use crate::params::{About, Described, Family, Kernel, Param, param, presets};
use crate::relative::relate;

/// Parameters of [`Constant`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ConstantParams {
    /// The window; [`Bytes::UNLIMITED`] for none.
    pub window: Bytes,
    /// The rate; a rate above the line's is the line's.
    pub rate: Rate,
}

presets! {
    impl ConstantParams {
        "default": "line rate, no window",
        fn unlimited() -> Self {
            Self { window: Bytes::UNLIMITED, rate: Rate::from_bps(u64::MAX) }
        }
    }
}

impl Parameters for ConstantParams {
    type Derived = ();

    fn derive(&self, _path: &Path) {}
}

impl Described for ConstantParams {
    const ABOUT: About = About {
        name: "constant",
        title: "constant",
        summary: "no control: a fixed rate and a fixed window",
        family: Family::Fixed,
        needs: "nothing",
    };
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Bytes "window",
            window,
            Bytes::new(1),
            Bytes::UNLIMITED,
            "bytes that may be in flight",
            Ours,
            "chosen here: no limit; the user sets it"
        ),
        param!(
            Rate "rate",
            rate,
            Rate::from_bps(1),
            Rate::from_bps(u64::MAX),
            "sending rate; above the line's rate it is the line's",
            Ours,
            "chosen here: no limit; the user sets it"
        ),
    ];
    const KERNEL: Option<Kernel> = Some(Kernel::new("incast_constant", Signals::NONE));
}

/// The (empty) state of a flow without control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Constant {}

impl CongestionControl for Constant {
    type Params = ConstantParams;

    const HEARS_SENT: bool = false;

    fn signals(_params: &ConstantParams) -> Signals {
        Signals::NONE
    }

    fn overhead(_params: &ConstantParams) -> Overhead {
        Overhead::default()
    }

    fn new(_setup: &Setup<ConstantParams>, _now: Time) -> Self {
        Self {}
    }

    relate! { |setup| }

    fn on_ack(&mut self, _setup: &Setup<ConstantParams>, _ack: &Ack, _int: &IntStack) {}

    fn allowance(&self, setup: &Setup<ConstantParams>) -> Allowance {
        let Setup { params, path, .. } = setup;
        Allowance { window: params.window, rate: params.rate.min(path.line_rate) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::PATH;

    #[test]
    fn a_flow_gets_what_it_is_told_and_no_more_than_the_line() {
        let allowance = |params: ConstantParams| {
            let setup = Setup::new(params, PATH);
            Constant::new(&setup, Time::ZERO).allowance(&setup)
        };
        let unlimited = Allowance { window: Bytes::UNLIMITED, rate: PATH.line_rate };
        assert_eq!(allowance(ConstantParams::default()), unlimited);
        let (window, rate) = (Bytes::new(5000), Rate::from_gbps(40));
        assert_eq!(allowance(ConstantParams { window, rate }), Allowance { window, rate });
        let fast = ConstantParams { window, rate: Rate::from_gbps(101) };
        assert_eq!(allowance(fast), Allowance { window, rate: PATH.line_rate });
        assert_eq!(size_of::<Constant>(), 0);
    }
}
