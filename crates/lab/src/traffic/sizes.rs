//! Sizes of flows in a traffic block.

use incast_units::Bytes;

use crate::files;
use crate::grammar::reading::Reading;
use crate::grammar::section::section;
use crate::grammar::setting::{Bound, Setting, Shape, wrong_type};
use crate::grammar::suggest::unknown;
use crate::grammar::tree::{Node, Value};
use crate::grammar::write::Out;
use crate::problem::Problem;
use crate::sizes::{BUILT_IN, SizeDistribution};

/// Sizes of flows: all the same, or drawn from a distribution.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sizes {
    /// All the same.
    Fixed(Bytes),
    /// A distribution that comes with the lab.
    BuiltIn(&'static str, SizeDistribution),
    /// A distribution of the user's, with the text it was read from.
    Own(Points, SizeDistribution),
}

section! {
    /// A distribution of the user's, written into the scenario (`cdf`) or in a file (`file`).
    pub(crate) struct Points {
        /// Its source.
        name: String = "points".to_owned(),
        /// Its text: on each line a size and the share of flows no larger.
        cdf: Option<String> = None,
        /// A file with such a text; the effective scenario has its text as `cdf`.
        file: Option<String> = None,
        /// Unit of its sizes: `"1B"`, or the bytes of a packet, like `"1460B"`, if it counts packets. By default
        /// bytes; it must be given if half of the flows are smaller than 64 units.
        unit: Option<Bytes> = None; Bound::Positive,
    }
}

impl Sizes {
    /// The mean in bytes, at least 1.
    pub(crate) fn mean(&self) -> u64 {
        match self {
            Self::Fixed(size) => size.get().max(1),
            Self::BuiltIn(_, sizes) | Self::Own(_, sizes) => (sizes.mean().round() as u64).max(1),
        }
    }

    /// The size at a uniform draw `u`, at least one byte.
    pub(crate) fn draw(&self, u: u64) -> Bytes {
        match self {
            Self::Fixed(size) => *size,
            Self::BuiltIn(_, sizes) | Self::Own(_, sizes) => sizes.quantile(u),
        }
        .max(Bytes::new(1))
    }

    fn from_file(
        text: &str,
        unit: Option<Bytes>,
        node: &Node,
        key: &str,
        reading: &mut Reading,
    ) -> Option<Self> {
        let path = &reading.folder.join(text);
        let cdf = match files::read_text(path, files::MAX_TEXT) {
            Ok(cdf) => cdf,
            Err(problem) => {
                reading.wrong(
                    node.place,
                    key,
                    Problem { file: Some(text.to_owned()), ..problem }.to_string(),
                );
                return None;
            }
        };
        Self::from_text(text, cdf, unit, node, key, reading)
    }

    fn from_points(points: Points, node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        match points {
            Points { cdf: Some(cdf), file: None, name, unit } => {
                Self::from_text(&name, cdf, unit, node, key, reading)
            }
            Points { cdf: None, file: Some(file), unit, .. } => {
                Self::from_file(&file, unit, node, key, reading)
            }
            _ => {
                reading.wrong(
                    node.place,
                    key,
                    "has one of cdf (points) and file (the name of a file with points)",
                );
                None
            }
        }
    }

    fn from_text(
        name: &str,
        cdf: String,
        unit: Option<Bytes>,
        node: &Node,
        key: &str,
        reading: &mut Reading,
    ) -> Option<Self> {
        match SizeDistribution::from_text(&cdf, name).and_then(|sizes| sizes.in_units(unit, name)) {
            Ok(distribution) => {
                let points = Points { name: name.to_owned(), cdf: Some(cdf), file: None, unit };
                Some(Self::Own(points, distribution))
            }
            Err(problem) => {
                let key = problem.key.clone().unwrap_or_else(|| key.to_owned());
                reading.report(node.place, Problem { key: Some(key), ..problem });
                None
            }
        }
    }
}

impl Setting for Sizes {
    fn shape() -> Shape {
        let text = "a size like \"450KB\", a distribution like \"WebSearch\", or a file like \"sizes.cdf\"";
        Shape::Either(vec![Shape::Text(text), Points::shape()])
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        let text = match &node.value {
            Value::Text(text) => text,
            Value::Table(_) => {
                let points = Points::read(node, key, reading)?;
                return Self::from_points(points, node, key, reading);
            }
            _ => return wrong_type(node, key, reading),
        };
        if let Some(built_in) = BUILT_IN.iter().find(|b| b.name.eq_ignore_ascii_case(text)) {
            return SizeDistribution::named(built_in.name).map(|sizes| Self::BuiltIn(built_in.name, sizes));
        }
        if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') && !text.contains(['/', '\\']) {
            let size = Bytes::read(node, key, reading)?;
            if size == Bytes::ZERO {
                reading.wrong(node.place, key, "a flow has at least one byte");
                return None;
            }
            return Some(Self::Fixed(size));
        }
        if text.contains(['.', '/', '\\']) {
            return Self::from_file(text, None, node, key, reading);
        }
        let names: Vec<&str> = BUILT_IN.iter().map(|b| b.name).collect();
        let message = format!(
            "there is no size distribution {text:?} (known: {}; or a file, or one size like \"450KB\")",
            names.join(", ")
        );
        reading.wrong(node.place, key, unknown(message, text, names));
        None
    }

    fn write(&self) -> Option<Out> {
        match self {
            Self::Fixed(size) => size.write(),
            Self::BuiltIn(name, _) => Some(Out::text(name)),
            Self::Own(points, _) => points.write(),
        }
    }
}
