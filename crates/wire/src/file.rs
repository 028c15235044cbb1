//! Files as the source of a message.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use incast_units::Bytes;

use crate::Source;

/// The largest file that is read into memory before it is sent. Of smaller ones the size that the system reports can be
/// wrong: zero for files of `/proc`, a page for files of `/sys`.
const SMALL: u64 = 1 << 16;
/// The most bytes that such a file can have.
const MOST_HELD: u64 = 1 << 24;

/// A file to send.
#[derive(Debug)]
pub struct FromFile {
    file: File,
    /// At the beginning.
    about: Metadata,
    /// Its content, if it is in memory.
    held: Option<Vec<u8>>,
    length: u64,
}

impl FromFile {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// When it cannot be read, is none, or is one of unknown size and too long for the memory.
    pub fn open(path: &Path) -> io::Result<Self> {
        // Without waiting for a writer of a pipe, or for the next line of a log of the kernel.
        let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other("it is no regular file, and only those have a known size"));
        }
        if about.len() > SMALL {
            return Ok(Self { length: about.len(), file, about, held: None });
        }
        let mut held = Vec::new();
        (&mut file).take(MOST_HELD + 1).read_to_end(&mut held)?;
        if held.len() as u64 > MOST_HELD {
            let most = Bytes::new(MOST_HELD);
            let why = format!(
                "it has more than {most}, and the system reports {}B: send a copy of it",
                about.len()
            );
            return Err(io::Error::other(why));
        }
        Ok(Self { length: held.len() as u64, file, about, held: Some(held) })
    }

    /// Returns its bytes, as many as it had when it was opened.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Returns its present size, if it was written to since it was opened.
    #[must_use]
    pub fn changed(&self) -> Option<u64> {
        let now = self.file.metadata().ok()?;
        let written = |about: &Metadata| (about.len(), about.mtime(), about.mtime_nsec());
        (written(&now) != written(&self.about)).then_some(now.len())
    }
}

impl Source for FromFile {
    fn read(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        if let Some(held) = &self.held {
            return Source::read(&mut held.as_slice(), at, into);
        }
        self.file.read_exact_at(into, at).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::other("the file has become shorter during the transfer")
            }
            _ => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// A file of this content, gone afterwards.
    struct Made(std::path::PathBuf);

    impl Made {
        fn new(content: &[u8]) -> Self {
            static NUMBER: AtomicU32 = AtomicU32::new(0);
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("incast-wire-{}-{number}", std::process::id()));
            fs::write(&path, content).unwrap();
            Self(path)
        }

        fn add(&self, bytes: &[u8]) {
            OpenOptions::new().append(true).open(&self.0).unwrap().write_all(bytes).unwrap();
        }
    }

    impl Drop for Made {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    #[test]
    fn a_file_has_the_bytes_that_it_had_when_it_was_opened() {
        for size in [0, 1, SMALL, SMALL + 1] {
            let made = Made::new(&vec![7; size as usize]);
            let mut file = FromFile::open(&made.0).unwrap();
            assert_eq!((file.length(), file.changed()), (size, None));
            made.add(b"more");
            assert_eq!((file.length(), file.changed()), (size, Some(size + 4)));
            let mut bytes = vec![0; size as usize];
            Source::read(&mut file, 0, &mut bytes).unwrap();
            assert_eq!(bytes, vec![7; size as usize]);
        }
    }

    #[test]
    fn files_whose_reported_size_is_wrong_are_read_to_their_end() {
        // The kernel reports zero bytes for the first, and a page for the second.
        for path in ["/proc/self/status", "/sys/kernel/mm/transparent_hugepage/enabled"] {
            let (path, Ok(content)) = (Path::new(path), fs::read(path)) else { continue };
            let mut file = FromFile::open(path).unwrap();
            assert_ne!(file.about.len(), content.len() as u64);
            let mut bytes = vec![0; file.length() as usize];
            Source::read(&mut file, 0, &mut bytes).unwrap();
            // The first line, because other numbers change.
            let line = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').next().map(<[u8]>::to_vec);
            assert_eq!(line(&bytes), line(&content));
            assert!(bytes.ends_with(b"\n"));
            assert_eq!(file.changed(), None);
        }
        let folder = FromFile::open(Path::new("/")).unwrap_err().to_string();
        assert!(folder.starts_with("it is no regular file"), "{folder}");
        let device = FromFile::open(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(device.starts_with("it is no regular file"), "{device}");
    }
}
