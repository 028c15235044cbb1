//! Every algorithm of the catalogue as functions that the kernel's BPF verifier accepts: at most five
//! arguments, state in memory that the caller owns, and a check of each pointer, because the verifier
//! looks at each function alone and admits no unchecked one.
//!
//! check.sh builds this for `bpfel-unknown-none` and reads the assembly. bpf/build.sh in the root folder makes the
//! kernel's congestion control of it, one algorithm at a time: with `--cfg one --cfg oscar` the others are left out.
//! Times are plain numbers of picoseconds here, so that these functions have the same types as in C.
#![no_std]

use core::panic::PanicInfo;

use incast_cc::{Ack, Allowance, CongestionControl, IntStack, Loss, Sent, Setup};
use incast_units::Time;

unsafe extern "C" {
    fn a_panic_is_reachable() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: check.sh refuses an assembly with this call, so it never runs.
    unsafe { a_panic_is_reachable() }
}

/// An exported function whose pointers are checked: with a null among them it does nothing.
macro_rules! function {
    ($name:expr, $function:ident($($pointer:ident: $kind:ident $type:ty),+; $($value:ident: $plain:ty),*) $body:block) => {
        #[unsafe(export_name = $name)]
        #[inline(never)]
        extern "C" fn $function($($pointer: function!(@pointer $kind $type),)+ $($value: $plain),*) {
            // SAFETY: null is refused; what else is passed points to a valid value that nothing else
            // uses meanwhile. This is the contract of these functions with their caller.
            let ($(Some($pointer),)+) = (unsafe { ($(function!(@reference $kind $pointer),)+) }) else {
                return;
            };
            $body
        }
    };
    (@pointer out $type:ty) => { *mut $type };
    (@pointer in $type:ty) => { *const $type };
    (@reference out $pointer:ident) => { $pointer.as_mut() };
    (@reference in $pointer:ident) => { $pointer.as_ref() };
}

/// The functions of one algorithm. Its setup is derived where the parameters are, in user space. A state that is too
/// large for the stack is started where it lies (`restart`).
macro_rules! algorithms {
    ($($module:ident: $flow:ident, $params:ident $(, $restart:ident)?;)+) => {$(
        #[cfg(any(not(one), $module))]
        mod $module {
            use super::*;
            use incast_cc::$module::{$flow, $params};

            function!(concat!("incast_", stringify!($module), "_start"),
                start(flow: out $flow, setup: in Setup<$params>; now: u64) {
                    algorithms!(@start $flow, flow, setup, Time::from_ps(now) $(, $restart)?);
                });
            function!(concat!("incast_", stringify!($module), "_on_ack"),
                on_ack(flow: out $flow, setup: in Setup<$params>, ack: in Ack, int: in IntStack;) {
                    flow.on_ack(setup, ack, int);
                });
            function!(concat!("incast_", stringify!($module), "_on_cnp"),
                on_cnp(flow: out $flow, setup: in Setup<$params>; now: u64) {
                    flow.on_cnp(setup, Time::from_ps(now));
                });
            function!(concat!("incast_", stringify!($module), "_on_loss"),
                on_loss(flow: out $flow, setup: in Setup<$params>, loss: in Loss;) {
                    flow.on_loss(setup, loss);
                });
            function!(concat!("incast_", stringify!($module), "_on_sent"),
                on_sent(flow: out $flow, setup: in Setup<$params>, sent: in Sent;) {
                    flow.on_sent(setup, sent);
                });
            function!(concat!("incast_", stringify!($module), "_on_timer"),
                on_timer(flow: out $flow, setup: in Setup<$params>; now: u64) {
                    flow.on_timer(setup, Time::from_ps(now));
                });
            function!(concat!("incast_", stringify!($module), "_tag"),
                tag(flow: in $flow, setup: in Setup<$params>, tag: out u32;) {
                    *tag = flow.tag(setup);
                });
            function!(concat!("incast_", stringify!($module), "_deadline"),
                deadline(flow: in $flow, deadline: out Time;) {
                    *deadline = flow.deadline();
                });
            function!(concat!("incast_", stringify!($module), "_allowance"),
                allowance(flow: in $flow, setup: in Setup<$params>, allowance: out Allowance;) {
                    *allowance = flow.allowance(setup);
                });
        }
    )+};
    (@start $flow:ident, $place:ident, $setup:ident, $now:expr) => { *$place = $flow::new($setup, $now) };
    (@start $flow:ident, $place:ident, $setup:ident, $now:expr, restart) => { $place.restart($setup, $now) };
}

algorithms! {
    ccc: Ccc, CccParams;
    constant: Constant, ConstantParams;
    dcqcn: Dcqcn, DcqcnParams;
    dctcp: Dctcp, DctcpParams;
    hpcc: Hpcc, HpccParams;
    oracle: Oracle, OracleParams;
    lswift: LSwift, LSwiftParams;
    mswift: MSwift, MSwiftParams, restart;
    newreno: NewReno, NewRenoParams;
    mnscc: Mnscc, MnsccParams;
    nscc: Nscc, NsccParams;
    oscar: Oscar, OscarParams;
    poseidon: Poseidon, PoseidonParams;
    powertcp: PowerTcp, PowerTcpParams;
    retcp: ReTcp, ReTcpParams;
    smartt: Smartt, SmarttParams;
    patched_timely: PatchedTimely, PatchedTimelyParams;
    sqcc: Sqcc, SqccParams;
    swift: Swift, SwiftParams;
    theta_powertcp: ThetaPowerTcp, ThetaPowerTcpParams;
    timely: Timely, TimelyParams;
}

/// One broken rule for each feature, to see the check fail.
mod broken {
    #[cfg(feature = "panic")]
    function!("incast_broken_panic", panic(out: out u64; index: u64) {
        *out = [1, 2, 3][index as usize];
    });
    #[cfg(feature = "wide-product")]
    function!("incast_broken_wide_product", wide_product(out: out u64; a: u64, b: u64) {
        *out = a.saturating_mul(b);
    });
    #[cfg(feature = "wide-division")]
    function!("incast_broken_wide_division", wide_division(out: out u64; a: u64, b: u64) {
        *out = ((u128::from(a) << 32) / u128::from(b | 1)) as u64;
    });
    #[cfg(feature = "float")]
    function!("incast_broken_float", float(out: out u64; a: u64) {
        *out = (a as f64 * 1.5) as u64;
    });
    #[cfg(feature = "signed-division")]
    function!("incast_broken_signed_division", signed_division(out: out i64; a: i64, b: i64) {
        *out = a.wrapping_div(b.max(1));
    });
    #[cfg(feature = "copy")]
    function!("incast_broken_copy", copy(from: in [u64; 400], to: out [u64; 400];) {
        *to = *from;
    });
    #[cfg(feature = "stack")]
    function!("incast_broken_stack", stack(from: in [u64; 33], to: out [u64; 33];) {
        *to = core::hint::black_box(*from);
    });
    #[cfg(feature = "many-arguments")]
    function!("incast_broken_many_arguments", many_arguments(out: out u64; a: u64, b: u64, c: u64, d: u64, e: u64) {
        *out = a ^ b ^ c ^ d ^ e;
    });
}
