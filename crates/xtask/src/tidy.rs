//! The rules of the house that a machine can check. Each finding says the place, the rule and what to do.

mod breaks;
mod fuzz;
mod groups;
mod layers;
mod length;
mod limits;
mod links;
mod names;
mod orphans;
mod plain;
mod security;
mod sleeps;
mod source;
mod width;
mod words;

use crate::repository::{Repository, Text};
use std::fmt;

/// In a document, what stands between these lines is made by `cargo xtask tidy --fix`.
const BEGIN: &str = "<!-- Made by `cargo xtask tidy --fix` from the source: do not edit. -->\n";
const END: &str = "<!-- end -->\n";

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the root.
    pub path: String,
    /// The line, from 1; 0 means the whole file.
    pub line: usize,
    /// What is wrong and what to do.
    pub text: String,
}

impl Finding {
    /// A finding about line `line` of `path`.
    pub fn new(path: &str, line: usize, text: impl Into<String>) -> Self {
        Finding { path: path.to_owned(), line, text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.text),
            line => write!(f, "{}:{line}: {}", self.path, self.text),
        }
    }
}

/// `cargo xtask tidy [--fix]`: prints the findings; true if there are none.
///
/// # Errors
/// A wrong option, or the repository cannot be read.
pub fn command(repository: &Repository, options: &[String]) -> Result<bool, String> {
    match options {
        [] => {}
        [option] if option == "--fix" => fix(repository)?,
        _ => return Err("the only option is --fix".to_owned()),
    }
    let findings = check(repository)?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => println!("tidy: clean"),
        count => println!("tidy: {count} findings"),
    }
    Ok(findings.is_empty())
}

/// All findings, sorted.
fn check(repository: &Repository) -> Result<Vec<Finding>, String> {
    let paths = repository.paths()?;
    let texts = repository.texts(&paths);
    let mut findings = Vec::new();
    for text in texts.iter().filter(|t| !t.path.starts_with("fuzz/corpus/")) {
        words::check(text, &mut findings);
        plain::check(text, &mut findings);
        width::check(text, &mut findings);
        names::check(text, &mut findings);
        source::check(text, &mut findings);
        links::check(text, &paths, &mut findings);
    }
    links::check_headings(&texts, &mut findings);
    links::check_contents(&texts, &mut findings);
    layers::check(&texts, &mut findings);
    length::check(&texts, &mut findings);
    sleeps::check(&texts, &mut findings);
    orphans::check(&texts, &mut findings);
    breaks::check(&texts, &mut findings);
    fuzz::check(repository, &paths, &texts, &mut findings);
    groups::check(&texts, &mut findings);
    security::check(&paths, &texts, &mut findings);
    limits::check(&texts, &mut findings);
    findings.sort();
    Ok(findings)
}

/// Mends what needs no thought: wide comments and prose, the lists of fuzz targets, of unsafe code and of limits, the
/// runner's test groups, the lengths of long files that shrank, the sleeps of tests that went.
fn fix(repository: &Repository) -> Result<(), String> {
    let paths = repository.paths()?;
    let texts = repository.texts(&paths);
    width::fix(repository, &texts)?;
    fuzz::fix(repository, &paths, &texts)?;
    groups::fix(repository, &texts)?;
    security::fix(repository, &paths, &texts)?;
    limits::fix(repository, &texts)?;
    length::fix(repository, &texts)?;
    sleeps::fix(repository, &texts)
}

/// A document with what is made between [`BEGIN`] and [`END`]; none if it does not have these lines.
fn with_made(document: &str, made: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{made}{END}{after}"))
}

/// The lines of a text with their numbers, from 1.
fn lines(text: &Text) -> impl Iterator<Item = (usize, &str)> {
    text.text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// The lines of a Rust file that are code of the product: what stands before its tests, comments left out.
fn product_lines(text: &Text) -> impl Iterator<Item = (usize, &str)> {
    lines(text)
        .take_while(|(_, line)| line.trim() != "#[cfg(test)]")
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// The crate that a path belongs to: its folder under `crates/`, and the path inside.
fn crate_of(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix("crates/")?.split_once('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let findings = check(&Repository::here()).expect("a git repository");
        let listed: Vec<String> = findings.iter().map(Finding::to_string).collect();
        assert!(listed.is_empty(), "\n{}", listed.join("\n"));
    }
}
