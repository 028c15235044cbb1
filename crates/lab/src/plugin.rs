//! Plugins: registered algorithms in addition to the built-in ones.
//!
//! Once an algorithm is registered, `cc.algorithm = "its name"` selects it in every scenario that this process
//! reads. The other keys of `[cc]` are passed to it as they are written.
//!
//! ```
//! use std::sync::Arc;
//! use incast_cc::{Ack, Allowance, CongestionControl, IntStack, Overhead, Setup, Signals};
//! use incast_lab::plugin::{Plugin, Parameters, register};
//! use incast_sim::describe::algorithm::Algorithm;
//! use incast_units::Time;
//!
//! struct HalfRate;
//! impl CongestionControl for HalfRate {
//!     type Params = ();
//!     fn signals((): &()) -> Signals { Signals::NONE }
//!     fn overhead((): &()) -> Overhead { Overhead::default() }
//!     fn new(_: &Setup<()>, _: Time) -> Self { Self }
//!     fn on_ack(&mut self, _: &Setup<()>, _: &Ack, _: &IntStack) {}
//!     fn allowance(&self, setup: &Setup<()>) -> Allowance {
//!         Allowance { window: setup.bdp, rate: setup.path.line_rate.times_ratio(1, 2) }
//!     }
//! }
//!
//! #[derive(Debug)]
//! struct Entry;
//! impl Plugin for Entry {
//!     fn summary(&self) -> String { "Half the line rate, whatever happens.".to_owned() }
//!     fn make(&self, _: &Parameters) -> Result<Algorithm, String> {
//!         Ok(Algorithm::new::<HalfRate>("half-rate", ()))
//!     }
//! }
//! register("half-rate", Arc::new(Entry)).unwrap();
//! let text = r#"
//!     topology = { kind = "star", hosts = 4, rate = "100Gbps", delay = "3us" }
//!     cc = { algorithm = "half-rate" }
//!     [[traffic]]
//!     kind = "incast"
//!     to = "h3"
//!     size = "450KB"
//! "#;
//! let scenario = incast_lab::Scenario::from_toml(text, "quick.toml", &[]).unwrap();
//! assert_eq!(scenario.build().unwrap().algorithms, ["half-rate"]);
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use incast_cc::any::ParamInfo;
use incast_cc::params::Value;
use incast_sim::describe::algorithm::Algorithm;

/// A value as a scenario file has it. Decimal numbers keep their text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plain {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Integer(i128),
    /// A decimal number.
    Decimal(String),
    /// A text; quantities are texts with their unit.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// A table, in the order of the file.
    Table(Parameters),
}

/// Keys with their values, in the order of the file.
pub type Parameters = Vec<(String, Plain)>;

/// An algorithm that scenarios can name.
pub trait Plugin: Send + Sync + fmt::Debug {
    /// One line for lists.
    fn summary(&self) -> String;

    /// An identifier of this version of the code, like a hash of it. Effective scenarios contain it, so
    /// that a result of older code is not reused.
    fn code(&self) -> Option<String> {
        None
    }

    /// Returns its parameters. The parameters of a scenario are then read and checked like those that a
    /// built-in algorithm has, and [`make`](Self::make) gets the values of the written ones as whole numbers
    /// in the unit of their kind ([`number_of`]). `None`: it reads them itself, as they are written.
    fn parameters(&self) -> Option<&[ParamInfo]> {
        None
    }

    /// Returns the values that [`parameters`](Self::parameters) have where a scenario has none, in their order; nothing where
    /// there is no such list.
    fn initial(&self) -> &[Value] {
        &[]
    }

    /// The algorithm with these parameters.
    ///
    /// # Errors
    /// What is wrong with them, for people.
    fn make(&self, parameters: &Parameters) -> Result<Algorithm, String>;
}

/// A value of a parameter as a whole number: of a time its picoseconds, of an amount its bytes, of a rate its
/// bits per second, of a ratio the bits of [`Fixed`](incast_cc::Fixed), of a choice its place, 0 or 1 of a flag.
#[must_use]
pub fn number_of(value: Value) -> Plain {
    Plain::Integer(match value {
        Value::Time(time) => time.ps().into(),
        Value::Bytes(bytes) => bytes.get().into(),
        Value::Rate(rate) => rate.bps().into(),
        Value::Ratio(ratio) => ratio.bits().into(),
        Value::Count(count) => count.into(),
        Value::Flag(flag) => flag.into(),
        Value::Choice(place) => place as i128,
    })
}

type Registry = BTreeMap<&'static str, Arc<dyn Plugin>>;

static REGISTRY: RwLock<Registry> = RwLock::new(BTreeMap::new());

/// Makes `algorithm` known under `name` to every scenario that is read from now on. A second one of
/// the same name replaces the first, for scenarios read later.
///
/// # Errors
/// When there is a built-in algorithm of that name, or when the name is not valid.
pub fn register(name: &str, algorithm: Arc<dyn Plugin>) -> Result<(), String> {
    if incast_cc::any::CATALOGUE.iter().any(|info| info.name == name) {
        return Err(format!("{name:?} is an algorithm of the catalogue; choose another name"));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(plain) {
        return Err(format!("{name:?} is not a valid name for an algorithm; use letters, digits, - and _"));
    }
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    // Names live as long as the process, like those of the catalogue, and there are few.
    let known = registry.keys().find(|known| **known == name).copied();
    registry.insert(known.unwrap_or_else(|| Box::leak(name.into())), algorithm);
    Ok(())
}

/// The names that are registered, each with its line for lists, in alphabetical order.
#[must_use]
pub fn registered() -> Vec<(&'static str, String)> {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner).clone();
    registry.into_iter().map(|(name, algorithm)| (name, algorithm.summary())).collect()
}

/// The algorithm registered as `name`.
#[must_use]
pub fn find(name: &str) -> Option<Arc<dyn Plugin>> {
    REGISTRY.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

#[cfg(test)]
mod tests {
    use incast_cc::AnyParams;

    use super::*;
    use crate::Scenario;

    /// A plugin for the built-in constant algorithm.
    #[derive(Debug)]
    struct Twin(&'static str);

    impl Plugin for Twin {
        fn summary(&self) -> String {
            "A test.".to_owned()
        }
        fn code(&self) -> Option<String> {
            Some(self.0.to_owned())
        }
        fn make(&self, parameters: &Parameters) -> Result<Algorithm, String> {
            match parameters.as_slice() {
                [] => Ok(AnyParams::named("constant", None).unwrap().into()),
                [(key, Plain::Text(value))] if key == "window" => Err(format!("no window of {value}")),
                other => Err(format!("{other:?}")),
            }
        }
    }

    fn text(cc: &str) -> String {
        format!(
            "topology = {{ kind = \"star\", hosts = 3, rate = \"100Gbps\", delay = \"1us\" }}\ncc = {cc}\n\
             traffic = [{{ kind = \"incast\", to = \"h2\", size = \"10KB\" }}]\n"
        )
    }

    #[test]
    fn scenarios_name_what_is_registered() {
        register("twin", Arc::new(Twin("one"))).unwrap();
        let read = |cc: &str| Scenario::from_toml(&text(cc), "t.toml", &[]);
        let scenario = read("{ algorithm = \"twin\" }").unwrap();
        assert_eq!(scenario.algorithm().as_deref(), Some("twin"));
        let written = scenario.effective_toml();
        assert!(written.contains("algorithm = \"twin\"\ncode = \"one\"\n"), "{written}");
        assert_eq!(Scenario::from_toml(&written, "t.toml", &[]).unwrap(), scenario);
        assert_eq!(
            read("{ algorithm = \"constant\" }").unwrap().with_algorithm("twin", &[]).unwrap(),
            scenario
        );

        // A preset and parameters of another algorithm do not stand in its way.
        let preset = text("{ algorithm = \"hpcc\", preset = \"paper\", eta = 0.9 }");
        let over = |text: &str, cc: &str| Scenario::from_toml(text, "t.toml", &[cc.to_owned()]);
        assert_eq!(over(&preset, "cc.algorithm=twin").unwrap(), scenario);
        assert_eq!(over(&preset, "cc=twin").unwrap(), scenario);
        assert_eq!(over(&preset, "cc.algorithm=hpcc").unwrap().algorithm().as_deref(), Some("hpcc:paper"));
        // No section is needed where an override or a comparison names the algorithm.
        let without = preset.replace("cc = { algorithm = \"hpcc\", preset = \"paper\", eta = 0.9 }\n", "");
        assert_eq!(over(&without, "cc=twin").unwrap(), scenario);
        assert_eq!(over(&without, "cc=hpcc:paper").unwrap().algorithm().as_deref(), Some("hpcc:paper"));

        let wrong = |result: Result<Scenario, crate::Problems>| result.unwrap_err().to_string();
        let message = wrong(read("{ algorithm = \"twin\", window = \"1KB\" }"));
        assert_eq!(message, "t.toml:2:1: cc: twin: no window of 1KB");
        let message = wrong(read("{ algorithm = \"twins\" }"));
        assert!(message.contains("did you mean \"twin\"?"), "{message}");
        // The code has changed since the effective scenario was written.
        register("twin", Arc::new(Twin("two"))).unwrap();
        let message = wrong(Scenario::from_toml(&written, "t.toml", &[]));
        assert!(message.contains("cc.code: the code of twin has the hash \"two\", not"), "{message}");
    }

    #[test]
    fn names_that_cannot_be_registered() {
        assert!(register("oscar", Arc::new(Twin(""))).unwrap_err().contains("of the catalogue"));
        assert!(register("a:b", Arc::new(Twin(""))).unwrap_err().contains("is not a valid name"));
        assert!(find("oscar").is_none());
    }
}
