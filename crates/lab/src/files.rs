//! Reading files that a user names: only regular files of a bounded size.
//!
//! A device like `/dev/full` never ends, and reading from a pipe may block for ever.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use incast_units::Bytes;

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
    // A file may grow after it was looked at.
    File::open(path)?.take(most.get().saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most.get() {
        let message = format!("it is larger than {most}, the most that is read of such a file");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
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

    #[cfg(unix)]
    #[test]
    fn devices_are_refused() {
        for device in ["/dev/full", "/dev/zero", "/dev/null"] {
            let error = read(Path::new(device), MAX_TEXT).unwrap_err();
            assert_eq!(error.to_string(), "it is not a regular file", "{device}");
        }
    }
}
