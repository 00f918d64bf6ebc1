//! Every fuzz seed given to `trunkline read` as if it were a capture: no crash, no hang, one clear line.

use super::run;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How reading the seeds went.
#[derive(Debug, Default)]
pub struct Seeds {
    /// Files read.
    pub files: usize,
    /// How many got which line, without their names.
    pub said: BTreeMap<String, usize>,
    /// What must not be: file and what happened.
    pub failures: Vec<String>,
}

/// Reads every file under `fuzz-seeds`, a process each.
///
/// # Errors
/// The folder cannot be listed.
pub fn read(program: &Path, shared: &Path) -> Result<Seeds, String> {
    let mut files = Vec::new();
    list(&shared.join("fuzz-seeds"), &mut files).map_err(|e| format!("fuzz-seeds: {e}"))?;
    files.sort();
    let outcomes = super::side_by_side(&files, |file| run::read(program, file));
    let mut seeds = Seeds { files: files.len(), ..Seeds::default() };
    for (file, outcome) in files.iter().zip(outcomes) {
        let name = file.strip_prefix(shared).unwrap_or(file).display();
        match (outcome.failure, outcome.error) {
            (Some(failure), _) => seeds.failures.push(format!("{name}: {failure}")),
            (None, Some(error)) if error.lines().count() != 1 => seeds.failures.push(format!("{name}: {error:?}")),
            (None, error) => {
                let line = error.as_deref().map_or("read as a capture", |e| without_name(e, file));
                *seeds.said.entry(line.to_owned()).or_default() += 1;
            }
        }
    }
    Ok(seeds)
}

fn without_name<'a>(error: &'a str, file: &Path) -> &'a str {
    let name = file.to_string_lossy();
    error.strip_prefix(&*name).map_or(error, |rest| rest.trim_start_matches(": "))
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.extension() {
            _ if path.is_dir() => list(&path, files)?,
            Some(extension) if extension == "tsv" => {}
            _ => files.push(path),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_without_names() {
        let file = Path::new("/a/b/c");
        assert_eq!(without_name("/a/b/c: at octet 3: cut", file), "at octet 3: cut");
        assert_eq!(without_name("at octet 3: cut", file), "at octet 3: cut");
    }
}
