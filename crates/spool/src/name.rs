//! Names of files: a segment, the segment while it is written, and what stands beside it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The extensions of a segment and of what stands beside it with the same stem: `pcapng` and `idx`. A segment that was
/// rewritten ([`crate::rewrite`]) is called `.pcapng.zst`, and what stands beside it as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// Of segments.
    pub segment: &'static str,
    /// Of the files beside them; they come and go with the segment.
    pub beside: &'static [&'static str],
}

impl Kinds {
    /// Whether this is the name of a committed segment, rewritten or not.
    pub(crate) fn is_segment(&self, path: &Path) -> bool {
        path.extension().is_some_and(|e| e == self.segment) || self.is_packed(path)
    }

    /// Whether this is the name of a segment that was rewritten.
    pub(crate) fn is_packed(&self, path: &Path) -> bool {
        without(path, PACKED).is_some_and(|path| path.extension().is_some_and(|e| e == self.segment))
    }

    /// The name of a file beside a segment, rewritten or not.
    pub(crate) fn beside_of(&self, segment: &Path, extension: &str) -> PathBuf {
        let plain = if self.is_packed(segment) { without(segment, PACKED) } else { None };
        plain.as_deref().unwrap_or(segment).with_extension(extension)
    }

    /// Whether this is the name of a file beside a segment.
    pub(crate) fn is_beside(&self, path: &Path) -> bool {
        path.extension().is_some_and(|e| self.beside.iter().any(|b| e == *b))
    }

    /// The names that may stand beside a segment, whole and half-written.
    pub(crate) fn all_beside(&self, segment: &Path) -> impl Iterator<Item = PathBuf> {
        self.beside.iter().flat_map(move |extension| {
            let path = self.beside_of(segment, extension);
            [part(&path), path]
        })
    }
}

/// What ends the name of a file that is not committed.
pub(crate) const PART: &str = "part";
/// What ends the name of a segment that is being deleted: no reader finds it any more.
pub(crate) const GONE: &str = "gone";
/// What ends the name of a segment that was rewritten to take less room.
pub const PACKED: &str = "zst";
/// What ends the name of a copy that is being made on the slow volume.
pub(crate) const MOVE: &str = "move";

/// The name of a file while it is written.
pub(crate) fn part(path: &Path) -> PathBuf {
    with(path, PART)
}

/// `path` with another ending behind its extension.
pub(crate) fn with(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// `path` without that ending, if it has it.
pub(crate) fn without(path: &Path, ending: &str) -> Option<PathBuf> {
    path.extension().is_some_and(|e| e == ending).then(|| path.with_extension(""))
}

/// `12-3.pcapng` for 0, `12-3.1.pcapng` for 1.
pub(crate) fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return path.to_path_buf();
    }
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!(".{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_before_the_extension() {
        let path = Path::new("sip/2026/12-3.pcapng");
        assert_eq!(numbered(path, 0), path);
        assert_eq!(numbered(path, 2), Path::new("sip/2026/12-3.2.pcapng"));
        assert_eq!(numbered(path, 2).with_extension("idx"), Path::new("sip/2026/12-3.2.idx"));
    }

    #[test]
    fn what_is_beside_keeps_its_name_when_a_segment_is_rewritten() {
        let kinds = Kinds { segment: "pcapng", beside: &["idx"] };
        let (plain, packed) = (Path::new("a/05-1.2.pcapng"), Path::new("a/05-1.2.pcapng.zst"));
        assert_eq!(with(plain, PACKED), packed);
        assert!(kinds.is_segment(packed) && kinds.is_packed(packed) && !kinds.is_packed(plain));
        assert!(!kinds.is_segment(Path::new("a/05-1.2.idx.zst")));
        assert_eq!(kinds.beside_of(packed, "idx"), kinds.beside_of(plain, "idx"));
    }

    #[test]
    fn parts_keep_their_extension() {
        let path = Path::new("a/b.pcapng");
        assert_eq!(part(path), Path::new("a/b.pcapng.part"));
        assert_eq!(without(&part(path), PART).as_deref(), Some(path));
        assert_eq!(without(path, PART), None);
    }
}
