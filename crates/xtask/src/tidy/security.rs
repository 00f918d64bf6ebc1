//! SECURITY.md says where unsafe code is and which parsers are fuzzed: both lists are made from the source.

use super::{BEGIN, Finding, crate_of, product_lines, with_made};
use crate::repository::{Repository, Text};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const FILE: &str = "SECURITY.md";

/// Checks the lists.
pub fn check(paths: &[String], texts: &[Text], findings: &mut Vec<Finding>) {
    let Some(file) = texts.iter().find(|t| t.path == FILE) else { return };
    match with_made(&file.text, &lists(paths, texts)) {
        None => findings.push(Finding::new(FILE, 0, format!("the lines \"{}\" are not there", BEGIN.trim_end()))),
        Some(text) if text != file.text => {
            let what = "the lists of unsafe code and of fuzz targets are not those of the source";
            findings.push(Finding::new(FILE, 0, format!("{what}: cargo xtask tidy --fix")));
        }
        Some(_) => {}
    }
}

/// Writes the lists anew.
///
/// # Errors
/// The file cannot be written.
pub fn fix(repository: &Repository, paths: &[String], texts: &[Text]) -> Result<(), String> {
    let Some(file) = texts.iter().find(|t| t.path == FILE) else { return Ok(()) };
    let Some(text) = with_made(&file.text, &lists(paths, texts)) else { return Ok(()) };
    std::fs::write(repository.path(FILE), text).map_err(|e| format!("{FILE}: {e}"))
}

fn lists(paths: &[String], texts: &[Text]) -> String {
    let mut crates: BTreeMap<&str, (usize, Vec<String>)> = BTreeMap::new();
    let is_product = |(name, inside): (&str, &str)| name != "xtask" && inside.starts_with("src/");
    let product = |text: &&Text| text.path.ends_with(".rs") && crate_of(&text.path).is_some_and(is_product);
    for text in texts.iter().filter(product) {
        let places = product_lines(text).filter(|(_, line)| has_unsafe(line)).count();
        if let (Some((name, inside)), 1..) = (crate_of(&text.path), places) {
            let (all, files) = crates.entry(name).or_default();
            *all += places;
            files.push(format!("`{}` {places}", inside.trim_start_matches("src/")));
        }
    }
    let mut out = String::from("\n| crate | places with unsafe code | files |\n|---|---:|---|\n");
    for (name, (places, files)) in &crates {
        // Writing to a String does not fail.
        _ = writeln!(out, "| `{name}` | {places} | {} |", files.join(", "));
    }
    let targets: Vec<String> = super::fuzz::targets(paths).map(|target| format!("`{target}`")).collect();
    _ = writeln!(out, "\n{} fuzz targets:\n", targets.len());
    let mut line = String::new();
    for (at, target) in targets.iter().enumerate() {
        let last = at + 1 == targets.len();
        let word = format!("{target}{}", if last { "." } else { "," });
        if !line.is_empty() && line.len() + 1 + word.len() > 118 {
            _ = writeln!(out, "{line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    _ = writeln!(out, "{line}\n");
    out
}

/// Code of a line that is unsafe, or makes what is: not what forbids it.
fn has_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or(line);
    let mut words = code.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| word == "unsafe") && !code.contains('"')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::END;

    #[test]
    fn the_lists_are_made_of_the_source() {
        let text = |path: &str, text: &str| Text { path: path.to_owned(), text: text.to_owned() };
        let code = "#![deny(unsafe_code)]\nunsafe fn a() {}\n// unsafe\nlet b = unsafe { a() }; // unsafe\n#[cfg(test)]\nunsafe";
        let texts = [text("crates/net/src/a.rs", code), text("crates/wire/src/b.rs", "let a = \"unsafe\";\n")];
        let paths = ["fuzz/fuzz_targets/a.rs".to_owned(), "fuzz/fuzz_targets/b.rs".to_owned()];
        let file = format!("one\n{BEGIN}old\n{END}two\n");
        let made = with_made(&file, &lists(&paths, &texts)).unwrap();
        assert!(made.contains("| `net` | 2 | `a.rs` 2 |") && !made.contains("wire"), "{made}");
        assert!(
            made.contains("2 fuzz targets:\n\n`a`, `b`.\n") && made.starts_with("one\n") && made.ends_with("two\n")
        );
        assert_eq!(with_made("no mark", ""), None);
    }
}
