//! Reading files that a user names: only regular files of a bounded size.
//!
//! A device like `/dev/full` never ends, and reading from a pipe may block for ever.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use incast_units::Bytes;

use crate::problem::Problem;

/// Maximum size of a scenario or a distribution of sizes, in bytes.
pub const MAX_TEXT: Bytes = Bytes::new(64 << 20);
/// Maximum size of a list of flows or a network in the format of another program, in bytes.
pub const MAX_LIST: Bytes = Bytes::new(4 << 30);

/// The content of a regular file of at most `most` bytes.
///
/// # Errors
/// When it cannot be read, is not a regular file, or is larger.
pub fn read(path: &Path, most: Bytes) -> io::Result<Vec<u8>> {
    // Before it is opened: to open a pipe is to wait for its writer.
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    // What is too large is not read first. But a file may grow after it was looked at.
    if metadata.len() <= most.get() {
        File::open(path)?.take(most.get().saturating_add(1)).read_to_end(&mut bytes)?;
    }
    if metadata.len().max(bytes.len() as u64) > most.get() {
        let message = format!("it is larger than {most}, the most that is read of such a file");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// The text of a regular file of at most `most` bytes, without a byte order mark.
///
/// # Errors
/// When it cannot be read, is not a regular file, is larger, or is not UTF-8; with the file, and the line of the
/// first byte that is not.
pub fn read_text(path: &Path, most: Bytes) -> Result<String, Problem> {
    let bytes = read_bytes(path, most)?;
    text_of(bytes, &path.display().to_string())
}

/// The content of a regular file of at most `most` bytes.
///
/// # Errors
/// When it cannot be read, is not a regular file, or is larger; with the file.
pub fn read_bytes(path: &Path, most: Bytes) -> Result<Vec<u8>, Problem> {
    let wrong = |message: String| Problem::new(message).in_file(path.display().to_string());
    read(path, most).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => wrong("there is no such file".to_owned()),
        _ => wrong(format!("cannot be read: {error}")),
    })
}

/// The text of a file with this content, without a byte order mark; `file` is for messages.
///
/// # Errors
/// When it is not UTF-8; with the file, and the line of the first byte that is not.
pub fn text_of(bytes: Vec<u8>, file: &str) -> Result<String, Problem> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
        Problem::new("this is not a text file (not UTF-8)").in_file(file).on_line(line as u32)
    })?;
    Ok(if text.starts_with(MARK) { without_mark(&text).to_owned() } else { text })
}

/// The byte order mark, with which some editors begin a text.
const MARK: char = '\u{feff}';

/// Returns a text without its byte order mark.
#[must_use]
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// Returns bytes without a byte order mark.
#[must_use]
pub fn without_mark_bytes(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_bounded_size() {
        let path = std::env::temp_dir().join(format!("incast-lab-files-{}", std::process::id()));
        fs::write(&path, b"12345").unwrap();
        assert_eq!(read(&path, Bytes::new(5)).unwrap(), b"12345");
        let error = read(&path, Bytes::new(4)).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 4B, the most that is read of such a file");
        fs::remove_file(&path).unwrap();
        assert_eq!(read(&std::env::temp_dir(), Bytes::new(9)).unwrap_err().to_string(), "it is a folder");
    }

    /// A file of 2^62 bytes without content, of which reading any part worth the name would exhaust memory.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_is_too_large_is_not_read_first() {
        let path = std::env::temp_dir().join(format!("incast-lab-sparse-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        // The largest that the file system allows of these.
        let made = (30..62).rev().find(|bits| file.set_len(1 << bits).is_ok());
        let error = read(&path, Bytes::new((1 << made.unwrap()) - 1)).unwrap_err();
        fs::remove_file(&path).unwrap();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn texts_have_no_byte_order_mark_and_say_which_line_is_none() {
        let path = std::env::temp_dir().join(format!("incast-lab-texts-{}", std::process::id()));
        fs::write(&path, b"\xef\xbb\xbf1 2\n").unwrap();
        assert_eq!(read_text(&path, MAX_TEXT).unwrap(), "1 2\n");
        fs::write(&path, b"1\n2\n\xff\n").unwrap();
        let problem = read_text(&path, MAX_TEXT).unwrap_err();
        assert_eq!(
            (problem.line, problem.problem.as_str()),
            (Some(3), "this is not a text file (not UTF-8)")
        );
        fs::remove_file(&path).unwrap();
        let problem = read_text(&path, MAX_TEXT).unwrap_err();
        assert_eq!(problem.to_string(), format!("{}: there is no such file", path.display()));
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_refused() {
        for device in ["/dev/full", "/dev/zero", "/dev/null"] {
            let error = read(Path::new(device), MAX_TEXT).unwrap_err();
            assert_eq!(error.to_string(), "it is not a regular file", "{device}");
        }
    }
}
