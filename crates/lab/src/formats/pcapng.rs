//! Captured packets as a pcapng file (draft-ietf-opsawg-pcapng), for Wireshark and similar tools.
//!
//! One interface for each captured port, with its name and the link's rate; times in nanoseconds of
//! simulated time, rounded down. Headers are constructed from the recorded fields; payload is not stored.
//! Packets of a testbed are stored as they were seen, up to the first bytes of their payload.

use std::collections::BTreeMap;
use std::io::{self, Write};

use incast_sim::Simulation;
use incast_sim::describe::network::{NodeId, PortId};
use incast_sim::record::PacketRecord;
use incast_units::{Bytes, Time};

use super::frame::{Context, frame, mac};

/// More than the headers of any packet.
const SNAP_LENGTH: u32 = 128;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const LINKTYPE_ETHERNET: u16 = 1;

/// Numbers of options.
mod option {
    pub(super) const COMMENT: u16 = 1;
    pub(super) const USER_APPLICATION: u16 = 4;
    pub(super) const NAME: u16 = 2;
    pub(super) const SPEED: u16 = 8;
    pub(super) const TIME_RESOLUTION: u16 = 9;
    pub(super) const CHECK_LENGTH: u16 = 13;
    pub(super) const PACKET_FLAGS: u16 = 2;
}

/// A packet that was seen on a testbed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Time from the start of the scenario.
    pub time: Time,
    /// The port that sent it.
    pub port: (NodeId, PortId),
    /// Its length without preamble, gap and check sequence.
    pub length: Bytes,
    /// Its first bytes, from the Ethernet header on.
    pub bytes: Vec<u8>,
}

/// A capture that is being written.
#[derive(Debug)]
pub struct Capture<'a, W> {
    out: W,
    simulation: &'a Simulation,
    /// Number of the interface and address of the far end, by captured port.
    interfaces: BTreeMap<(NodeId, PortId), (u32, [u8; 6])>,
    /// A block before it is written.
    block: Vec<u8>,
}

impl<'a, W: Write> Capture<'a, W> {
    /// Begins the file: who wrote it, whether of a simulation or of a testbed, and the captured ports.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(out: W, simulation: &'a Simulation, name: &str, simulated: bool) -> io::Result<Self> {
        let mut capture = Self { out, simulation, interfaces: BTreeMap::new(), block: Vec::new() };
        let block = &mut capture.block;
        // Byte order, version 1.0, length of the section unknown.
        block.extend(0x1a2b_3c4d_u32.to_le_bytes());
        block.extend(1_u16.to_le_bytes());
        block.extend(0_u16.to_le_bytes());
        block.extend(u64::MAX.to_le_bytes());
        let (what, place) = if simulated { ("simulated packets", "") } else { ("packets", " on a testbed") };
        let comment = format!("{what} of {name}{place}, seed {}", simulation.seed);
        put_option(block, option::COMMENT, comment.as_bytes());
        let program = concat!("Incast ", env!("CARGO_PKG_VERSION"));
        put_option(block, option::USER_APPLICATION, program.as_bytes());
        put_option(block, 0, &[]);
        capture.end_block(SECTION_HEADER)?;

        let network = &simulation.network;
        let node = |id: NodeId| network.nodes.get(id as usize).map_or("?", String::as_str);
        for &port in &simulation.probes.captures {
            let ends = network.links.iter().find_map(|link| match (link.a == port, link.b == port) {
                (true, _) => Some((link.b, link.rate)),
                (_, true) => Some((link.a, link.rate)),
                _ => None,
            });
            let Some((far, rate)) = ends else { continue };
            let number = capture.interfaces.len() as u32;
            if capture.interfaces.insert(port, (number, mac(far.0, far.1))).is_some() {
                continue;
            }
            let block = &mut capture.block;
            block.extend(LINKTYPE_ETHERNET.to_le_bytes());
            block.extend(0_u16.to_le_bytes());
            block.extend(SNAP_LENGTH.to_le_bytes());
            put_option(
                block,
                option::NAME,
                format!("{}:{}->{}", node(port.0), port.1, node(far.0)).as_bytes(),
            );
            put_option(block, option::SPEED, &rate.bps().to_le_bytes());
            put_option(block, option::TIME_RESOLUTION, &[9]);
            put_option(block, option::CHECK_LENGTH, &[0]);
            put_option(block, 0, &[]);
            capture.end_block(INTERFACE_DESCRIPTION)?;
        }
        Ok(capture)
    }

    /// Adds packets, those from the first to the last sample of the probes.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn packets(&mut self, records: &[PacketRecord]) -> io::Result<()> {
        let probes = &self.simulation.probes;
        for record in records.iter().filter(|record| (probes.from..=probes.until).contains(&record.time)) {
            let Some(&(interface, to)) = self.interfaces.get(&(record.node, record.port)) else { continue };
            let flow = record.flow.and_then(|flow| self.simulation.flows.get(flow as usize));
            let transport = &self.simulation.transport;
            let bytes = frame(
                record,
                &Context {
                    to,
                    payload: transport.payload.get().max(1),
                    flow_size: flow
                        .map(|flow| flow.size)
                        .filter(|&size| size != Bytes::UNLIMITED)
                        .map(Bytes::get),
                    smallest: transport.smallest.get(),
                },
            );
            self.packet(interface, record.time, record.size, &bytes)?;
        }
        Ok(())
    }

    /// Adds packets that were seen, those from the first to the last sample of the probes.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn frames(&mut self, frames: &[Frame]) -> io::Result<()> {
        let probes = &self.simulation.probes;
        for frame in frames.iter().filter(|frame| (probes.from..=probes.until).contains(&frame.time)) {
            let Some(&(interface, _)) = self.interfaces.get(&frame.port) else { continue };
            let stored = frame.bytes.len().min(SNAP_LENGTH as usize);
            self.packet(interface, frame.time, frame.length, &frame.bytes[..stored])?;
        }
        Ok(())
    }

    /// Adds a packet of this length, of which these bytes are known.
    fn packet(&mut self, interface: u32, time: Time, length: Bytes, bytes: &[u8]) -> io::Result<()> {
        let on_wire = u32::try_from(length.get()).unwrap_or(u32::MAX);
        let stored = (bytes.len() as u32).min(on_wire);
        let nanoseconds = time.ps() / 1000;
        let block = &mut self.block;
        block.extend(interface.to_le_bytes());
        block.extend(((nanoseconds >> 32) as u32).to_le_bytes());
        block.extend((nanoseconds as u32).to_le_bytes());
        block.extend(stored.to_le_bytes());
        block.extend(on_wire.to_le_bytes());
        block.extend(&bytes[..stored as usize]);
        pad(block);
        // Captured on its way out.
        put_option(block, option::PACKET_FLAGS, &2_u32.to_le_bytes());
        put_option(block, 0, &[]);
        self.end_block(ENHANCED_PACKET)
    }

    /// Writes everything so far to the operating system.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Ends the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes the collected block with its type and its length on both sides.
    fn end_block(&mut self, kind: u32) -> io::Result<()> {
        let length = (self.block.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(&self.block)?;
        self.out.write_all(&length)?;
        self.block.clear();
        Ok(())
    }
}

/// Adds an option; number 0 ends the options.
fn put_option(block: &mut Vec<u8>, number: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    block.extend(number.to_le_bytes());
    block.extend((value.len() as u16).to_le_bytes());
    block.extend(value);
    pad(block);
}

/// Fills up to a multiple of four bytes.
fn pad(block: &mut Vec<u8>) {
    block.resize(block.len().next_multiple_of(4), 0);
}
