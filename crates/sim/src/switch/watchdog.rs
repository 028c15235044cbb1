//! A switch with a PFC watchdog, which ends pauses that last too long.
//!
//! A queue of a port that has been paused for a while, and held a packet all that time, is in a storm: from then on its
//! packets are dropped, or its pauses ignored, until the far end has not paused it for a while.
//!
//! It is a kind of node of its own, made of a [`Switch`], so that other switches do not ask for each packet whether its
//! queue is in a storm.

use incast_engine::event::{Effects, Event};
use incast_engine::model::{Arrival, Hold};
use incast_net::describe::Simulation;
use incast_net::describe::network::{NodeId, PortId};
use incast_net::describe::switch::{MAX_QUEUES, Storm, Watchdog};
use incast_net::packet::{Kind, Packet};
use incast_net::queue_set::QueueSet;
use incast_net::routing::forwarding::Table;
use incast_units::Rate;

use super::Switch;
use crate::facts::fabric::Fabric;
use crate::node::{Behaviour, Inspect};
use crate::port::Port;
use crate::rank;

/// A switch with a PFC watchdog.
#[derive(Debug)]
pub(crate) struct WatchedSwitch {
    switch: Switch,
    /// Times of the watchdog. (ps)
    detect: u64,
    restore: u64,
    action: Storm,
    ports: Vec<Watched>,
}

/// State of a port.
#[derive(Debug)]
struct Watched {
    /// Queues that the far end has paused.
    asked: QueueSet,
    /// Queues in a storm.
    storms: QueueSet,
    /// For each queue the time at which the far end has paused or resumed it last. (ps)
    since: Box<[u64]>,
    /// Queues at which the watchdog looks at a time that is set.
    looks: QueueSet,
}

impl WatchedSwitch {
    /// Makes the node with this number.
    ///
    /// # Errors
    /// When its description contradicts itself: what to say.
    pub(crate) fn new(id: NodeId, fabric: &Fabric, simulation: &Simulation) -> Result<Self, String> {
        let watchdog =
            simulation.switch.pfc.and_then(|pfc| pfc.watchdog).ok_or("a switch without a watchdog")?;
        let switch = Switch::new(id, fabric, simulation)?;
        let queues = usize::from(switch.queues);
        let port = |_: &_| Watched {
            asked: QueueSet::default(),
            storms: QueueSet::default(),
            since: vec![0; queues].into(),
            looks: QueueSet::default(),
        };
        let Watchdog { detect, action, .. } = watchdog;
        let ports = switch.ports.iter().map(port).collect();
        Ok(Self { detect: detect.ps(), restore: watchdog.restoration().ps(), action, ports, switch })
    }

    fn at(&mut self, port: PortId) -> &mut Watched {
        &mut self.ports[usize::from(port)]
    }

    /// The far end of a port pauses or resumes a queue.
    fn tell(&mut self, now: u64, port: PortId, queue: u8, pause: bool, effects: &mut impl Effects) {
        let (detect, restore, action) = (self.detect, self.restore, self.action);
        let watched = self.at(port);
        if watched.asked.contains(queue) == pause {
            return;
        }
        if pause {
            watched.asked.insert(queue);
        } else {
            watched.asked.remove(queue);
        }
        watched.since[usize::from(queue)] = now;
        match (watched.storms.contains(queue), pause) {
            (false, true) => self.look_at(now + detect, port, queue, effects),
            (true, false) => self.look_at(now + restore, port, queue, effects),
            _ => {}
        }
        if action == Storm::Drop || !self.at(port).storms.contains(queue) {
            let wire = &mut self.switch.ports[usize::from(port)].wire;
            wire.set_paused(now, port, queue, pause, effects);
        }
    }

    /// Sets the time at which the watchdog looks at a queue, if none is set: one that is set is earlier.
    fn look_at(&mut self, time: u64, port: PortId, queue: u8, effects: &mut impl Effects) {
        let watched = self.at(port);
        if !watched.looks.contains(queue) {
            watched.looks.insert(queue);
            let entity = u32::from(port) * MAX_QUEUES as u32 + u32::from(queue);
            effects.schedule(Event::new(time, rank::CONTROL, entity));
        }
    }

    /// The watchdog looks at a queue.
    fn look(&mut self, now: u64, port: PortId, queue: u8, effects: &mut impl Effects) {
        let Self { detect, restore, .. } = *self;
        let first = self.switch.ports[usize::from(port)].queues.first_time(queue);
        let watched = self.at(port);
        watched.looks.remove(queue);
        let (storms, paused) = (watched.storms.contains(queue), watched.asked.contains(queue));
        let since = watched.since[usize::from(queue)];
        match (storms, paused, first) {
            // A packet that comes later has waited for so long then at the earliest.
            (false, true, None) => self.look_at(now + detect, port, queue, effects),
            (false, true, Some(first)) => {
                let due = since.max(first) + detect;
                if due <= now {
                    self.begin(now, port, queue, effects);
                } else {
                    self.look_at(due, port, queue, effects);
                }
            }
            (true, false, _) if since + restore <= now => watched.storms.remove(queue),
            (true, false, _) => self.look_at(since + restore, port, queue, effects),
            // The next frame sets a time.
            (true, true, _) | (false, false, _) => {}
        }
    }

    /// A storm of a paused queue begins.
    fn begin(&mut self, now: u64, port: PortId, queue: u8, effects: &mut impl Effects) {
        self.at(port).storms.insert(queue);
        let wire = &mut self.switch.ports[usize::from(port)].wire;
        wire.storms += 1;
        match self.action {
            Storm::Drop => self.clear(now, port, queue, effects),
            Storm::Forward => {
                wire.set_paused(now, port, queue, false, effects);
                self.switch.serve(now, port, effects);
            }
        }
    }

    /// Drops all packets of a queue.
    fn clear(&mut self, now: u64, port: PortId, queue: u8, effects: &mut impl Effects) {
        loop {
            let egress = &mut self.switch.ports[usize::from(port)];
            let Some(packet) = egress.queues.pop(queue, &mut self.switch.int) else { return };
            self.drop(port, &packet, effects);
            self.switch.release(now, queue, (packet.ingress, packet.size), effects);
        }
    }

    /// Counts a packet that is dropped because its queue is in a storm.
    fn drop(&mut self, port: PortId, packet: &Packet, effects: &mut impl Effects) {
        let wire = &mut self.switch.ports[usize::from(port)].wire;
        wire.drops += 1;
        wire.dropped += u64::from(packet.size);
        wire.storm_drops += 1;
        effects.tally().counts.dropped += u64::from(packet.kind == Kind::Data);
    }
}

impl Behaviour for WatchedSwitch {
    type Facts<'a> = Fabric;

    #[inline(never)]
    fn arrive<E: Effects>(&mut self, arrival: Arrival, fabric: &Fabric, effects: &mut E) {
        let Arrival { now, port, packet, int } = arrival;
        if matches!(packet.kind, Kind::Pause | Kind::Resume) {
            self.tell(now, port, packet.queue, packet.kind == Kind::Pause, effects);
            return self.switch.serve(now, port, effects);
        }
        let Some(to) = self.switch.route(now, packet, fabric) else {
            effects.tally().counts.lost += u64::from(packet.kind == Kind::Data);
            return;
        };
        let queue = packet.queue.min(self.switch.queues - 1);
        if self.action == Storm::Drop && self.at(to).storms.contains(queue) {
            return self.drop(to, packet, effects);
        }
        self.switch.take(now, port, to, queue, packet, int, effects);
    }

    fn handle<E: Effects>(&mut self, event: Event, fabric: &Fabric, effects: &mut E) {
        if event.rank() == rank::CONTROL {
            let queues = MAX_QUEUES as u32;
            let (port, queue) = ((event.entity() / queues) as PortId, (event.entity() % queues) as u8);
            self.look(event.time(), port, queue, effects);
        } else {
            self.switch.handle(event, fabric, effects);
        }
    }

    fn reroute<E: Effects>(&mut self, now: u64, table: Table, fabric: &Fabric, effects: &mut E) {
        self.switch.reroute(now, table, fabric, effects);
    }

    fn link_changed(&mut self, port: PortId, rate: Rate, index: u32) {
        self.switch.link_changed(port, rate, index);
    }

    /// A link that fails ends the pauses of its far end.
    fn link_turned<E: Effects>(
        &mut self,
        now: u64,
        port: PortId,
        up: bool,
        fabric: &Fabric,
        effects: &mut E,
    ) {
        if !up {
            for queue in self.at(port).asked.iter() {
                self.tell(now, port, queue, false, effects);
            }
        }
        self.switch.link_turned(now, port, up, fabric, effects);
    }

    fn egress_mut(&mut self, port: PortId) -> Option<&mut Port> {
        self.switch.egress_mut(port)
    }
}

impl Inspect for WatchedSwitch {
    fn egress(&self, port: PortId) -> Option<&Port> {
        self.switch.egress(port)
    }

    fn queued(&self, port: PortId) -> u64 {
        self.switch.queued(port)
    }

    fn held_data(&self) -> u64 {
        self.switch.held_data()
    }

    fn holds(&self, before: u64) -> Vec<Hold> {
        self.switch.holds(before)
    }

    fn violations(&self) -> Vec<String> {
        self.switch.violations()
    }
}
