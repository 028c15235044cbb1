//! The operations of one host: which have started, which have ended, and what follows from that.
//!
//! At an instant at which operations are due, all that are due come first: computations end, flows that were
//! acknowledged or have arrived end their operations, and operations whose dependencies are met become ready.
//! Then the ready operation with the lowest index starts, or joins the queue of its processor; then what became
//! due by that, and so on until nothing is left. All of it is one event, after all others of the instant.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use incast_engine::event::{Effects, Event};
use incast_net::describe::network::NodeId;
use incast_net::describe::work::{BESIDE, Operation, What};
use incast_net::record::OperationRecord;
use incast_units::Time;

use crate::facts::edges::Edges;
use crate::facts::work::WorkFacts;
use crate::rank;
use crate::relative::{Progress, State as Relative, Touched};

/// The operations of one host, by their position among them.
#[derive(Debug)]
pub(crate) struct Work {
    operations: Vec<Local>,
    /// The operations that depend on the end of each, and those that depend on its start.
    after: Edges,
    after_start: Edges,
    processors: BTreeMap<u16, Processor>,
    /// Operations that become ready or end, by time. (ps)
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// Operations that are ready and have neither started nor joined a queue.
    ready: BinaryHeap<Reverse<u32>>,
}

/// One operation.
#[derive(Clone, Copy, Debug)]
struct Local {
    /// Index into the simulation's operations.
    operation: u32,
    what: What,
    state: State,
    /// Dependencies that are not met.
    unmet: u32,
    /// Of a receive: whether the flow has arrived.
    arrived: bool,
    /// (ps)
    start: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Ready,
    Started,
    Ended,
    /// It will never start.
    LeftOut,
}

/// Whether an operation is a receive that depends on nothing: it starts at its time, whatever happens, and waits for its
/// flow.
pub(crate) fn waits_from_the_beginning(operation: &Operation) -> bool {
    let Operation { what, after, after_start, .. } = operation;
    matches!(what, What::Receive { .. }) && after.is_empty() && after_start.is_empty()
}

/// One of the host's processors.
#[derive(Debug, Default)]
struct Processor {
    is_busy: bool,
    /// Operations that are ready, with when they became it.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Work {
    /// The operations of a host, if it has any.
    pub(crate) fn new(host: NodeId, facts: &WorkFacts) -> Option<Box<Self>> {
        let (graph, listed) = (&facts.graph, facts.graph.of(host));
        if listed.is_empty() {
            return None;
        }
        let described = || listed.iter().map(|index| &facts.operations[*index as usize]).zip(0_u32..);
        let operations = described().zip(listed).map(|((described, _), operation)| Local {
            operation: *operation,
            what: described.what,
            state: State::Waiting,
            unmet: (described.after.len() + described.after_start.len()) as u32,
            arrived: false,
            start: 0,
        });
        let mut work = Self {
            operations: operations.collect(),
            after: Edges::new(listed.len(), || {
                described().flat_map(|(o, to)| o.after.iter().map(move |other| (graph.place(*other), to)))
            }),
            after_start: Edges::new(listed.len(), || {
                described()
                    .flat_map(|(o, to)| o.after_start.iter().map(move |other| (graph.place(*other), to)))
            }),
            processors: BTreeMap::new(),
            due: BinaryHeap::new(),
            ready: BinaryHeap::new(),
        };
        for place in 0..listed.len() as u32 {
            if work.operations[place as usize].unmet == 0 {
                let at = work.earliest(place, facts);
                work.due.push(Reverse((at, place)));
            }
        }
        Some(Box::new(work))
    }

    /// Adds its progress; passes on what belongs to no operation.
    pub(crate) fn relate(
        &self,
        host: NodeId,
        facts: &WorkFacts,
        state: &mut Relative,
        progress: &mut Progress,
    ) {
        let Self { operations, after: _, after_start: _, processors, due, ready } = self;
        state.unless(!ready.is_empty(), "an operation that is about to start");
        let now = state.now;
        let number = |place: u32| operations[place as usize].operation;
        // They begin by themselves, at times that come from outside: no copy lasts until then.
        let is_input = |at: u64, place: u32| {
            let Local { operation, state: of, .. } = operations[place as usize];
            let Operation { after, after_start, .. } = &facts.operations[operation as usize];
            at > now && of == State::Waiting && after.is_empty() && after_start.is_empty()
        };
        let (inputs, due): (Vec<_>, Vec<_>) =
            due.iter().map(|Reverse(due)| *due).partition(|(at, place)| is_input(*at, *place));
        let next = inputs.iter().map(|(at, _)| *at).min();
        progress.next_input = progress.next_input.min(next.unwrap_or(u64::MAX));
        let inputs: BTreeSet<u32> = inputs.into_iter().map(|(_, place)| number(place)).collect();
        progress.due.extend(due.into_iter().map(|(at, place)| (at, number(place))));
        for (processor, Processor { is_busy, queue }) in processors {
            state.word("processor", *processor);
            state.word("busy", *is_busy);
            let queued = queue.iter().map(|Reverse((since, place))| (*since, number(*place)));
            progress.queued.extend(queued.map(|(since, operation)| ((host, *processor), since, operation)));
        }
        for Local { operation, what, state: of, unmet, arrived, start } in operations {
            let described = &facts.operations[*operation as usize];
            debug_assert_eq!(described.what, *what);
            let all = (described.after.len() + described.after_start.len()) as u32;
            match of {
                State::Ended => progress.ended[*operation as usize] = true,
                State::LeftOut => state.unless(true, "an operation that is left out"),
                State::Waiting if *unmet == all && all > 0 && !arrived => {}
                State::Started if waits_from_the_beginning(described) && !arrived => {}
                State::Waiting if inputs.contains(operation) => {}
                State::Waiting | State::Ready | State::Started => progress.touched.push(Touched {
                    operation: *operation,
                    unmet: *unmet,
                    ready: *of == State::Ready,
                    start: if *of == State::Started { *start } else { u64::MAX },
                    arrived: *arrived,
                }),
            }
        }
    }

    /// The events at which operations become ready that depend on no other.
    pub(crate) fn first_events(&self) -> impl Iterator<Item = Event> {
        let times: BTreeSet<u64> = self.due.iter().map(|Reverse((at, _))| *at).collect();
        times.into_iter().map(|at| Event::new(at, rank::WORK, 0))
    }

    /// A flow from here has been acknowledged completely.
    pub(crate) fn sent<E: Effects>(&mut self, now: u64, flow: u32, facts: &WorkFacts, effects: &mut E) {
        if let Some(operation) = facts.graph.sender(flow) {
            self.happened(now, facts.graph.place(operation), effects);
        }
    }

    /// The last byte of a flow to here has arrived.
    pub(crate) fn received<E: Effects>(&mut self, now: u64, flow: u32, facts: &WorkFacts, effects: &mut E) {
        let Some(operation) = facts.graph.receiver(flow) else { return };
        let place = facts.graph.place(operation);
        let receive = &mut self.operations[place as usize];
        receive.arrived = true;
        if receive.state == State::Started {
            self.happened(now, place, effects);
        }
    }

    /// Handles everything that is due, up to the next flow that starts: its index among the simulation's.
    pub(crate) fn advance<E: Effects>(
        &mut self,
        now: u64,
        facts: &WorkFacts,
        effects: &mut E,
    ) -> Option<u32> {
        loop {
            while let Some(place) = self.next_due(now) {
                match self.operations[place as usize].state {
                    State::Waiting => {
                        self.operations[place as usize].state = State::Ready;
                        self.ready.push(Reverse(place));
                    }
                    State::Started => self.end(now, place, facts, effects),
                    State::Ready | State::Ended | State::LeftOut => {}
                }
            }
            let Reverse(place) = self.ready.pop()?;
            let Local { operation, what, .. } = self.operations[place as usize];
            if now >= facts.operations[operation as usize].start_before.ps() {
                self.leave_out(now, place, effects);
                continue;
            }
            match what {
                What::Send { flow } => {
                    self.start(now, place, facts, effects);
                    return Some(flow);
                }
                What::Receive { .. } => {
                    self.start(now, place, facts, effects);
                    if self.operations[place as usize].arrived {
                        self.due.push(Reverse((now, place)));
                    }
                }
                What::Compute { time, processor: BESIDE } => {
                    self.start(now, place, facts, effects);
                    self.expect(now, now.saturating_add(time.ps()), place, effects);
                }
                What::Compute { processor, .. } => {
                    self.processors.entry(processor).or_default().queue.push(Reverse((now, place)));
                    self.serve(now, processor, facts, effects);
                }
            }
        }
    }

    /// An operation will not start, nor will what depends on it.
    fn leave_out<E: Effects>(&mut self, now: u64, place: u32, effects: &mut E) {
        let mut places = vec![place];
        while let Some(place) = places.pop() {
            let local = &mut self.operations[place as usize];
            if std::mem::replace(&mut local.state, State::LeftOut) == State::LeftOut {
                continue;
            }
            let tally = effects.tally();
            tally.counts.operations_left_out += 1;
            tally.counts.last_finish = tally.counts.last_finish.max(now);
            tally.counts.flows_left_out += u64::from(matches!(local.what, What::Send { .. }));
            places.extend(self.after.of(place).iter().chain(self.after_start.of(place)));
        }
    }

    /// Operations that have started and not ended.
    pub(crate) fn unfinished(&self) -> Vec<OperationRecord> {
        let open = self.operations.iter().filter(|local| local.state == State::Started);
        open.map(|local| local.record(Time::NEVER)).collect()
    }

    /// Operations that have started and not ended, with what each waits for.
    pub(crate) fn waits(&self) -> Vec<(u32, String)> {
        let text = |local: &Local| match (local.state, local.what) {
            (State::Started, What::Send { flow }) => Some(format!("waits for the end of its flow {flow}")),
            (State::Started, What::Receive { flow }) => {
                Some(format!("waits for the last byte of flow {flow}"))
            }
            (State::Started, What::Compute { processor, .. }) => {
                Some(format!("computes on processor {processor}"))
            }
            _ => None,
        };
        self.operations.iter().filter_map(|local| Some((local.operation, text(local)?))).collect()
    }

    /// The next operation that is due.
    fn next_due(&mut self, now: u64) -> Option<u32> {
        let due = self.due.peek().is_some_and(|Reverse((at, _))| *at <= now);
        if due { self.due.pop().map(|Reverse((_, place))| place) } else { None }
    }

    /// Something that an operation waits for has happened: it is handled after the other events of this instant.
    fn happened<E: Effects>(&mut self, now: u64, place: u32, effects: &mut E) {
        self.due.push(Reverse((now, place)));
        effects.schedule(Event::new(now, rank::WORK, 0));
    }

    /// An operation is due at `at`, which may be now.
    fn expect<E: Effects>(&mut self, now: u64, at: u64, place: u32, effects: &mut E) {
        self.due.push(Reverse((at, place)));
        if at > now {
            effects.schedule(Event::new(at, rank::WORK, 0));
        }
    }

    fn start<E: Effects>(&mut self, now: u64, place: u32, facts: &WorkFacts, effects: &mut E) {
        let local = &mut self.operations[place as usize];
        local.state = State::Started;
        local.start = now;
        for index in 0..self.after_start.of(place).len() {
            let next = self.after_start.of(place)[index];
            self.release(now, next, facts, effects);
        }
    }

    fn end<E: Effects>(&mut self, now: u64, place: u32, facts: &WorkFacts, effects: &mut E) {
        let local = &mut self.operations[place as usize];
        local.state = State::Ended;
        let (what, record) = (local.what, local.record(Time::from_ps(now)));
        let tally = effects.tally();
        tally.counts.ended += 1;
        tally.counts.last_finish = tally.counts.last_finish.max(now);
        tally.records.operations.push(record);
        for index in 0..self.after.of(place).len() {
            let next = self.after.of(place)[index];
            self.release(now, next, facts, effects);
        }
        if let What::Compute { processor, .. } = what
            && processor != BESIDE
        {
            self.processors.entry(processor).or_default().is_busy = false;
            self.serve(now, processor, facts, effects);
        }
    }

    /// A dependency of an operation is met.
    fn release<E: Effects>(&mut self, now: u64, place: u32, facts: &WorkFacts, effects: &mut E) {
        let local = &mut self.operations[place as usize];
        local.unmet -= 1;
        if local.unmet > 0 {
            return;
        }
        let at = self.earliest(place, facts).max(now);
        self.expect(now, at, place, effects);
    }

    /// Starts the next computation of a processor, if it is free.
    fn serve<E: Effects>(&mut self, now: u64, processor: u16, facts: &WorkFacts, effects: &mut E) {
        let state = self.processors.entry(processor).or_default();
        if state.is_busy {
            return;
        }
        let Some(Reverse((_, place))) = state.queue.pop() else { return };
        state.is_busy = true;
        self.start(now, place, facts, effects);
        if let What::Compute { time, .. } = self.operations[place as usize].what {
            self.expect(now, now.saturating_add(time.ps()), place, effects);
        }
    }

    /// Returns the earliest time at which an operation may start, whatever it depends on. (ps)
    fn earliest(&self, place: u32, facts: &WorkFacts) -> u64 {
        let Local { operation, what, .. } = self.operations[place as usize];
        let own = match what {
            What::Send { flow } => facts.start(flow),
            What::Receive { .. } | What::Compute { .. } => Time::ZERO,
        };
        own.max(facts.operations[operation as usize].earliest).ps()
    }
}

impl Local {
    fn record(&self, end: Time) -> OperationRecord {
        OperationRecord { operation: self.operation, start: Time::from_ps(self.start), end }
    }
}
