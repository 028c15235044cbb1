//! File formats of other programs, read and written.
//!
//! * [`hpcc_topology`], [`hpcc_flows`]: the inputs of HPCC's simulator, its descendants and SimAI.
//! * [`hpcc_fct`]: its list of completed flows, for scripts that read one.
//! * [`flow_table`]: flows as CSV or Parquet.
//! * [`goal`]: schedules of LogGOPSim and ATLAHS, as text or binary.
//! * [`simai`]: workloads of SimAI.
//! * [`htsim_connections`], [`htsim_topology`]: the inputs of htsim.
//! * [`chakra`], [`chakra_workload`]: execution traces of MLCommons, as ASTRA-sim reads them, or as JSON.
//! * [`pcapng`]: captured packets, for Wireshark and similar tools.
//! * [`perfetto`]: a run as a trace for the Perfetto viewer.
//! * [`convert`]: a scenario from foreign files.
//! * [`describe`]: the format and contents of a foreign file.
//! * [`export`]: a saved result in one of [`FORMATS`].
//!
//! Distributions of flow sizes are read by [`sizes`](crate::sizes).

pub mod chakra;
pub mod chakra_workload;
pub mod convert;
pub mod describe;
pub mod export;
pub mod flow_table;
pub mod goal;
pub mod hpcc_fct;
pub mod hpcc_flows;
pub mod hpcc_topology;
pub mod htsim_connections;
pub mod htsim_topology;
pub mod pcapng;
pub mod perfetto;
pub mod simai;

pub(crate) mod chakra_files;
mod chakra_json;
pub(crate) mod fields;
mod flow_parquet;
mod frame;
mod goal_binary;
mod goal_schedule;
mod protobuf;

/// Declares [`FORMATS`].
macro_rules! formats {
    ($($file:ident::$format:ident;)+) => {
        /// The formats in which a saved result can be written.
        pub const FORMATS: &[export::Format] = &[$(export::Format::of::<$file::$format>()),+];
    };
}

formats! {
    hpcc_fct::FctList;
    perfetto::Trace;
}

/// Returns the IPv4 address of a host in HPCC's files and in captures: 11.x.y.1 with the host's number in x
/// and y, so that `(address >> 8) & 0xffff` is the number again.
#[must_use]
pub const fn address(host: u32) -> u32 {
    0x0b00_0001_u32.wrapping_add(host << 8)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_extension_names_one_format() {
        let all: Vec<_> = FORMATS.iter().flat_map(|format| format.extensions).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{all:?}");
        assert!(!all.contains(&&".toml"), "scenarios have this one");
        for format in FORMATS {
            let named = format.extensions.iter().filter(|extension| format.example.ends_with(**extension));
            assert_eq!(named.count(), 1, "{format:?}");
        }
    }
}
