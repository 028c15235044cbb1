//! The workload of Chakra execution traces.
//!
//! A collective becomes messages between the ranks of its group: an all-reduce, reduce-scatter or all-gather goes
//! around a ring of them, in ascending order; in an all-to-all each sends to all others at once; a barrier is a
//! dissemination (Hensgen, Finkel, Manber 1988). Traces do not say which algorithm a library used. Nor do they say
//! which rank is the root of a broadcast, reduce, gather or scatter: as in ASTRA-sim, a broadcast takes its recorded
//! duration and sends nothing, and here the others too.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use incast_sim::describe::work::What;
use incast_units::math::mul_div;
use incast_units::{Bytes, Time};

use super::chakra::{BARRIER, ChakraRank, Node, NodeKind};
use super::fields::{Found, counted};
use crate::limits::MAX_FLOWS;
use crate::problem::{Problem, Problems};
use crate::workload::{Message, Workload};

/// Processors of a rank.
const GPU: u16 = 0;
const CPU: u16 = 1;
const MEMORY: u16 = 2;
/// Unit of work that takes no time.
const NOTHING: u16 = 3;
/// Collectives with a root.
const ROOTED: u16 = 4;

/// The names of the format's `CollectiveCommType`, by number.
const COLLECTIVES: [&str; 10] = [
    "ALL_REDUCE",
    "REDUCE",
    "ALL_GATHER",
    "GATHER",
    "SCATTER",
    "BROADCAST",
    "ALL_TO_ALL",
    "REDUCE_SCATTER",
    "REDUCE_SCATTER_BLOCK",
    "BARRIER",
];

/// Arrangement of the messages of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// This many steps around a ring, with the whole size in each or a piece of it.
    Ring { steps: u64, whole: bool },
    /// Pieces from each rank to all others.
    Direct,
    /// Steps over distances that double.
    Dissemination,
    /// No messages, but the recorded durations.
    Recorded,
}

/// The traces of all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChakraTrace {
    /// The files, by rank.
    pub ranks: Vec<ChakraRank>,
}

impl ChakraTrace {
    /// Whether any node has `ctrl_deps`.
    #[must_use]
    pub fn has_ctrl_deps(&self) -> bool {
        self.ranks.iter().flat_map(|rank| &rank.nodes).any(|node| !node.ctrl_deps.is_empty())
    }

    /// Builds the workload of the traces. A node waits for its `data_deps`, and with `ctrl_deps` for these
    /// too.
    ///
    /// # Errors
    /// What is wrong or cannot be expressed, up to twenty problems, each with file, record, byte and field.
    pub fn workload(&self, ctrl_deps: bool) -> Result<Workload, Problems> {
        let mut builder = Builder::new(self, ctrl_deps);
        let mut found = Found::new("");
        if ctrl_deps {
            builder.check_ctrl_deps(&mut found);
        }
        builder.single(&mut found);
        builder.collectives(&mut found);
        if found.is_empty() {
            builder.connect();
            builder.check_order(&mut found);
        }
        builder.note();
        // Each problem names its own file.
        found.into_result(builder.work)
    }
}

/// A rank, and the index of a node in its trace.
type Place = (u32, u32);

/// Messages that have not been matched.
#[derive(Default)]
struct Messages {
    /// The flow and node of each send, by sender, receiver and tag.
    sent: BTreeMap<(u32, u32, i64), VecDeque<(u32, Place)>>,
    /// The operations that receive.
    received: Vec<u32>,
}

struct Builder<'a> {
    trace: &'a ChakraTrace,
    ctrl_deps: bool,
    work: Workload,
    /// The rank and node of each operation.
    origin: Vec<Place>,
    /// For each node of each rank its last operation.
    ends: Vec<Vec<u32>>,
    /// The operations with which a node begins, where these are others.
    begins: HashMap<Place, Vec<u32>>,
    collectives: usize,
    small: usize,
    timeless: usize,
    rooted: usize,
    /// Nodes of the CPU that are taken for launches of communications.
    launches: usize,
}

impl<'a> Builder<'a> {
    fn new(trace: &'a ChakraTrace, ctrl_deps: bool) -> Self {
        Self {
            trace,
            ctrl_deps,
            work: Workload { ranks: trace.ranks.len() as u32, ..Workload::default() },
            origin: Vec::new(),
            ends: trace.ranks.iter().map(|rank| vec![0; rank.nodes.len()]).collect(),
            begins: HashMap::new(),
            collectives: 0,
            small: 0,
            timeless: 0,
            rooted: 0,
            launches: 0,
        }
    }

    fn node(&self, (rank, node): Place) -> &'a Node {
        &self.trace.ranks[rank as usize].nodes[node as usize]
    }

    /// A problem of a field of a node.
    fn wrong(&self, origin: Place, field: &str, message: impl core::fmt::Display) -> Problem {
        self.node(origin).wrong(field, message).in_file(&self.trace.ranks[origin.0 as usize].file)
    }

    fn add(&mut self, origin: Place, what: What, after: Vec<u32>) -> u32 {
        self.origin.push(origin);
        self.work.add(origin.0, what, after)
    }

    fn message(&mut self, source: u32, destination: u32, bytes: u64) -> u32 {
        self.small += usize::from(bytes == 0);
        let size = Bytes::new(bytes.max(1));
        self.work.flows.push(Message { source, destination, size, start: Time::ZERO });
        (self.work.flows.len() - 1) as u32
    }

    fn check_ctrl_deps(&self, found: &mut Found<'_>) {
        for rank in &self.trace.ranks {
            for node in &rank.nodes {
                if let Err(problem) = rank.check("ctrl_deps", node, &node.ctrl_deps)
                    && !found.add_of_any(problem.in_file(&rank.file))
                {
                    return;
                }
            }
        }
    }

    /// The nodes that are one operation.
    fn single(&mut self, found: &mut Found<'_>) {
        let mut messages = Messages::default();
        for (rank, trace) in (0_u32..).zip(&self.trace.ranks) {
            for (index, _) in (0_u32..).zip(&trace.nodes).filter(|(_, node)| !node.is_collective()) {
                match self.what((rank, index), &mut messages) {
                    Ok(what) => {
                        let operation = self.add((rank, index), what, Vec::new());
                        self.ends[rank as usize][index as usize] = operation;
                        if let What::Receive { .. } = what {
                            messages.received.push(operation);
                        }
                    }
                    Err(problem) => {
                        if !found.add_of_any(problem) {
                            return;
                        }
                    }
                }
            }
        }
        if found.is_empty() {
            self.match_messages(messages, found);
        }
    }

    /// Returns the work of a node; the flow of a receive is known later.
    fn what(&mut self, origin: Place, messages: &mut Messages) -> Result<What, Problem> {
        let node = self.node(origin);
        let processor = match node.kind {
            _ if node.launch => {
                self.launches += 1;
                CPU
            }
            NodeKind::Send => {
                let (peer, size) = self.ends_of(origin)?;
                let flow = self.message(origin.0, peer, size);
                messages.sent.entry((origin.0, peer, node.comm_tag)).or_default().push_back((flow, origin));
                return Ok(What::Send { flow });
            }
            NodeKind::Recv => return self.ends_of(origin).map(|_| What::Receive { flow: 0 }),
            NodeKind::Metadata | NodeKind::Coll => {
                return Ok(What::Compute { time: Time::ZERO, processor: NOTHING });
            }
            NodeKind::MemLoad | NodeKind::MemStore => MEMORY,
            NodeKind::Comp => {
                self.timeless += usize::from(node.duration == 0);
                if node.cpu { CPU } else { GPU }
            }
        };
        Ok(What::Compute { time: self.duration(origin)?, processor })
    }

    /// Gives each receive the first message of its sender with its tag, in the order of the traces.
    fn match_messages(&mut self, messages: Messages, found: &mut Found<'_>) {
        let Messages { mut sent, received } = messages;
        for operation in received {
            let origin = self.origin[operation as usize];
            let (Ok((peer, size)), tag) = (self.ends_of(origin), self.node(origin).comm_tag) else {
                continue;
            };
            let message = sent.get_mut(&(peer, origin.0, tag)).and_then(VecDeque::pop_front);
            let problem = match message {
                None => {
                    let message =
                        format!("rank {peer} sends no further message to rank {} with tag {tag}", origin.0);
                    self.wrong(origin, "comm_src", message)
                }
                Some((flow, sender)) if self.work.flows[flow as usize].size.get() != size.max(1) => {
                    let record = self.node(sender).record;
                    let message = format!(
                        "{size}, but the message (rank {peer}, record {record}) has {} B",
                        self.work.flows[flow as usize].size.get()
                    );
                    self.wrong(origin, "comm_size", message)
                }
                Some((flow, _)) => {
                    self.work.operations[operation as usize].what = What::Receive { flow };
                    continue;
                }
            };
            if !found.add_of_any(problem) {
                return;
            }
        }
        for (_, sender) in sent.values().flatten() {
            let message = format!(
                "no node of that rank receives this message with tag {}",
                self.node(*sender).comm_tag
            );
            if !found.add_of_any(self.wrong(*sender, "comm_dst", message)) {
                return;
            }
        }
    }

    /// The other end of a send or receive, and its size.
    fn ends_of(&self, origin: Place) -> Result<(u32, u64), Problem> {
        let node = self.node(origin);
        let ends = [("comm_src", node.comm_src), ("comm_dst", node.comm_dst)];
        let [(own_name, own), (peer_name, peer)] =
            if node.kind == NodeKind::Send { ends } else { [ends[1], ends[0]] };
        if let Some(own) = own.filter(|&own| own != i64::from(origin.0)) {
            return Err(self.wrong(
                origin,
                own_name,
                format_args!("{own}, but this is the trace of rank {}", origin.0),
            ));
        }
        let Some(peer) = peer else {
            return Err(self.wrong(origin, peer_name, "is missing: the trace does not name the other rank"));
        };
        let ranks = self.work.ranks;
        let Some(peer) = u32::try_from(peer).ok().filter(|&peer| peer < ranks) else {
            let message =
                format!("{peer}: there is no such rank; the traces are those of ranks 0 to {}", ranks - 1);
            return Err(self.wrong(origin, peer_name, message));
        };
        if peer == origin.0 {
            return Err(self.wrong(origin, peer_name, "the message would go from this rank to itself"));
        }
        Ok((peer, self.size_of(origin)?))
    }

    fn size_of(&self, origin: Place) -> Result<u64, Problem> {
        let node = self.node(origin);
        match node.comm_size.or(node.tensor_size) {
            None => Err(self.wrong(origin, "comm_size", "is missing")),
            Some(size) => u64::try_from(size)
                .map_err(|_| self.wrong(origin, "comm_size", format_args!("{size} is less than zero"))),
        }
    }

    fn comm_type(&self, origin: Place) -> Result<i64, Problem> {
        self.node(origin).comm_type.ok_or_else(|| self.wrong(origin, "comm_type", "is missing"))
    }

    /// The collectives: the first of a group on one of its ranks is the first on all of them, and so on.
    fn collectives(&mut self, found: &mut Found<'_>) {
        let mut groups: BTreeMap<&'a str, BTreeMap<u32, Vec<u32>>> = BTreeMap::new();
        for (rank, trace) in (0_u32..).zip(&self.trace.ranks) {
            for (index, node) in (0_u32..).zip(&trace.nodes).filter(|(_, node)| node.is_collective()) {
                groups.entry(&node.group).or_default().entry(rank).or_default().push(index);
            }
        }
        for (group, mut members) in groups {
            if group.is_empty() {
                (0..self.work.ranks).for_each(|rank| {
                    members.entry(rank).or_default();
                });
            }
            let most = members.iter().max_by_key(|(_, nodes)| nodes.len());
            let Some((&longest, number)) = most.map(|(rank, nodes)| (rank, nodes.len())) else { continue };
            let fewer = members.iter().find(|(_, nodes)| nodes.len() < number);
            if let Some((rank, nodes)) = fewer {
                let group =
                    if group.is_empty() { "all ranks".to_owned() } else { format!("group {group:?}") };
                let message = format!(
                    "rank {rank} takes part in {} of {group}, rank {longest} in {number}; each \
                     collective needs all ranks of its group",
                    counted(nodes.len(), "collective")
                );
                if !found.add_of_any(self.wrong(
                    (longest, members[&longest][nodes.len()]),
                    "pg_name",
                    message,
                )) {
                    return;
                }
                continue;
            }
            for turn in 0..number {
                let parts: Vec<Place> = members.iter().map(|(&rank, nodes)| (rank, nodes[turn])).collect();
                if let Err(problem) = self.collective(&parts)
                    && !found.add_of_any(problem)
                {
                    return;
                }
            }
        }
    }

    /// Makes the messages of a collective of these nodes, one of each rank.
    fn collective(&mut self, parts: &[Place]) -> Result<(), Problem> {
        let Some(&first) = parts.first() else { return Ok(()) };
        let kind = self.comm_type(first)?;
        let size = if kind == BARRIER { 0 } else { self.size_of(first)? };
        for &part in parts {
            let node = self.node(part);
            if node.partial {
                let message =
                    "some dimensions of a topology only, which is not in the trace; give the group a pg_name";
                return Err(self.wrong(part, "involved_dim", message));
            }
            let own = if kind == BARRIER { 0 } else { self.size_of(part)? };
            let here = |rank: u32| format!("of rank {rank}, record {}", self.node(first).record);
            let other = self.comm_type(part)?;
            if other != kind {
                let names = [other, kind].map(name);
                let message = format!("{}, but its counterpart {} is {}", names[0], here(first.0), names[1]);
                return Err(self.wrong(part, "comm_type", message));
            }
            if own != size {
                let message = format!("{own}, but its counterpart {} has {size}", here(first.0));
                return Err(self.wrong(part, "comm_size", message));
            }
        }
        let n = parts.len() as u64;
        let plan = match kind {
            0 => Plan::Ring { steps: 2 * (n - 1), whole: false },
            2 => Plan::Ring { steps: n - 1, whole: true },
            6 => Plan::Direct,
            1 | 3 | 4 | 5 => Plan::Recorded,
            7 | 8 => Plan::Ring { steps: n - 1, whole: false },
            9 => Plan::Dissemination,
            _ => {
                let message = format!(
                    "{kind} is no collective; they are numbered 0 ({}) to {BARRIER} (BARRIER)",
                    COLLECTIVES[0]
                );
                return Err(self.wrong(first, "comm_type", message));
            }
        };
        let messages = match plan {
            Plan::Ring { steps, .. } => steps * n,
            Plan::Direct => n * (n - 1),
            Plan::Recorded => return self.recorded(parts),
            Plan::Dissemination => n * u64::from(n.next_power_of_two().trailing_zeros()),
        };
        if self.work.flows.len() as u64 + messages > MAX_FLOWS {
            return Err(self.wrong(
                first,
                "comm_type",
                format_args!("the traces have more than {MAX_FLOWS} messages"),
            ));
        }
        self.collectives += 1;
        let mut ends: Vec<Vec<u32>> = vec![Vec::new(); parts.len()];
        match plan {
            Plan::Recorded => {}
            Plan::Direct => self.direct(parts, size, &mut ends),
            Plan::Ring { steps, whole } => {
                for step in 0..steps {
                    let bytes =
                        |i: u64| if whole { size } else { piece(size, (i + n * steps - step) % n, n) };
                    self.step(parts, 1, bytes, &mut ends);
                }
            }
            Plan::Dissemination => {
                let mut distance = 1;
                while distance < n {
                    self.step(parts, distance, |_| 1, &mut ends);
                    distance *= 2;
                }
            }
        }
        for (&part, ends) in parts.iter().zip(ends) {
            // Alone in its group, or the end of all its operations.
            let nothing = What::Compute { time: Time::ZERO, processor: NOTHING };
            self.ends[part.0 as usize][part.1 as usize] = self.add(part, nothing, ends);
        }
        Ok(())
    }

    /// A collective whose root is not known.
    fn recorded(&mut self, parts: &[Place]) -> Result<(), Problem> {
        self.rooted += 1;
        for &part in parts {
            if self.node(part).duration == 0 {
                let message =
                    "0, and the root of the collective is not in the trace: it could not be simulated";
                return Err(self.wrong(part, "duration_micros", message));
            }
            let what = What::Compute { time: self.duration(part)?, processor: ROOTED };
            self.ends[part.0 as usize][part.1 as usize] = self.add(part, what, Vec::new());
        }
        Ok(())
    }

    /// The recorded duration of a node.
    fn duration(&self, origin: Place) -> Result<Time, Problem> {
        let time = self.node(origin).duration;
        time.checked_mul(1_000_000).filter(|&ps| ps <= u64::MAX / 2).map(Time::from_ps).ok_or_else(|| {
            let message = format!("{time} us are longer than any time that can be counted");
            self.wrong(origin, "duration_micros", message)
        })
    }

    /// Each sends to all others at once: first to the next, then to the one after it.
    fn direct(&mut self, parts: &[Place], size: u64, ends: &mut [Vec<u32>]) {
        let n = parts.len();
        for distance in 1..n {
            for i in 0..n {
                let to = (i + distance) % n;
                let flow = self.message(parts[i].0, parts[to].0, piece(size, to as u64, n as u64));
                for (at, what) in [(i, What::Send { flow }), (to, What::Receive { flow })] {
                    let operation = self.add(parts[at], what, Vec::new());
                    self.begins.entry(parts[at]).or_default().push(operation);
                    ends[at].push(operation);
                }
            }
        }
    }

    /// One step: each sends to the one at this distance what it has received in the step before. The last
    /// element of `ends` is the receive of the step before.
    fn step(&mut self, parts: &[Place], distance: u64, bytes: impl Fn(u64) -> u64, ends: &mut [Vec<u32>]) {
        let n = parts.len();
        let before: Vec<Option<u32>> = ends.iter().map(|ends| ends.last().copied()).collect();
        let mut sent = Vec::with_capacity(n);
        for (i, &part) in parts.iter().enumerate() {
            let to = parts[(i + distance as usize) % n];
            let flow = self.message(part.0, to.0, bytes(i as u64));
            let send = self.add(part, What::Send { flow }, before[i].into_iter().collect());
            ends[i].push(send);
            sent.push((flow, send));
        }
        for (i, &part) in parts.iter().enumerate() {
            let (flow, _) = sent[(i + n - distance as usize) % n];
            let receive = self.add(part, What::Receive { flow }, before[i].into_iter().collect());
            ends[i].push(receive);
            if before[i].is_none() {
                self.begins.entry(part).or_default().extend([sent[i].1, receive]);
            }
        }
    }

    /// Lets each node wait for those on which it depends.
    fn connect(&mut self) {
        for (rank, trace) in (0_u32..).zip(&self.trace.ranks) {
            for (index, node) in (0_u32..).zip(&trace.nodes) {
                let control = node.ctrl_deps.iter().filter(|_| self.ctrl_deps);
                let others: BTreeSet<u32> = node
                    .data_deps
                    .iter()
                    .chain(control)
                    .filter_map(|id| Some(self.ends[rank as usize][*trace.by_id.get(id)? as usize]))
                    .collect();
                let end = self.ends[rank as usize][index as usize];
                let own = [end];
                let begins = self.begins.get(&(rank, index)).map_or(&own[..], Vec::as_slice);
                for &operation in begins {
                    self.work.operations[operation as usize].after.extend(&others);
                }
            }
        }
    }

    fn check_order(&self, found: &mut Found<'_>) {
        let Some(cycle) = self.work.cycle() else { return };
        let mut origins: Vec<Place> =
            cycle.iter().map(|&operation| self.origin[operation as usize]).collect();
        origins.dedup();
        let shown: Vec<String> = origins
            .iter()
            .take(6)
            .map(|&origin| format!("{} of rank {}", self.node(origin).id, origin.0))
            .collect();
        if let Some(&first) = origins.first() {
            let message = format!("nodes wait for each other and never start: {}", shown.join(", "));
            found.add_of_any(self.wrong(first, "data_deps", message));
        }
    }

    fn note(&mut self) {
        let nodes = || self.trace.ranks.iter().flat_map(|rank| &rank.nodes);
        let count = |wanted: &dyn Fn(&Node) -> bool| nodes().filter(|node| wanted(node)).count();
        let memory = count(&|node| matches!(node.kind, NodeKind::MemLoad | NodeKind::MemStore));
        let control = count(&|node| !node.ctrl_deps.is_empty());
        self.work.note(
            memory,
            "nodes of memory",
            "each takes its recorded duration; memory is not simulated",
        );
        self.work.note(
            self.timeless,
            "computations without duration",
            "these take no time; num_ops and tensor_size are not read",
        );
        self.work.note(
            self.launches,
            "launches of communications (is_cpu_op)",
            "each takes its recorded duration on the CPU and sends nothing; another node is the communication, or none \
             is described",
        );
        self.work.note(self.small, "messages without payload", "sent with 1 B");
        if !self.ctrl_deps {
            self.work.note(
                control,
                "nodes with ctrl_deps",
                "not waited for, unless a traffic block asks for it",
            );
        }
        self.work.note(
            self.rooted,
            "collectives with a root",
            "each takes its recorded duration and sends nothing; the root is not in the traces",
        );
        self.work.note(
            self.collectives,
            "collectives",
            "made of messages (rings; direct for ALL_TO_ALL), whatever algorithm was used when the trace was taken",
        );
        self.work.note_endless();
    }
}

/// The name of a collective.
fn name(kind: i64) -> String {
    let known = usize::try_from(kind).ok().and_then(|kind| COLLECTIVES.get(kind));
    known.map_or_else(|| format!("collective {kind}"), |name| (*name).to_owned())
}

/// Piece `i` of `n` of a size; together they are the size.
fn piece(size: u64, i: u64, n: u64) -> u64 {
    mul_div(size, i + 1, n) - mul_div(size, i, n)
}
