//! The JSON Schema of scenario files, for editors, pages and checks before anything runs.
//!
//! It is generated from the declarations by which scenarios are read, so that it is always up to date. A
//! schema covers keys, types, units and ranges; errors that depend on the whole scenario (a probe of a host
//! that does not exist, an algorithm without its signals) are only found by [`Scenario`](crate::Scenario).

use incast_cc::Fixed;
use incast_cc::any::AnyParams;
use incast_units::Quantity;
use serde_json::{Map, Value, json};

use crate::grammar::{Bound, Entry, Fallback, KeyInfo, Shape};
use crate::plugin;
use crate::scenario::catalogue;

/// The identifier of the schema.
pub const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of a scenario file (TOML, seen as JSON), as a JSON document.
#[must_use]
pub fn json() -> Value {
    let root = catalogue::sections().into_iter().next();
    let root = root.unwrap_or_else(|| Entry {
        name: String::new(),
        summary: String::new(),
        brief: String::new(),
        keys: Vec::new(),
    });
    let mut schema = object(&root.keys, None);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("$schema".into(), json!(DIALECT));
        schema.insert("title".into(), json!("Incast scenario"));
        schema.insert("description".into(), json!(root.summary));
        schema.insert("$defs".into(), json!({ "algorithm": algorithm() }));
    }
    if let Some(switch) = schema["properties"].get_mut("switch") {
        with_shares(switch);
    }
    let contestant = contestants(&schema["properties"]);
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.insert("contestant".into(), contestant);
    }
    schema
}

/// Lets amounts of bytes be shares of the bandwidth-delay product.
fn with_shares(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(with_shares),
        Value::Object(object) => {
            let is_amount = object.get("examples") == Some(&json!([Quantity::Bytes.example()]));
            if is_amount && let Some(Value::String(pattern)) = object.get_mut("pattern") {
                pattern.push_str(r"|^\d{1,9}(?:\.\d{1,8})? BDP$");
            }
            object.values_mut().for_each(with_shares);
        }
        _ => {}
    }
}

/// Contestants by name: any keys of four sections, where `false` takes one away.
fn contestants(root: &Value) -> Value {
    let part = |name: &str| {
        let forms = root[name]["anyOf"].as_array();
        let table = forms.into_iter().flatten().find(|form| form["properties"].is_object());
        let mut properties = table.map_or_else(|| json!({}), |table| table["properties"].clone());
        for key in properties.as_object_mut().into_iter().flat_map(Map::values_mut) {
            let description = key["description"].clone();
            *key = json!({ "anyOf": [key.take(), { "const": false }], "description": description });
        }
        json!({
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
            "description": format!("Keys of [{name}] that it sets; false takes one away."),
        })
    };
    let line = |meaning: &str| json!({ "type": "string", "description": meaning });
    let cc = json!({
        "anyOf": [{ "type": "object" }, { "type": "string" }],
        "description": "Its algorithm; without the key algorithm, keys that are added to it.",
    });
    json!({
        "type": "object",
        "description": "Contestants by name: an algorithm together with the switches, transport and balancing that it is made for.",
        "additionalProperties": {
            "type": "object",
            "properties": {
                "what": line("One line."),
                "from": line("The contestant or base from which it takes what it does not set."),
                "cc": cc,
                "switch": part("switch"),
                "transport": part("transport"),
                "balancing": root["balancing"].clone(),
                "sources": {
                    "type": "object",
                    "description": "Sources of values by the paths of their keys.",
                    "additionalProperties": { "type": "string" },
                },
            },
            "additionalProperties": false,
        },
    })
}

/// A table with these keys and, before them, one that is fixed.
fn object(keys: &[KeyInfo], first: Option<(&str, &str)>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some((key, word)) = first {
        properties.insert(key.into(), json!({ "const": word }));
        required.push(key);
    }
    for info in keys {
        properties.insert(info.name.into(), key(info));
        if info.fallback == Fallback::Required {
            required.push(info.name);
        }
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn key(info: &KeyInfo) -> Value {
    let mut schema = shape(&info.shape, info.bound);
    // A section may be switched on as a whole, and one that need not be there, off.
    if let Shape::Table(keys) = &info.shape {
        let mut forms = vec![schema];
        if keys.iter().all(|key| key.fallback != Fallback::Required) {
            forms.push(json!({ "const": true }));
        }
        if info.fallback == Fallback::Nothing {
            forms.push(json!({ "const": false }));
        }
        schema = json!({ "anyOf": forms });
    }
    if let Some(schema) = schema.as_object_mut() {
        let description = match info.source {
            Some(source) => format!("{} ({source})", info.meaning),
            None => info.meaning.clone(),
        };
        schema.insert("description".into(), json!(description));
        if let Some(evidence) = info.evidence {
            schema.insert("$comment".into(), json!(format!("evidence: {}", evidence.name())));
        }
        match &info.fallback {
            Fallback::Value(text) => {
                if let Some(value) = value(text) {
                    schema.insert("default".into(), value);
                }
            }
            Fallback::From(key) => {
                schema.insert("$comment".into(), json!(format!("default: as {key}")));
            }
            Fallback::Required | Fallback::Nothing => {}
        }
    }
    schema
}

/// A default as it is written in TOML, where JSON has the same; tables are left out.
fn value(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn shape(shape: &Shape, bound: Bound) -> Value {
    match shape {
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Count => bounded(json!({ "type": "integer", "minimum": 0 }), bound),
        Shape::Ratio => bounded(json!({ "type": "number" }), bound),
        Shape::Quantity(quantity) => quantity_shape(*quantity, bound),
        Shape::Text(meaning) => text(meaning),
        Shape::Choice(words) => {
            json!({ "enum": words.iter().map(|(word, _)| *word).collect::<Vec<_>>() })
        }
        Shape::Either(shapes) => {
            json!({ "anyOf": shapes.iter().map(|one| self::shape(one, bound)).collect::<Vec<_>>() })
        }
        Shape::List(of) => json!({ "type": "array", "items": self::shape(of, bound) }),
        Shape::Table(keys) => object(keys, None),
        Shape::Variants(key, entries) => variants(key, entries),
        Shape::Algorithm => {
            let short = "the name of an algorithm, with its preset if not the first: oscar:artifact";
            json!({ "anyOf": [{ "$ref": "#/$defs/algorithm" }, text(short)] })
        }
    }
}

/// A text; where its meaning says that it may be a list of such, that too.
fn text(meaning: &str) -> Value {
    let text = json!({ "type": "string", "description": meaning });
    if meaning.ends_with("list of such") {
        return json!({ "anyOf": [text, { "type": "array", "items": { "type": "string" } }] });
    }
    text
}

fn variants(key: &str, entries: &[Entry]) -> Value {
    let tables = entries.iter().map(|entry| {
        let keys: Vec<KeyInfo> = entry.keys.iter().filter(|info| info.name != key).cloned().collect();
        let mut table = object(&keys, Some((key, &entry.name)));
        if let Some(table) = table.as_object_mut() {
            table.insert("title".into(), json!(entry.name));
            table.insert("description".into(), json!(entry.summary));
        }
        table
    });
    // The first key selects the variant, so that an error refers to that variant alone.
    let rules: Vec<Value> = tables
        .map(|table| {
            let word = table["properties"][key].clone();
            json!({ "if": { "properties": { key: word }, "required": [key] }, "then": table })
        })
        .collect();
    let words: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    json!({
        "type": "object",
        "properties": { key: { "enum": words } },
        "required": [key],
        "allOf": rules,
    })
}

/// Returns the schema of the section of an algorithm: algorithms of the catalogue have their parameters,
/// registered ones accept any.
fn algorithm() -> Value {
    let mut entries = catalogue::algorithms();
    for entry in &mut entries {
        let mut words = Vec::new();
        if let Some(params) = AnyParams::named(&entry.name, None) {
            params.presets(|name, meaning| words.push((name, meaning)));
        }
        entry.keys.insert(
            0,
            KeyInfo {
                name: "preset",
                meaning: "The set of parameters to start from.".to_owned(),
                fallback: words
                    .first()
                    .map_or(Fallback::Nothing, |(name, _)| Fallback::Value(format!("{name:?}"))),
                shape: Shape::Choice(words),
                bound: Bound::Any,
                evidence: None,
                source: None,
                section: None,
            },
        );
    }
    let mut schema = variants("algorithm", &entries);
    let others = plugin::registered();
    for (name, summary) in &others {
        if let Some(words) = schema["properties"]["algorithm"]["enum"].as_array_mut() {
            words.push(json!(name));
        }
        if let Some(rules) = schema["allOf"].as_array_mut() {
            rules.push(json!({
                "if": { "properties": { "algorithm": { "const": name } }, "required": ["algorithm"] },
                "then": { "title": name, "description": summary },
            }));
        }
    }
    schema
}

/// A number with its unit.
fn quantity_shape(quantity: Quantity, bound: Bound) -> Value {
    let units: Vec<&str> = quantity.units().iter().map(|(unit, _)| *unit).collect();
    // A number that is zero has no digit but zeros.
    let nonzero = if bound == Bound::Positive { r"(?=[\d_.]*[1-9])" } else { "" };
    let number = r"(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)";
    json!({
        "type": "string",
        "pattern": format!(r"^\s*{nonzero}{number}\s*(?:{})\s*$", units.join("|")),
        "examples": [quantity.example()],
    })
}

fn bounded(mut schema: Value, bound: Bound) -> Value {
    let mut set = |key: &str, value: Value| {
        if let Some(schema) = schema.as_object_mut() {
            schema.insert(key.into(), value);
        }
    };
    match bound {
        Bound::Any => {}
        Bound::Positive => set("exclusiveMinimum", json!(0)),
        Bound::Count(low, high) => {
            set("minimum", json!(low));
            if high != u64::MAX {
                set("maximum", json!(high));
            }
        }
        Bound::Ratio(low, high) => {
            set("minimum", json!(decimal(low)));
            if high != Fixed::MAX {
                set("maximum", json!(decimal(high)));
            }
        }
        Bound::Between(low, high) => {
            set("exclusiveMinimum", json!(decimal(low)));
            set("exclusiveMaximum", json!(decimal(high)));
        }
    }
    schema
}

/// A limit as the decimal that scenario files have for it.
fn decimal(value: Fixed) -> f64 {
    crate::grammar::setting::decimal(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_the_declarations_say() {
        let schema = json();
        assert_eq!(schema["required"], json!(["topology", "traffic"]));
        assert_eq!(schema["properties"]["seed"]["default"], json!(1));
        assert_eq!(schema["properties"]["topology"]["properties"]["kind"]["enum"][0], json!("star"));
        let switch = &schema["properties"]["switch"]["anyOf"][0]["properties"];
        assert_eq!(switch["ingress_alpha"]["default"], json!(0.25));
        let kmin = &switch["ecn"]["anyOf"][0]["properties"]["kmin"]["pattern"];
        assert!(kmin.as_str().is_some_and(|pattern| pattern.ends_with(" BDP$")), "{kmin}");
        let payload = &schema["properties"]["transport"]["anyOf"][0]["properties"]["payload"]["pattern"];
        assert!(payload.as_str().is_some_and(|pattern| !pattern.contains("BDP")), "{payload}");
        let contestant = &schema["properties"]["contestant"]["additionalProperties"]["properties"];
        assert!(contestant["switch"]["properties"]["ecn"].is_object(), "{contestant}");
        assert!(contestant["transport"]["properties"]["base_rtt"].is_object(), "{contestant}");
        assert_eq!(switch["ecn"]["anyOf"][0]["properties"]["pmax"]["maximum"], json!(1.0));
        let words = &schema["$defs"]["algorithm"]["properties"]["algorithm"]["enum"];
        for info in incast_cc::any::CATALOGUE {
            assert!(words.as_array().unwrap().contains(&json!(info.name)), "{}", info.name);
        }
        // A parameter has the class of the evidence for its default.
        let rules = schema["$defs"]["algorithm"]["allOf"].as_array().unwrap();
        let dctcp =
            rules.iter().find(|rule| rule["if"]["properties"]["algorithm"]["const"] == "dctcp").unwrap();
        assert_eq!(dctcp["then"]["properties"]["g"]["$comment"], json!("evidence: printed"));
        assert_eq!(dctcp["then"]["properties"]["slow_start"]["$comment"], json!("evidence: ours"));
        // Every key has a meaning, wherever it stands.
        fn walk(path: &str, value: &Value, keys: &mut usize) {
            let Some(object) = value.as_object() else {
                value.as_array().into_iter().flatten().for_each(|item| walk(path, item, keys));
                return;
            };
            if let Some(properties) = object.get("properties").and_then(Value::as_object)
                && object.get("additionalProperties") == Some(&json!(false))
            {
                for (name, key) in properties {
                    *keys += 1;
                    assert!(
                        key.get("description").is_some() || key.get("const").is_some(),
                        "{path}.{name} has no description"
                    );
                }
            }
            object.iter().for_each(|(name, inner)| walk(&format!("{path}.{name}"), inner, keys));
        }
        let mut keys = 0;
        walk("", &schema, &mut keys);
        assert!(keys > 150, "{keys}");
    }
}
