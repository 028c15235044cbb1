//! Facts of the network: its links, paths and circuits.

use incast_net::describe::Simulation;
use incast_net::describe::network::{NodeId, PortId};
use incast_net::routing::forwarding::Table;
use incast_net::routing::path::Paths;
use incast_net::routing::route::{Address, Routes};
use incast_units::{Bytes, Rate, Time};

use super::circuits::Circuits;

/// The network as switches and ports see it, constant over the run.
#[derive(Debug)]
pub(crate) struct Fabric {
    pub(crate) routes: Routes,
    pub(crate) paths: Paths,
    /// In a network with an optical switch.
    pub(crate) circuits: Option<Circuits>,
    /// The different rates of links; INT records name one by index.
    pub(crate) rates: Vec<Rate>,
    /// The largest packet on any wire.
    pub(crate) largest_packet: Bytes,
}

impl Fabric {
    /// The network of a description, with packets up to this size.
    ///
    /// # Errors
    /// When a node or a circuit cannot be reached or contradicts another part: what to say.
    pub(super) fn new(simulation: &Simulation, largest_packet: Bytes) -> Result<Self, String> {
        let routes = Routes::to_cards(
            &simulation.network,
            simulation.flows.iter().any(|flow| flow.cards.iter().any(Option::is_some)),
        )?;
        let circuits = Circuits::new(&simulation.network, &routes.ports)?;
        let links = simulation.network.links.iter().map(|link| link.rate);
        let mut rates: Vec<Rate> = links.chain(routes.timeline.rates()).collect();
        rates.sort_unstable();
        rates.dedup();
        let paths = Paths::new(&simulation.switch, &simulation.flows);
        Ok(Self { routes, paths, circuits, rates, largest_packet })
    }

    /// The longest time that a packet and its answer take between any two hosts, without queues.
    pub(crate) fn crosses_in(&self) -> Time {
        self.routes.slowest_round_trip(self.largest_packet.get())
    }

    /// The place of a rate in the table of rates.
    pub(crate) fn rate_index(&self, rate: Rate) -> u32 {
        self.rates.binary_search(&rate).unwrap_or(0) as u32
    }

    /// The port of a host with several ports and this table by which packets with this hash leave for
    /// a destination.
    pub(crate) fn nic_for(&self, host: NodeId, table: &Table, destination: Address, hash: u32) -> PortId {
        let (place, _) = self.routes.attachment[destination as usize];
        self.paths.pick(host, hash, table.group(place, destination)).unwrap_or(0)
    }
}
