//! Prints the setup of the algorithm on a path as the kernel's code reads it: `setup BASE_RTT_PS LINE_RATE_BPS`.

use custom_algorithm::TargetParams;
use incast_cc::{Path, Setup};
use incast_units::{Bytes, Rate, Time};

fn main() {
    let given: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let &[base_rtt, line_rate] = given.as_slice() else {
        eprintln!("setup BASE_RTT_PS LINE_RATE_BPS");
        std::process::exit(2);
    };
    let path = Path {
        base_rtt: Time::from_ps(base_rtt),
        base_owd: Time::from_ps(base_rtt / 2),
        line_rate: Rate::from_bps(line_rate),
        packet: Bytes::new(1538),
        payload: Bytes::new(1448),
        hops: 2,
    };
    let Setup { params, path, bdp, derived } = Setup::new(TargetParams::default(), path);
    let words = [
        params.target,
        params.gain,
        path.base_rtt.ps(),
        path.base_owd.ps(),
        path.line_rate.bps(),
        path.packet.get(),
        path.payload.get(),
        u64::from(path.hops),
        bdp.get(),
        derived.ps(),
    ];
    assert_eq!(size_of_val(&words), size_of::<Setup<TargetParams>>());
    for byte in words.iter().flat_map(|word| word.to_le_bytes()) {
        print!("{byte:02x}");
    }
    println!();
}
