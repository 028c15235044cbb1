//! One declaration for each section of a scenario: it generates the struct, the reading with positions and
//! defaults, the writing, and the description for lists, schemas and pages.

use incast_cc::params::Evidence;

use super::reading::TableReader;
use super::setting::{Bound, Shape};
use super::write::Out;

/// The description of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyInfo {
    /// Its name.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: String,
    /// Accepted values.
    pub shape: Shape,
    /// The range.
    pub bound: Bound,
    /// Its value when it is absent.
    pub fallback: Fallback,
    /// Class of the evidence for the default, of a parameter of an algorithm.
    pub evidence: Option<Evidence>,
    /// Source of the default: a paper, an artifact, a standard.
    pub source: Option<&'static str>,
    /// The section that it holds, if it is one: its summary and its keys.
    pub section: Option<(String, Vec<Self>)>,
}

/// The value of a key that is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// It must be written.
    Required,
    /// This value, as it would be written.
    Value(String),
    /// The value of another key, or something computed from it.
    From(String),
    /// None: what it describes is absent.
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

/// The description of a section, of a kind of topology or traffic, or of an algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name in scenario files.
    pub name: String,
    /// One or a few sentences.
    pub summary: String,
    /// The first of them, without its full stop, for lists.
    pub brief: String,
    /// Its keys.
    pub keys: Vec<KeyInfo>,
}

/// A set of keys.
pub(crate) trait Section: Sized {
    /// Returns a description of the section.
    fn summary() -> String;

    /// The first sentence of that, without its full stop.
    fn brief() -> String {
        Self::summary()
    }

    /// Its keys.
    fn keys() -> Vec<KeyInfo>;

    /// Reads its keys from a table that may hold others too.
    fn fields(table: &mut TableReader<'_, '_>) -> Option<Self>;

    /// Writes its keys.
    fn write_fields(&self, out: &mut Vec<(String, Out)>);
}

/// Lines of a doc comment as one text.
pub(crate) fn joined(lines: &[&str]) -> String {
    let lines = lines.iter().map(|line| line.trim());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The first paragraph of a doc comment, which is one sentence, without its full stop.
pub(crate) fn first_paragraph(lines: &[&str]) -> String {
    let end = lines.iter().position(|line| line.trim().is_empty()).unwrap_or(lines.len());
    joined(&lines[..end]).trim_end_matches('.').to_owned()
}

/// A section in which all keys have their defaults.
pub(crate) fn defaults<S: Section>() -> Option<S> {
    let sources = super::tree::Sources::default();
    let mut reading = super::reading::Reading::new(sources, std::path::PathBuf::new(), |_, _| None);
    let (table, place) = (super::tree::Table::default(), super::tree::Place::default());
    S::fields(&mut TableReader::new(&table, place, "", &mut reading))
}

/// Declares a section.
///
/// Each key is `name: Type = default; bound => "source",` where default, bound and source may be left
/// out. A default may depend on a key above it, whose value is then an `Option`: `= rate?`. A key of a
/// section without default must be written.
///
/// `for Type { … }` makes a type of the simulator a section: its fields are the keys. With `for Type with its
/// defaults { … }` the type's defaults are the section's, except where a key has its own. A field without a key
/// does not compile.
///
/// `name: Type as Written` is a field that is written as another type, from and into which it converts.
macro_rules! section {
    (
        $(#[doc = $doc:literal])+
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $meaning:literal])+
                $field:ident: $type:ty $(as $written:ty)? $(= $default:expr)? $(; $bound:expr)?
                    $(=> $source:literal)?,
            )*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $($(#[doc = $meaning])+ $vis $field: $type,)*
        }

        $crate::grammar::section::section!(@section $name [$($doc)+] {
            $($field: $type [$($written)?] [$($meaning)+] [$($default)?] [$($bound)?] [$($source)?])*
        });
    };

    (
        $(#[doc = $doc:literal])+
        for $name:ident $(<$of:ty>)? with its defaults {
            $(
                $(#[doc = $meaning:literal])+
                $field:ident: $type:ty $(as $written:ty)? $(= $default:expr)? $(; $bound:expr)?
                    $(=> $source:literal)?,
            )*
        }
    ) => {
        $crate::grammar::section::section!(@section $name $(<$of>)? [$($doc)+] {
            $(
                $field: $type [$($written)?] [$($meaning)+]
                    [$crate::grammar::section::section!(@first [$($default)?] [$name::default().$field])]
                    [$($bound)?] [$($source)?]
            )*
        });
    };

    (
        $(#[doc = $doc:literal])+
        for $name:ident $(<$of:ty>)? {
            $(
                $(#[doc = $meaning:literal])+
                $field:ident: $type:ty $(as $written:ty)? $(= $default:expr)? $(; $bound:expr)?
                    $(=> $source:literal)?,
            )*
        }
    ) => {
        $crate::grammar::section::section!(@section $name $(<$of>)? [$($doc)+] {
            $($field: $type [$($written)?] [$($meaning)+] [$($default)?] [$($bound)?] [$($source)?])*
        });
    };

    // Gives each field the type as which it is written: its own, where it names no other.
    (@section $name:ident $(<$of:ty>)? [$($doc:literal)+] {
        $($field:ident: $type:ty [$($written:ty)?] $meaning:tt $default:tt $bound:tt $source:tt)*
    }) => {
        $crate::grammar::section::section!(@implement [$name $(<$of>)?] [$($doc)+] {
            $($field: $type as ($($written,)? $type) [$($written)?] $meaning $default $bound $source)*
        });
    };

    (@implement [$name:ty] [$($doc:literal)+] {
        $(
            $field:ident: $type:ty as ($written:ty $(, $own:ty)?) $other:tt
                [$($meaning:literal)+] [$($default:expr)?] [$($bound:expr)?] [$($source:literal)?]
        )*
    }) => {
        impl $crate::grammar::section::Section for $name {
            fn summary() -> String {
                $crate::grammar::section::joined(&[$($doc),+])
            }

            fn brief() -> String {
                $crate::grammar::section::first_paragraph(&[$($doc),+])
            }

            #[allow(unused_variables, clippy::question_mark, reason = "a default may rest on the keys above")]
            fn keys() -> Vec<$crate::grammar::section::KeyInfo> {
                use $crate::grammar::setting::Setting as _;
                let mut keys = Vec::new();
                $(
                    let $field: Option<$type> = None;
                    let fallback = $crate::grammar::section::section!(@describe $type, $other $(, $default)?);
                    keys.push($crate::grammar::section::KeyInfo {
                        name: stringify!($field),
                        meaning: $crate::grammar::section::joined(&[$($meaning),+]),
                        shape: <$written>::shape(),
                        bound: $crate::grammar::section::section!(@bound $($bound)?),
                        fallback,
                        evidence: None,
                        source: $crate::grammar::section::section!(@source $($source)?),
                        section: <$written>::section(),
                    });
                )*
                keys
            }

            #[allow(clippy::redundant_closure_call, reason = "a default may rest on the keys above with ?")]
            fn fields(table: &mut $crate::grammar::reading::TableReader<'_, '_>) -> Option<Self> {
                $(
                    let $field: Option<$written> = table.read(
                        stringify!($field),
                        $crate::grammar::section::section!(@bound $($bound)?),
                        $crate::grammar::section::section!(@fallback $written, $other $(, $default)?),
                    );
                    let $field: Option<$type> = $crate::grammar::section::section!(@back $type, $other, $field);
                )*
                Some(Self { $($field: $field?),* })
            }

            fn write_fields(&self, out: &mut Vec<(String, $crate::grammar::write::Out)>) {
                use $crate::grammar::setting::Setting as _;
                $(
                    let value = $crate::grammar::section::section!(@write $other, self.$field);
                    if let Some(value) = value {
                        out.push((stringify!($field).to_owned(), value));
                    }
                )*
            }
        }

        $crate::grammar::section::section!(@setting $name, $crate::grammar::setting::Shape::Table(
            <$name as $crate::grammar::section::Section>::keys()
        ));
    };

    (@setting $name:ty, $shape:expr) => {
        impl $crate::grammar::setting::Setting for $name {
            fn shape() -> $crate::grammar::setting::Shape {
                $shape
            }

            fn section() -> Option<(String, Vec<$crate::grammar::section::KeyInfo>)> {
                use $crate::grammar::section::Section;
                Some((<$name as Section>::summary(), <$name as Section>::keys()))
            }

            fn read(
                node: &$crate::grammar::tree::Node,
                key: &str,
                reading: &mut $crate::grammar::reading::Reading,
            ) -> Option<Self> {
                $crate::grammar::reading::read_section(node, key, reading)
            }

            fn write(&self) -> Option<$crate::grammar::write::Out> {
                let mut out = Vec::new();
                $crate::grammar::section::Section::write_fields(self, &mut out);
                Some($crate::grammar::write::Out::Table(out))
            }
        }
    };

    (@bound) => { $crate::grammar::setting::Bound::Any };
    (@bound $bound:expr) => { $bound };

    (@source) => { None };
    (@source $source:literal) => { Some($source) };

    (@first [] [$last:expr]) => { $last };
    (@first [$first:expr] [$last:expr]) => { $first };

    (@back $type:ty, [], $value:expr) => { $value };
    (@back $type:ty, [$written:ty], $value:expr) => { $value.map(<$type>::from) };

    (@write [], $value:expr) => { $value.write() };
    (@write [$written:ty], $value:expr) => { <$written>::from($value).write() };

    (@fallback $written:ty, $other:tt) => { None::<fn() -> Option<$written>> };
    (@fallback $written:ty, [], $default:expr) => { Some(|| -> Option<$written> { Some($default) }) };
    (@fallback $written:ty, [$other:ty], $default:expr) => {
        Some(|| -> Option<$written> { Some(<$written>::from($default)) })
    };

    (@describe $type:ty, $other:tt) => { $crate::grammar::section::Fallback::Required };
    (@describe $type:ty, $other:tt, $default:expr) => {{
        #[allow(clippy::redundant_closure_call, reason = "the default may use ?")]
        let value = (|| -> Option<$type> { Some($default) })();
        let value = value.map(|value| $crate::grammar::section::section!(@write $other, value));
        $crate::grammar::section::describe(value, stringify!($default))
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

/// Declares a section whose first key, `kind`, determines which keys follow. `named by module`: the module has
/// names for kinds whose keys are set, and replaces such a name before the section is read.
macro_rules! kinds {
    (
        $(#[doc = $doc:literal])+
        $vis:vis enum $name:ident ($what:literal) {
            $($(#[doc = $meaning:literal])+ $word:literal => $variant:ident($type:ty),)+
        }
        $(named by $named:ident)?
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
            #[allow(unused_mut, reason = "not every section has names")]
            $vis fn entries() -> Vec<$crate::grammar::section::Entry> {
                use $crate::grammar::section::Section as _;
                let mut entries = vec![$($crate::grammar::section::Entry {
                    name: $word.to_owned(),
                    summary: <$type>::summary(),
                    brief: <$type>::brief(),
                    keys: <$type>::keys(),
                }),+];
                $(entries.extend($named::entries(&entries));)?
                entries
            }
        }

        impl $crate::grammar::section::Section for $name {
            fn summary() -> String {
                $crate::grammar::section::joined(&[$($doc),+])
            }

            fn keys() -> Vec<$crate::grammar::section::KeyInfo> {
                let words = vec![$(($word, $crate::grammar::section::joined(&[$($meaning),+]))),+];
                vec![$crate::grammar::section::KeyInfo {
                    name: "kind",
                    meaning: words.iter().map(|(word, meaning)| format!("{word}: {meaning}")).collect::<Vec<_>>()
                        .join(" "),
                    shape: $crate::grammar::setting::Shape::Text("one of the kinds"),
                    bound: $crate::grammar::setting::Bound::Any,
                    fallback: $crate::grammar::section::Fallback::Required,
                    evidence: None,
                    source: None,
                    section: None,
                }]
            }

            fn fields(table: &mut $crate::grammar::reading::TableReader<'_, '_>) -> Option<Self> {
                #[allow(unused_mut, reason = "not every section has names")]
                let mut words = vec![$($word),+];
                $(words.extend($named::names());)?
                let kind = table.word("kind", &words, $what, None)?;
                table.entitle(format!("a {kind} {}", $what));
                match kind {
                    $($word => <$type as $crate::grammar::section::Section>::fields(table).map(Self::$variant),)+
                    _ => None,
                }
            }

            fn write_fields(&self, out: &mut Vec<(String, $crate::grammar::write::Out)>) {
                out.push(("kind".to_owned(), $crate::grammar::write::Out::text(&self.kind())));
                match self {
                    $(Self::$variant(inner) => $crate::grammar::section::Section::write_fields(inner, out),)+
                }
            }
        }

        $crate::grammar::section::section!(@setting $name,
            $crate::grammar::setting::Shape::Variants("kind", $name::entries()));
    };
}

/// Declares how the words of a choice are written: `choice!(Type)` for one that names its words itself
/// ([`incast_sim::describe::Named`]), or with the words here.
macro_rules! choice {
    ($type:ty) => {
        $crate::grammar::section::choice!(@setting $type, <$type as incast_sim::describe::Named>::ALL, |this| {
            let all = <$type as incast_sim::describe::Named>::ALL;
            all.iter().find(|(value, ..)| value == this).map(|(_, word, _)| *word)
        });
    };
    ($type:ty { $($word:literal => $variant:ident: $meaning:literal,)+ }) => {
        $crate::grammar::section::choice!(@setting $type, &[$((Self::$variant, $word, $meaning)),+], |this| {
            Some(match this {
                $(Self::$variant => $word,)+
            })
        });
    };
    (@setting $type:ty, $all:expr, |$this:ident| $word:expr) => {
        impl $crate::grammar::setting::Setting for $type {
            fn shape() -> $crate::grammar::setting::Shape {
                let all: &[(Self, &str, &str)] = $all;
                let words = all.iter().map(|(_, word, meaning)| (*word, *meaning)).collect();
                $crate::grammar::setting::Shape::Choice(words)
            }

            fn read(
                node: &$crate::grammar::tree::Node,
                key: &str,
                reading: &mut $crate::grammar::reading::Reading,
            ) -> Option<Self> {
                let $crate::grammar::tree::Value::Text(text) = &node.value else {
                    return $crate::grammar::setting::wrong_type(node, key, reading);
                };
                let all: &[(Self, &str, &str)] = $all;
                if let Some((value, ..)) = all.iter().find(|(_, word, _)| word == text) {
                    return Some(*value);
                }
                let words: Vec<&str> = all.iter().map(|(_, word, _)| *word).collect();
                let message = format!("{text:?} is not one of: {}", words.join(", "));
                reading.wrong(node.place, key, $crate::grammar::suggest::unknown(message, text, words));
                None
            }

            fn write(&self) -> Option<$crate::grammar::write::Out> {
                let $this = self;
                let word: Option<&str> = $word;
                word.map(|word| $crate::grammar::write::Out::text(&word))
            }
        }
    };
}

pub(crate) use {choice, kinds, section};
