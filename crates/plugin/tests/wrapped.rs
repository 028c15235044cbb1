//! Algorithms of the library as a plugin in C: every call goes through both directions of the header, and the run
//! is the same as without.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use incast_lab::Scenario;
use incast_lab::run::{RunOptions, RunResult, run};

/// Returns the file into which cargo has put the library in C: beside this program.
fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let found = program.ancestors().skip(1).take(2).map(|folder| folder.join("libincast_capi.so"));
    found.into_iter().find(|file| file.exists()).expect("libincast_capi.so lies beside the test")
}

/// Compiles a plugin of this folder, with the library.
fn compiled(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugin").join(name);
    fs::create_dir_all(&folder).unwrap();
    let plugin = folder.join(format!("{name}.so"));
    // By the name of its installation.
    let installed = folder.join("libincast_cc.so.1");
    if installed.symlink_metadata().is_ok() {
        fs::remove_file(&installed).unwrap();
    }
    symlink(library(), &installed).unwrap();
    let output = Command::new("cc")
        .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC"])
        .arg("-I")
        .arg(here.join("../capi/include"))
        .arg(here.join(format!("tests/plugins/{name}.c")))
        .arg("-o")
        .arg(&plugin)
        .arg(&installed)
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    plugin
}

/// An incast with drops behind ECN marks, on this number of threads. The clocks are named, since of code from a plugin
/// nobody knows that it decides by losses.
fn go(algorithm: &str, threads: usize) -> RunResult {
    let text = format!(
        r#"
        topology = {{ kind = "leaf-spine", leaves = 2, spines = 2, hosts = 4, rate = "100Gbps", fabric_rate = "200Gbps", delay = "1us" }}
        switch = {{ buffer = "150KB", ecn = {{ kmin = "20KB", kmax = "60KB", pmax = 0.2 }} }}
        cc = {{ algorithm = "{algorithm}" }}
        run = {{ until = "20ms", clock = "exact" }}
        [[traffic]]
        kind = "incast"
        to = "h7"
        size = "300KB"
        [[traffic]]
        kind = "permutation"
        size = "500KB"
        "#
    );
    let scenario = Scenario::from_toml(&text, "t.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let built = scenario.build().unwrap_or_else(|problems| panic!("{problems}"));
    let job = built.job("t", &text);
    let options = RunOptions { threads: Some(threads), ..RunOptions::default() };
    run(&job, &options, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn a_built_in_algorithm_behind_the_plugin_interface_is_itself() {
    let names = incast_plugin::load(&compiled("wrapped"), None).unwrap();
    assert_eq!(names, ["wrapped-oscar", "wrapped-hpcc", "wrapped-dcqcn", "wrapped-newreno"]);
    for name in names {
        let known = name.strip_prefix("wrapped-").unwrap();
        let own = go(known, 1);
        for threads in [1, 2] {
            let wrapped = go(&name, threads);
            assert_eq!(wrapped.fault, None);
            assert_eq!(wrapped.outcome.fingerprint, own.outcome.fingerprint, "{name} on {threads} threads");
            assert_eq!(wrapped.outcome.hops, own.outcome.hops, "{name}");
        }
        // There was something to decide, and losses were among it.
        assert!(own.outcome.hops > 10_000 && own.outcome.dropped > 0, "{known}: {:?}", own.outcome.end);
    }
}
