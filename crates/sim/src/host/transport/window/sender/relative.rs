//! The state of an idle connection at its sender, relative to an instant.

use incast_cc::Signals;
use incast_cc::relative::Origin;
use incast_net::describe::algorithm::Controllers;
use incast_net::describe::network::{NodeId, PortId};
use incast_units::Time;

use super::{NEVER, Sender};
use crate::facts::flows::FlowFacts;
use crate::relative::State;

impl Sender {
    /// Passes on what counts of it while all messages that have started are done: nothing is in flight, no timer of
    /// retransmission runs.
    ///
    /// An event of that timer, or of the congestion control's, may be pending that comes before the timer expires: it then
    /// does nothing but schedule another one, so that only the timers themselves count.
    pub(in super::super) fn relate(
        &self,
        controllers: Option<&dyn Controllers>,
        facts: &FlowFacts,
        state: &mut State,
    ) {
        let Self {
            template,
            // They follow from the algorithm.
            payload: _,
            size: _,
            counted: _,
            is_plain: _,
            tells_sent: _,
            is_answered_plainly: _,
            state: of_sender,
            queue,
            backoff,
            port,
            algorithm,
            account,
            message,
            connection,
            asks,
            entropies,
            // It begins again when the connection does, which is idle.
            since_pause: _,
            history,
            controller,
            recovery,
            limit,
            window,
            rate,
            gap,
            next_at,
            paced_from,
            last_size,
            last_sent,
            paced_at,
            retransmit_at,
            retransmit_event: _,
            deadline,
            control_event,
            // A sample of the last acknowledgement.
            last_rtt: _,
            // Of an acknowledgement that is being handled.
            late: _,
            base_rtt,
        } = self;
        let next = recovery.position();
        // What the congestion control does differently makes the rest differ: it is named first.
        let payload = facts.sizes(*algorithm).payload;
        let origin = Origin { now: Time::from_ps(state.now), position: next.wrapping_mul(payload) };
        if facts.signals(*algorithm).contains(Signals::INT) {
            let ports = facts.switch_ports(message.flow, origin.now);
            let sent = |(node, port): (NodeId, PortId)| {
                state.sent.get(node as usize).and_then(|ports| ports.get(usize::from(port))).copied()
            };
            state.path = ports.and_then(|ports| ports.into_iter().map(sent).collect());
        }
        match controllers {
            Some(controllers) => controllers.relate(*controller, &origin, state),
            None => state.unless(true, "the congestion control"),
        }
        state.text("state", of_sender);
        state.word("queue", *queue);
        state.word("back-off", *backoff);
        state.word("card", *port);
        state.word("algorithm", *algorithm);
        account.relate(state);
        state.word("end of its messages", next.wrapping_sub(message.end));
        if let Some(connection) = connection {
            connection.relate(state);
        }
        state.word("destination", template.destination);
        state.word("hash", template.hash);
        state.word("policy", template.flags);
        state.word("asks", *asks);
        if let Some(entropies) = entropies {
            entropies.relate(state, facts.draws_again);
        }
        state.unless(history.is_some(), "the history of samples");
        recovery.relate(&mut |field, word| match word {
            Some(word) => state.word(field, word),
            None => state.unless(true, field),
        });
        state.word("limit", *limit);
        state.word("window", *window);
        state.word("rate", rate.bps());
        state.word("gap", *gap);
        state.ahead("time of the next packet", *next_at);
        state.instant("start of the gap", *paced_from);
        state.word("last size", *last_size);
        state.instant("last packet", *last_sent);
        state.ahead("time of the turn", if *paced_at == NEVER { 0 } else { *paced_at });
        state.unless(*retransmit_at != NEVER, "the retransmission timer");
        let due = if *deadline <= state.now { *control_event } else { *deadline };
        state.instant("timer", due);
        state.word("base RTT", *base_rtt);
    }
}
