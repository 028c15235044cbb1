//! `[server]`: the links by which the GPUs of a host exchange data.

use incast_units::{Rate, Time};

use super::scope::{Effect, Scope};
use crate::grammar::reading::Reading;
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::problem::Problem;
use crate::traffic::Local;

section! {
    /// Links inside of servers: between the GPUs, or other ranks, that share a host. Without this section data that stays
    /// within a host takes no time.
    pub(crate) struct Server {
        /// Rate at which each GPU, by the number of its network card, sends to others of its host, one message after the
        /// other.
        local_rate: Rate; Bound::Positive,
        /// Time that such a message needs after it has left its GPU.
        local_delay: Time = Time::ZERO,
    }
}

impl Server {
    /// Returns the links that it describes.
    pub(crate) fn local(&self) -> Local {
        let Self { local_rate: rate, local_delay: delay } = *self;
        Local { rate, delay }
    }
}

impl Effect for Server {
    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        let Some(fabric) = scope.fabric else { return };
        if !scope.sections.traffic.iter().any(|block| block.pattern.has_local_messages()) {
            let message = "has no effect: no block of traffic has messages within a host";
            let hint = "collective, all-to-all, goal-file, chakra-trace and simai-file have them";
            reading.fault("server", Problem::new(message).with_hint(hint));
        } else if (0..fabric.network.hosts).all(|host| fabric.ports(host).len() == 1) {
            let message = "has no effect: each host has one network card, and so is one rank";
            reading.fault("server", Problem::new(message));
        }
    }
}
