//! One declaration for each section of a scenario: it gives the struct, the reading with places and
//! defaults, the writing, and the description that lists, schemas and pages are made from.

use super::reading::TableReader;
use super::setting::{Bound, Shape};
use super::write::Out;

/// What a list says of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyInfo {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub meaning: String,
    /// What may be written.
    pub shape: Shape,
    /// The range.
    pub bound: Bound,
    /// What holds when it is absent.
    pub fallback: Fallback,
}

/// What holds when a key is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// It must be written.
    Required,
    /// This value, as it would be written.
    Value(String),
    /// The value of another key, or something computed from it.
    From(String),
    /// Nothing: what it describes is not there.
    Nothing,
}

impl core::fmt::Display for Fallback {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Required => f.write_str("required"),
            Self::Value(value) => f.write_str(value),
            Self::From(key) => write!(f, "as {key}"),
            Self::Nothing => f.write_str("none"),
        }
    }
}

/// What a list says of a section, of a kind of topology or traffic, of an algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name in scenario files.
    pub name: String,
    /// One or a few sentences.
    pub summary: String,
    /// Its keys.
    pub keys: Vec<KeyInfo>,
}

/// A set of keys.
pub(crate) trait Section: Sized {
    /// What it describes.
    fn summary() -> String;

    /// Its keys.
    fn keys() -> Vec<KeyInfo>;

    /// Reads its keys from a table that may hold others too.
    fn fields(table: &mut TableReader<'_, '_>) -> Option<Self>;

    /// Writes its keys.
    fn write_fields(&self, out: &mut Vec<(String, Out)>);
}

/// Lines of a doc comment as one text.
pub(crate) fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// A section in which every key has its default.
pub(crate) fn defaults<S: Section>() -> Option<S> {
    let sources = super::tree::Sources { file: String::new(), overrides: Vec::new() };
    let mut reading = super::reading::Reading::new(sources, std::path::PathBuf::new());
    let (table, place) = (super::tree::Table::default(), super::tree::Place::default());
    S::fields(&mut TableReader::new(&table, place, "", &mut reading))
}

/// Declares a section.
///
/// Each key is `name: Type = default; bound,` where default and bound may be left out. A default may
/// rest on a key above it, whose value is then an `Option`: `= rate?`.
macro_rules! section {
    (
        $(#[doc = $doc:literal])+
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $meaning:literal])+
                $field:ident: $type:ty $(= $default:expr)? $(; $bound:expr)?,
            )*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $($(#[doc = $meaning])+ $vis $field: $type,)*
        }

        impl $crate::scenario::section::Section for $name {
            fn summary() -> String {
                $crate::scenario::section::joined(&[$($doc),+])
            }

            #[allow(unused_variables, clippy::question_mark, reason = "a default may rest on the keys above")]
            fn keys() -> Vec<$crate::scenario::section::KeyInfo> {
                use $crate::scenario::setting::Setting as _;
                let mut keys = Vec::new();
                $(
                    let $field: Option<$type> = None;
                    let fallback = $crate::scenario::section::section!(@describe $type $(, $default)?);
                    keys.push($crate::scenario::section::KeyInfo {
                        name: stringify!($field),
                        meaning: $crate::scenario::section::joined(&[$($meaning),+]),
                        shape: <$type>::shape(),
                        bound: $crate::scenario::section::section!(@bound $($bound)?),
                        fallback,
                    });
                )*
                keys
            }

            #[allow(clippy::redundant_closure_call, reason = "a default may rest on the keys above with ?")]
            fn fields(table: &mut $crate::scenario::reading::TableReader<'_, '_>) -> Option<Self> {
                $(
                    let $field: Option<$type> = table.read(
                        stringify!($field),
                        $crate::scenario::section::section!(@bound $($bound)?),
                        $crate::scenario::section::section!(@fallback $type $(, $default)?),
                    );
                )*
                Some(Self { $($field: $field?),* })
            }

            fn write_fields(&self, out: &mut Vec<(String, $crate::scenario::write::Out)>) {
                use $crate::scenario::setting::Setting as _;
                $(
                    if let Some(value) = self.$field.write() {
                        out.push((stringify!($field).to_owned(), value));
                    }
                )*
            }
        }

        $crate::scenario::section::section!(@setting $name, $crate::scenario::setting::Shape::Table(
            <$name as $crate::scenario::section::Section>::keys()
        ));
    };

    (@setting $name:ident, $shape:expr) => {
        impl $crate::scenario::setting::Setting for $name {
            fn shape() -> $crate::scenario::setting::Shape {
                $shape
            }

            fn read(
                node: &$crate::scenario::tree::Node,
                key: &str,
                reading: &mut $crate::scenario::reading::Reading,
            ) -> Option<Self> {
                $crate::scenario::reading::read_section(node, key, reading)
            }

            fn write(&self) -> Option<$crate::scenario::write::Out> {
                let mut out = Vec::new();
                $crate::scenario::section::Section::write_fields(self, &mut out);
                Some($crate::scenario::write::Out::Table(out))
            }
        }
    };

    (@bound) => { $crate::scenario::setting::Bound::Any };
    (@bound $bound:expr) => { $bound };

    (@fallback $type:ty) => { None::<fn() -> Option<$type>> };
    (@fallback $type:ty, $default:expr) => { Some(|| -> Option<$type> { Some($default) }) };

    (@describe $type:ty) => { $crate::scenario::section::Fallback::Required };
    (@describe $type:ty, $default:expr) => {{
        #[allow(clippy::redundant_closure_call, reason = "the default may use ?")]
        let value = (|| -> Option<$type> { Some($default) })();
        $crate::scenario::section::describe(value.map(|value| value.write()), stringify!($default))
    }};
}

/// The description of a default: its value as written, or the expression it is computed from.
pub(crate) fn describe(value: Option<Option<Out>>, expression: &str) -> Fallback {
    match value {
        Some(Some(out)) => Fallback::Value(out.inline()),
        Some(None) => Fallback::Nothing,
        None => Fallback::From(expression.trim_end_matches('?').to_owned()),
    }
}

/// Declares a section whose first key, `kind`, decides which keys follow.
macro_rules! kinds {
    (
        $(#[doc = $doc:literal])+
        $vis:vis enum $name:ident ($what:literal) {
            $($(#[doc = $meaning:literal])+ $word:literal => $variant:ident($type:ty),)+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $name {
            $($(#[doc = $meaning])+ $variant($type),)+
        }

        impl $name {
            /// The name of this kind in scenario files.
            $vis fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $word,)+
                }
            }

            /// Every kind with its keys.
            $vis fn entries() -> Vec<$crate::scenario::section::Entry> {
                use $crate::scenario::section::Section as _;
                vec![$($crate::scenario::section::Entry {
                    name: $word.to_owned(),
                    summary: <$type>::summary(),
                    keys: <$type>::keys(),
                }),+]
            }
        }

        impl $crate::scenario::section::Section for $name {
            fn summary() -> String {
                $crate::scenario::section::joined(&[$($doc),+])
            }

            fn keys() -> Vec<$crate::scenario::section::KeyInfo> {
                let words = vec![$(($word, $crate::scenario::section::joined(&[$($meaning),+]))),+];
                vec![$crate::scenario::section::KeyInfo {
                    name: "kind",
                    meaning: words.iter().map(|(word, meaning)| format!("{word}: {meaning}")).collect::<Vec<_>>()
                        .join(" "),
                    shape: $crate::scenario::setting::Shape::Text("one of the kinds"),
                    bound: $crate::scenario::setting::Bound::Any,
                    fallback: $crate::scenario::section::Fallback::Required,
                }]
            }

            fn fields(table: &mut $crate::scenario::reading::TableReader<'_, '_>) -> Option<Self> {
                let kind = table.word("kind", &[$($word),+], $what)?;
                table.entitle(format!("a {kind} {}", $what));
                match kind {
                    $($word => <$type as $crate::scenario::section::Section>::fields(table).map(Self::$variant),)+
                    _ => None,
                }
            }

            fn write_fields(&self, out: &mut Vec<(String, $crate::scenario::write::Out)>) {
                out.push(("kind".to_owned(), $crate::scenario::write::Out::text(&self.kind())));
                match self {
                    $(Self::$variant(inner) => $crate::scenario::section::Section::write_fields(inner, out),)+
                }
            }
        }

        $crate::scenario::section::section!(@setting $name,
            $crate::scenario::setting::Shape::Variants("kind", $name::entries()));
    };
}

/// Declares how the words of a choice are written.
macro_rules! choice {
    ($type:ty { $($word:literal => $variant:ident: $meaning:literal,)+ }) => {
        impl $crate::scenario::setting::Setting for $type {
            fn shape() -> $crate::scenario::setting::Shape {
                $crate::scenario::setting::Shape::Choice(vec![$(($word, $meaning)),+])
            }

            fn read(
                node: &$crate::scenario::tree::Node,
                key: &str,
                reading: &mut $crate::scenario::reading::Reading,
            ) -> Option<Self> {
                let $crate::scenario::tree::Value::Text(text) = &node.value else {
                    return $crate::scenario::setting::wrong_type(node, key, reading);
                };
                match text.as_str() {
                    $($word => return Some(Self::$variant),)+
                    _ => {}
                }
                let near = $crate::scenario::suggest::nearest(text, [$($word),+])
                    .map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
                let known = [$($word),+].join(", ");
                reading.wrong(node.place, key, format!("{text:?} is none of: {known}{near}"));
                None
            }

            fn write(&self) -> Option<$crate::scenario::write::Out> {
                Some($crate::scenario::write::Out::text(match self {
                    $(Self::$variant => &$word,)+
                }))
            }
        }
    };
}

pub(crate) use {choice, kinds, section};
