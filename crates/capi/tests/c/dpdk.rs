//! The example for DPDK compiles, and its flows arrive and leave the queue that their algorithm leaves.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::example::private_libraries;
use crate::tools::{built, compile, file, folder, run, tools};

/// The flags of DPDK of this kind; `None` where there is no DPDK to compile with.
fn flags(kind: &str) -> Option<Vec<String>> {
    let output = Command::new("pkg-config").args([kind, "libdpdk"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.split_whitespace().map(str::to_owned).collect())
}

/// The example, compiled.
fn program(folder: &Path) -> Option<PathBuf> {
    if tools(&["gcc", "pkg-config"]).len() < 2 {
        return None;
    }
    let (Some(includes), Some(libraries)) = (flags("--cflags"), flags("--libs")) else {
        println!("left out: there is no DPDK (Debian: apt install libdpdk-dev)");
        return None;
    };
    let program = folder.join("dpdk");
    let strict = ["-O2", "-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Werror"];
    let mut command = compile("gcc", &strict, &file("examples/dpdk.c"), &program);
    // What the headers of DPDK do is not this example's affair.
    let includes = includes.iter().map(|flag| flag.replacen("-I", "-isystem", 1));
    command.args(includes).arg(built().join("libincast_capi.a")).args(libraries).args(private_libraries());
    run(&mut command);
    Some(program)
}

/// Arguments for EAL: memory without huge pages, no device of the machine, one thread.
const EAL: [&str; 8] = ["--no-huge", "-m", "64", "--no-pci", "--no-telemetry", "--log-level=4", "-l", "0"];

/// Sends packets over these ports; says how long the queue was at its longest. (bytes)
fn longest_queue(command: &mut Command, ports: [&str; 2], algorithm: &str, packets: u64) -> u64 {
    let prefix = format!("incast-{}-{algorithm}", std::process::id());
    command.args(EAL).args(ports).args(["--file-prefix", &prefix]);
    let printed = run(command.args(["--", algorithm, "100us", "200Mbps", &packets.to_string()]));
    let arrived = format!("{algorithm}: {packets} of {packets} packets arrived in order");
    assert!(printed.contains(&arrived), "{printed}");
    let rest = printed.split("longest queue ").nth(1).unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn flows_over_rings() {
    let Some(program) = program(&folder("dpdk")) else { return };
    let ports = ["--vdev=net_ring0", "--vdev=net_ring1"];
    let queue = |algorithm| longest_queue(&mut Command::new(&program), ports, algorithm, 3000);
    // The line is ten times faster than the bottleneck, so that without control nearly everything waits there.
    let constant = queue("constant");
    assert!(constant > 1_000_000, "{constant}");
    // One by round-trip times, one by marks, one by telemetry.
    for algorithm in ["oscar", "dctcp", "hpcc"] {
        let controlled = queue(algorithm);
        assert!(controlled < constant / 4, "{algorithm}: {controlled} B, {constant} B");
    }
}

#[test]
fn flows_over_veth() {
    let Some(program) = program(&folder("dpdk-veth")) else { return };
    if tools(&["unshare"]).is_empty() || !has_own_network() {
        println!("left out: a network of its own needs root and the tool ip");
        return;
    }
    // The devices disappear with the network of this process, however it ends.
    let devices = format!("ip {DEVICES} && ip link set va up && ip link set vb up && exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", &devices, "sh"]).arg(program);
    let ports = ["--vdev=net_af_packet0,iface=va", "--vdev=net_af_packet1,iface=vb"];
    longest_queue(&mut command, ports, "swift", 1000);
}

/// Makes two devices, the ends of one cable.
const DEVICES: &str = "link add name va type veth peer name vb";

fn has_own_network() -> bool {
    let tried = Command::new("unshare").args(["--net", "ip"]).args(DEVICES.split(' ')).output();
    tried.is_ok_and(|output| output.status.success())
}
