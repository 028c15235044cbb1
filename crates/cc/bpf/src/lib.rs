//! Every algorithm of the catalogue as functions that the kernel's BPF verifier accepts: at most five
//! arguments, state in memory that the caller owns, and a check of each pointer, because the verifier
//! looks at each function alone and admits no unchecked one.
//!
//! check.sh builds this for `bpfel-unknown-none` and reads the assembly. bpf/build.sh in the root folder makes the
//! kernel's congestion control of it, one algorithm at a time: with `--cfg one --cfg oscar` the others are left out.
//! Times are plain numbers of picoseconds here, so that these functions have the same types as in C.
#![no_std]

#[macro_use]
mod functions;

macro_rules! algorithms {
    ($($module:ident: $flow:ident;)+) => {$(
        #[cfg(any(not(one), $module))]
        mod $module {
            use incast_cc::$module::$flow;

            functions!($module: $flow);
        }
    )+};
}

incast_cc::for_each_algorithm!(algorithms);

/// Algorithms behind a median of their signal: `incast_median_swift_on_ack`.
#[cfg(not(one))]
mod median {
    macro_rules! filtered {
        ($($module:ident: $flow:ident;)+) => {$(
            mod $module {
                type Flow = incast_cc::median::Median<incast_cc::$module::$flow>;

                functions!(concat!("incast_median_", stringify!($module)); Flow);
            }
        )+};
    }

    incast_cc::for_each_filtered!(filtered);
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
