//! Descriptions of plugins: reading them, and refusing those that cannot be used.
#![expect(unsafe_code, reason = "the pointers of a plugin lead into a library")]

use core::ffi::{CStr, c_char};
use core::slice;

use incast_cc::any::ParamInfo;
use incast_cc::params::{Evidence, Kind, Value};
use incast_cc::{Fixed, Signals};
use incast_lab::plugin::{Parameters, Plain};
use incast_units::{Bytes, Rate, Time};

use crate::abi::{incast_plugin, incast_plugin_parameter};
use crate::names::{ABI, kind};

/// The most memory that a flow, or what flows share, may ask for.
const MOST_BYTES: usize = 1 << 20;
/// The most parameters.
const MOST_PARAMETERS: usize = 256;

/// A plugin whose description is complete.
#[derive(Debug)]
pub(crate) struct Description {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) signals: Signals,
    pub(crate) parameters: Vec<ParamInfo>,
    /// Their values where a scenario has none.
    pub(crate) initial: Vec<Value>,
    /// These values as the library has them.
    numbers: Vec<u64>,
    /// As the library has it; the functions that must be there are.
    pub(crate) plugin: incast_plugin,
}

impl Description {
    /// Reads and checks it.
    ///
    /// # Safety
    /// The plugin and all that its pointers lead to stays as it is.
    ///
    /// # Errors
    /// What is wrong with it, for its author.
    pub(crate) unsafe fn read(plugin: &incast_plugin) -> Result<Self, String> {
        if plugin.abi != ABI {
            let found = plugin.abi;
            return Err(format!(
                "it was made with another incast_cc.h: its binary interface is {found}, here it is {ABI}; compile it again with the header of this version"
            ));
        }
        // SAFETY: as the caller says.
        let text =
            |pointer, what: &str| unsafe { text_of(pointer) }.map_err(|flaw| format!("{what}: {flaw}"));
        let name = text(plugin.name, "its name")?;
        let summary = text(plugin.summary, &format!("summary of {name}"))?;
        let signals = Signals::from_bits(plugin.signals)
            .ok_or_else(|| format!("{name}: signals has a bit that is no INCAST_SIGNAL"))?;
        let required = [
            ("start", plugin.start.is_some()),
            ("on_ack", plugin.on_ack.is_some()),
            ("allowance", plugin.allowance.is_some()),
            ("deadline, as it has on_timer,", plugin.on_timer.is_none() || plugin.deadline.is_some()),
            ("on_timer, as it has deadline,", plugin.deadline.is_none() || plugin.on_timer.is_some()),
            ("share, as it has shared_bytes,", plugin.shared_bytes == 0 || plugin.share.is_some()),
        ];
        if let Some((missing, _)) = required.iter().find(|(_, there)| !there) {
            return Err(format!("{name}: the function {missing} is missing"));
        }
        for (what, bytes) in [("flow_bytes", plugin.flow_bytes), ("shared_bytes", plugin.shared_bytes)] {
            if bytes > MOST_BYTES {
                return Err(format!("{name}: {what} is {bytes}; the most is {MOST_BYTES}"));
            }
        }
        if plugin.parameter_count > MOST_PARAMETERS {
            let count = plugin.parameter_count;
            return Err(format!("{name}: parameter_count is {count}; the most is {MOST_PARAMETERS}"));
        }
        let listed: &[incast_plugin_parameter] = if plugin.parameter_count == 0 {
            &[]
        } else if plugin.parameters.is_null() {
            return Err(format!("{name}: parameters is null, and parameter_count is not 0"));
        } else {
            // SAFETY: as the caller says, there are as many as it says.
            unsafe { slice::from_raw_parts(plugin.parameters, plugin.parameter_count) }
        };
        let mut parameters: Vec<ParamInfo> = Vec::new();
        let mut initial = Vec::new();
        for (place, parameter) in listed.iter().enumerate() {
            let called = text(parameter.name, &format!("{name}: the name of parameter {place}"))?;
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if called.is_empty()
                || !called.chars().all(plain)
                || ["algorithm", "preset", "code"].contains(&called)
            {
                return Err(format!(
                    "{name}: {called:?} is not a name for a parameter; use lower-case letters, digits and _; not algorithm, preset or code"
                ));
            }
            if parameters.iter().any(|known| known.name == called) {
                return Err(format!("{name}: there are two parameters {called}"));
            }
            let meaning = text(parameter.meaning, &format!("{name}: the meaning of {called}"))?;
            let (kind, value) =
                kind_of(parameter).map_err(|flaw| format!("{name}: parameter {called}: {flaw}"))?;
            initial.push(value);
            parameters.push(ParamInfo {
                name: called,
                kind,
                meaning,
                evidence: Evidence::Ours,
                source: "the plugin",
            });
        }
        let numbers = listed.iter().map(|parameter| parameter.initial).collect();
        Ok(Self { name, summary, signals, parameters, initial, numbers, plugin: *plugin })
    }

    /// The values of the parameters, in the order of the plugin's list: those that a scenario has, and the initial
    /// ones of the others.
    pub(crate) fn values(&self, written: &Parameters) -> Vec<u64> {
        let value = |(info, initial): (&ParamInfo, &u64)| {
            let found = written.iter().find(|(name, _)| name == info.name);
            match found {
                // A ratio may be negative: its bits are what the plugin gets.
                Some((_, Plain::Integer(number))) => *number as u64,
                _ => *initial,
            }
        };
        self.parameters.iter().zip(&self.numbers).map(value).collect()
    }
}

/// A text of a plugin.
///
/// # Safety
/// The pointer is null, or leads to a text with a zero byte at its end, which stays.
///
/// # Errors
/// When it is null, or not UTF-8.
unsafe fn text_of(pointer: *const c_char) -> Result<&'static str, &'static str> {
    if pointer.is_null() {
        return Err("the text is null");
    }
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(pointer) }.to_str().map_err(|_| "the text is not UTF-8")
}

/// The kind of a parameter, with its range, and its initial value.
///
/// # Errors
/// When there is no such kind, or the initial value is out of range.
fn kind_of(parameter: &incast_plugin_parameter) -> Result<(Kind, Value), &'static str> {
    let value = |number: u64| {
        Some(match parameter.kind {
            kind::TIME => Value::Time(Time::from_ps(number)),
            kind::BYTES => Value::Bytes(Bytes::new(number)),
            kind::RATE => Value::Rate(Rate::from_bps(number)),
            kind::RATIO => Value::Ratio(Fixed::from_bits(number.cast_signed())),
            kind::COUNT => Value::Count(number),
            kind::FLAG if number < 2 => Value::Flag(number == 1),
            _ => return None,
        })
    };
    let kind = match (value(parameter.least), value(parameter.most)) {
        (Some(Value::Time(low)), Some(Value::Time(high))) => Kind::Time(low, high),
        (Some(Value::Bytes(low)), Some(Value::Bytes(high))) => Kind::Bytes(low, high),
        (Some(Value::Rate(low)), Some(Value::Rate(high))) => Kind::Rate(low, high),
        (Some(Value::Ratio(low)), Some(Value::Ratio(high))) => Kind::Ratio(low, high),
        (Some(Value::Count(low)), Some(Value::Count(high))) => Kind::Count(low, high),
        (Some(Value::Flag(_)), Some(Value::Flag(_))) => Kind::Flag,
        _ => {
            return Err(
                "its kind is no incast_kind or is a choice, or its least or most is no value of that kind",
            );
        }
    };
    match value(parameter.initial) {
        Some(initial) if kind.admits(initial) => Ok((kind, initial)),
        _ => Err("its initial value is not between its least and its most"),
    }
}
