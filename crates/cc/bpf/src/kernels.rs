//! Prints a line for each algorithm: its module and the type of a flow's state; for one that has an entry in the kernel
//! also its name there, 1 if it goes by ECN marks or 0, and what it can want in a TCP option (bpf/echo.h). bpf/build.sh
//! and crates/replay/bpf/build.sh read it.

use incast_cc::any::Info;
use incast_cc::{Signals, for_each_algorithm};

macro_rules! algorithms {
    ($($module:ident: $flow:ident;)+) => {
        &[$((stringify!($module), stringify!($flow), Info::of::<incast_cc::$module::$flow>()),)+]
    };
}

/// Module, state and entry of each.
const ALGORITHMS: &[(&str, &str, Info)] = for_each_algorithm!(algorithms);

fn main() {
    for (module, state, info) in ALGORITHMS {
        print!("{module} {state}");
        if let Some(kernel) = info.kernel {
            let gets = |signal| kernel.signals().contains(signal);
            let option = match (gets(Signals::ONE_WAY_DELAY), gets(Signals::INT)) {
                (true, _) => "DELAY",
                (_, true) => "TELEMETRY",
                _ => "NONE",
            };
            print!(" {} {} {option}", kernel.name(), u8::from(gets(Signals::ECN)));
        }
        println!();
    }
}
