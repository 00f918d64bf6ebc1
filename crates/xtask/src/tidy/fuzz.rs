//! Fuzz targets: each file of `fuzz/fuzz_targets` is a program of fuzz/Cargo.toml and has a small corpus of its own.

use super::Finding;
use crate::repository::{Repository, Text};

const MANIFEST: &str = "fuzz/Cargo.toml";
const TARGETS: &str = "fuzz/fuzz_targets/";
/// In the manifest, what follows this line is made by `cargo xtask tidy --fix`.
const MADE_BELOW: &str = "# Made by `cargo xtask tidy --fix` from fuzz_targets/: do not edit below.\n";
/// Files of a target's corpus.
const CORPUS_FILES_MAX: usize = 40;
/// Octets of a target's corpus.
const CORPUS_OCTETS_MAX: u64 = 100 * 1024;

/// Checks the list of targets and each target's corpus.
pub fn check(repository: &Repository, paths: &[String], texts: &[Text], findings: &mut Vec<Finding>) {
    let Some(manifest) = texts.iter().find(|t| t.path == MANIFEST) else { return };
    if manifest.text != made(&manifest.text, paths) {
        findings.push(Finding::new(
            MANIFEST,
            0,
            "the list of targets is not that of fuzz_targets/: cargo xtask tidy --fix",
        ));
    }
    for target in targets(paths) {
        let folder = format!("fuzz/corpus/{target}/");
        let files: Vec<&String> = paths.iter().filter(|p| p.starts_with(&folder)).collect();
        let octets: u64 = files.iter().filter_map(|p| repository.path(p).metadata().ok()).map(|m| m.len()).sum();
        let wrong = match files.len() {
            0 => Some("has no corpus: put a few small inputs of ours there".to_owned()),
            count if count > CORPUS_FILES_MAX => Some(format!("{count} files, at most {CORPUS_FILES_MAX}")),
            _ if octets > CORPUS_OCTETS_MAX => Some(format!("{octets} octets, at most {CORPUS_OCTETS_MAX}")),
            _ => None,
        };
        findings.extend(wrong.map(|text| Finding::new(&folder, 0, text)));
    }
    for path in paths.iter().filter_map(|p| p.strip_prefix("fuzz/corpus/")) {
        let target = path.split('/').next().unwrap_or(path);
        if !targets(paths).any(|t| t == target) {
            findings.push(Finding::new(&format!("fuzz/corpus/{path}"), 0, "a corpus without a target"));
        }
    }
}

/// Writes the list of targets anew.
///
/// # Errors
/// The manifest cannot be written.
pub fn fix(repository: &Repository, paths: &[String], texts: &[Text]) -> Result<(), String> {
    let Some(manifest) = texts.iter().find(|t| t.path == MANIFEST) else { return Ok(()) };
    let text = made(&manifest.text, paths);
    std::fs::write(repository.path(MANIFEST), text).map_err(|e| format!("{MANIFEST}: {e}"))
}

/// The names of the targets, sorted as `paths` are.
pub(super) fn targets(paths: &[String]) -> impl Iterator<Item = &str> {
    paths.iter().filter_map(|p| p.strip_prefix(TARGETS)?.strip_suffix(".rs"))
}

/// The manifest as it should be: what stands above the mark, and a program for each target.
fn made(manifest: &str, paths: &[String]) -> String {
    let head = manifest.split(MADE_BELOW).next().unwrap_or(manifest);
    let program = |name: &str| {
        let head = format!("\n[[bin]]\nname = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"\n");
        head + "test = false\ndoc = false\nbench = false\n"
    };
    targets(paths).fold(format!("{head}{MADE_BELOW}"), |text, name| text + &program(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_made_once_and_stays() {
        let paths = ["fuzz/fuzz_targets/wire_sip.rs".to_owned()];
        let once = made("[package]\n", &paths);
        assert!(once.contains("name = \"wire_sip\""));
        assert_eq!(made(&once, &paths), once);
    }
}
