//! `[transport.homa]`: the settings of Homa, and what it needs from other sections.

use incast_cc::Fixed;
use incast_sim::describe::balancing::Balancing;
use incast_sim::describe::switch::Scheduler;
use incast_sim::describe::transport::{
    Homa, LastRttBytes, MAX_OVERCOMMITMENT, RttBytes, ScheduledOrder, UnscheduledLevels,
};
use incast_units::{Bytes, Time};

use super::scope::{Effect, Scope};
use crate::grammar::reading::Reading;
use crate::grammar::section::{choice, section};
use crate::grammar::setting::{Bound, Setting, Shape};
use crate::grammar::tree::{Node, Value};
use crate::grammar::write::Out;
use crate::traffic::Pattern;

choice!(ScheduledOrder);
choice!(LastRttBytes);

impl Setting for RttBytes {
    fn shape() -> Shape {
        let words = Shape::Choice(vec![
            (
                "network",
                "the largest base RTT of the network times the highest rate of a host, for every message",
            ),
            ("pair", "the base RTT between its source and destination times the rate of their path"),
        ]);
        Shape::Either(vec![words, Bytes::shape()])
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text == "network" => Some(Self::Network),
            Value::Text(text) if text == "pair" => Some(Self::Pair),
            Value::Text(text) if !text.starts_with(|first: char| first.is_ascii_digit()) => {
                let message =
                    format!("{text:?}: expected \"network\", \"pair\" or a number of bytes, like \"32MB\"");
                reading.wrong(node.place, key, message);
                None
            }
            _ => Bytes::read(node, key, reading).map(Self::Value),
        }
    }

    fn write(&self) -> Option<Out> {
        match self {
            Self::Network => Some(Out::text(&"network")),
            Self::Pair => Some(Out::text(&"pair")),
            Self::Value(bytes) => bytes.write(),
        }
    }

    fn within(&self, bound: Bound) -> bool {
        match self {
            Self::Network | Self::Pair => true,
            Self::Value(bytes) => bytes.within(bound),
        }
    }
}

impl Setting for UnscheduledLevels {
    fn shape() -> Shape {
        let word =
            ("rule", "the share of unscheduled bytes in the scenario's bytes, times the number of levels");
        Shape::Either(vec![u8::shape(), Shape::Choice(vec![word])])
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text == "rule" => Some(Self::Rule),
            Value::Text(text) => {
                reading.wrong(node.place, key, format!("{text:?}: expected a number of levels or \"rule\""));
                None
            }
            _ => u8::read(node, key, reading).map(Self::Count),
        }
    }

    fn write(&self) -> Option<Out> {
        match self {
            Self::Rule => Some(Out::text(&"rule")),
            Self::Count(count) => count.write(),
        }
    }

    fn within(&self, bound: Bound) -> bool {
        match self {
            Self::Rule => true,
            Self::Count(count) => count.within(bound),
        }
    }
}

section! {
    /// Settings of Homa. Sizes are of payload.
    for Homa with its defaults {
        /// Bytes of a message that are sent without a grant, and how far grants exceed what has arrived.
        rtt_bytes: RttBytes; Bound::Positive => "network: PowerTCP, section 4.1",
        /// Number of messages that a receiver grants at the same time; by default the number of levels for scheduled
        /// packets.
        overcommitment: Option<u32>; Bound::Count(1, MAX_OVERCOMMITMENT as u64),
        /// Number of priority levels; by default one for each queue.
        levels: Option<u8>; Bound::Count(2, 128),
        /// Number of levels for unscheduled packets, the highest ones.
        unscheduled: UnscheduledLevels; Bound::Count(1, 127) => "a public ns-3 port of Homa",
        /// Largest size of the messages of each unscheduled level but the last; by default so that each level
        /// carries about the same number of unscheduled bytes of the scenario's flows.
        cutoffs: Vec<Bytes>; Bound::Positive,
        /// Choice of the scheduled levels while fewer messages are granted than there are levels.
        scheduled: ScheduledOrder => "the Homa paper; the highest: a public ns-3 port",
        /// The level of those packets of a message's last RTTbytes that need a grant.
        last_rtt_bytes: LastRttBytes => "unscheduled: an option of the simulator of Homa's authors",
        /// A receiver that has received nothing new of a message for this long, although more of it may be sent,
        /// requests what is missing; a sender that has heard nothing for twice this long sends the first packet
        /// again.
        resend_timeout: Time; Bound::Positive => "chosen here",
        /// Largest number of such requests, or of such retransmissions, in a row.
        resend_tries: u32; Bound::Count(1, 1_000_000) => "the kernel module of Homa's authors",
        /// No grants while more than this is granted or unscheduled and has not arrived, over all messages to a
        /// host; by default there is no such limit.
        cap: Option<Bytes>; Bound::Positive,
        /// The part of what a receiver grants that goes to the oldest message, whatever is missing of it.
        oldest_share: Fixed; Bound::Ratio(Fixed::ZERO, Fixed::ratio(1, 2)) => "none: the Homa paper; the kernel module of Homa's authors has 0.05",
        /// Amount that the oldest message is granted at a time.
        oldest_step: Bytes; Bound::Positive => "the kernel module of Homa's authors",
    }
}

impl Effect for Homa {
    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        check_switch(self, scope, reading);
        check_traffic(scope, reading);
        let wanted = match self.unscheduled {
            UnscheduledLevels::Rule if !self.cutoffs.is_empty() => {
                let message = "need a number of levels: transport.homa.unscheduled is \"rule\"";
                return reading.wrong_key("transport.homa.cutoffs", message);
            }
            UnscheduledLevels::Count(count) if !self.cutoffs.is_empty() => usize::from(count) - 1,
            _ => 0,
        };
        if self.cutoffs.len() != wanted {
            let given = self.cutoffs.len();
            let message = format!(
                "{given} sizes are given; {} unscheduled levels have {wanted} between them",
                wanted + 1
            );
            reading.wrong_key("transport.homa.cutoffs", message);
        } else if !self.cutoffs.windows(2).all(|two| two[0] < two[1]) {
            reading.wrong_key("transport.homa.cutoffs", "must increase");
        }
        let payload = scope.sections.transport.payload;
        if let Some(cap) = self.cap
            && cap < payload
        {
            let message =
                format!("{cap} is less than the payload of one packet, {payload}: it permits no grant");
            reading.wrong_key("transport.homa.cap", message);
        }
    }
}

/// Checks that the switches have the priority levels and serve them strictly.
fn check_switch(homa: &Homa, scope: &Scope<'_>, reading: &mut Reading) {
    let switch = scope.sections.switch;
    let levels = homa.levels.unwrap_or(switch.queues);
    let unscheduled = match homa.unscheduled {
        UnscheduledLevels::Count(count) => count,
        UnscheduledLevels::Rule => 1,
    };
    if levels > switch.queues {
        let message = format!("{levels} levels need as many queues; switch.queues is {}", switch.queues);
        reading.wrong_key("transport.homa.levels", message);
    } else if unscheduled >= levels {
        let message = format!(
            "{levels} is too few for Homa, which has a queue for each priority level: {unscheduled} for unscheduled \
             packets (transport.homa.unscheduled) and at least one for scheduled packets; 8 are usual"
        );
        let key = if homa.levels.is_some() { "transport.homa.levels" } else { "switch.queues" };
        reading.wrong_key(key, message);
    }
    if switch.scheduler != Scheduler::StrictPriority && switch.strict < levels {
        let message = format!(
            "Homa's {levels} priority levels need \"strict-priority\", or switch.strict of at least {levels}"
        );
        reading.wrong_key("switch.scheduler", message);
    }
}

/// Checks that all flows are messages that Homa can send.
fn check_traffic(scope: &Scope<'_>, reading: &mut Reading) {
    let sections = &scope.sections;
    for block in sections.traffic {
        let key = |key: &str| format!("traffic.{}.{key}", block.name());
        match &block.pattern {
            Pattern::Flows(flows) if flows.size.is_none() => {
                let message = "is missing; Homa sends messages of a known size";
                reading.wrong_key(&key("size"), message);
            }
            Pattern::Flows(flows) if flows.stop.is_some() => {
                let message = "is not possible with Homa, which sends whole messages";
                reading.wrong_key(&key("stop"), message);
            }
            Pattern::Staggered(_) => {
                let message = "\"staggered\" makes flows without a size; Homa sends messages of a known size";
                reading.wrong_key(&key("kind"), message);
            }
            _ => {}
        }
        if block.common.queue != 0 {
            let message = "has no effect: Homa chooses the queue of each packet";
            reading.wrong_key(&key("queue"), message);
        }
        if block.common.balancing == Some(Balancing::Reps) {
            reading.wrong_key(&key("balancing"), NO_FEEDBACK);
        }
    }
    let usual = sections.traffic.iter().any(|block| block.common.balancing.is_none());
    if usual && sections.policy == Balancing::Reps {
        reading.wrong_key("balancing.policy", NO_FEEDBACK);
    }
}

const NO_FEEDBACK: &str =
    "\"reps\" learns from the acknowledgement of each packet; Homa acknowledges whole messages";
