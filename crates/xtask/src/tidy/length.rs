//! Long files: a file over the limit is a finding, unless it is on the list, and the list only gets shorter.

use super::Finding;
use crate::repository::{Repository, Text};
use std::fmt::Write as _;

/// Lines of a Rust file; most are far shorter.
const LINES_MAX: usize = 600;
/// Files that are longer for now, with the lines that they must not exceed.
const LIST: &str = "crates/xtask/src/tidy/long-files.txt";

/// Checks the length of every Rust file against the limit or the list.
pub fn check(texts: &[Text], findings: &mut Vec<Finding>) {
    let listed = list(texts);
    for (path, lines) in rust_files(texts) {
        match listed.iter().find(|(p, _)| p == path) {
            None if lines > LINES_MAX => {
                findings.push(Finding::new(
                    path,
                    0,
                    format!("{lines} lines, at most {LINES_MAX}: cut it by what it does"),
                ));
            }
            Some((_, most)) if lines > *most => {
                findings.push(Finding::new(
                    path,
                    0,
                    format!("{lines} lines, and {LIST} allows {most}: it only shrinks"),
                ));
            }
            Some(_) if lines <= LINES_MAX => {
                findings.push(Finding::new(LIST, 0, format!("'{path}' is short now: cargo xtask tidy --fix")));
            }
            _ => {}
        }
    }
    for (path, _) in listed.iter().filter(|(p, _)| !texts.iter().any(|t| t.path == *p)) {
        findings.push(Finding::new(LIST, 0, format!("'{path}' is gone: cargo xtask tidy --fix")));
    }
}

/// Writes the list anew: entries shrink or go, none is added and none grows.
///
/// # Errors
/// The list cannot be written.
pub fn fix(repository: &Repository, texts: &[Text]) -> Result<(), String> {
    let files: Vec<_> = rust_files(texts).collect();
    let mut out = String::new();
    for (path, most) in list(texts) {
        if let Some((_, lines)) = files.iter().find(|(p, lines)| *p == path && *lines > LINES_MAX) {
            writeln!(out, "{} {path}", most.min(*lines)).map_err(|e| e.to_string())?;
        }
    }
    std::fs::write(repository.path(LIST), out).map_err(|e| format!("{LIST}: {e}"))
}

fn rust_files(texts: &[Text]) -> impl Iterator<Item = (&str, usize)> {
    texts.iter().filter(|t| t.path.ends_with(".rs")).map(|t| (t.path.as_str(), t.text.lines().count()))
}

fn list(texts: &[Text]) -> Vec<(String, usize)> {
    let text = texts.iter().find(|t| t.path == LIST).map_or("", |t| t.text.as_str());
    let entry = |line: &str| line.split_once(' ').and_then(|(n, path)| Some((path.to_owned(), n.parse().ok()?)));
    text.lines().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_only_shrinks() {
        let file = |lines: usize| Text { path: "crates/a/src/b.rs".to_owned(), text: "\n".repeat(lines) };
        let list = || Text { path: LIST.to_owned(), text: "700 crates/a/src/b.rs\n".to_owned() };
        let count = |texts: &[Text]| {
            let mut findings = Vec::new();
            check(texts, &mut findings);
            findings.len()
        };
        assert_eq!(count(&[file(600)]), 0);
        assert_eq!(count(&[file(601)]), 1);
        assert_eq!(count(&[file(700), list()]), 0);
        assert_eq!(count(&[file(701), list()]), 1);
        assert_eq!(count(&[file(600), list()]), 1);
        assert_eq!(count(&[list()]), 1);
    }
}
