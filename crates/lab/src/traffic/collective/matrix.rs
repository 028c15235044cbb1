//! Matrices of bytes: what each rank has for each other one.

use incast_units::Bytes;

use crate::formats::fields::{Found, Lines, counted};
use crate::grammar::foreign::{Foreign, Format};
use crate::grammar::reading::Reading;
use crate::grammar::setting::{Setting, Shape};
use crate::grammar::tree::{Node, Value};
use crate::grammar::write::Out;
use crate::problem::{Problem, Problems};

/// The rows of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rows(Vec<Vec<Bytes>>);

impl Format for Rows {
    const NOUN: &'static str = "a file like \"matrix.csv\"";

    fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        let mut found = Found::new(file);
        // A cell keeps its place.
        let text = text.replace([',', ';'], " ");
        let mut lines = Lines::new(&text);
        let mut rows: Vec<Vec<Bytes>> = Vec::new();
        while !found.is_full() {
            let fields = lines.next_line();
            let Some(first) = fields.first() else { break };
            if first.text.starts_with('#') {
                continue;
            }
            let cell = |field: &crate::formats::fields::Field<'_>| {
                let wrong = |error: incast_units::ParseError| field.wrong("matrix", error);
                field.text.parse::<Bytes>().map_err(wrong)
            };
            let row: Vec<_> = fields.iter().map(|field| found.check(cell(field))).collect();
            let columns = rows.first().map_or(row.len(), Vec::len);
            if row.len() != columns {
                let message = format!("{} in a matrix of {columns} columns", counted(row.len(), "cell"));
                found.add(Problem::new(message).on_line(first.line));
            }
            rows.push(row.into_iter().flatten().collect());
        }
        found.into_result(Self(rows))
    }
}

/// A matrix in the scenario or in a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Matrix {
    Here(Vec<Vec<Bytes>>),
    InFile(Foreign<Rows>),
}

impl Matrix {
    /// Returns its rows, one for each of n ranks, with a cell for each.
    ///
    /// # Errors
    /// When it has other dimensions.
    pub(super) fn rows(&self, ranks: usize) -> Result<&[Vec<Bytes>], String> {
        let rows = match self {
            Self::Here(rows) => rows,
            Self::InFile(file) => &file.content().0,
        };
        if rows.len() != ranks {
            return Err(format!("has {} for {ranks} ranks", counted(rows.len(), "row")));
        }
        match (0..).zip(rows).find(|(_, row)| row.len() != ranks) {
            Some((number, row)) => {
                Err(format!("has {} in row {number} for {ranks} ranks", counted(row.len(), "cell")))
            }
            None => Ok(rows),
        }
    }
}

impl Setting for Matrix {
    fn shape() -> Shape {
        Shape::Either(vec![Vec::<Vec<Bytes>>::shape(), Foreign::<Rows>::shape()])
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        match &node.value {
            Value::List(_) => Vec::read(node, key, reading).map(Self::Here),
            _ => Foreign::read(node, key, reading).map(Self::InFile),
        }
    }

    fn write(&self) -> Option<Out> {
        match self {
            Self::Here(rows) => rows.write(),
            Self::InFile(file) => file.write(),
        }
    }
}
