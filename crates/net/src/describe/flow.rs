//! Flows.

use incast_units::{Bytes, Time};

use super::balancing::Balancing;
use super::network::PortId;

/// One transfer from a host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Identity of the flow for random draws, derived from the name of its origin and not from its position
    /// in the list, so that adding a flow does not change the draws of others.
    pub key: u64,
    /// Sending host.
    pub source: u32,
    /// Receiving host.
    pub destination: u32,
    /// Network card of each end, by its port: its data leaves by the first and arrives by the second, its
    /// acknowledgements go the other way. `None`: one of the nearest, by the flow's hash.
    pub cards: [Option<PortId>; 2],
    /// Payload to transfer; [`Bytes::UNLIMITED`] for a flow that ends by `stop`, or with the run.
    pub size: Bytes,
    /// Time of its start. For a flow that an operation sends: the earliest time at which it may start.
    pub start: Time,
    /// Time at which it stops sending new data ([`Time::NEVER`]: when `size` has been sent).
    pub stop: Time,
    /// Its queue (priority) in the switches.
    pub queue: u8,
    /// Its algorithm, an index into [`super::Simulation::algorithms`].
    pub algorithm: u16,
    /// Policy by which its packets are spread over equal paths.
    pub balancing: Balancing,
    /// Its connection, by number from 0: flows of one connection are its messages and share what names their path
    /// and their treatment, their `key` included. `None`: it has a path and a state of its own.
    pub connection: Option<u32>,
    /// A label for the caller: the traffic block of the flow.
    pub group: u16,
    /// Whether it counts: the run lasts until all such flows are done. The others only make load.
    pub counted: bool,
}

impl Flow {
    /// A flow of this size that counts, with the first algorithm and in queue 0; its key is 0.
    #[must_use]
    pub fn of_size(source: u32, destination: u32, size: Bytes, start: Time) -> Self {
        Self {
            key: 0,
            source,
            destination,
            cards: [None; 2],
            size,
            start,
            stop: Time::NEVER,
            queue: 0,
            algorithm: 0,
            balancing: Balancing::default(),
            connection: None,
            group: 0,
            counted: true,
        }
    }

    /// Whether its last byte is known before it starts: it has a size and no stop time.
    #[must_use]
    pub fn has_known_end(&self) -> bool {
        self.size != Bytes::UNLIMITED && self.stop == Time::NEVER
    }

    /// Says what a flow may not differ in from another one of the same connection, if it does.
    #[must_use]
    pub fn differs_from(&self, other: &Self) -> Option<&'static str> {
        let differences = [
            ("source", self.source != other.source),
            ("destination", self.destination != other.destination),
            ("cards", self.cards != other.cards),
            ("key", self.key != other.key),
            ("queue", self.queue != other.queue),
            ("algorithm", self.algorithm != other.algorithm),
            ("balancing", self.balancing != other.balancing),
        ];
        differences.into_iter().find_map(|(name, differs)| differs.then_some(name))
    }

    /// Whether it lasts until the end of the run: it has neither a size nor a stop time.
    #[must_use]
    pub fn is_open_ended(&self) -> bool {
        self.size == Bytes::UNLIMITED && self.stop == Time::NEVER
    }
}
