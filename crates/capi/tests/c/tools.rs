//! Compilers and other tools, and the library that was built with these tests.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compiler and options for C programs: every warning is an error.
pub(crate) const C: [&str; 8] = [
    "-std=c11",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wshadow",
    "-Wstrict-prototypes",
    "-Werror",
];

/// Compiler and options for C++ programs: every warning is an error.
pub(crate) const CPP: [&str; 7] =
    ["-xc++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"];

/// Undefined behaviour and wrong memory end a program that was compiled with these.
pub(crate) const CHECKS: [&str; 2] = ["-fsanitize=undefined,address", "-fno-sanitize-recover=all"];

/// Whether a compiler has what programs with these checks need; clang has it in a package of its own.
pub(crate) fn has_checks(compiler: &str, folder: &Path) -> bool {
    links(compiler, &CHECKS, folder)
}

/// Whether a compiler links a program with flags, for which a library may be missing.
pub(crate) fn links(compiler: &str, flags: &[&str], folder: &Path) -> bool {
    let (source, program) = (folder.join("empty.c"), folder.join("empty"));
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let linked = compile(compiler, flags, &source, &program).output().unwrap().status.success();
    if !linked {
        println!("left out: {compiler} has no {}", flags[0]);
    }
    linked
}

/// A file of this crate.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// An empty folder for a test.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi").join(test);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Returns the folder in which cargo has put libincast_capi.a and libincast_capi.so: beside this program.
pub(crate) fn built() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let folder = program.ancestors().skip(1).take(2).find(|folder| {
        ["libincast_capi.a", "libincast_capi.so"].iter().all(|name| folder.join(name).exists())
    });
    folder.unwrap_or_else(|| panic!("no libraries beside {}", program.display())).to_owned()
}

/// The libraries by the names of their installation, in a folder.
pub(crate) fn libraries(folder: &Path) {
    for (ours, installed) in [("a", "a"), ("so", "so"), ("so", "so.1")] {
        let library = built().join(format!("libincast_capi.{ours}"));
        symlink(library, folder.join(format!("libincast_cc.{installed}"))).unwrap();
    }
}

/// Returns the tools that are installed; names the others, whose checks are left out.
pub(crate) fn tools(names: &[&'static str]) -> Vec<&'static str> {
    let there = |name: &&&str| {
        let version =
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        let found = version.is_ok_and(|status| status.success());
        if !found {
            println!("left out: there is no {name}");
        }
        found
    };
    names.iter().filter(there).copied().collect()
}

/// The compilers of C; there is at least one, as Rust links with it.
pub(crate) fn compilers() -> Vec<&'static str> {
    let found = tools(&["gcc", "clang"]);
    if found.is_empty() { vec!["cc"] } else { found }
}

/// Runs a command, which must succeed, and returns its output.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A command of a compiler that finds the header.
pub(crate) fn compile(compiler: &str, flags: &[&str], source: &Path, program: &Path) -> Command {
    let mut command = Command::new(compiler);
    command.args(flags).arg("-I").arg(file("include")).arg(source).arg("-o").arg(program);
    command
}
