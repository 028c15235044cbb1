//! Chakra execution traces (MLCommons), one file of Protocol Buffers for each rank: what is in a file.
//!
//! A file is a sequence of messages with their lengths before them: a `GlobalMetadata`, then `Node`s. Fields that
//! are not known are skipped. What a trace comes to is in [`chakra_workload`](super::chakra_workload).

use std::collections::{BTreeMap, HashMap};

use super::chakra_json;
use super::fields::Found;
use super::protobuf::{Reader, Value, Wrong};
use crate::problem::{Problem, Problems};

/// Number of the barrier among the format's `CollectiveCommType`.
pub(super) const BARRIER: i64 = 9;

/// Kind of a node, with the numbers of the format's `NodeType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeKind {
    /// Nothing, with information.
    Metadata,
    /// Reads from memory.
    MemLoad,
    /// Writes to memory.
    MemStore,
    /// Computes.
    Comp,
    /// Sends to another rank.
    Send,
    /// Receives from another rank.
    Recv,
    /// Takes part in a collective.
    Coll,
}

impl NodeKind {
    const ALL: [(Self, &str); 7] = [
        (Self::Metadata, "METADATA_NODE"),
        (Self::MemLoad, "MEM_LOAD_NODE"),
        (Self::MemStore, "MEM_STORE_NODE"),
        (Self::Comp, "COMP_NODE"),
        (Self::Send, "COMM_SEND_NODE"),
        (Self::Recv, "COMM_RECV_NODE"),
        (Self::Coll, "COMM_COLL_NODE"),
    ];

    /// Whether such a node is a communication.
    fn communicates(self) -> bool {
        matches!(self, Self::Send | Self::Recv | Self::Coll)
    }

    /// The kind with a number. Nodes of the kind `INVALID_NODE` carry nothing either.
    pub(super) fn of(number: u64) -> Option<Self> {
        let place = usize::try_from(number).ok()?.saturating_sub(1);
        Self::ALL.get(place).map(|(kind, _)| *kind)
    }

    /// The number of the kind with a name.
    pub(super) fn number(name: &str) -> Option<u64> {
        let place = Self::ALL.iter().position(|(_, known)| *known == name);
        match name {
            "INVALID_NODE" => Some(0),
            _ => place.map(|place| place as u64 + 1),
        }
    }

    /// Its name in the format.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// A node of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) id: u64,
    pub(super) kind: NodeKind,
    pub(super) ctrl_deps: Vec<u64>,
    pub(super) data_deps: Vec<u64>,
    /// Microseconds.
    pub(super) duration: u64,
    pub(super) cpu: bool,
    /// Whether the CPU only launches here what another node does.
    pub(super) launch: bool,
    pub(super) comm_type: Option<i64>,
    pub(super) comm_size: Option<i64>,
    pub(super) tensor_size: Option<i64>,
    pub(super) comm_src: Option<i64>,
    pub(super) comm_dst: Option<i64>,
    pub(super) comm_tag: i64,
    /// The name of its group of ranks; empty for all ranks.
    pub(super) group: String,
    /// Whether it names only some dimensions of a topology that is elsewhere.
    pub(super) partial: bool,
    /// Its number in the file, from 1 (the first record is the metadata), and its first byte.
    pub(super) record: usize,
    pub(super) at: usize,
}

/// The file of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChakraRank {
    /// Its name, for messages.
    pub(super) file: String,
    /// The version in its metadata.
    pub(super) version: String,
    pub(super) nodes: Vec<Node>,
    /// For each identity the index of its node.
    pub(super) by_id: HashMap<u64, u32>,
}

impl Node {
    /// Returns a node without fields.
    pub(super) fn new(record: usize, at: usize) -> Self {
        Self {
            id: 0,
            kind: NodeKind::Metadata,
            ctrl_deps: Vec::new(),
            data_deps: Vec::new(),
            duration: 0,
            cpu: false,
            launch: false,
            comm_type: None,
            comm_size: None,
            tensor_size: None,
            comm_src: None,
            comm_dst: None,
            comm_tag: 0,
            group: String::new(),
            partial: false,
            record,
            at,
        }
    }

    /// Whether a communication can be made of its attributes.
    fn is_described(&self) -> bool {
        let size = self.comm_size.or(self.tensor_size);
        let what = match self.kind {
            NodeKind::Send => self.comm_dst,
            NodeKind::Recv => self.comm_src,
            _ => self.comm_type,
        };
        // A barrier has no size.
        what.is_some() && (size.is_some() || self.kind == NodeKind::Coll && what == Some(BARRIER))
    }

    /// Whether it is a collective of its own.
    pub(super) fn is_collective(&self) -> bool {
        self.kind == NodeKind::Coll && !self.launch
    }

    /// Whether it is a node of the CPU that launches `other`: what both describe is equal.
    fn is_launch_of(&self, other: &Self) -> bool {
        let agree = |own: Option<i64>, other: Option<i64>| own.is_none() || other.is_none() || own == other;
        let group = self.group.is_empty() || other.group.is_empty() || self.group == other.group;
        self.cpu
            && self.kind == other.kind
            && group
            && agree(self.comm_type, other.comm_type)
            && agree(self.comm_size.or(self.tensor_size), other.comm_size.or(other.tensor_size))
            && agree(self.comm_dst, other.comm_dst)
            && agree(self.comm_src, other.comm_src)
    }

    /// A problem of a field of this node.
    pub(super) fn wrong(&self, field: &str, message: impl core::fmt::Display) -> Problem {
        Problem::new(format!(
            "record {} (byte {}), node {}: {field}: {message}",
            self.record, self.at, self.id
        ))
    }
}

impl ChakraRank {
    /// Returns a trace without nodes.
    pub(super) fn empty(file: &str) -> Self {
        Self { file: file.to_owned(), version: String::new(), nodes: Vec::new(), by_id: HashMap::new() }
    }

    /// Reads a file, JSON if its name ends in `.json`; `file` is its name for messages.
    ///
    /// # Errors
    /// All that is wrong, up to twenty problems, each with its record, byte and field.
    pub fn read(bytes: &[u8], file: &str) -> Result<Self, Problems> {
        if file.ends_with(".json") { chakra_json::parse(bytes, file) } else { Self::parse(bytes, file) }
    }

    /// Reads a file in the binary form; `file` is its name for messages.
    ///
    /// # Errors
    /// All that is wrong, up to twenty problems, each with its record, byte and field.
    pub fn parse(bytes: &[u8], file: &str) -> Result<Self, Problems> {
        let mut found = Found::new(file);
        let mut rank = Self::empty(file);
        if bytes.starts_with(&[0x1f, 0x8b]) {
            found.add(Problem::new("the file is compressed").with_hint("decompress it with gunzip"));
            return found.into_result(rank);
        }
        let mut reader = Reader::new(bytes, 0);
        let mut record = 0;
        while !reader.is_done() || record == 0 {
            record += 1;
            let start = reader.at;
            let wrong = |(at, message): Wrong, hint| {
                Problem::new(format!("record {record} (byte {at}): {message}")).with_hint(hint)
            };
            if reader.is_done() {
                found.add(wrong(
                    (0, "the file is empty".to_owned()),
                    "a trace begins with its GlobalMetadata",
                ));
                break;
            }
            // Without its length nothing behind it can be found.
            let message = match reader.delimited() {
                Ok(message) => message,
                Err(cut) => {
                    found.add(wrong(cut, "is the file truncated, or no Chakra trace?"));
                    break;
                }
            };
            let problem = if record == 1 {
                metadata(message).map(|version| rank.version = version)
            } else {
                node(message, record, start).map(|node| rank.nodes.push(node))
            };
            if let Err(problem) = problem
                && !found.add(wrong(problem, "is this a Chakra trace (.et)?"))
            {
                break;
            }
        }
        rank.index(&mut found);
        found.into_result(rank)
    }

    /// Numbers the nodes.
    pub(super) fn index(&mut self, found: &mut Found<'_>) {
        for (i, node) in (0_u32..).zip(&self.nodes) {
            if let Some(other) = self.by_id.insert(node.id, i) {
                let message = format!("record {} has it already", self.nodes[other as usize].record);
                if !found.add(node.wrong("id", message)) {
                    return;
                }
            }
        }
        self.find_launches();
        // Converters leave `ctrl_deps` to nodes that they have removed: checked where they matter.
        for node in &self.nodes {
            if let Err(problem) = self.check("data_deps", node, &node.data_deps)
                && !found.add(problem)
            {
                return;
            }
        }
    }

    /// Marks the nodes with `is_cpu_op` that only launch a communication: those that describe none, and those on
    /// which a node without `is_cpu_op` depends that describes the same communication. All others are the only
    /// record of a communication.
    fn find_launches(&mut self) {
        let mut launches: Vec<bool> =
            self.nodes.iter().map(|node| node.cpu && !node.is_described()).collect();
        for node in self.nodes.iter().filter(|node| !node.cpu) {
            for id in node.data_deps.iter().chain(&node.ctrl_deps) {
                let Some(&other) = self.by_id.get(id) else { continue };
                let other = other as usize;
                launches[other] |= self.nodes[other].is_launch_of(node);
            }
        }
        for (node, launch) in self.nodes.iter_mut().zip(launches) {
            node.launch = launch && node.kind.communicates();
        }
    }

    /// Checks that all on which a node depends exist.
    pub(super) fn check(&self, field: &str, node: &Node, others: &[u64]) -> Result<(), Problem> {
        match others.iter().find(|id| !self.by_id.contains_key(id)) {
            Some(lost) => Err(node.wrong(field, format_args!("there is no node {lost}"))),
            None => Ok(()),
        }
    }

    /// Number of nodes of the CPU that only launch a communication.
    #[must_use]
    pub fn launches(&self) -> usize {
        self.nodes.iter().filter(|node| node.launch).count()
    }

    /// Number of nodes of each kind.
    #[must_use]
    pub fn kinds(&self) -> BTreeMap<NodeKind, usize> {
        let mut kinds = BTreeMap::new();
        for node in &self.nodes {
            *kinds.entry(node.kind).or_default() += 1;
        }
        kinds
    }

    /// The version in its metadata.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }
}

/// The version of the format: `GlobalMetadata.version`, or its attribute `schema`.
fn metadata(mut message: Reader<'_>) -> Result<String, Wrong> {
    let (mut version, mut schema) = (String::new(), String::new());
    while !message.is_done() {
        let (number, at, value) = message.field()?;
        match (number, value) {
            (1, Value::Bytes(text)) => version = String::from_utf8_lossy(text).into_owned(),
            (1, _) => {
                return Err((
                    at,
                    "expected the GlobalMetadata of a trace, whose field 1 is a text".to_owned(),
                ));
            }
            (2, Value::Bytes(bytes)) => {
                let attribute = Attribute::read(Reader::new(bytes, at))?;
                if attribute.name == b"schema" {
                    schema = String::from_utf8_lossy(attribute.text).into_owned();
                }
            }
            _ => {}
        }
    }
    Ok(if version.is_empty() { schema } else { version })
}

fn node(mut message: Reader<'_>, record: usize, start: usize) -> Result<Node, Wrong> {
    let mut node = Node::new(record, start);
    let mut kind = 0;
    while !message.is_done() {
        let (number, at, value) = message.field()?;
        let whole = |name: &str| match value {
            Value::Varint(number) => Ok(number),
            _ => Err((at, format!("{name}: not a number"))),
        };
        match number {
            1 => node.id = whole("id")?,
            3 => kind = whole("type")?,
            4 => numbers(value, at, "ctrl_deps", &mut node.ctrl_deps)?,
            5 => numbers(value, at, "data_deps", &mut node.data_deps)?,
            7 => node.duration = whole("duration_micros")?,
            10 => match value {
                Value::Bytes(bytes) => node.take(&Attribute::read(Reader::new(bytes, at))?)?,
                _ => return Err((at, "attr: not a message".to_owned())),
            },
            _ => {}
        }
    }
    match NodeKind::of(kind) {
        Some(kind) => node.kind = kind,
        None => return Err((start, format!("type: {kind} is no kind of nodes; they are numbered up to 7"))),
    }
    Ok(node)
}

/// A repeated number, packed or not.
fn numbers(value: Value<'_>, at: usize, name: &str, list: &mut Vec<u64>) -> Result<(), Wrong> {
    match value {
        Value::Varint(number) => list.push(number),
        Value::Bytes(bytes) => {
            let mut packed = Reader::new(bytes, at);
            while !packed.is_done() {
                list.push(packed.varint()?);
            }
        }
        _ => return Err((at, format!("{name}: not numbers"))),
    }
    Ok(())
}

/// An `AttributeProto`: a name and a value of any type.
#[derive(Default)]
pub(super) struct Attribute<'a> {
    pub(super) name: &'a [u8],
    pub(super) number: Option<i64>,
    pub(super) text: &'a [u8],
    /// A list of flags.
    pub(super) flags: Vec<u64>,
    at: usize,
}

impl<'a> Attribute<'a> {
    fn read(mut message: Reader<'a>) -> Result<Self, Wrong> {
        let mut attribute = Self { at: message.at, ..Self::default() };
        while !message.is_done() {
            let (number, at, value) = message.field()?;
            match (number, value) {
                (1, Value::Bytes(name)) => attribute.name = name,
                // int32, int64, uint32, uint64, bool.
                (7 | 9 | 11 | 13 | 27, Value::Varint(value)) => attribute.number = Some(value as i64),
                // sint32, sint64: the sign is the lowest bit.
                (15 | 17, Value::Varint(value)) => {
                    attribute.number = Some((value >> 1) as i64 ^ -((value & 1) as i64));
                }
                (19, Value::Fixed32(value)) => attribute.number = Some(i64::from(value)),
                (23, Value::Fixed32(value)) => attribute.number = Some(i64::from(value as i32)),
                (21 | 25, Value::Fixed64(value)) => attribute.number = Some(value as i64),
                (28, Value::Bytes(bytes)) => {
                    let mut list = Reader::new(bytes, at);
                    while !list.is_done() {
                        let (number, at, value) = list.field()?;
                        if number == 1 {
                            numbers(value, at, "bool_list", &mut attribute.flags)?;
                        }
                    }
                }
                (29 | 31, Value::Bytes(text)) => attribute.text = text,
                _ => {}
            }
        }
        Ok(attribute)
    }
}

impl Node {
    /// Takes over an attribute that matters here.
    pub(super) fn take(&mut self, attribute: &Attribute<'_>) -> Result<(), Wrong> {
        let name = core::str::from_utf8(attribute.name).unwrap_or_default();
        let number = || {
            let message = || (attribute.at, format!("attr {name}: not a whole number"));
            attribute.number.map(Some).ok_or_else(message)
        };
        match name {
            "is_cpu_op" => self.cpu = number()? != Some(0),
            "comm_type" => self.comm_type = number()?,
            "comm_size" => self.comm_size = number()?,
            "tensor_size" => self.tensor_size = attribute.number,
            "comm_src" => self.comm_src = number()?,
            "comm_dst" => self.comm_dst = number()?,
            "comm_tag" => self.comm_tag = number()?.unwrap_or(0),
            "pg_name" => {
                self.group = match attribute.number {
                    Some(number) => number.to_string(),
                    None => String::from_utf8_lossy(attribute.text).into_owned(),
                }
            }
            "involved_dim" => self.partial = attribute.flags.contains(&0),
            _ => {}
        }
        Ok(())
    }
}
