//! All files below a folder.

use std::io;
use std::path::{Path, PathBuf};

/// Depth of folders that is looked into.
const DEPTH_MAX: usize = 12;

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
