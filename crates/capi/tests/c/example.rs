//! The example and the page's program compile, link, run and print what the algorithms give in Rust.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use incast_cc::any::CATALOGUE;
use incast_cc::oscar::{Oscar, OscarParams};
use incast_cc::{Ack, CongestionControl, IntStack, Setup};
use incast_units::{Bytes, Rate, Time};

use crate::tools::{
    C, CHECKS, CPP, built, compile, compilers, file, folder, has_checks, libraries, links, run, tools,
};

/// Returns the output that examples/flow.c must have, from the algorithm called in Rust.
fn expected() -> String {
    let mut out = String::new();
    writeln!(out, "incast_cc {} with {} algorithms:", env!("CARGO_PKG_VERSION"), CATALOGUE.len()).unwrap();
    for info in CATALOGUE {
        writeln!(out, "  {:<15} {}", info.name, info.summary).unwrap();
    }
    writeln!(out, "tau_time of oscar: \"2\": a time needs its unit, like \"12us\"").unwrap();
    writeln!(out, "tau_time = 2us (0ps to 10ms)").unwrap();
    let us = Time::from_us;
    let path = incast_cc::Path {
        base_rtt: us(12),
        base_owd: us(6),
        line_rate: Rate::from_gbps(100),
        packet: Bytes::new(1064),
        payload: Bytes::new(1000),
        hops: 4,
    };
    let setup = Setup::new(OscarParams { tau_time: us(2), ..OscarParams::paper() }, path);
    let mut flow = Oscar::new(&setup, Time::ZERO);
    for i in 0..=100 {
        let (now, rtt) = (us(20) + Time::from_ns(500 * i), us(12) + Time::from_ns(100 * i));
        let window = flow.allowance(&setup).window;
        let ack = Ack {
            now,
            sent: now - rtt,
            received: now - us(6),
            acked: Bytes::new(1064),
            packet: i * 1000,
            sequence: i * 1000 + 1000,
            next_sequence: i * 1000 + 1000 + window.get(),
            inflight: window,
            inflight_now: window - Bytes::new(1064),
            ..Ack::BLANK
        };
        flow.on_ack(&setup, &ack, &IntStack::EMPTY);
        let allowance = flow.allowance(&setup);
        if i % 20 == 0 {
            writeln!(out, "at {now}: RTT {rtt}, window {}, rate {}", allowance.window, allowance.rate)
                .unwrap();
        }
    }
    out
}

/// Returns the libraries that a program needs beside the static one, from the pkg-config file.
pub(crate) fn private_libraries() -> Vec<String> {
    let file = fs::read_to_string(file("incast_cc.pc.in")).unwrap();
    let line = file.lines().find_map(|line| line.strip_prefix("Libs.private: ")).unwrap();
    line.split(' ').map(str::to_owned).collect()
}

/// A command that compiles the example and links it with the static library.
fn linked_statically(compiler: &str, flags: &[&str], program: &Path) -> Command {
    let mut command = compile(compiler, flags, &file("examples/flow.c"), program);
    command.arg(built().join("libincast_capi.a")).args(private_libraries());
    command
}

#[test]
fn the_example_prints_what_rust_computes() {
    let (folder, expected) = (folder("example"), expected());
    libraries(&folder);
    for compiler in compilers() {
        let program = folder.join(format!("{compiler}-static"));
        run(&mut linked_statically(compiler, &C, &program));
        assert_eq!(run(&mut Command::new(program)), expected, "{compiler}, static");
        let program = folder.join(format!("{compiler}-shared"));
        let mut command = compile(compiler, &C, &file("examples/flow.c"), &program);
        run(command.arg("-L").arg(&folder).arg("-lincast_cc"));
        assert_eq!(
            run(Command::new(program).env("LD_LIBRARY_PATH", &folder)),
            expected,
            "{compiler}, shared"
        );
    }
    for compiler in tools(&["g++", "clang++"]) {
        let program = folder.join(compiler);
        let mut command = compile(compiler, &CPP, &file("examples/flow.c"), &program);
        run(command.arg("-L").arg(&folder).arg("-lincast_cc"));
        assert_eq!(run(Command::new(program).env("LD_LIBRARY_PATH", &folder)), expected, "{compiler}");
    }
    // Windows and rates have fallen as the round trips grew: the algorithm was at work.
    let last = expected.lines().last().unwrap();
    assert!(last.starts_with("at 70us: RTT 22us") && !last.contains("100Gbps"), "{last}");
}

#[test]
fn the_example_touches_no_memory_that_is_not_its_own() {
    let (folder, expected) = (folder("memory"), expected());
    if !tools(&["valgrind"]).is_empty() {
        let program = folder.join("plain");
        run(linked_statically(compilers()[0], &C, &program).arg("-g"));
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=all"]);
        assert_eq!(run(command.arg(program)), expected);
    }
    for compiler in compilers().into_iter().filter(|compiler| has_checks(compiler, &folder)) {
        let program = folder.join(compiler);
        run(linked_statically(compiler, &C, &program).arg("-g").args(CHECKS));
        assert_eq!(run(&mut Command::new(program)), expected, "{compiler}");
    }
}

/// The fenced block of a language in the page, the first after a word.
fn block(page: &str, after: &str, language: &str) -> String {
    let page = &page[page.find(after).unwrap()..];
    let start = page.find(&format!("```{language}\n")).unwrap() + language.len() + 4;
    let end = start + page[start..].find("```").unwrap();
    page[start..end].to_owned()
}

#[test]
fn the_page_is_right() {
    let folder = folder("page");
    let prefix = folder.join("prefix");
    run(Command::new(file("install.sh")).arg(built()).arg(&prefix));
    let page = fs::read_to_string(file("../../docs/c.md")).unwrap();
    fs::write(folder.join("first.c"), block(&page, "## A first program", "c")).unwrap();
    let commands = block(&page, "these commands compile and run it", "sh");
    if tools(&["cc", "pkg-config"]).len() == 2 {
        let mut shell = Command::new("sh");
        shell.current_dir(&folder).env("PREFIX", &prefix).env("CFLAGS", C.join(" "));
        let printed = run(shell.arg("-euc").arg(&commands));
        assert_eq!(printed, block(&page, "It prints", "text"));
        if links("cc", &["-static"], &folder) {
            let whole = block(&page, "A program without any shared library", "sh");
            let mut shell = Command::new("sh");
            shell.current_dir(&folder).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
            let printed = run(shell.arg("-euc").arg(format!("{whole}\n./first")));
            assert_eq!(printed, block(&page, "It prints", "text"));
        }
    }
    // With DESTDIR everything lies below it, and the description speaks of the prefix alone.
    let stage = folder.join("stage");
    run(Command::new(file("install.sh")).arg(built()).arg("/usr").env("DESTDIR", &stage));
    let installed = |name: &str| stage.join("usr").join(name);
    let description = fs::read_to_string(installed("lib/pkgconfig/incast_cc.pc")).unwrap();
    assert!(description.starts_with("prefix=/usr\n"), "{description}");
    assert!(description.contains(&format!("Version: {}\n", env!("CARGO_PKG_VERSION"))), "{description}");
    assert!(!description.contains('@'), "{description}");
    let link = fs::read_link(installed("lib/libincast_cc.so")).unwrap();
    assert_eq!(link, PathBuf::from("libincast_cc.so.1"));
    for name in ["include/incast_cc.h", "lib/libincast_cc.a", "lib/libincast_cc.so.1"] {
        assert!(installed(name).metadata().unwrap().len() > 0, "{name}");
    }
    fs::remove_dir_all(folder).unwrap();
}
