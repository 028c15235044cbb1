//! `[topology]`: what a network with circuits and the other sections must agree on.

use incast_sim::describe::transport::Recovery;

use super::scope::{Effect, Scope};
use crate::grammar::reading::Reading;
use crate::problem::{Problem, fault};
use crate::topology::Topology;

impl Effect for Topology {
    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        let Self::Rotor(_) = self else { return };
        let switch = scope.sections.switch;
        let impossible = [
            ("switch.pfc", switch.pfc.is_some(), "the optical switch reads no PFC frames"),
            ("switch.bfc", switch.bfc.is_some(), "the optical switch reads no frames of BFC"),
            ("switch.trimming", switch.trimming.is_some(), "racks have queues by destination"),
        ];
        for (section, _, reason) in impossible.into_iter().filter(|(_, written, _)| *written) {
            let message = format!("is not possible with circuits: {reason}");
            reading.fault(section, Problem::new(message).with_hint("remove the section"));
        }
        if scope.sections.has_changes {
            reading.wrong_key("change", "links of a network with circuits cannot change");
        }
        let transport = scope.sections.transport;
        if transport.kind.is_controlled() && transport.recovery == Recovery::GoBackN {
            let message = "is \"go-back-n\", which treats every overtaken packet as lost, and \
                           packets by a circuit overtake those in the packet network";
            let hint = "transport.recovery = \"selective\" keeps packets that arrive out of order";
            reading.warn("transport", fault("recovery", message).with_hint(hint));
        }
    }
}
