//! All files below a folder.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::SpoolError;

/// Depth of folders that is looked into.
const DEPTH_MAX: usize = 12;

/// The files below a folder as they were when it was listed: so that a start, to which several want to know them, lists
/// each volume once.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    folder: PathBuf,
    files: Vec<PathBuf>,
}

impl Listing {
    /// Lists a folder; one that is not there has no files.
    ///
    /// # Errors
    /// It cannot be listed.
    pub fn of(folder: &Path) -> Result<Listing, SpoolError> {
        let mut files = Vec::new();
        walk(folder, &mut |path| files.push(path)).map_err(|e| SpoolError::io(folder, e))?;
        Ok(Listing { folder: folder.to_path_buf(), files })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The files, a folder's in the order of their names.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }

    /// Files that have gone, and those that have come.
    pub(crate) fn change(&mut self, gone: &HashSet<PathBuf>, come: impl Iterator<Item = PathBuf>) {
        self.files.retain(|path| !gone.contains(path));
        self.files.extend(come);
    }
}

/// Calls `see` with each file below `folder`, a folder's files in the order of their names. Links are not followed;
/// what vanishes meanwhile is left out.
pub(crate) fn walk(folder: &Path, see: &mut dyn FnMut(PathBuf)) -> io::Result<()> {
    walk_to(folder, DEPTH_MAX, see)
}

fn walk_to(folder: &Path, depth: usize, see: &mut dyn FnMut(PathBuf)) -> io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        found.push((entry.file_name(), entry.file_type()?.is_dir()));
    }
    found.sort();
    for (name, is_folder) in found {
        let path = folder.join(name);
        match is_folder {
            true if depth > 0 => walk_to(&path, depth - 1, see)?,
            true => {}
            false => see(path),
        }
    }
    Ok(())
}
