//! What no committed text may hold: paths and hosts of one machine, markers of unfinished work.

use super::{Finding, lines};
use crate::repository::Text;

/// Markers of what was not finished: finish it or open an issue. (Written in two parts so that this file passes.)
const MARKERS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
/// Folders that exist on the writer's machine only.
const MACHINE_FOLDERS: &[&str] =
    &[concat!("/wo", "rk"), concat!("/ho", "me"), concat!("/ro", "ot"), concat!("/Us", "ers")];
/// The folder for passing things: an example in documentation and tests, in code it is another machine's.
const PASSING_FOLDER: &str = concat!("/t", "mp");
/// What points a package client to a private registry.
const REGISTRY_WORDS: &[&str] = &[
    concat!("replace", "-with"),
    concat!("artifact", "ory"),
    concat!("index", "-url"),
    concat!("sparse+", "http"),
    concat!("registry", " = \"http"),
    concat!("GOPR", "OXY"),
    concat!("npm_config", "_registry"),
];

/// Checks one text file.
pub fn check(text: &Text, findings: &mut Vec<Finding>) {
    if text.path == "Cargo.lock" || text.path.ends_with("/Cargo.lock") {
        check_lock(text, findings);
        return;
    }
    if text.path.starts_with("LICENSE-") {
        return;
    }
    let mut tests = text.path.ends_with(".md") || text.path.contains("/tests");
    for (number, line) in lines(text) {
        tests = tests || line.trim() == "#[cfg(test)]";
        let mut find = |what: String| findings.push(Finding::new(&text.path, number, what));
        if let Some(marker) = MARKERS.iter().find(|m| holds_word(line, m)) {
            find(format!("'{marker}': finish it, or open an issue and drop the marker"));
        }
        if let Some(folder) = machine_folder(line, tests) {
            find(format!("'{folder}' is a folder of one machine: say it relative to the repository"));
        }
        if let Some(word) = REGISTRY_WORDS.iter().find(|w| line.contains(**w)) {
            find(format!("'{word}': no private registry in a committed text"));
        }
        if line.ends_with([' ', '\t']) && !text.path.ends_with(".md") {
            find("blanks at the end of the line".to_owned());
        }
    }
}

/// Every crate of a lock file comes from the public registry.
fn check_lock(text: &Text, findings: &mut Vec<Finding>) {
    for (number, line) in lines(text).filter(|(_, l)| l.starts_with("source = ")) {
        if line != "source = \"registry+https://github.com/rust-lang/crates.io-index\"" {
            findings.push(Finding::new(&text.path, number, "not from crates.io"));
        }
    }
}

fn machine_folder<'a>(line: &str, passing_allowed: bool) -> Option<&'a str> {
    let found = MACHINE_FOLDERS.iter().copied().find(|folder| holds_path(line, folder));
    found.or_else(|| (!passing_allowed && holds_path(line, PASSING_FOLDER)).then_some(PASSING_FOLDER))
}

/// Whether `line` holds `folder` as the beginning of an absolute path (not as a part of a longer one, or of a URL).
fn holds_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + folder.len()..].chars().next();
        let begins = before.is_none_or(|c| !(c.is_alphanumeric() || "./-_~*})>$".contains(c)));
        begins && after.is_none_or(|c| !(c.is_alphanumeric() || "-_".contains(c)))
    })
}

/// Whether `line` holds `word` with no letter, digit or underscore beside it.
pub fn holds_word(line: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_a_machine_path_from_others() {
        let folder = MACHINE_FOLDERS[0];
        for (line, found) in [
            (format!("see {folder}/main"), true),
            (format!("\"{folder}\""), true),
            (format!("bench{folder}/x"), false),
            (format!("https://example.org{folder}/x"), false),
            (format!("{folder}shop"), false),
        ] {
            assert_eq!(holds_path(&line, folder), found, "{line}");
        }
    }

    #[test]
    fn words_stand_alone() {
        assert!(holds_word("a word here", "word"));
        assert!(!holds_word("a sword here", "word"));
        assert!(!holds_word("a word_list", "word"));
    }
}
