//! Sleeps in tests: a test that waits for time to pass relies on how fast the machine is. It waits for the event
//! instead, with `eventually` of crates/kit/tests/shared, or drives the clock. The list names the files that sleep all
//! the same, how often, and why; it only gets shorter.

use super::{Finding, crate_of, lines};
use crate::repository::{Repository, Text};
use std::fmt::Write as _;

/// Files whose tests sleep: at most how many times, the file, and the reason.
const LIST: &str = "crates/xtask/src/tidy/sleeps.txt";

/// One line of the list: `2 crates/a/tests/all/b.rs: why`.
struct Listed<'a> {
    line: usize,
    most: usize,
    path: &'a str,
    reason: &'a str,
}

/// Checks that no test sleeps but those listed, and that each entry of the list is needed and says why.
pub fn check(texts: &[Text], findings: &mut Vec<Finding>) {
    let listed = list(texts);
    for (path, places) in sleeping(texts) {
        match listed.iter().find(|l| l.path == path) {
            None => findings.extend(places.iter().map(|line| {
                let what = "a test that sleeps relies on the machine's speed: wait for the event, or drive the clock";
                Finding::new(path, *line, what)
            })),
            Some(entry) if places.len() > entry.most => {
                let what = format!(
                    "{} sleeps, and {LIST} allows {}: remove one, the list may not grow",
                    places.len(),
                    entry.most
                );
                findings.push(Finding::new(path, 0, what));
            }
            Some(entry) if places.len() < entry.most => {
                let what = format!("'{path}' sleeps {} times now: cargo xtask tidy --fix", places.len());
                findings.push(Finding::new(LIST, entry.line, what));
            }
            Some(_) => {}
        }
    }
    for entry in &listed {
        if entry.reason.is_empty() {
            findings.push(Finding::new(LIST, entry.line, format!("'{}' needs its reason", entry.path)));
        }
        if !sleeping(texts).any(|(path, _)| path == entry.path) {
            let what = format!("'{}' does not sleep any more: cargo xtask tidy --fix", entry.path);
            findings.push(Finding::new(LIST, entry.line, what));
        }
    }
}

/// Writes the list anew: entries shrink or go, none is added and none grows.
///
/// # Errors
/// The list cannot be written.
pub fn fix(repository: &Repository, texts: &[Text]) -> Result<(), String> {
    std::fs::write(repository.path(LIST), shrunk(texts)).map_err(|e| format!("{LIST}: {e}"))
}

fn shrunk(texts: &[Text]) -> String {
    let mut out = String::new();
    for entry in list(texts) {
        if let Some((_, places)) = sleeping(texts).find(|(path, _)| *path == entry.path) {
            let _ = writeln!(out, "{} {}: {}", entry.most.min(places.len()), entry.path, entry.reason);
        }
    }
    out
}

/// Files whose tests sleep, with the lines where they do.
fn sleeping(texts: &[Text]) -> impl Iterator<Item = (&str, Vec<usize>)> {
    let found = |text| test_lines(text).filter(|(_, line)| sleeps(line)).map(|(number, _)| number).collect();
    texts
        .iter()
        .map(move |text| (text.path.as_str(), found(text)))
        .filter(|(_, places): &(_, Vec<_>)| !places.is_empty())
}

/// The lines of a Rust file that are code of tests: all of a file of tests, else what stands behind `#[cfg(test)]` on a
/// module.
fn test_lines(text: &Text) -> impl Iterator<Item = (usize, &str)> {
    let inside = crate_of(&text.path).map_or("", |(_, inside)| inside);
    let is_rust = inside.ends_with(".rs");
    let file = inside.rsplit('/').next().unwrap_or(inside);
    let is_test = inside.starts_with("tests/")
        || inside.contains("/tests/")
        || matches!(file, "test.rs" | "tests.rs")
        || file.ends_with("_tests.rs");
    let begins = lines(text)
        .zip(lines(text).skip(1))
        .find(|((_, line), (_, next))| line.trim() == "#[cfg(test)]" && is_module(next))
        .map_or(usize::MAX, |((number, _), _)| number);
    lines(text)
        .filter(move |(number, _)| is_rust && (is_test || *number > begins))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Whether a line begins a module that stands in this file.
fn is_module(line: &str) -> bool {
    line.trim().starts_with("mod ") && line.trim().ends_with('{')
}

/// Whether a line of code sleeps: a thread, a parked thread, or a task; methods of that name are others' affairs.
fn sleeps(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or(line);
    let is_call = |name: &str| {
        code.match_indices(name).any(|(at, _)| {
            let before = &code[..at];
            let is_word = !before.ends_with(|c: char| c.is_alphanumeric() || "_.\"".contains(c));
            is_word && !before.ends_with("fn ")
        })
    };
    is_call("sleep(") || is_call("park_timeout(")
}

fn list(texts: &[Text]) -> Vec<Listed<'_>> {
    let Some(text) = texts.iter().find(|t| t.path == LIST) else { return Vec::new() };
    lines(text).filter_map(|(line, entry)| read(line, entry)).collect()
}

fn read(line: usize, entry: &str) -> Option<Listed<'_>> {
    let (most, rest) = entry.split_once(' ')?;
    let (path, reason) = rest.split_once(':').unwrap_or((rest, ""));
    Some(Listed { line, most: most.parse().ok()?, path: path.trim(), reason: reason.trim() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/a/tests/all/b.rs";
    const SLEEP: &str = concat!("    std::thread::sle", "ep(Duration::from_millis(5));\n");
    const PARK: &str = concat!("    park_time", "out(LOOK);\n");
    const TASK: &str = concat!("    tokio::time::sle", "ep(LOOK).await;\n");

    fn text(path: &str, text: &str) -> Text {
        Text { path: path.to_owned(), text: text.to_owned() }
    }

    fn found(texts: &[Text]) -> Vec<String> {
        let mut findings = Vec::new();
        check(texts, &mut findings);
        findings.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn tests_do_not_sleep() {
        for sleeps in [SLEEP, PARK, TASK] {
            let found = found(&[text(PATH, &format!("fn f() {{\n{sleeps}}}\n"))]);
            assert!(found[0].starts_with("crates/a/tests/all/b.rs:2: a test that sleeps"), "{found:?}");
        }
        for place in
            ["b/tests.rs", "b/tests/world.rs", "b/test.rs", "b_tests.rs"].map(|file| format!("crates/a/src/{file}"))
        {
            assert_eq!(found(&[text(&place, SLEEP)]).len(), 1, "{place}");
        }
    }

    #[test]
    fn the_product_may_and_so_may_what_is_called_alike() {
        let product =
            format!("#[cfg(test)]\nmod others;\n{SLEEP}#[cfg(test)]\nfn a() {{}}\n{SLEEP}#[cfg(test)]\nmod tests {{\n");
        assert_eq!(found(&[text("crates/a/src/b.rs", &product)]).len(), 0);
        assert_eq!(found(&[text("crates/a/src/b.rs", &(product + PARK))]).len(), 1);
        for alike in
            ["    world.sleep(3);\n", "fn sleep(s: u64) {}\n", "// thread::sleep(x)\n", "let s = \"sleep(1)\";\n"]
        {
            assert_eq!(found(&[text(PATH, alike)]).len(), 0, "{alike}");
        }
    }

    #[test]
    fn the_list_says_why_and_only_shrinks() {
        let list = |entry: &str| text(LIST, entry);
        let twice = || text(PATH, &format!("{SLEEP}{PARK}"));
        assert_eq!(found(&[twice(), list("2 crates/a/tests/all/b.rs: memcached has no other clock\n")]).len(), 0);
        assert_eq!(found(&[twice(), list("1 crates/a/tests/all/b.rs: why\n")]).len(), 1);
        assert_eq!(found(&[twice(), list("3 crates/a/tests/all/b.rs: why\n")]).len(), 1);
        assert_eq!(found(&[twice(), list("2 crates/a/tests/all/b.rs\n")]).len(), 1);
        assert_eq!(found(&[list("2 crates/a/tests/all/b.rs: why\n")]).len(), 1);
        let texts = [twice(), list("3 crates/a/tests/all/b.rs: why: so\n1 crates/a/tests/all/gone.rs: why\n")];
        assert_eq!(shrunk(&texts), "2 crates/a/tests/all/b.rs: why: so\n");
        let texts = [twice(), list("1 crates/a/tests/all/b.rs: why\n")];
        assert_eq!(shrunk(&texts), "1 crates/a/tests/all/b.rs: why\n");
    }
}
