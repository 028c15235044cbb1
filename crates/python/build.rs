//! Tells the crate with which optimisation it is compiled.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let level = std::env::var("OPT_LEVEL").unwrap_or_default();
    println!("cargo:rustc-env=INCAST_OPT_LEVEL={level}");
}
