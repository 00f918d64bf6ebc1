//! Whether a data folder is still the one that a command began with. Who moves it away meanwhile and puts another one
//! in its place, a backup perhaps, gets what was found of both under one name.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A folder as it was.
#[derive(Debug)]
pub struct SameFolder {
    path: PathBuf,
    was: Option<(u64, u64)>,
}

impl SameFolder {
    /// As it is now.
    pub fn of(path: &Path) -> SameFolder {
        SameFolder { path: path.to_owned(), was: identity(path) }
    }

    /// Whether it is another one now, or gone; says so at standard error.
    pub fn is_replaced(&self) -> bool {
        let is_replaced = identity(&self.path) != self.was;
        if is_replaced {
            let what = "another folder was put in its place meanwhile: some of what is told may be of either of them; do \
                        it again for each";
            let _ = writeln!(std::io::stderr(), "trunkline: {}: {what}", self.path.display());
        }
        is_replaced
    }
}

/// Device and number of what is there.
fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|meta| (meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_exchanged_is_another_one() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        std::fs::create_dir(at("data")).unwrap();
        std::fs::create_dir(at("other")).unwrap();
        let folder = SameFolder::of(&at("data"));
        std::fs::write(at("data").join("file"), "more").unwrap();
        assert!(!folder.is_replaced());
        std::fs::rename(at("data"), at("away")).unwrap();
        assert!(folder.is_replaced(), "it is gone");
        std::fs::rename(at("other"), at("data")).unwrap();
        assert!(folder.is_replaced());
        std::fs::remove_dir_all(at("data")).unwrap();
        std::fs::rename(at("away"), at("data")).unwrap();
        assert!(!folder.is_replaced(), "it is back");
    }
}
