//! Runs of scenarios and folders for their files, for the tests.
#![allow(dead_code, unreachable_pub, reason = "each test file has it as a module, and uses its part")]

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use incast_lab::Built;
use incast_lab::run::{RunOptions, RunResult, run};

/// A folder of a test's own, removed at its end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// Makes an empty folder, whose name has the name of the test.
    pub fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("incast-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file into it.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs what a scenario describes.
pub fn go(name: &str, scenario: &str, built: &Built, options: &RunOptions) -> RunResult {
    let job = built.job(name, scenario);
    run(&job, options, &mut |_| ControlFlow::Continue(())).unwrap()
}
