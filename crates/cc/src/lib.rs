//! The congestion control algorithms of Incast, as pure state machines.
//!
//! Signals go in (an acknowledged packet, a congestion notification, a loss, a timer), an
//! [`Allowance`] comes out (a window and a rate). There is no clock, no allocation, no I/O, no
//! randomness and no floating point in here: this very source runs in the packet-level simulator,
//! in the analytical models, in the Linux kernel and on real packets, and gives the same bits
//! everywhere.
//!
//! * [`contract`]: what goes in and what comes out; the [`CongestionControl`] trait.
//! * [`receiver`]: the receiver's half: counts, paced notifications, echoes.
//! * [`fixed`]: the one number type, [`Fixed`].
//! * [`divisor`]: division by a number that stays the same.
//! * [`params`]: how an algorithm describes its parameters (unit, default, range, source).
//! * [`estimator`]: batched least squares and the moving average, which algorithms share.
//! * [`limits`]: windows beside rates and smallest rates, which algorithms share.
//! * [`ports`]: what algorithms with in-band telemetry compute of a port.
//! * [`tracked`]: the smallest round-trip time of late, as a base RTT.
//! * [`order`]: the order statistic of the last samples of a signal.
//! * [`median`]: the median before an algorithm's signal, an option of several; [`for_each_filtered`] lists them.
//! * one module per algorithm, named as its paper names it; [`for_each_algorithm`] lists them.
//! * [`any`]: every algorithm behind one type, and the catalogue.
#![no_std]

/// Passes every algorithm to the macro `$callback`, in the order of lists: its module, and the type of a flow's state
/// in it.
///
/// A new algorithm has its line here and its `mod` line below; the catalogue, scenario files, the C library, the functions
/// for the kernel and the tests of all algorithms follow.
#[macro_export]
macro_rules! for_each_algorithm {
    ($callback:ident) => {
        $callback! {
            constant: Constant;
            oscar: Oscar;
            hpcc: Hpcc;
            powertcp: PowerTcp;
            theta_powertcp: ThetaPowerTcp;
            dcqcn: Dcqcn;
            dctcp: Dctcp;
            swift: Swift;
            newreno: NewReno;
            lswift: LSwift;
            mswift: MSwift;
            timely: Timely;
            ccc: Ccc;
            patched_timely: PatchedTimely;
            sqcc: Sqcc;
            retcp: ReTcp;
            oracle: Oracle;
            poseidon: Poseidon;
            nscc: Nscc;
            mnscc: Mnscc;
            smartt: Smartt;
        }
    };
}

/// Passes every algorithm whose signal may go through a [`median`] to the macro `$callback`, as [`for_each_algorithm`]
/// does.
#[macro_export]
macro_rules! for_each_filtered {
    ($callback:ident) => {
        $callback! {
            dctcp: Dctcp;
            swift: Swift;
            lswift: LSwift;
            poseidon: Poseidon;
            nscc: Nscc;
            smartt: Smartt;
        }
    };
}

pub mod any;
pub mod ccc;
pub mod constant;
pub mod contract;
pub mod dcqcn;
pub mod dctcp;
pub mod divisor;
pub mod estimator;
pub mod fixed;
mod fixed_exp2;
pub mod hpcc;
pub mod limits;
pub mod lswift;
pub mod median;
pub mod mnscc;
pub mod mswift;
pub mod newreno;
pub mod nscc;
pub mod oracle;
pub mod order;
pub mod oscar;
pub mod params;
pub mod patched_timely;
mod path;
pub mod ports;
pub mod poseidon;
pub mod powertcp;
pub mod receiver;
pub mod relative;
pub mod retcp;
pub mod scale;
pub mod signals;
pub mod smartt;
pub mod sqcc;
pub mod swift;
pub mod theta_powertcp;
pub mod timely;
pub mod tracked;

#[cfg(test)]
mod testing;

pub use any::AnyParams;
pub use contract::{
    Ack, Allowance, CongestionControl, IntHop, IntStack, Internal, Loss, LossKind, Overhead, Parameters,
    Path, Sent, Setup, SetupOf, Signals,
};
pub use divisor::Divisor;
pub use fixed::Fixed;
