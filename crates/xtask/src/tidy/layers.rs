//! Who may depend on whom (ARCHITECTURE.md), read from the crates' manifests; and what each manifest has to say.

use super::Finding;
use crate::repository::Text;
use toml::{Table, Value};

/// The document with a row for each crate.
const PICTURE: &str = "ARCHITECTURE.md";
/// Octets in, values out.
const PURE: &[&str] = &["wire", "audio"];
/// The only crates that touch kernel, disk or database.
const ENGINES: &[&str] = &["capture", "commit", "directory", "net", "replica", "rrd", "spool", "store"];
/// The engine that decodes packets of `capture` and passes them to jobs.
const LANE: &[&str] = &["lane"];
/// Core modules without I/O and one thin `job.rs` each.
const JOBS: &[&str] = &["calls", "flows", "record", "archive", "charge", "cache", "graph", "alert", "link"];
/// Crates that the tests of each crate may depend on.
const FOR_TESTS: &[&str] = &["features", "sim"];
/// Crates that may hold `unsafe`, and so need not forbid it. Shorten only.
pub const UNSAFE_ALLOWED: &[&str] = &["capture", "net", "spool"];

/// What a crate may depend on, of ours; none if the crate has no place in the picture yet.
fn allowed(name: &str) -> Option<Vec<&'static str>> {
    let below = |layers: &[&[&'static str]]| layers.concat();
    Some(match name {
        "wire" | "audio" | "kit" | "ui-embed" | "xtask" => vec![],
        "sim" => below(&[PURE]),
        "features" | "contract" | "job" => vec!["kit"],
        "web" => below(&[PURE, &["contract", "kit", "store", "spool", "ui-embed"]]),
        "show" => below(&[PURE, LANE, &["kit", "store", "calls"]]),
        "load" => below(&[PURE, &["kit", "charge", "show"]]),
        "trunkline" => {
            below(&[PURE, ENGINES, LANE, JOBS, &["contract", "job", "kit", "load", "show", "sim", "web", "ui-embed"]])
        }
        name if ENGINES.contains(&name) => below(&[PURE, &["kit"]]),
        name if LANE.contains(&name) => below(&[PURE, &["kit", "capture"]]),
        name if JOBS.contains(&name) => below(&[PURE, ENGINES, LANE, &["contract", "job", "kit"]]),
        _ => return None,
    })
}

/// Whether a crate is pure: no I/O, no clock, no threads.
pub fn is_pure(name: &str) -> bool {
    PURE.contains(&name)
}

/// Whether a crate is a job: I/O and clock only in its `job.rs`.
pub fn is_job(name: &str) -> bool {
    JOBS.contains(&name)
}

/// Checks every manifest under `crates/`.
pub fn check(texts: &[Text], findings: &mut Vec<Finding>) {
    for text in texts {
        let Some((folder, "Cargo.toml")) = super::crate_of(&text.path) else { continue };
        match text.text.parse::<Table>() {
            Ok(manifest) => check_manifest(&text.path, folder, &manifest, findings),
            Err(error) => findings.push(Finding::new(&text.path, 0, error.to_string())),
        }
        check_root(folder, texts, findings);
    }
    check_picture(texts, findings);
}

/// The table of crates has a row for each crate, and for no other.
fn check_picture(texts: &[Text], findings: &mut Vec<Finding>) {
    let Some(picture) = texts.iter().find(|t| t.path == PICTURE) else { return };
    let folders = texts.iter().filter_map(|t| super::crate_of(&t.path)).filter(|(_, file)| *file == "Cargo.toml");
    let crates: Vec<&str> = folders.map(|(folder, _)| folder).collect();
    let rows = super::lines(picture).filter_map(|(number, line)| {
        let (name, _) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some((number, name))
    });
    let rows: Vec<(usize, &str)> = rows.collect();
    for name in crates.iter().filter(|name| !rows.iter().any(|(_, row)| row == *name)) {
        findings.push(Finding::new(PICTURE, 0, format!("the table of crates has no row for '{name}'")));
    }
    for (number, name) in rows.iter().filter(|(_, row)| !crates.contains(row)) {
        findings.push(Finding::new(PICTURE, *number, format!("there is no crate '{name}'")));
    }
}

fn check_manifest(path: &str, folder: &str, manifest: &Table, findings: &mut Vec<Finding>) {
    let mut find = |text: String| findings.push(Finding::new(path, 0, text));
    let Some(allowed) = allowed(folder) else {
        find(format!("crate '{folder}' has no layer: give it one in crates/xtask/src/tidy/layers.rs"));
        return;
    };
    for (section, name) in dependencies_of_ours(manifest) {
        let for_tests = section == "dev-dependencies" && FOR_TESTS.contains(&name.as_str());
        if !allowed.contains(&name.as_str()) && !for_tests {
            let may = if allowed.is_empty() { "nothing of ours".to_owned() } else { allowed.join(", ") };
            find(format!("[{section}] '{folder}' must not depend on '{name}'; it may on: {may}"));
        }
    }
    for field in ["version", "edition", "rust-version", "license", "repository", "publish"] {
        if !inherits(manifest, "package", field) {
            find(format!("[package] must say '{field}.workspace = true'"));
        }
    }
    if manifest.get("lints").and_then(|l| l.get("workspace")) != Some(&Value::Boolean(true)) {
        find("must say '[lints] workspace = true'".to_owned());
    }
}

/// The dependencies on crates of this workspace, with their section, without the prefix.
fn dependencies_of_ours(manifest: &Table) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let names = manifest.get(section).and_then(Value::as_table).into_iter().flat_map(Table::keys);
        found.extend(names.filter_map(|n| n.strip_prefix("trunkline-").map(|n| (section, n.to_owned()))));
        let program = manifest.get(section).and_then(|s| s.get("trunkline")).is_some();
        found.extend(program.then(|| (section, "trunkline".to_owned())));
    }
    found
}

fn inherits(manifest: &Table, section: &str, field: &str) -> bool {
    let value = manifest.get(section).and_then(|s| s.get(field)).and_then(|f| f.get("workspace"));
    value == Some(&Value::Boolean(true))
}

/// The root of each crate forbids `unsafe`, unless it is listed.
fn check_root(folder: &str, texts: &[Text], findings: &mut Vec<Finding>) {
    if UNSAFE_ALLOWED.contains(&folder) {
        return;
    }
    for root in ["lib.rs", "main.rs"].map(|file| format!("crates/{folder}/src/{file}")) {
        if let Some(text) = texts.iter().find(|t| t.path == root)
            && !text.text.contains("#![forbid(unsafe_code)]")
        {
            findings.push(Finding::new(&root, 0, "must say #![forbid(unsafe_code)]"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(folder: &str, dependencies: &str) -> Vec<String> {
        let head = ["version", "edition", "rust-version", "license", "repository", "publish"]
            .map(|f| format!("{f}.workspace = true\n"))
            .concat();
        let text = format!("[package]\n{head}[lints]\nworkspace = true\n{dependencies}");
        let mut found = Vec::new();
        check(&[Text { path: format!("crates/{folder}/Cargo.toml"), text }], &mut found);
        found.into_iter().map(|f| f.text).collect()
    }

    #[test]
    fn jobs_stand_on_engines_and_not_on_each_other() {
        assert!(findings("calls", "[dependencies]\ntrunkline-store.workspace = true").is_empty());
        assert_eq!(findings("calls", "[dependencies]\ntrunkline-flows.workspace = true").len(), 1);
        assert!(findings("record", "[dependencies]\ntrunkline-lane.workspace = true").is_empty());
        assert!(findings("lane", "[dependencies]\ntrunkline-capture.workspace = true").is_empty());
        assert_eq!(findings("lane", "[dependencies]\ntrunkline-record.workspace = true").len(), 1);
        assert_eq!(findings("store", "[dependencies]\ntrunkline-capture.workspace = true").len(), 1);
        assert_eq!(findings("wire", "[dependencies]\ntrunkline-kit.workspace = true").len(), 1);
    }

    #[test]
    fn the_web_calls_jobs_through_the_contract_alone() {
        for folder in ["web", "graph", "trunkline"] {
            assert!(findings(folder, "[dependencies]\ntrunkline-contract.workspace = true").is_empty());
        }
        assert_eq!(findings("web", "[dependencies]\ntrunkline-graph.workspace = true").len(), 1);
        assert_eq!(findings("contract", "[dependencies]\ntrunkline-graph.workspace = true").len(), 1);
        assert_eq!(findings("store", "[dependencies]\ntrunkline-contract.workspace = true").len(), 1);
    }

    #[test]
    fn tests_may_use_the_simulator_and_the_features() {
        assert!(findings("calls", "[dev-dependencies]\ntrunkline-sim.workspace = true").is_empty());
        assert!(findings("wire", "[dev-dependencies]\ntrunkline-features.workspace = true").is_empty());
        assert_eq!(findings("calls", "[dependencies]\ntrunkline-sim.workspace = true").len(), 1);
    }

    #[test]
    fn the_picture_has_a_row_for_each_crate() {
        let text = |path: &str, text: &str| Text { path: path.to_owned(), text: text.to_owned() };
        let picture = text(PICTURE, "| crate | what |\n|---|---|\n| `wire` | protocols |\n| `gone` | nothing |\n");
        let texts = [picture, text("crates/wire/Cargo.toml", ""), text("crates/audio/Cargo.toml", "")];
        let mut found = Vec::new();
        check_picture(&texts, &mut found);
        let found: Vec<_> = found.iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            [
                "ARCHITECTURE.md: the table of crates has no row for 'audio'",
                "ARCHITECTURE.md:4: there is no crate 'gone'"
            ]
        );
    }

    #[test]
    fn a_crate_without_a_place_is_a_finding() {
        assert_eq!(findings("misc", "").len(), 1);
    }
}
