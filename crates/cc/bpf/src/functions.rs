//! The functions of an algorithm as the kernel's verifier accepts them, and the panic handler that must never run.
//! Also for an algorithm outside of the catalogue: a crate that has this file as a module (`#[macro_use]`) and
//! [`functions`] in its root; see examples/custom-algorithm/kernel.

use core::panic::PanicInfo;

unsafe extern "C" {
    fn a_panic_is_reachable() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: check.sh refuses an assembly with this call, and the loader an object, so it never runs.
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

/// The functions of one algorithm, whose state is in scope. Its setup is derived where the parameters are, in user
/// space.
macro_rules! functions {
    ($module:ident: $flow:ident) => {
        functions!(concat!("incast_", stringify!($module)); $flow);
    };
    ($name:expr; $flow:ident) => {
        use incast_cc::{Ack, Allowance, CongestionControl, IntStack, Loss, Sent, SetupOf};
        use incast_units::Time;
        use incast_units::math::{div_wide, mul_div, shift_div};

        function!(concat!($name, "_start"),
            start(flow: out $flow, setup: in SetupOf<$flow>; now: u64) {
                flow.restart(setup, Time::from_ps(now));
            });
        function!(concat!($name, "_on_ack"),
            on_ack(flow: out $flow, setup: in SetupOf<$flow>, ack: in Ack, int: in IntStack;) {
                flow.on_ack(setup, ack, int);
            });
        function!(concat!($name, "_on_cnp"),
            on_cnp(flow: out $flow, setup: in SetupOf<$flow>; now: u64) {
                flow.on_cnp(setup, Time::from_ps(now));
            });
        function!(concat!($name, "_on_loss"),
            on_loss(flow: out $flow, setup: in SetupOf<$flow>, loss: in Loss;) {
                flow.on_loss(setup, loss);
            });
        function!(concat!($name, "_on_sent"),
            on_sent(flow: out $flow, setup: in SetupOf<$flow>, sent: in Sent;) {
                flow.on_sent(setup, sent);
            });
        function!(concat!($name, "_on_timer"),
            on_timer(flow: out $flow, setup: in SetupOf<$flow>; now: u64) {
                flow.on_timer(setup, Time::from_ps(now));
            });
        function!(concat!($name, "_tag"),
            tag(flow: in $flow, setup: in SetupOf<$flow>, tag: out u32;) {
                *tag = flow.tag(setup);
            });
        function!(concat!($name, "_deadline"),
            deadline(flow: in $flow, deadline: out Time;) {
                *deadline = flow.deadline();
            });
        function!(concat!($name, "_allowance"),
            allowance(flow: in $flow, setup: in SetupOf<$flow>, allowance: out Allowance;) {
                *allowance = flow.allowance(setup);
            });
        // Nothing calls this. With it the compiler knows nothing of what the divisions are given: it would leave out an
        // argument that is always the same, and the verifier, which looks at them alone, asks for all.
        function!(concat!($name, "_divide"),
            divide(quotients: out [u64; 3]; a: u64, b: u64, c: u64) {
                *quotients = [mul_div(a, b, c), shift_div(a, b), div_wide(a, b, c)];
            });
    };
}
