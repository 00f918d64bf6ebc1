//! The repository as the tasks see it: its root, its files, its program.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The root folder of the repository.
pub struct Repository {
    root: PathBuf,
}

/// cargo as people call it. What cargo tells the program that it runs is taken away: build scripts ask for some of it,
/// and would run again, with all that comes after them.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let told = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in told.filter(|name| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|begin| name.starts_with(begin))) {
        cargo.env_remove(name);
    }
    cargo
}

/// One text file of the repository.
pub struct Text {
    /// Relative to the root, with `/`.
    pub path: String,
    /// What it holds.
    pub text: String,
}

impl Repository {
    /// The repository that this program was built in (or is run for by cargo).
    pub fn here() -> Self {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&manifest).join("../..");
        Repository { root: root.canonicalize().unwrap_or(root) }
    }

    /// A path inside.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.root.join(inside)
    }

    /// The folder with reference captures: `TRUNKLINE_SHARED`, else `shared` beside the repository; none if absent.
    pub fn shared(&self) -> Option<PathBuf> {
        let folder = std::env::var_os("TRUNKLINE_SHARED").map_or_else(|| self.root.join("../shared"), PathBuf::from);
        folder.canonicalize().ok().filter(|f| f.join("captures/expected.json").is_file())
    }

    /// Paths of the files that are committed or would be (not ignored), relative to the root, sorted.
    ///
    /// # Errors
    /// git is missing or this is no git repository.
    pub fn paths(&self) -> Result<Vec<String>, String> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&self.root)
            .output()
            .map_err(|e| format!("git: {e}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        let mut paths: Vec<String> = output
            .stdout
            .split(|&o| o == 0)
            .filter(|name| !name.is_empty())
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .filter(|path| self.path(path).is_file())
            .collect();
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// Reads those of `paths` that are text; what is not UTF-8 is passed over.
    pub fn texts(&self, paths: &[String]) -> Vec<Text> {
        let read =
            |path: &String| std::fs::read(self.path(path)).ok().and_then(|octets| String::from_utf8(octets).ok());
        paths.iter().filter_map(|path| read(path).map(|text| Text { path: path.clone(), text })).collect()
    }
}
