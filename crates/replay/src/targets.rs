//! The forms in which the algorithms are built, each behind a program that replays a trace.
//!
//! Such a program is called with `TRACE OUT EVERY FROM TO FLIP BIT`. A step is a flow that starts or a call; steps are
//! counted from 0. With EVERY other than 0 it writes a [digest](crate::digest) (8 bytes) after every EVERY steps and
//! one after the last: of window, rate and deadline (two words each), tag, and the words of the state without its
//! padding. With EVERY 0 it writes for each of the steps FROM to TO − 1: step, window, rate, deadline, tag, the number
//! of internals, for each internal whether it has a value and which, and the state, filled up (all but the state as
//! 8-byte numbers). Before step FLIP the bit BIT of what follows the head of its record is inverted.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use crate::browser::Browser;
use crate::trace::MEDIAN;

/// No step.
pub const NEVER: u64 = u64::MAX;

/// A form, with the command that replays a trace through it.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Program and first arguments.
    command: Vec<String>,
    /// The folder of the objects for the kernel, of the target that has them.
    objects: Option<PathBuf>,
    /// The browser, of the target that runs in one.
    browser: Option<Arc<Mutex<Browser>>>,
    /// Algorithms that it does not have, each with the reason.
    pub lacking: Vec<(String, String)>,
    /// A variable of its environment.
    environment: Option<(&'static str, PathBuf)>,
}

impl Target {
    /// Whether it has this algorithm. The kernel has none behind a median.
    #[must_use]
    pub fn has(&self, algorithm: &str) -> bool {
        self.lacking.iter().all(|(name, _)| name != algorithm)
            && (self.objects.is_none() || !algorithm.starts_with(MEDIAN))
    }

    /// Runs it; what it wrote, in 8-byte numbers.
    ///
    /// # Errors
    /// When it fails.
    pub fn run(&self, trace: &Path, numbers: [u64; 5]) -> Result<Vec<u64>, String> {
        if let Some(browser) = &self.browser {
            let bytes = browser.lock().unwrap_or_else(PoisonError::into_inner).replay(trace, numbers);
            return bytes.map(|bytes| plain(&bytes)).map_err(|reason| format!("{}: {reason}", self.name));
        }
        let out = trace.with_extension(self.name);
        let mut command = self.replay(trace);
        command.arg(&out).args(numbers.map(|number| number.to_string()));
        run(&mut command)?;
        let bytes = fs::read(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        fs::remove_file(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        Ok(plain(&bytes))
    }

    /// Returns the nanoseconds that the calls of a trace take, the least of `runs` runs.
    ///
    /// # Errors
    /// When it fails.
    pub fn cost(&self, trace: &Path, runs: u32) -> Result<f64, String> {
        let said = run(self.replay(trace).arg(runs.to_string()))?;
        said.trim().parse().map_err(|error| format!("{}: {said:?}: {error}", self.name))
    }

    /// The command, up to the trace.
    fn replay(&self, trace: &Path) -> Command {
        let mut command = Command::new(&self.command[0]);
        if let Some(objects) = &self.objects {
            let algorithm = trace.file_stem().map(|stem| stem.to_string_lossy().replace('-', "_"));
            command.arg(objects.join(format!("{}.bpf.o", algorithm.unwrap_or_default())));
            command.arg(trace.with_extension("setups"));
        }
        command.args(&self.command[1..]).arg(trace).envs(self.environment.clone());
        command
    }
}

/// The targets that this machine can build, in `folder`, and a sentence for each of the others. `kernel` names the
/// algorithms that are wanted in the kernel; without any that target is left out.
///
/// # Errors
/// When one that could be built is not.
pub fn all(folder: &Path, kernel: &[&str]) -> Result<(Vec<Target>, Vec<String>), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (mut found, mut lacking) = (Vec::new(), Vec::new());
    for target in [c(folder)?, wasm(folder)?, chromium(folder)?, bpf(folder, kernel)?] {
        match target {
            Ok(target) => found.push(target),
            Err(reason) => lacking.push(reason),
        }
    }
    Ok((found, lacking))
}

/// Numbers of 8 bytes.
fn plain(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)).collect()
}

/// A target, or what is missing for it.
type Found = Result<Target, String>;

/// The shared library, called by a program in C.
fn c(folder: &Path) -> Result<Found, String> {
    let Some(compiler) = ["cc", "gcc", "clang"].into_iter().find(|name| there(name, &["--version"])) else {
        return Ok(Err("c: there is no compiler of C".to_owned()));
    };
    let library = library()?;
    for name in ["libincast_cc.so", "libincast_cc.so.1"] {
        let link = folder.join(name);
        let _ = fs::remove_file(&link);
        symlink(&library, &link).map_err(|error| format!("{}: {error}", link.display()))?;
    }
    let program = folder.join("replay");
    let mut command = Command::new(compiler);
    command.args([
        "-std=c11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wconversion",
        "-Wshadow",
        "-Werror",
    ]);
    command.arg("-I").arg(file("../capi/include")).arg(file("c/replay.c")).arg("-o").arg(&program);
    command.arg("-L").arg(folder).arg("-lincast_cc");
    run(&mut command)?;
    let command = vec![program.display().to_string()];
    Ok(Ok(Target {
        name: "c",
        command,
        objects: None,
        browser: None,
        lacking: Vec::new(),
        environment: Some(("LD_LIBRARY_PATH", folder.to_owned())),
    }))
}

/// The library that was built with this program: in its folder, or beside that.
fn library() -> Result<PathBuf, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let mut folders =
        program.ancestors().skip(1).take(2).flat_map(|folder| [folder.to_owned(), folder.join("deps")]);
    let library = folders.find_map(|folder| {
        let library = folder.join("libincast_capi.so");
        library.exists().then_some(library)
    });
    library.ok_or_else(|| format!("there is no libincast_capi.so beside {}", program.display()))
}

/// The C interface compiled to WebAssembly, in node.
fn wasm(folder: &Path) -> Result<Found, String> {
    if !there("node", &["--version"]) {
        return Ok(Err("wasm: there is no node".to_owned()));
    }
    let module = match module(folder)? {
        Ok(module) => module,
        Err(reason) => return Ok(Err(format!("wasm: {reason}"))),
    };
    let command =
        vec!["node".to_owned(), file("wasm/node.mjs").display().to_string(), module.display().to_string()];
    Ok(Ok(Target {
        name: "wasm",
        command,
        objects: None,
        browser: None,
        lacking: Vec::new(),
        environment: None,
    }))
}

/// Looks for a browser to run it in.
fn chromium(folder: &Path) -> Result<Found, String> {
    let Some(program) = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| there(name, &["--version"]))
    else {
        return Ok(Err("chromium: there is none".to_owned()));
    };
    let module = match module(folder)? {
        Ok(module) => module,
        Err(reason) => return Ok(Err(format!("chromium: {reason}"))),
    };
    let browser = Browser::start(program, folder, &module, &file("wasm/replay.mjs"))?;
    let browser = Some(Arc::new(Mutex::new(browser)));
    let (command, objects, lacking) = (Vec::new(), None, Vec::new());
    Ok(Ok(Target { name: "chromium", command, objects, browser, lacking, environment: None }))
}

/// Builds the C interface for WebAssembly, or says what is missing.
fn module(folder: &Path) -> Result<Result<PathBuf, String>, String> {
    const TARGET: &str = "wasm32-unknown-unknown";
    let installed = || {
        let mut command = Command::new("rustc");
        let root = command.args(["--print", "target-libdir", "--target", TARGET]).output();
        root.is_ok_and(|root| Path::new(String::from_utf8_lossy(&root.stdout).trim()).exists())
    };
    if !installed() {
        let _ = Command::new("rustup").args(["target", "add", TARGET]).output();
    }
    if !installed() {
        return Ok(Err(format!("the target is not installed: rustup target add {TARGET}")));
    }
    // One for all who build it.
    let target = folder.with_file_name("wasm");
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["rustc", "--quiet", "--locked", "--release", "--lib", "--crate-type", "cdylib"]);
    command.args(["--target", TARGET, "--manifest-path"]).arg(file("../capi/Cargo.toml"));
    command.env("CARGO_TARGET_DIR", &target).env_remove("RUSTFLAGS");
    run(&mut command)?;
    Ok(Ok(target.join(TARGET).join("release/incast_capi.wasm")))
}

/// The functions of the kernel's congestion control, in the kernel.
fn bpf(folder: &Path, algorithms: &[&str]) -> Result<Found, String> {
    if cfg!(not(target_os = "linux")) {
        return Ok(Err("bpf: this is not Linux".to_owned()));
    }
    if algorithms.is_empty() {
        return Ok(Err("bpf: no algorithm is asked for".to_owned()));
    }
    // One for all who build it.
    let objects = folder.with_file_name("bpf");
    // (The first is what shows whether the kernel loads any.)
    let modules = ["constant"].iter().chain(algorithms).map(|name| name.replace('-', "_"));
    let said = run(Command::new(file("bpf/build.sh")).arg(&objects).args(modules))?;
    if let Some(what) = said.lines().find_map(|line| line.strip_prefix("missing: ")) {
        return Ok(Err(format!("bpf: there is no {what}")));
    }
    let program = objects.join("replay").display().to_string();
    // Whether the kernel loads them, and for this user.
    let loads = |algorithm: &str| {
        let object = objects.join(format!("{}.bpf.o", algorithm.replace('-', "_")));
        let loaded = run(Command::new(&program).arg(object));
        // What the verifier says of it, if it is that.
        let said = |reason: String| {
            let limit = reason.lines().find(|line| line.contains("(limit "));
            limit.or(reason.lines().last()).unwrap_or_default().trim().to_owned()
        };
        loaded.err().map(said)
    };
    if let Some(reason) = loads("constant") {
        return Ok(Err(format!("bpf: the kernel loads nothing: {reason}")));
    }
    let lacking = algorithms.iter().filter_map(|name| Some(((*name).to_owned(), loads(name)?)));
    let lacking = lacking.collect();
    Ok(Ok(Target {
        name: "bpf",
        command: vec![program],
        objects: Some(objects),
        browser: None,
        lacking,
        environment: None,
    }))
}

/// A file of this crate.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn there(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// Runs a command, which must succeed, and returns its output.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {}: {}", output.status, said.trim()))
}
