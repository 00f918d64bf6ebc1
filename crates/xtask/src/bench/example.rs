//! Programs of ours that are there only to measure: examples of a crate, which print one line of JSON.

use super::{Bench, build_release};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Builds an example of a crate.
///
/// # Errors
/// It does not build.
pub fn build(bench: &Bench<'_>, package: &str, name: &str) -> Result<PathBuf, String> {
    let what = ["--package", package, "--example", name];
    build_release(bench.repository, &what, &Path::new("examples").join(name))
}

/// Runs one; what it printed last.
///
/// # Errors
/// It failed, or printed something else.
pub fn run<A: AsRef<OsStr>>(program: &Path, arguments: &[A]) -> Result<Value, String> {
    let output = Command::new(program).args(arguments).stderr(Stdio::inherit()).output();
    let output = output.map_err(|e| format!("{}: {e}", program.display()))?;
    if !output.status.success() {
        return Err(format!("{}: {}", program.display(), output.status));
    }
    last_json(&output.stdout).ok_or_else(|| format!("{} printed no figures", program.display()))
}

/// The last line of an output, if it is JSON.
pub fn last_json(output: &[u8]) -> Option<Value> {
    let last = output.split(|&o| o == b'\n').rfind(|line| !line.is_empty())?;
    serde_json::from_slice(last).ok()
}

/// A number of an object, 0 if there is none.
pub fn number(value: &Value, name: &str) -> f64 {
    value.get(name).and_then(Value::as_f64).unwrap_or(0.0)
}
