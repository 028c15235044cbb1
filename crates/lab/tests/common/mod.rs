//! Runs of scenarios and folders for their files, for the tests.
#![allow(dead_code, unreachable_pub, reason = "each test file has it as a module, and uses its part")]

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use incast_lab::run::{RunOptions, RunResult, run};
use incast_lab::{Built, Scenario};
use incast_sim::describe::flow::Flow;

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

/// A star of 16 hosts, without traffic.
pub const HEAD: &str = r#"
[topology]
kind = "star"
hosts = 16
rate = "100Gbps"
delay = "3us"

[cc]
algorithm = "constant"
"#;

/// Reads a scenario.
pub fn read(text: &str) -> Scenario {
    Scenario::from_toml(text, "test.toml", &[]).unwrap_or_else(|problems| panic!("{problems}\nin\n{text}"))
}

/// Reads a scenario with overrides.
pub fn overridden(text: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    Scenario::from_toml(text, "test.toml", &overrides).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A star with these traffic blocks.
pub fn star(traffic: &str) -> Scenario {
    read(&format!("{HEAD}{traffic}"))
}

/// The flows that count.
pub fn flows(scenario: &Scenario) -> Vec<Flow> {
    let mut flows = all(scenario);
    flows.retain(|flow| flow.counted);
    flows
}

/// All flows, counted or not.
pub fn all(scenario: &Scenario) -> Vec<Flow> {
    scenario.build().unwrap_or_else(|problems| panic!("{problems}")).simulation.flows
}

/// The flows of one block.
pub fn of_group(scenario: &Scenario, name: &str) -> Vec<Flow> {
    let group = scenario.groups().iter().position(|group| *group == name).unwrap();
    flows(scenario).into_iter().filter(|flow| usize::from(flow.group) == group).collect()
}

/// Checks that a scenario is what it is written as.
pub fn round_trip(scenario: &Scenario) {
    let text = scenario.effective_toml();
    let again = read(&text);
    assert_eq!(*scenario, again, "{text}");
    assert_eq!(text, again.effective_toml());
    for seed in [0, 3, u64::MAX] {
        let overrides = [format!("seed={}", seed.min(i64::MAX as u64))];
        let read = Scenario::from_toml(&text, "s.toml", &overrides).unwrap();
        let changed = again.with_seed(seed).effective_toml();
        assert_eq!(changed, read.with_seed(seed).effective_toml());
        if seed <= i64::MAX as u64 {
            assert_eq!(changed, read.effective_toml(), "made from its keys, not from the text before");
        }
    }
    assert_eq!(scenario.name(), again.name());
    let (a, b) = (scenario.build().unwrap().simulation, again.build().unwrap().simulation);
    assert_eq!(a.flows, b.flows);
    assert_eq!(format!("{a:?}"), format!("{b:?}"));
}
