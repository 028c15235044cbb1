//! Link arguments: no start-up code of the C library, only its memory functions where the target has it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if os == "linux" {
        println!("cargo::rustc-link-arg-bins=-nostartfiles");
        println!("cargo::rustc-link-arg-bins=-lc");
    } else if os == "macos" {
        println!("cargo::rustc-link-arg-bins=-Wl,-e,_start");
        println!("cargo::rustc-link-arg-bins=-lSystem");
    }
}
