//! The configuration of a run: file, environment and command line, read from where they are.

use super::Settings;
use super::check::check;
use crate::failure::Failure;
use std::path::{Path, PathBuf};
use trunkline_kit::config::{FILE_OCTETS_MAX, Loaded, Mistake, Sources, read};

/// The file that is read where none is named, if it is there.
pub const FILE_DEFAULT: &str = "/etc/trunkline/trunkline.toml";
/// What variables of the environment begin with.
pub const PREFIX: &str = "TRUNKLINE_";

/// What the command line gave.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// `--config`.
    pub file: Option<PathBuf>,
    /// Options that set a key: section, key, value, and the option as it is written.
    pub options: Vec<(&'static str, &'static str, String, &'static str)>,
}

/// Reads the configuration of this process.
///
/// # Errors
/// The file cannot be read (exit code 1), or every mistake in it and beside it, a line each (2).
pub fn load(given: &Given) -> Result<Loaded<Settings>, Failure> {
    read_all(given)?.map_err(|mistakes| Failure::Usage(told(&mistakes)))
}

/// The mistakes one by one; none if all is right.
///
/// # Errors
/// The file cannot be read.
pub fn mistakes(given: &Given) -> Result<Vec<Mistake>, Failure> {
    Ok(read_all(given)?.err().unwrap_or_default())
}

fn read_all(given: &Given) -> Result<Result<Loaded<Settings>, Vec<Mistake>>, Failure> {
    let environment: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
        .collect();
    let file = file(given.file.as_deref())?;
    let sources = Sources {
        file: file.as_ref().map(|(path, text)| (path.as_str(), text.as_str())),
        environment: &environment,
        prefix: PREFIX,
        options: &given.options,
    };
    Ok(read(&sources, check))
}

/// The mistakes, a line each, under what to do about them.
fn told(mistakes: &[Mistake]) -> String {
    let lines: Vec<String> = mistakes.iter().map(|mistake| format!("  {mistake}")).collect();
    let what = if mistakes.len() == 1 { "a mistake" } else { "mistakes" };
    format!(
        "{what} in the configuration:\n{}\nAll keys with what they take: trunkline config example",
        lines.join("\n")
    )
}

/// The file's name and text.
fn file(named: Option<&Path>) -> Result<Option<(String, String)>, Failure> {
    let path = named.unwrap_or(Path::new(FILE_DEFAULT));
    if named.is_none() && !path.exists() {
        return Ok(None);
    }
    let name = path.display().to_string();
    let failed = |why: String| Failure::Failed(format!("the configuration {name} cannot be read: {why}"));
    let octets = octets(path).map_err(|e| failed(e.to_string()))?;
    match String::from_utf8(octets) {
        Ok(text) => Ok(Some((name, text))),
        Err(e) => Err(failed(format!("it is not UTF-8 at octet {}", e.utf8_error().valid_up_to()))),
    }
}

/// The file's octets, or so many that it is told as too long.
fn octets(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let limit = u64::try_from(FILE_OCTETS_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut octets = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().take(limit).read_to_end(&mut octets)?;
    } else {
        std::fs::File::open(path)?.take(limit).read_to_end(&mut octets)?;
    }
    Ok(octets)
}
