//! Files of other programs to which a scenario refers.

use std::sync::Arc;

use super::reading::Reading;
use super::section::section;
use super::setting::{Setting, Shape, wrong_type};
use super::tree::{Node, Value};
use super::write::Out;
use crate::files;
use crate::hash;
use crate::problem::Problems;

/// A file format to which a scenario can refer.
pub(crate) trait Format: Sized {
    /// Accepted values in words: `a file like "flow.txt"`.
    const NOUN: &'static str;

    /// Reads the text of a file; `file` is its name for messages.
    fn parse(text: &str, file: &str) -> Result<Self, Problems>;

    /// Reads a file, which is a text unless the format has another form, too.
    fn read(bytes: Vec<u8>, file: &str) -> Result<Self, Problems> {
        Self::parse(&files::text_of(bytes, file)?, file)
    }
}

/// A file of another program. Two are equal when their contents are.
#[derive(Debug)]
pub(crate) struct Foreign<T> {
    /// Its absolute path.
    path: String,
    /// A hash of its content.
    fingerprint: u64,
    content: Arc<T>,
}

section! {
    /// A file with the hash of its content.
    pub(crate) struct Pinned {
        /// Its path.
        path: String,
        /// A hash of its content, in hexadecimal; the file is refused if its hash differs.
        fingerprint: Option<String> = None,
    }
}

impl<T> Foreign<T> {
    pub(crate) fn content(&self) -> &T {
        &self.content
    }

    /// Its path as messages give it.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

impl<T> Clone for Foreign<T> {
    fn clone(&self) -> Self {
        Self { path: self.path.clone(), fingerprint: self.fingerprint, content: Arc::clone(&self.content) }
    }
}

impl<T> PartialEq for Foreign<T> {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl<T: Format> Setting for Foreign<T> {
    fn shape() -> Shape {
        Shape::Either(vec![Shape::Text(T::NOUN), Pinned::shape()])
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        let pinned = match &node.value {
            Value::Text(path) => Pinned { path: path.clone(), fingerprint: None },
            Value::Table(_) => Pinned::read(node, key, reading)?,
            _ => return wrong_type(node, key, reading),
        };
        let path = reading.folder.join(&pinned.path);
        let bytes = match files::read_bytes(&path, files::MAX_LIST) {
            Ok(bytes) => bytes,
            Err(problem) => {
                reading.wrong(node.place, key, problem.to_string());
                return None;
            }
        };
        let fingerprint = hash::of_bytes(0, files::without_mark_bytes(&bytes), 0);
        if pinned.fingerprint.is_some_and(|wanted| wanted != format!("{fingerprint:016x}")) {
            let message = format!("{} has changed since this scenario was made", path.display());
            reading.wrong(node.place, key, message);
            return None;
        }
        match T::read(bytes, &path.display().to_string()) {
            Ok(content) => {
                let path = std::path::absolute(&path).unwrap_or(path);
                reading.files.push(path.clone());
                let path = path.display().to_string();
                Some(Self { path, fingerprint, content: Arc::new(content) })
            }
            Err(problems) => {
                for problem in problems.0 {
                    reading.report(node.place, problem);
                }
                None
            }
        }
    }

    fn write(&self) -> Option<Out> {
        let fingerprint = Some(format!("{:016x}", self.fingerprint));
        Pinned { path: self.path.clone(), fingerprint }.write()
    }
}
