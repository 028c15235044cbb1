//! Workloads of SimAI: the computations and collectives of a training job, layer by layer.
//!
//! The text form of ASTRA-sim 1 with the header of SimAI, which AICB writes: X. Wang et al., "SimAI: Unifying Architecture
//! Design and Performance Tuning for Large-Scale Large Language Model Training with Precision and Scalability", NSDI 2025.

use std::collections::BTreeMap;

use incast_units::{Bytes, Time};

use super::fields::{Field, Found, Lines, counted};
use super::goal_schedule::{MAX_CALC, MAX_SIZE};
use crate::grammar::foreign::Format;
use crate::limits::MAX_HOSTS;
use crate::problem::{Problem, Problems};

/// First words of a header that is read.
const LOOPS: [&str; 2] = ["HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER"];
/// First words of a header that is known and not read.
const OTHER_LOOPS: [&str; 9] = [
    "DATA",
    "MODEL",
    "HYBRID_DATA_MODEL",
    "HYBRID_MODEL_DATA",
    "HYBRID_DLRM",
    "HYBRID_DLRM_ENHANCED",
    "HYBRID_CUSTOMIZED",
    "DISTRIBUTED_INFERENCE",
    "MICRO",
];
const HEADER: &str = "a header is `HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 \
                      all_gpus: 32 checkpoints: 0 checkpoint_initiates: 0`";
const ROW: &str = "a layer is `name -1 forward_time type size input_gradient_time type size weight_gradient_time type \
                   size update_time`, with times in nanoseconds and sizes in bytes";

/// An operation of a group of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// All-reduce.
    AllReduce,
    /// All-gather.
    AllGather,
    /// Reduce-scatter.
    ReduceScatter,
    /// All-to-all.
    AllToAll,
}

impl Operation {
    const ALL: [(Self, &'static str); 4] = [
        (Self::AllReduce, "ALLREDUCE"),
        (Self::AllGather, "ALLGATHER"),
        (Self::ReduceScatter, "REDUCESCATTER"),
        (Self::AllToAll, "ALLTOALL"),
    ];
}

/// Groups into which the GPUs are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// GPUs that share the tensors of a model.
    Tensor,
    /// GPUs with the same part of the tensors.
    Data,
    /// GPUs that have different experts.
    Expert,
    /// GPUs that have the same experts.
    ExpertData,
}

impl Group {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tensor, Self::Data, Self::Expert, Self::ExpertData];

    /// Its name: `TP`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tensor => "TP",
            Self::Data => "DP",
            Self::Expert => "EP",
            Self::ExpertData => "DP_EP",
        }
    }
}

/// A collective of all groups of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Operation.
    pub operation: Operation,
    /// Kind of the groups.
    pub group: Group,
    /// Bytes, as nccl-tests counts them: of all-gather what a GPU has at the end, of the others at the beginning.
    pub size: Bytes,
    /// Line and column of the size.
    pub place: (u32, u32),
}

/// A computation and a collective after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Time of the computation.
    pub compute: Time,
    /// The collective; `None`: nothing is sent.
    pub exchange: Option<Exchange>,
}

/// A layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// Forward pass.
    pub forward: Phase,
    /// Gradient of the inputs.
    pub input: Phase,
    /// Gradient of the weights.
    pub weight: Phase,
    /// Time for which the weights are renewed behind the collective of their gradient.
    pub update: Time,
}

impl Layer {
    /// Its phases: forward, gradient of the inputs, gradient of the weights.
    #[must_use]
    pub const fn phases(&self) -> [Phase; 3] {
        [self.forward, self.input, self.weight]
    }
}

/// A workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimAi {
    /// Number of GPUs.
    pub gpus: u32,
    /// Number of GPUs of a tensor-parallel group.
    pub tensor: u32,
    /// Number of GPUs of an expert-parallel group.
    pub expert: u32,
    /// The layers, in the order of the forward pass.
    pub layers: Vec<Layer>,
    /// Notes on what is not taken over, or differs.
    pub notes: Vec<String>,
}

impl SimAi {
    /// Whether a first word begins such a file.
    #[must_use]
    pub fn begins(word: &str) -> bool {
        LOOPS.contains(&word) || OTHER_LOOPS.contains(&word)
    }

    /// Reads the text of a file; `file` is for messages.
    ///
    /// # Errors
    /// All that is wrong, up to twenty problems, each with its line and field.
    pub fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        let mut found = Found::new(file);
        let mut lines = Lines::new(text);
        let header = match header(lines.next_line()) {
            Ok(header) => Some(header),
            Err(problem) => {
                found.add(problem);
                None
            }
        };
        let layers = layers(&mut lines, text, &mut found);
        let Header { gpus, tensor, expert, mut notes } = header.unwrap_or_default();
        notes.push("names of layers: not taken over".to_owned());
        let mut read = Self { gpus, tensor, expert, layers, notes };
        if found.is_empty() {
            read.note_single();
        }
        found.into_result(read)
    }

    /// Returns the groups of a kind. They are formed as SimAI does: tensor-parallel ones of GPUs that follow each other,
    /// expert-parallel ones of the GPUs of equal place in tensor-parallel groups that follow each other.
    #[must_use]
    pub fn groups(&self, group: Group) -> Vec<Vec<u32>> {
        let (all, tensor, expert) = (self.gpus, self.tensor, self.expert);
        let stride =
            |first: u32, step: u32, end: u32| (first..end).step_by(step as usize).collect::<Vec<_>>();
        let wide = tensor * expert;
        match group {
            Group::Tensor => {
                (0..all).step_by(tensor as usize).map(|first| stride(first, 1, first + tensor)).collect()
            }
            Group::Data => (0..tensor).map(|first| stride(first, tensor, all)).collect(),
            Group::Expert => (0..all)
                .step_by(wide as usize)
                .flat_map(|first| (first..first + tensor).map(move |own| stride(own, tensor, first + wide)))
                .collect(),
            Group::ExpertData => (0..wide).map(|first| stride(first, wide, all)).collect(),
        }
    }

    /// Number of GPUs of each group of a kind.
    #[must_use]
    pub const fn size_of(&self, group: Group) -> u32 {
        match group {
            Group::Tensor => self.tensor,
            Group::Data => self.gpus / self.tensor,
            Group::Expert => self.expert,
            Group::ExpertData => self.gpus / self.tensor / self.expert,
        }
    }

    /// Iterates over the collectives of all layers.
    pub fn exchanges(&self) -> impl Iterator<Item = Exchange> {
        self.layers.iter().flat_map(|layer| layer.phases().into_iter().filter_map(|phase| phase.exchange))
    }

    /// Returns the number of collectives by their type, as the file writes it, with the bytes of all of them.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<String, (usize, u128)> {
        let mut counts: BTreeMap<String, (usize, u128)> = BTreeMap::new();
        for exchange in self.exchanges() {
            let word = Operation::ALL
                .iter()
                .find(|(known, _)| *known == exchange.operation)
                .map_or("", |(_, word)| *word);
            let (number, bytes) = counts.entry(format!("{word} of {}", exchange.group.name())).or_default();
            *number += 1;
            *bytes += u128::from(exchange.size.get());
        }
        counts
    }

    /// Time that each GPU computes in a pass.
    #[must_use]
    pub fn computes(&self) -> Time {
        let of =
            |layer: &Layer| layer.phases().iter().map(|phase| phase.compute).fold(Time::ZERO, |a, b| a + b);
        self.layers.iter().map(of).fold(Time::ZERO, |a, b| a + b)
    }

    /// Notes the collectives of groups of one GPU.
    fn note_single(&mut self) {
        let single = self.exchanges().filter(|exchange| self.size_of(exchange.group) == 1).count();
        if single > 0 {
            self.notes.push(format!("collectives of groups of one GPU ({single}): they send nothing"));
        }
    }
}

impl Format for SimAi {
    const NOUN: &'static str = "a file like \"gpt_13b.txt\"";

    fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        Self::parse(text, file)
    }
}

/// The first line.
#[derive(Default)]
struct Header {
    gpus: u32,
    tensor: u32,
    expert: u32,
    notes: Vec<String>,
}

fn header(fields: &[Field<'_>]) -> Result<Header, Problem> {
    let Some((first, rest)) = fields.split_first() else {
        return Err(Problem::new("the file is empty").on_line(1).with_hint(HEADER));
    };
    if !LOOPS.contains(&first.text) {
        let message = if OTHER_LOOPS.contains(&first.text) {
            "only HYBRID_TRANSFORMER_FWD_IN_BCKWD and HYBRID_TRANSFORMER are read: the collectives of the others go over \
             dimensions of a machine that is not in the file"
        } else {
            "not the beginning of a workload of SimAI"
        };
        return Err(first.wrong("loop", message).with_hint(HEADER));
    }
    let mut values: BTreeMap<&str, (Field<'_>, u64)> = BTreeMap::new();
    let mut words = rest.iter();
    while let Some(key) = words.next() {
        // AICB writes pp_comm without a colon.
        let name = key.text.strip_suffix(':').unwrap_or(key.text);
        let known = [
            "model_parallel_NPU_group",
            "ep",
            "pp",
            "vpp",
            "ga",
            "all_gpus",
            "checkpoints",
            "checkpoint_initiates",
            "pp_comm",
        ];
        if !known.contains(&name) || name == key.text && name != "pp_comm" {
            return Err(key.wrong("header", "not a key of the header").with_hint(HEADER));
        }
        let Some(value) = words.next() else {
            return Err(key.wrong(name, "has no number behind it").with_hint(HEADER));
        };
        if values.contains_key(name) {
            return Err(key.wrong(name, "stands here a second time"));
        }
        let number = value.whole(name, MAX_SIZE)?;
        match name {
            "checkpoints" | "checkpoint_initiates" if number > 0 => {
                let message = "layers that are computed again in the backward pass are not modelled; make the file \
                               without recomputation, with 0 here";
                return Err(value.wrong(name, message));
            }
            "pp" if number > 1 => {
                let message = "the messages between the stages of a pipeline are not in the file, nor the GPUs of each \
                               stage; make the file for one stage, with pp: 1 and its number of GPUs";
                return Err(value.wrong(name, message));
            }
            "pp_comm" if number > 0 => {
                return Err(value.wrong(name, "must be 0: with pp: 1 there is no other stage to send to"));
            }
            _ => {}
        }
        values.insert(name, (*value, number));
    }
    let get = |name: &str| {
        let missing = || first.wrong(name, "is missing in this line").with_hint(HEADER);
        let (field, number) = values.get(name).ok_or_else(missing)?;
        match *number {
            0 => Err(field.wrong(name, "must be at least 1")),
            number if number > MAX_HOSTS => {
                Err(field.wrong(name, format_args!("at most {MAX_HOSTS} is possible")))
            }
            number => Ok((*field, number as u32)),
        }
    };
    let ((_, gpus), (tensor_at, tensor), (expert_at, expert)) =
        (get("all_gpus")?, get("model_parallel_NPU_group")?, get("ep")?);
    get("pp")?;
    if !gpus.is_multiple_of(tensor) {
        let message = format_args!("{gpus} GPUs cannot be divided into groups of {tensor}");
        return Err(tensor_at.wrong("model_parallel_NPU_group", message));
    }
    let data = gpus / tensor;
    if !data.is_multiple_of(expert) {
        let message = format_args!(
            "the {data} GPUs of a data-parallel group (all_gpus / model_parallel_NPU_group) cannot be divided into groups of \
             {expert}"
        );
        return Err(expert_at.wrong("ep", message));
    }
    let unused: Vec<&str> =
        ["vpp", "ga"].into_iter().filter(|name| values.get(name).is_some_and(|value| value.1 > 1)).collect();
    let notes = if unused.is_empty() {
        Vec::new()
    } else {
        vec![format!("{}: not taken over; the layers are run as they are listed", unused.join(", "))]
    };
    Ok(Header { gpus, tensor, expert, notes })
}

/// Reads the number of layers, and the layers.
fn layers(lines: &mut Lines<'_>, text: &str, found: &mut Found<'_>) -> Vec<Layer> {
    let last_line = text.lines().count().max(1) as u32;
    let mut read = Vec::new();
    let ends = |message: String| Problem::new(message).on_line(last_line).with_hint(ROW);
    let number = match lines.next_line() {
        [] => {
            found.add(ends("the file ends before the number of layers".to_owned()));
            return read;
        }
        [number] => number.whole("layers", MAX_SIZE),
        [first, ..] => {
            Err(first.wrong("layers", "the second line is the number of layers, and nothing else"))
        }
    };
    let number = match number {
        Ok(number) => number,
        Err(problem) => {
            found.add(problem);
            return read;
        }
    };
    while !found.is_full() {
        let fields = lines.next_line();
        let count = read.len() as u64;
        let Some(first) = fields.first() else {
            if count < number && found.is_empty() {
                let layers = counted(count as usize, "layer");
                found.add(ends(format!("the file ends after {layers}; its second line says {number}")));
            }
            break;
        };
        if count == number {
            let message = format!(
                "the second line says {}; correct it, or remove what follows",
                counted(number as usize, "layer")
            );
            found.add(first.wrong("layers", message));
            break;
        }
        match layer(fields) {
            Ok(layer) => read.push(layer),
            Err(problem) => {
                // The count of layers goes on.
                found.add(problem);
                read.push(Layer::none());
            }
        }
    }
    if number == 0 && found.is_empty() {
        found.add(Problem::new("0: a workload has at least one layer").about("layers").on_line(2));
    }
    read
}

impl Layer {
    /// One without contents.
    const fn none() -> Self {
        let phase = Phase { compute: Time::ZERO, exchange: None };
        Self { name: String::new(), forward: phase, input: phase, weight: phase, update: Time::ZERO }
    }
}

fn layer(fields: &[Field<'_>]) -> Result<Layer, Problem> {
    let &[name, dependency, ref rest @ ..] = fields else {
        return Err(short(fields));
    };
    let &[f_time, f_type, f_size, i_time, i_type, i_size, w_time, w_type, w_size, update] = rest else {
        return Err(short(fields));
    };
    if dependency.text != "-1" {
        let message = "must be -1: SimAI runs the layers in their order, and no other one is known";
        return Err(dependency.wrong("dependency", message));
    }
    let time = |field: &Field<'_>, name: &str| field.whole(name, MAX_CALC).map(Time::from_ns);
    let phase = |[compute, kind, size]: [&Field<'_>; 3], name: &str, own: Group| {
        let [compute_name, type_name, size_name] =
            ["time", "type", "size"].map(|what| format!("{name}_{what}"));
        let compute = time(compute, &compute_name)?;
        let bytes = size.whole(&size_name, MAX_SIZE)?;
        let exchange = exchange(kind, &type_name, own)?;
        if exchange.is_none() && bytes > 0 {
            return Err(size.wrong(&size_name, "must be 0: NONE sends nothing"));
        }
        let exchange = exchange.filter(|_| bytes > 0).map(|(operation, group)| Exchange {
            operation,
            group,
            size: Bytes::new(bytes),
            place: (size.line, size.column),
        });
        Ok(Phase { compute, exchange })
    };
    Ok(Layer {
        name: name.text.to_owned(),
        forward: phase([&f_time, &f_type, &f_size], "forward", Group::Tensor)?,
        input: phase([&i_time, &i_type, &i_size], "input_gradient", Group::Tensor)?,
        weight: phase([&w_time, &w_type, &w_size], "weight_gradient", Group::Data)?,
        update: time(&update, "update_time")?,
    })
}

/// The problem of a line with another number of fields.
fn short(fields: &[Field<'_>]) -> Problem {
    let line = fields.first().map_or(1, |field| field.line);
    let message = format!("has {}; a layer has 12", counted(fields.len(), "field"));
    Problem::new(message).about("layer").on_line(line).with_hint(ROW)
}

/// Reads the type of a collective. One without a group has the group of the phase.
fn exchange(field: &Field<'_>, name: &str, own: Group) -> Result<Option<(Operation, Group)>, Problem> {
    if field.text == "NONE" {
        return Ok(None);
    }
    for (operation, word) in Operation::ALL {
        let group = match field.text.strip_prefix(word) {
            Some("") => own,
            Some("_EP") => Group::Expert,
            Some("_DP_EP") => Group::ExpertData,
            _ => continue,
        };
        return Ok(Some((operation, group)));
    }
    let words = Operation::ALL.map(|(_, word)| word).join(", ");
    let message =
        format!("not a known type; write NONE, or one of {words}, each alone or with _EP or _DP_EP");
    Err(field.wrong(name, message))
}
