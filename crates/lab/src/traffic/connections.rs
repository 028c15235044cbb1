//! Connections: the flows of a block that share a path and a congestion state.

use std::collections::BTreeMap;

use incast_sim::describe::flow::Flow;
use incast_sim::describe::network::PortId;
use incast_sim::describe::transport::Kind;
use incast_sim::random::mix;

use super::{Block, Pattern};
use crate::grammar::section::choice;
use crate::hash;
use crate::problem::{Problem, fault};

/// Flows that share a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connections {
    /// Each has its own.
    Flow,
    /// All flows of a sender and a receiver.
    Pair,
}

choice! {
    Connections {
        "flow" => Flow: "none: each has a path and a congestion state of its own",
        "pair" => Pair: "all flows of the block from one host, or card, to another over one channel: its messages, one after the other",
    }
}

impl Block {
    /// Returns the flows of the block that share a connection over this kind of transport.
    pub(crate) fn connections(&self, transport: Kind) -> Connections {
        // The other transports keep no state of a sender from one message to the next.
        let usual = if transport == Kind::Window { self.pattern.connections() } else { Connections::Flow };
        self.common.connections.unwrap_or(usual)
    }
}

impl Pattern {
    /// Returns the flows that share a connection where the block does not say it: flows of collectives and of training
    /// use the connections that the ranks opened when the job began.
    const fn connections(&self) -> Connections {
        match self {
            Self::RingAllReduce(_)
            | Self::AllToAll(_)
            | Self::Collective(_)
            | Self::ParameterServer(_)
            | Self::Hsdp(_)
            | Self::GoalFile(_)
            | Self::ChakraTrace(_)
            | Self::SimAiFile(_) => Connections::Pair,
            Self::Flows(_)
            | Self::Poisson(_)
            | Self::Incast(_)
            | Self::Permutation(_)
            | Self::Staggered(_)
            | Self::HpccFile(_)
            | Self::FlowTable(_)
            | Self::HtsimConnections(_)
            | Self::ClosedLoop(_)
            | Self::FileRequests(_)
            | Self::OnOff(_) => Connections::Flow,
        }
    }
}

/// Makes the flows of a block, each with its channel, the messages of the connections of their pairs, numbered from
/// `first` on in the order of their first flows. Returns the number of connections.
///
/// # Errors
/// When a flow has no end that is known before it starts.
pub(crate) fn connect<'a>(
    flows: impl Iterator<Item = (u32, &'a mut Flow)>,
    first: u32,
    seed: u64,
    name: &str,
) -> Result<u32, Problem> {
    let mut numbers = BTreeMap::new();
    for (channel, flow) in flows {
        if !flow.has_known_end() {
            let message = "must be \"flow\": flows of the block have no size, or a time at which they stop";
            return Err(fault("connections", message.to_owned()));
        }
        let next = first + numbers.len() as u32;
        let pair = (flow.source, flow.destination, flow.cards, channel);
        flow.connection = Some(*numbers.entry(pair).or_insert(next));
        flow.key = key(seed, name, pair);
    }
    Ok(numbers.len() as u32)
}

/// Two hosts, with the network card of each if their flows name it, and a channel between them.
type Pair = (u32, u32, [Option<PortId>; 2], u32);

/// A hash of a seed, the name of a block and a channel between a pair of hosts or cards: the key of its connection.
fn key(seed: u64, name: &str, (source, destination, cards, channel): Pair) -> u64 {
    // No block has this name, so that no flow has this key.
    let of_pair = hash::key(seed, &format!("{name}/pair"), u64::from(source));
    let of_hosts = mix(of_pair ^ u64::from(destination));
    let of_cards = match cards {
        [None, None] => of_hosts,
        cards => {
            let [from, to] = cards.map(|card| card.map_or(0, |card| u64::from(card) + 1));
            mix(of_hosts ^ (from << 32 | to))
        }
    };
    // Cards have no number whose upper bits are those of the complement.
    if channel == 0 { of_cards } else { mix(of_cards ^ !u64::from(channel)) }
}

#[cfg(test)]
mod tests {
    use incast_units::{Bytes, Time};

    use super::*;

    #[test]
    fn flows_of_one_pair_have_one_number_and_one_key() {
        let ends = [(0, 1), (1, 0), (0, 1), (0, 2), (1, 0)];
        let mut flows = ends.map(|(a, b)| Flow::of_size(a, b, Bytes::new(1), Time::ZERO));
        assert_eq!(connect(flows.iter_mut().map(|flow| (0, flow)), 5, 1, "ring").unwrap(), 3);
        assert_eq!(flows.map(|flow| flow.connection), [5, 6, 5, 7, 6].map(Some));
        let keys = flows.map(|flow| flow.key);
        assert_eq!((keys[0], keys[1]), (keys[2], keys[4]));
        // Another direction, another receiver, another block and another seed each make another key.
        let mut all = vec![
            keys[0],
            keys[1],
            keys[3],
            key(1, "rings", (0, 1, [None; 2], 0)),
            key(2, "ring", (0, 1, [None; 2], 0)),
        ];
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 5);
    }

    #[test]
    fn cards_of_a_host_have_connections_of_their_own() {
        let cards =
            [[None, None], [Some(0), Some(0)], [Some(1), Some(0)], [Some(0), Some(1)], [Some(1), Some(0)]];
        let mut flows = cards.map(|cards| Flow { cards, ..Flow::of_size(0, 1, Bytes::new(1), Time::ZERO) });
        assert_eq!(connect(flows.iter_mut().map(|flow| (0, flow)), 0, 1, "ring").unwrap(), 4);
        assert_eq!(flows.map(|flow| flow.connection), [0, 1, 2, 3, 2].map(Some));
        let mut keys = flows.map(|flow| flow.key).to_vec();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 4);
    }

    #[test]
    fn channels_of_the_same_cards_have_connections_of_their_own() {
        let all = |cards: [Option<PortId>; 2]| {
            let channels = [0, 1, 2, 1];
            let mut flows = channels
                .map(|channel| (channel, Flow { cards, ..Flow::of_size(0, 1, Bytes::new(1), Time::ZERO) }));
            let made = connect(flows.iter_mut().map(|(channel, flow)| (*channel, flow)), 0, 1, "ring");
            assert_eq!(made.unwrap(), 3);
            let flows = flows.map(|(_, flow)| flow);
            assert_eq!(flows.map(|flow| flow.connection), [0, 1, 2, 1].map(Some));
            flows[..3].iter().map(|flow| flow.key).collect::<Vec<_>>()
        };
        let mut keys = [[None, None], [Some(0), None], [Some(1), Some(1)]].map(all).concat();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 9);
    }

    #[test]
    fn a_flow_that_stops_has_no_connection() {
        let stops = Flow { stop: Time::from_us(3), ..Flow::of_size(0, 1, Bytes::UNLIMITED, Time::ZERO) };
        let problem = connect([(0, &mut { stops })].into_iter(), 0, 1, "bursts").unwrap_err();
        assert_eq!(problem.key.as_deref(), Some("connections"));
    }
}
