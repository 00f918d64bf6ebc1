//! Test groups: which tests may run beside others. A source file names the group of its tests, or of one test, in a
//! comment with the reason; the runner's configuration gets a filter for each.
//!
//! * no group: the test computes; two run at once, and those that wait beside them.
//! * `waits`: the test mostly waits, for clocks or other programs, and takes no processor meanwhile.
//! * `loads`: the test loads the machine, starts clusters, or kills what is under load: one at a time, as if it
//!   computed.
//! * `paced`: the test keeps up with a clock that waits for nobody, and needs little for it: three run at once, when
//!   all others of the groups above have ended.
//! * `alone`: the test measures; nothing runs beside it.
//!
//! `//! Test group: waits: polls every second` in the file's first comment is about all its tests, and those of modules
//! below it; `// Test group: alone: measures memory` above a test is about that test.

use super::{Finding, lines, orphans};
use crate::repository::{Repository, Text};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const CONFIGURATION: &str = ".config/nextest.toml";
/// In the configuration, what follows this line is made by `cargo xtask tidy --fix`.
const MADE_BELOW: &str =
    "# Made by `cargo xtask tidy --fix` from the test groups named in sources: do not edit below.\n";
/// Written in two parts so that this file names no group.
const MARK: &str = concat!("Test gr", "oup: ");
/// How a comment begins that names a group, rightly spelled or not, in small letters.
const LIKE_MARK: &str = concat!("test gr", "oup");
/// The groups, with what the runner is told of their tests.
const GROUPS: [(&str, &str); 4] = [
    ("alone", "threads-required = \"num-test-threads\"\npriority = -100\ntest-group = \"@global\"\n"),
    ("loads", "threads-required = 3\npriority = 100\ntest-group = \"loads\"\n"),
    ("paced", "threads-required = 2\npriority = -50\ntest-group = \"@global\"\n"),
    ("waits", "threads-required = 1\npriority = 50\ntest-group = \"@global\"\n"),
];
/// All other tests, last.
const REST: &str = "\n[[profile.default.overrides]]\nfilter = 'all()'\nthreads-required = 3\n";

/// A group that a file names.
struct Named<'a> {
    path: &'a str,
    line: usize,
    group: &'a str,
    reason: &'a str,
    /// The test; none if it is all of the file.
    test: Option<&'a str>,
}

/// Checks that named groups exist, say why, and are what the runner is told.
pub fn check(texts: &[Text], findings: &mut Vec<Finding>) {
    let declared = orphans::declared(texts);
    for named in texts.iter().flat_map(named) {
        let is_root = super::crate_of(named.path).is_some_and(|(_, inside)| orphans::is_root(inside));
        if !GROUPS.iter().any(|(group, _)| *group == named.group) {
            let what = format!("unknown test group '{}': use alone, loads, paced or waits", named.group);
            findings.push(Finding::new(named.path, named.line, what));
        } else if named.reason.is_empty() {
            findings.push(Finding::new(named.path, named.line, "a test group needs a reason: \"alone: why\""));
        } else if place(named.path).is_none() {
            findings.push(Finding::new(
                named.path,
                named.line,
                "a test group only works in crates/*/src and crates/*/tests/all",
            ));
        } else if named.test == Some("") {
            findings.push(Finding::new(named.path, named.line, "no test follows: a test group stands above #[test]"));
        } else if !is_root && !declared.contains(named.path) {
            let what = "the filter of this test group needs the module to be named like its file";
            findings.push(Finding::new(named.path, named.line, what));
        }
    }
    for text in texts {
        misspelled(text, findings);
        let mut seen = BTreeMap::new();
        for named in named(text) {
            if let Some(first) = seen.insert(named.test, named.line) {
                let what = format!("there is a test group for the same already, in line {first}");
                findings.push(Finding::new(named.path, named.line, what));
            }
        }
    }
    let Some(configuration) = texts.iter().find(|t| t.path == CONFIGURATION) else { return };
    if configuration.text != made(&configuration.text, texts) {
        let what = "its filters differ from the test groups in the sources: cargo xtask tidy --fix";
        findings.push(Finding::new(CONFIGURATION, 0, what));
    }
}

/// Finds comments that should name a group and are not read as one.
fn misspelled(text: &Text, findings: &mut Vec<Finding>) {
    let rust = lines(text).filter(|_| text.path.ends_with(".rs"));
    for (number, line) in rust.filter(|(_, line)| line.trim().starts_with("//")) {
        let comment = line.trim().trim_start_matches(['/', '!']).trim();
        let after = comment.get(LIKE_MARK.len()..).filter(|_| comment.to_lowercase().starts_with(LIKE_MARK));
        let is_alike = after.is_some_and(|after| after.starts_with([':', ' ', '=', '-']) && after.contains([':', '=']));
        if is_alike && !comment.starts_with(MARK) {
            findings.push(Finding::new(&text.path, number, format!("a test group is written '{MARK}NAME: why'")));
        }
    }
}

/// Writes the filters anew.
///
/// # Errors
/// The configuration cannot be written.
pub fn fix(repository: &Repository, texts: &[Text]) -> Result<(), String> {
    let Some(configuration) = texts.iter().find(|t| t.path == CONFIGURATION) else { return Ok(()) };
    let text = made(&configuration.text, texts);
    std::fs::write(repository.path(CONFIGURATION), text).map_err(|e| format!("{CONFIGURATION}: {e}"))
}

/// The configuration as it should be. The runner takes the first filter that fits: single tests stand before files,
/// and modules before those that they are in.
fn made(configuration: &str, texts: &[Text]) -> String {
    let mut filters: BTreeMap<(bool, Reverse<usize>, &str), Vec<String>> = BTreeMap::new();
    for named in texts.iter().flat_map(named) {
        let Some((binary, module)) = place(named.path) else { continue };
        let Some((_, told)) = GROUPS.iter().find(|(group, _)| *group == named.group) else { continue };
        let inside = if module.is_empty() { String::new() } else { format!("{module}::") };
        let test = named.test.map_or_else(String::new, |test| format!("(.*::)?{test}$"));
        let order = (named.test.is_none(), Reverse(inside.matches("::").count()), *told);
        filters.entry(order).or_default().push(format!("(binary_id(={binary}) & test(/^{inside}{test}/))"));
    }
    let mut text = configuration.split(MADE_BELOW).next().unwrap_or(configuration).to_owned() + MADE_BELOW;
    for ((_, _, told), mut filters) in filters {
        filters.sort();
        let _ = write!(text, "\n[[profile.default.overrides]]\nfilter = '''\n{}\n'''\n{told}", filters.join("\n| "));
    }
    text + REST
}

/// The groups that a Rust file names.
fn named(text: &Text) -> Vec<Named<'_>> {
    if !text.path.ends_with(".rs") || !text.text.contains(MARK) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (number, line) in lines(text) {
        let Some(rest) =
            line.trim().strip_prefix("//").and_then(|l| l.trim_start_matches(['/', '!']).trim().strip_prefix(MARK))
        else {
            continue;
        };
        let (group, reason) = rest.split_once(':').unwrap_or((rest, ""));
        let test = (!line.trim().starts_with("//!")).then(|| {
            // Comments and attributes may stand between, one of them that of a test.
            let below = lines(text).skip(number).map(|(_, line)| line.trim());
            let mut above = false;
            let mut functions = below.map_while(|line| {
                above |= line.starts_with("#[") && line.contains("test");
                let function = name_of_function(line);
                let goes_on = function.is_some() || line.is_empty() || line.starts_with("//") || line.starts_with('#');
                goes_on.then_some(function)
            });
            functions.find_map(|function| function).filter(|_| above).unwrap_or("")
        });
        found.push(Named { path: &text.path, line: number, group: group.trim(), reason: reason.trim(), test });
    }
    found
}

/// The name of the function that a line begins.
fn name_of_function(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ").unwrap_or(line);
    rest.strip_prefix("async ").unwrap_or(rest).strip_prefix("fn ")?.split(['(', '<']).next()
}

/// The runner's name of the program that the tests of a file are in, and the file's module in it.
fn place(path: &str) -> Option<(String, String)> {
    let (folder, inside) = super::crate_of(path)?;
    let package = match folder {
        "trunkline" | "xtask" => folder.to_owned(),
        _ => format!("trunkline-{folder}"),
    };
    let (binary, file) = match (inside.strip_prefix("tests/all/"), inside.strip_prefix("src/")) {
        (Some(file), _) => (format!("{package}::all"), file),
        (_, Some(file)) if package == folder => (format!("{package}::bin/{package}"), file),
        (_, Some(file)) => (package, file),
        _ => return None,
    };
    let file = file.strip_suffix(".rs")?;
    let module = file.strip_suffix("/mod").unwrap_or(file);
    let module = if ["lib", "main", "mod"].contains(&module) { "" } else { module };
    Some((binary, module.replace('/', "::")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str, text: &str) -> Text {
        Text { path: path.to_owned(), text: text.to_owned() }
    }

    fn line(group: &str) -> String {
        format!("{MARK}{group}")
    }

    #[test]
    fn files_and_single_tests_become_filters() {
        let file =
            text("crates/graph/tests/all/kill.rs", &format!("//! Kills.\n//! {}\n\nuse a;\n", line("alone: kills")));
        let one = format!("mod tests {{\n    // {}\n    #[test]\n    fn sleeps() {{}}\n}}\n", line("waits: a clock"));
        let one = text("crates/trunkline/src/run/mod.rs", &one);
        let made = made("[profile.default]\n", &[file, one]);
        let first = made
            .find("\n(binary_id(=trunkline::bin/trunkline) & test(/^run::(.*::)?sleeps$/))\n'''\nthreads-required = 1");
        let second = made.find("\n(binary_id(=trunkline-graph::all) & test(/^kill::/))\n'''\nthreads-required = \"num");
        assert!(first.is_some() && first < second, "{made}");
    }

    #[test]
    fn it_is_made_once_and_stays() {
        let file = [text("crates/wire/src/lib.rs", &format!("//! {}\n", line("waits: nothing")))];
        let once = made("[profile.default]\n", &file);
        assert!(once.contains("binary_id(=trunkline-wire) & test(/^/)"), "{once}");
        assert_eq!(made(&once, &file), once);
    }

    #[test]
    fn a_group_that_would_do_nothing_is_found() {
        let why = line("waits: a clock");
        let files = [
            text("crates/wire/src/a.rs", &format!("use b;\n// {why}\nfn helper() {{}}\n#[test]\nfn c() {{}}\n")),
            text("crates/wire/src/b.rs", &format!("use b;\n#[test]\nfn c() {{}}\n// {why}\n")),
            text("crates/wire/src/c.rs", &format!("//! {why}\n//! {}\nuse b;\n", line("loads: all"))),
            text("crates/wire/src/d.rs", &format!("//! {}\nuse b;\n", why.to_lowercase())),
            text("crates/wire/src/g.rs", &format!("// {why}\n// {why}\n#[test]\nfn c() {{}}\n#[test]\nfn d() {{}}\n")),
            text("crates/wire/src/e.rs", &format!("use b;\n// {why}\n/// Waits.\n#[tokio::test]\nasync fn c() {{}}\n")),
        ];
        let root =
            text("crates/wire/src/lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\nmod g;\n#[path = \"e.rs\"]\nmod f;\n");
        let files: Vec<Text> = files.into_iter().chain([root]).collect();
        let mut findings = Vec::new();
        check(&files, &mut findings);
        let found: Vec<_> = findings.iter().map(|finding| (finding.path.as_str(), finding.line)).collect();
        let paths = [("a", 2), ("b", 4), ("e", 2), ("c", 2), ("d", 1), ("g", 2)]
            .map(|(file, at)| (format!("crates/wire/src/{file}.rs"), at));
        assert_eq!(found, paths.iter().map(|(path, at)| (path.as_str(), *at)).collect::<Vec<_>>());
        let made = made("", &files);
        assert!(made.contains("test(/^e::(.*::)?c$/)") && made.contains("test(/^g::(.*::)?c$/)"), "{made}");
    }

    #[test]
    fn a_group_that_is_none_and_one_without_reason_are_found() {
        let files = [
            text("crates/wire/src/lib.rs", &format!("// {}\n", line("aloof: why"))),
            text("crates/wire/src/sip.rs", &format!("// {}\n", line("alone"))),
            text("crates/wire/examples/sip.rs", &format!("// {}\n", line("alone: why"))),
        ];
        let mut findings = Vec::new();
        check(&files, &mut findings);
        let found: Vec<_> = findings.iter().map(Finding::to_string).collect();
        assert!(found[0].starts_with("crates/wire/src/lib.rs:1: unknown test group 'aloof'"), "{found:?}");
        assert!(found[1].starts_with("crates/wire/src/sip.rs:1: a test group needs a reason"), "{found:?}");
        assert!(found[2].starts_with("crates/wire/examples/sip.rs:1: a test group only works in"), "{found:?}");
    }
}
