//! Rules about Rust code: `unsafe` only where listed, no clock and no I/O in pure logic, a reason for each exception
//! from a lint, metric names of one shape.

use super::layers::{UNSAFE_ALLOWED, is_job, is_pure};
use super::words::holds_word;
use super::{Finding, crate_of, lines, product_lines};
use crate::repository::Text;

/// What asks the machine for the time: logic gets it with the packet.
const CLOCKS: &[&str] = &["SystemTime::now", "Instant::now", "Timestamp::now", "Zoned::now"];
/// What touches the world.
const WORLD: &[&str] = &["std::fs", "File::open", "File::create", "UdpSocket", "TcpStream", "std::env"];
/// What a pure crate leaves to others.
const THREADS: &[&str] = &["std::thread", "std::sync::Mutex", "std::sync::RwLock"];
/// What differs from run to run (tables seeded by the standard library are no such thing: nothing shows their order).
const CHANCE: &[&str] = &["thread_rng", "rand::rng", "getrandom"];

/// Checks one file, if it is Rust.
pub fn check(text: &Text, findings: &mut Vec<Finding>) {
    if !text.path.ends_with(".rs") {
        return;
    }
    check_exceptions(text, findings);
    let Some((folder, inside)) = crate_of(&text.path) else { return };
    if !UNSAFE_ALLOWED.contains(&folder) {
        forbid(text, &["unsafe"], "unsafe is allowed only in the crates listed in tidy/layers.rs", findings);
    }
    if !inside.starts_with("src/") {
        return;
    }
    check_metric_names(text, findings);
    let shell = inside == "src/job.rs" || inside.starts_with("src/job/");
    if is_pure(folder) || folder == "sim" || (is_job(folder) && !shell) {
        forbid(text, CLOCKS, "logic never asks the time: take it from the packet or the caller", findings);
        forbid(text, CHANCE, "the same input gives the same output on every run", findings);
    }
    if is_pure(folder) || (is_job(folder) && !shell) {
        forbid(text, WORLD, "logic does no I/O: only job.rs touches the world", findings);
    }
    if is_pure(folder) {
        forbid(text, THREADS, "octets in, values out: whoever calls decides about threads", findings);
    }
}

fn forbid(text: &Text, words: &[&str], why: &str, findings: &mut Vec<Finding>) {
    for (number, line) in product_lines(text) {
        let code = line.split("//").next().unwrap_or(line);
        if let Some(word) = words.iter().find(|w| holds_word(code, w) && !quoted(code, w)) {
            findings.push(Finding::new(&text.path, number, format!("'{word}': {why}")));
        }
    }
}

/// Whether the first place of `word` in `code` is inside a string literal, as far as counting quotes tells.
fn quoted(code: &str, word: &str) -> bool {
    code.find(word).is_some_and(|at| code[..at].matches('"').count() % 2 == 1)
}

/// `#[allow(...)]` and `#[expect(...)]` say why, in themselves or in a comment behind.
fn check_exceptions(text: &Text, findings: &mut Vec<Finding>) {
    let attributes = ["#[allow(", "#![allow(", "#[expect(", "#![expect("];
    for (number, line) in lines(text) {
        if attributes.iter().any(|a| line.trim_start().starts_with(a)) {
            let whole: String = lines(text).skip(number - 1).take(6).map(|(_, l)| l).collect();
            let end = whole.find(")]").unwrap_or(whole.len());
            if !whole[..end].contains("reason =") && !line.contains(")] // ") {
                findings.push(Finding::new(&text.path, number, "an exception from a lint needs reason = \"...\""));
            }
        }
    }
}

/// `trunkline_<job>_<what>_<unit>_total`.
fn check_metric_names(text: &Text, findings: &mut Vec<Finding>) {
    for (number, line) in product_lines(text) {
        for (at, _) in line.match_indices("\"trunkline_") {
            let name = line[at + 1..].split('"').next().unwrap_or_default();
            let shaped = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            if line.contains(": \"trunkline_") && !(shaped && name.split('_').count() >= 4) {
                let what = format!("'{name}' is not trunkline_<job>_<what>_<unit>_total");
                findings.push(Finding::new(&text.path, number, what));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, code: &str) -> usize {
        let mut findings = Vec::new();
        check(&Text { path: path.to_owned(), text: code.to_owned() }, &mut findings);
        findings.len()
    }

    #[test]
    fn logic_has_no_clock_and_no_world() {
        let code = "let t = Instant::now();\nlet f = std::fs::read(p);\n";
        assert_eq!(count("crates/wire/src/a.rs", code), 2);
        assert_eq!(count("crates/calls/src/a.rs", code), 2);
        assert_eq!(count("crates/calls/src/job.rs", code), 0);
        assert_eq!(count("crates/trunkline/src/a.rs", code), 0);
        assert_eq!(count("crates/wire/src/a.rs", "// Instant::now\n#[cfg(test)]\nInstant::now();\n"), 0);
    }

    #[test]
    fn exceptions_say_why() {
        assert_eq!(count("crates/wire/src/a.rs", "#[allow(dead_code)]\nfn f() {}\n"), 1);
        assert_eq!(count("crates/wire/src/a.rs", "#[expect(\n    dead_code,\n    reason = \"x\"\n)]\nfn f() {}\n"), 0);
    }

    #[test]
    fn unsafe_is_found_in_code_only() {
        assert_eq!(count("crates/wire/src/a.rs", concat!("uns", "afe { f() }\n")), 1);
        assert_eq!(count("crates/wire/src/a.rs", "#![forbid(unsafe_code)]\nlet a = \"unsafe\";\n"), 0);
    }

    #[test]
    fn metrics_have_one_shape() {
        assert_eq!(count("crates/wire/src/a.rs", "x: \"trunkline_calls_packets_total\",\n"), 0);
        assert_eq!(count("crates/wire/src/a.rs", "x: \"trunkline_Calls\",\n"), 1);
    }
}
