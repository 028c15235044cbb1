//! Chakra execution traces as JSON: what MLCommons' `chakra_jsonizer` writes.
//!
//! A file has JSON objects one behind the other, the `GlobalMetadata` and then each `Node`, in the JSON form of Protocol
//! Buffers: names like `durationMicros` (or as in the schema, `duration_micros`), numbers of 64 bits as texts, kinds by
//! their names, and no field that has its default. It has the same nodes as the [binary form](super::chakra).

use serde_json::{Deserializer, Map, Value};

use super::chakra::{Attribute, ChakraRank, Node, NodeKind};
use super::fields::Found;
use super::protobuf::Wrong;
use crate::problem::{Problem, Problems};

/// The fields of a node, without underscores and in lower case.
const NODE: [&str; 10] = [
    "id",
    "name",
    "type",
    "ctrldeps",
    "datadeps",
    "starttimemicros",
    "durationmicros",
    "inputs",
    "outputs",
    "attr",
];

/// The types of integers that an attribute can have.
const INTEGERS: [&str; 10] = [
    "int32val",
    "int64val",
    "uint32val",
    "uint64val",
    "sint32val",
    "sint64val",
    "fixed32val",
    "fixed64val",
    "sfixed32val",
    "sfixed64val",
];

const TRACE: &str = "is this a Chakra trace as JSON, as chakra_jsonizer writes it?";

/// Reads a file; `file` is its name for messages.
pub(super) fn parse(bytes: &[u8], file: &str) -> Result<ChakraRank, Problems> {
    let mut found = Found::new(file);
    let mut rank = ChakraRank::empty(file);
    let mut objects = Deserializer::from_slice(bytes).into_iter::<Map<String, Value>>();
    let mut record = 0;
    loop {
        let behind = objects.byte_offset();
        let space =
            bytes.get(behind..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_whitespace());
        let start = behind + space.count();
        record += 1;
        let wrong = |(at, message): Wrong, hint: &str| {
            Problem::new(format!("record {record} (byte {at}): {message}")).with_hint(hint)
        };
        let object = match objects.next() {
            Some(Ok(object)) => object,
            Some(Err(error)) => {
                found.add(wrong((start, error.to_string()), "is the file truncated, or no trace?"));
                break;
            }
            None if record == 1 => {
                found.add(wrong(
                    (0, "the file is empty".to_owned()),
                    "a trace begins with its GlobalMetadata",
                ));
                break;
            }
            None => break,
        };
        let read = match record {
            1 => metadata(&object).map(|version| rank.version = version),
            _ => node(&object, record, start).map(|node| rank.nodes.push(node)),
        };
        if let Err(message) = read
            && !found.add(wrong((start, message), TRACE))
        {
            break;
        }
    }
    rank.index(&mut found);
    found.into_result(rank)
}

/// The name of a field without underscores and in lower case.
fn plain(name: &str) -> String {
    name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
}

/// A whole number, which may be a text.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_u64().map(|number| number as i64)),
        Value::String(text) => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let number =
                || text.parse().ok().or_else(|| text.parse::<u64>().ok().map(|number| number as i64));
            is_number.then(number).flatten()
        }
        _ => None,
    }
}

/// A whole number from 0.
fn natural(value: &Value, name: &str) -> Result<u64, String> {
    let number = match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| format!("{name}: {value}: not a whole number"))
}

/// The version of the format: `version`, or the attribute `schema`.
fn metadata(object: &Map<String, Value>) -> Result<String, String> {
    let (mut version, mut schema) = (String::new(), String::new());
    for (name, value) in object {
        match (plain(name).as_str(), value) {
            ("version", Value::String(text)) => version.clone_from(text),
            ("attr", _) => {
                for attribute in attributes(value)? {
                    if attribute.name == b"schema" {
                        schema = String::from_utf8_lossy(attribute.text).into_owned();
                    }
                }
            }
            _ => {
                return Err(format!(
                    "{name:?}: expected the GlobalMetadata of a trace, with version and attr"
                ));
            }
        }
    }
    Ok(if version.is_empty() { schema } else { version })
}

fn node(object: &Map<String, Value>, record: usize, start: usize) -> Result<Node, String> {
    let mut node = Node::new(record, start);
    let mut kind = 0;
    for (name, value) in object {
        match plain(name).as_str() {
            "id" => node.id = natural(value, name)?,
            "type" => {
                kind = match value {
                    Value::String(text) => NodeKind::number(text)
                        .ok_or_else(|| format!("{name}: {text:?} is no kind of nodes"))?,
                    _ => natural(value, name)?,
                }
            }
            "ctrldeps" => node.ctrl_deps = numbers(value, name)?,
            "datadeps" => node.data_deps = numbers(value, name)?,
            "durationmicros" => node.duration = natural(value, name)?,
            "attr" => {
                for attribute in attributes(value)? {
                    node.take(&attribute).map_err(|(_, message)| message)?;
                }
            }
            other if NODE.contains(&other) => {}
            _ => return Err(format!("{name:?}: a node has no such field")),
        }
    }
    node.kind = NodeKind::of(kind)
        .ok_or_else(|| format!("type: {kind} is no kind of nodes; they are numbered up to 7"))?;
    Ok(node)
}

/// A list of whole numbers from 0.
fn numbers(value: &Value, name: &str) -> Result<Vec<u64>, String> {
    let list = value.as_array().ok_or_else(|| format!("{name}: not a list"))?;
    list.iter().map(|value| natural(value, name)).collect()
}

/// The attributes of a list.
fn attributes(value: &Value) -> Result<Vec<Attribute<'_>>, String> {
    let list = value.as_array().ok_or("attr: not a list")?;
    list.iter().map(|value| attribute(value.as_object().ok_or("attr: not an object")?)).collect()
}

fn attribute(object: &Map<String, Value>) -> Result<Attribute<'_>, String> {
    let mut attribute = Attribute::default();
    for (key, value) in object {
        let wrong = || format!("attr: {key}: {value}: not what this type of attribute has");
        match (plain(key).as_str(), value) {
            ("name", Value::String(name)) => attribute.name = name.as_bytes(),
            ("boolval", Value::Bool(flag)) => attribute.number = Some(i64::from(*flag)),
            ("boollist", Value::Object(list)) => {
                let flag = |flag: &Value| flag.as_bool().map(u64::from).ok_or_else(wrong);
                let flags = list.get("values").and_then(Value::as_array);
                attribute.flags = flags.into_iter().flatten().map(flag).collect::<Result<_, _>>()?;
            }
            ("stringval", Value::String(text)) => attribute.text = text.as_bytes(),
            (kind, _) if INTEGERS.contains(&kind) => {
                attribute.number = Some(whole(value).ok_or_else(wrong)?);
            }
            ("name" | "boolval" | "boollist" | "stringval", _) => return Err(wrong()),
            ("docstring", _) => {}
            // A number with a fraction, bytes, a list: no attribute that is read has one.
            (kind, _) if kind.ends_with("val") || kind.ends_with("list") => {}
            _ => return Err(format!("attr: {key:?}: an attribute has no such field")),
        }
    }
    Ok(attribute)
}
