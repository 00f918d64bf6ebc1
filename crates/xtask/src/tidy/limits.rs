//! docs/manual/limits.md lists the limits of the program and is made from the source. A comment above a constant says
//! what the limit is, what happens beyond it and where that is seen. A constant that changes makes this check fail
//! until the page is made again.
//!
//! ```text
//! // Limit: calls followed at once
//! // Beyond: the call that is nearest to its end is closed early
//! // Seen in: `trunkline_calls_table_overflow_total`
//! pub const CALLS_MAX: usize = 1 << 20;
//! ```

mod value;

use super::{Finding, crate_of, lines};
use crate::repository::{Repository, Text};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const FILE: &str = "docs/manual/limits.md";
const LIMIT: &str = "// Limit: ";
const BEYOND: &str = "// Beyond: ";
const SEEN: &str = "// Seen in: ";
/// What the names of all counters begin with.
const COUNTER: &str = "trunkline_";
/// The headings of the page, with the beginnings of the paths below `crates/` whose limits stand there. The longest
/// beginning decides.
const SECTIONS: &[(&str, &[&str])] = &[
    ("Configuration, servers and metrics", &["contract/", "kit/", "net/", "trunkline/src/run/config/"]),
    ("Capture", &["capture/", "lane/", "trunkline/src/command/read", "trunkline/src/cut", "trunkline/src/run/"]),
    ("Packets and messages", &["wire/"]),
    ("Calls", &["calls/", "show/", "trunkline/src/run/engine", "trunkline/src/run/recover"]),
    ("Packet log", &["record/", "spool/", "trunkline/src/command/extract", "trunkline/src/web/packets"]),
    ("Store and search", &["store/", "trunkline/src/command/sql", "trunkline/src/retention", "trunkline/src/run/rows"]),
    ("Cache", &["cache/", "trunkline/src/cache/"]),
    ("Charging", &["charge/", "commit/", "directory/", "replica/", "trunkline/src/charge/", "web/src/api/charge"]),
    ("Graphs", &["graph/", "rrd/"]),
    ("Alerts and reports", &["alert/", "trunkline/src/alert/"]),
    ("Web", &["web/", "trunkline/src/web/"]),
];

/// A limit as the source says it.
#[derive(Default)]
struct Limit<'a> {
    path: &'a str,
    /// The line of the comment, from 1.
    line: usize,
    /// The parts of the comment.
    name: String,
    beyond: String,
    seen: String,
    /// The constant's name and the text of its value.
    constant: &'a str,
    value: String,
}

/// Checks the comments and the page.
pub fn check(texts: &[Text], findings: &mut Vec<Finding>) {
    let limits: Vec<Limit<'_>> = sources(texts).flat_map(|text| limits(text, findings)).collect();
    let counters = counters(texts);
    for limit in &limits {
        let what = wrong(limit, texts, &counters);
        findings.extend(what.map(|what| Finding::new(limit.path, limit.line, what)));
    }
    let Some(file) = texts.iter().find(|t| t.path == FILE) else { return };
    match super::with_made(&file.text, &tables(&limits, texts)) {
        None => findings.push(Finding::new(FILE, 0, format!("the line \"{}\" is missing", super::BEGIN.trim_end()))),
        Some(text) if text != file.text => {
            findings.push(Finding::new(FILE, 0, "the limits are not those of the source: cargo xtask tidy --fix"));
        }
        Some(_) => {}
    }
}

/// Writes the page again.
///
/// # Errors
/// The file cannot be written.
pub fn fix(repository: &Repository, texts: &[Text]) -> Result<(), String> {
    let Some(file) = texts.iter().find(|t| t.path == FILE) else { return Ok(()) };
    let limits: Vec<Limit<'_>> = sources(texts).flat_map(|text| limits(text, &mut Vec::new())).collect();
    let Some(text) = super::with_made(&file.text, &tables(&limits, texts)) else { return Ok(()) };
    std::fs::write(repository.path(FILE), text).map_err(|e| format!("{FILE}: {e}"))
}

/// The Rust files of the product.
fn sources(texts: &[Text]) -> impl Iterator<Item = &Text> {
    let is_product = |(name, inside): (&str, &str)| name != "xtask" && inside.starts_with("src/");
    texts.iter().filter(move |t| t.path.ends_with(".rs") && crate_of(&t.path).is_some_and(is_product))
}

/// The limits of a file. A comment that is not whole, or stands above no constant, is a finding.
fn limits<'a>(text: &'a Text, findings: &mut Vec<Finding>) -> Vec<Limit<'a>> {
    let mut found = Vec::new();
    let mut rest = lines(text).map(|(number, line)| (number, line.trim())).peekable();
    while let Some((number, line)) = rest.next() {
        let Some(name) = line.strip_prefix(LIMIT) else {
            if line.starts_with(BEYOND) || line.starts_with(SEEN) {
                findings.push(Finding::new(&text.path, number, format!("no '{}' above it", LIMIT.trim_end())));
            }
            continue;
        };
        let mut limit = Limit { path: &text.path, line: number, name: name.to_owned(), ..Limit::default() };
        let mut part = &mut limit.name;
        while let Some((_, line)) = rest.next_if(|(_, line)| line.starts_with("// ") || line.starts_with("#[")) {
            if let Some(beyond) = line.strip_prefix(BEYOND) {
                part = &mut limit.beyond;
                part.push_str(beyond);
            } else if let Some(seen) = line.strip_prefix(SEEN) {
                part = &mut limit.seen;
                part.push_str(seen);
            } else if let Some(more) = line.strip_prefix("// ") {
                part.push(' ');
                part.push_str(more);
            }
        }
        let constant = rest.peek().and_then(|(_, line)| line.split_once("const ")?.1.split_once(':'));
        if let Some((constant, _)) = constant {
            limit.constant = constant;
            for (_, line) in rest.by_ref() {
                limit.value.push_str(line.split("//").next().unwrap_or(line));
                if line.contains(';') {
                    break;
                }
            }
            let value = limit.value.split_once(" =").map_or("", |(_, value)| value);
            limit.value = value.split(';').next().unwrap_or(value).trim().to_owned();
        }
        if limit.constant.is_empty() {
            findings.push(Finding::new(&text.path, number, "a limit is written above a constant"));
        } else if limit.beyond.is_empty() || limit.seen.is_empty() {
            let what = format!("a limit also needs '{}' and '{}'", BEYOND.trim_end(), SEEN.trim_end());
            findings.push(Finding::new(&text.path, number, what));
        } else {
            found.push(limit);
        }
    }
    found
}

/// What is wrong with a limit that is written as it should be.
fn wrong(limit: &Limit<'_>, texts: &[Text], counters: &BTreeSet<&str>) -> Option<String> {
    let named = limit.seen.split('`').skip(1).step_by(2).filter(|word| word.starts_with(COUNTER));
    let unknown = named.into_iter().find(|name| !counters.contains(name));
    match () {
        () if shown(limit, texts).is_none() => {
            Some(format!("the value '{}' is not understood: see tidy/limits/value.rs", limit.value))
        }
        () if section(limit.path).is_none() => Some("no section of the page is for this path: see SECTIONS".to_owned()),
        () if !is_used(limit, texts) => Some(format!("no code uses {}", limit.constant)),
        () => unknown.map(|name| format!("there is no counter '{name}'")),
    }
}

/// The place of a path's section.
fn section(path: &str) -> Option<usize> {
    let inside = path.strip_prefix("crates/")?;
    let length = |begins: &[&str]| begins.iter().filter(|b| inside.starts_with(**b)).map(|b| b.len()).max();
    let found = SECTIONS.iter().enumerate().filter_map(|(at, (_, begins))| Some((length(begins)?, at)));
    found.max().map(|(_, at)| at)
}

/// Whether something else than the definition and imports names the constant, in its crate or at least in another one.
fn is_used(limit: &Limit<'_>, texts: &[Text]) -> bool {
    let own = crate_of(limit.path).map(|(name, _)| name);
    let defines = format!("const {}:", limit.constant);
    let uses = |line: &str| {
        let line = line.trim_start();
        let other = line.starts_with("//") || line.starts_with("use ") || line.starts_with("pub use ");
        !other && !line.contains(&defines) && super::words::holds_word(line, limit.constant)
    };
    let is_own = |text: &&Text| crate_of(&text.path).map(|(name, _)| name) == own;
    let names_it = |text: &Text| text.text.contains(limit.constant) && text.text.lines().any(uses);
    sources(texts).filter(is_own).any(names_it) || sources(texts).any(names_it)
}

/// The names of counters and other metrics that the sources hold in quotes.
fn counters(texts: &[Text]) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for text in sources(texts) {
        for (at, _) in text.text.match_indices(&format!("\"{COUNTER}")) {
            found.extend(text.text[at + 1..].split('"').next());
        }
    }
    found
}

/// The value with its unit.
fn shown(limit: &Limit<'_>, texts: &[Text]) -> Option<String> {
    let value = value::of(&limit.value, &|path| definition(limit.path, path, texts).map(str::to_owned))?;
    Some(value::shown(value, limit.constant))
}

/// The expression of the constant that `file` names by `path`: one of its own, else the only one of its crate, in the
/// module that the path says.
fn definition<'a>(file: &str, path: &str, texts: &'a [Text]) -> Option<&'a str> {
    let (module, name) = path.rsplit_once("::").unwrap_or(("", path));
    let module = module.rsplit("::").next().filter(|module| !["", "crate", "self", "super"].contains(module));
    let own = crate_of(file).map(|(name, _)| name);
    let is_named = |t: &&Text| module.is_none_or(|module| t.path.ends_with(&format!("/{module}.rs")));
    let of_crate = sources(texts).filter(|t| crate_of(&t.path).map(|(name, _)| name) == own).filter(is_named);
    let defined: Vec<_> = of_crate.filter_map(|t| Some((t.path == file, value::definition(&t.text, name)?))).collect();
    match &defined[..] {
        [(_, only)] => Some(only),
        all => all.iter().find(|(is_own, _)| *is_own && module.is_none()).map(|(_, expression)| *expression),
    }
}

/// The tables of the page.
fn tables(limits: &[Limit<'_>], texts: &[Text]) -> String {
    let mut out = String::new();
    for (at, (title, _)) in SECTIONS.iter().enumerate() {
        let here: Vec<_> = limits.iter().filter(|limit| section(limit.path) == Some(at)).collect();
        if here.is_empty() {
            continue;
        }
        // Writing to a String does not fail.
        _ = write!(out, "\n## {title}\n\n| limit | value | beyond it | seen in |\n|---|---:|---|---|\n");
        for limit in here {
            let value = shown(limit, texts).unwrap_or_default();
            _ = writeln!(out, "| {} | {value} | {} | {} |", limit.name, limit.beyond, limit.seen);
        }
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str, text: String) -> Text {
        Text { path: path.to_owned(), text }
    }

    fn source(constant: &str) -> String {
        let counter = "counters! { full: \"trunkline_calls_full_total\" }\n";
        let comment = "// Limit: calls followed\n// at once\n// Beyond: one is closed\n// Seen in: `trunkline_calls_full_total`\n";
        format!("{counter}/// Calls.\n{comment}{constant}\nfn f() {{ g(CALLS_MAX); }}\n")
    }

    fn page(made: &str) -> Text {
        text(FILE, format!("# Limits\n\n{}{made}{}", super::super::BEGIN, super::super::END))
    }

    fn findings(files: Vec<Text>) -> Vec<String> {
        let mut findings = Vec::new();
        check(&files, &mut findings);
        findings.iter().map(Finding::to_string).collect()
    }

    fn made(file: &Text) -> String {
        let texts = std::slice::from_ref(file);
        tables(&limits(file, &mut Vec::new()), texts)
    }

    #[test]
    fn a_limit_is_listed_with_value_and_policy() {
        let file = text("crates/calls/src/limits.rs", source("pub const CALLS_MAX: usize =\n    1 << 20;"));
        let row = "| calls followed at once | 1,048,576 | one is closed | `trunkline_calls_full_total` |\n";
        assert!(made(&file).starts_with("\n## Calls\n\n| limit |") && made(&file).contains(row), "{}", made(&file));
        let page = page(&made(&file));
        assert_eq!(findings(vec![page, file]), Vec::<String>::new());
    }

    #[test]
    fn a_constant_that_changed_is_found_until_the_page_is_made_again() {
        let before = text("crates/calls/src/limits.rs", source("pub const CALLS_MAX: usize = 1 << 20;"));
        let page = page(&made(&before));
        let after = text("crates/calls/src/limits.rs", source("pub const CALLS_MAX: usize = 1 << 21;"));
        let found = findings(vec![page, after]);
        assert!(found.len() == 1 && found[0].starts_with("docs/manual/limits.md: the limits are not"), "{found:?}");
    }

    #[test]
    fn a_comment_that_is_not_whole_is_found() {
        let one = |lines: &str| findings(vec![text("crates/calls/src/a.rs", format!("{lines}\n"))]);
        assert!(one("// Limit: calls\nfn f() {}")[0].contains("a.rs:1: a limit is written above a constant"));
        assert!(one("// Limit: calls\n// Beyond: x\nconst A: u8 = 1;")[0].contains("a limit also needs"));
        assert!(one("const B: u8 = 1;\n// Beyond: x")[0].contains("a.rs:2: no '// Limit:' above it"));
    }

    #[test]
    fn a_counter_that_nobody_counts_and_a_limit_that_nobody_keeps_are_found() {
        let rest = "\n// Beyond: x\n// Seen in: `trunkline_a_total`\nconst A_MAX: u8 = 1;\n";
        let unused = text("crates/calls/src/a.rs", format!("use b::A_MAX;\n// Limit: calls{rest}"));
        assert_eq!(findings(vec![unused]), ["crates/calls/src/a.rs:2: no code uses A_MAX"]);
        let unknown = text("crates/calls/src/a.rs", format!("// Limit: calls{rest}fn f() {{ g(A_MAX) }}\n"));
        assert_eq!(findings(vec![unknown]), ["crates/calls/src/a.rs:1: there is no counter 'trunkline_a_total'"]);
    }

    #[test]
    fn a_path_without_a_section_and_a_strange_value_are_found() {
        let rest = "// Limit: a\n// Beyond: b\n// Seen in: the log\nconst A_MAX: u8 = VALUE;\nfn f() { g(A_MAX) }\n";
        let one = |path: &str, value: &str| findings(vec![text(path, rest.replace("VALUE", value))]);
        assert!(one("crates/misc/src/a.rs", "1")[0].contains("no section of the page is for this path"));
        assert!(one("crates/calls/src/a.rs", "f()")[0].contains("the value 'f()' is not understood"));
        assert_eq!(section("crates/trunkline/src/run/rows.rs"), section("crates/store/src/lib.rs"));
    }

    #[test]
    fn a_value_may_name_other_constants_of_the_crate() {
        let limit = "// Limit: a\n// Beyond: b\n// Seen in: the log\nconst A_OCTETS_MAX: usize = 2 * super::PAGE;\n";
        let files = [
            text("crates/calls/src/a.rs", limit.to_owned()),
            text("crates/calls/src/b.rs", "pub const PAGE: usize = 4096;\n".to_owned()),
        ];
        let found = limits(&files[0], &mut Vec::new());
        assert_eq!(shown(&found[0], &files).as_deref(), Some("8 KiB"));
        let other = text("crates/calls/src/c.rs", "const PAGE: u8 = 1;\n".to_owned());
        let two: Vec<Text> = files.into_iter().chain([other]).collect();
        let definition = |path: &str| definition("crates/calls/src/a.rs", path, &two);
        assert_eq!((definition("super::PAGE"), definition("crate::c::PAGE")), (None, Some("1")));
    }
}
