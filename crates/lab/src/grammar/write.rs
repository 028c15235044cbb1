//! Writing TOML.

use core::fmt::Display;

/// A value to be written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Out {
    /// A number or a flag, or anything else that is TOML already.
    Plain(String),
    /// A text.
    Text(String),
    List(Vec<Self>),
    Table(Vec<(String, Self)>),
}

impl Out {
    pub(crate) fn plain(value: &dyn Display) -> Self {
        Self::Plain(value.to_string())
    }

    pub(crate) fn text(value: &dyn Display) -> Self {
        Self::Text(value.to_string())
    }

    /// The value on one line.
    pub(crate) fn inline(&self) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Text(text) => quoted(text),
            Self::List(items) => {
                format!("[{}]", items.iter().map(Self::inline).collect::<Vec<_>>().join(", "))
            }
            Self::Table(entries) if entries.is_empty() => "{}".to_owned(),
            Self::Table(entries) => {
                let entry = |(key, value): &(String, Self)| format!("{} = {}", bare(key), value.inline());
                format!("{{ {} }}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn is_blocks(&self) -> bool {
        matches!(self, Self::List(items) if !items.is_empty()
            && items.iter().all(|item| matches!(item, Self::Table(_))))
    }
}

/// A document: tables become `[sections]`, lists of tables at the top become `[[blocks]]`.
pub(crate) fn document(entries: &[(String, Out)]) -> String {
    let mut text = String::new();
    section(&mut text, "", entries);
    text
}

fn section(text: &mut String, path: &str, entries: &[(String, Out)]) {
    for (key, value) in entries {
        match value {
            Out::Table(_) => {}
            Out::List(_) if path.is_empty() && value.is_blocks() => {}
            // As text it would forbid blocks of that name further down the file.
            Out::List(items) if path.is_empty() && items.is_empty() => {}
            Out::List(items) if value.is_blocks() => {
                *text += &format!("{} = [\n", bare(key));
                for item in items {
                    *text += &format!("    {},\n", item.inline());
                }
                *text += "]\n";
            }
            _ => *text += &format!("{} = {}\n", bare(key), value.inline()),
        }
    }
    for (key, value) in entries {
        let name = if path.is_empty() { bare(key) } else { format!("{path}.{}", bare(key)) };
        match value {
            Out::Table(entries) => {
                *text += &format!("\n[{name}]\n");
                section(text, &name, entries);
            }
            Out::List(items) if path.is_empty() && value.is_blocks() => {
                for item in items {
                    *text += &format!("\n[[{name}]]\n");
                    if let Out::Table(entries) = item {
                        for (key, value) in entries {
                            *text += &format!("{} = {}\n", bare(key), value.inline());
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

fn bare(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(plain) { key.to_owned() } else { quoted(key) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            c if c.is_control() => out += &format!("\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_toml_reads() {
        let odd = "a \"quoted\" \\ line\n\ttab \u{1} é";
        let entries = vec![
            ("name".to_owned(), Out::text(&odd)),
            ("none".to_owned(), Out::List(vec![])),
            ("a b".to_owned(), Out::List(vec![Out::plain(&1), Out::plain(&2)])),
            ("s".to_owned(), Out::Table(vec![("t".to_owned(), Out::Table(vec![]))])),
            ("blocks".to_owned(), Out::List(vec![Out::Table(vec![("x".to_owned(), Out::plain(&true))])])),
        ];
        let text = document(&entries);
        let table = toml::de::DeTable::parse(&text).unwrap().into_inner();
        assert_eq!(table.get("name").unwrap().get_ref().as_str(), Some(odd));
        assert!(table.contains_key("a b") && table.contains_key("s"));
        assert!(!table.contains_key("none"), "[[none]] could not be added to this file");
        assert_eq!(table.get("blocks").unwrap().get_ref().as_array().unwrap().len(), 1);
    }
}
