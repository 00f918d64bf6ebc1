//! What a changed file touches: crates, the pages, scripts.

use super::PATHS_NAMED;
use super::crates::Crates;
use crate::repository::Text;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Files of the root that every crate is built with.
const OF_ALL: &[&str] = &["Cargo.lock", "Cargo.toml", "clippy.toml", "rust-toolchain.toml"];
/// Folders of the root that hold settings of cargo and of the test runner.
const OF_ALL_FOLDERS: &[&str] = &[".cargo/", ".config/"];
/// The pages' types are made from it.
const API: &str = "crates/web/openapi.json";

/// What is touched, each with the paths that touch it.
#[derive(Debug, Default, PartialEq)]
pub struct Touched {
    /// Crates by their folders.
    pub crates: BTreeMap<String, Vec<String>>,
    /// All crates, because of these files.
    pub everything: Option<Vec<String>>,
    /// The pages.
    pub pages: Option<Vec<String>>,
    /// Shell scripts.
    pub scripts: Vec<String>,
    /// Files that only the rules of `tidy` are about.
    pub others: Vec<String>,
}

/// Sorts the changed `paths`. `texts` are the files that are there now.
pub fn find(paths: &[String], crates: &Crates, texts: &[Text]) -> Touched {
    let mut touched = Touched::default();
    let readers = readers(texts);
    for path in paths {
        let mut owners: Vec<&str> = owner(path).into_iter().collect();
        owners.extend(readers.iter().filter(|(read, _)| within(path, read)).map(|(_, folder)| folder.as_str()));
        let known: Vec<&str> = owners.iter().copied().filter(|folder| crates.has(folder)).collect();
        for folder in &known {
            let reasons = touched.crates.entry((*folder).to_owned()).or_default();
            if !reasons.contains(path) {
                reasons.push(path.clone());
            }
        }
        // A crate that is gone was built into others.
        let gone = path.starts_with("crates/") && known.is_empty();
        if gone || OF_ALL.contains(&path.as_str()) || OF_ALL_FOLDERS.iter().any(|folder| path.starts_with(folder)) {
            touched.everything.get_or_insert_default().push(path.clone());
        } else if path == API || (path.starts_with("ui/") && !path.ends_with(".md")) {
            touched.pages.get_or_insert_default().push(path.clone());
        } else if is_script(path, texts) {
            touched.scripts.push(path.clone());
        } else if known.is_empty() {
            touched.others.push(path.clone());
        }
    }
    touched
}

/// The crate whose file it is, or whose tests replay it: corpora are called `crate_target`.
fn owner(path: &str) -> Option<&str> {
    match path.strip_prefix("fuzz/corpus/") {
        Some(corpus) => corpus.split_once('_').map(|(folder, _)| folder),
        None => path.strip_prefix("crates/")?.split_once('/').map(|(folder, _)| folder),
    }
}

/// Whether only tests and examples of a crate have a file.
fn is_for_tests(path: &str) -> bool {
    let folder = path.split('/').nth(2).filter(|_| path.starts_with("crates/"));
    path.starts_with("fuzz/corpus/") || matches!(folder, Some("tests" | "examples" | "benches"))
}

fn is_script(path: &str, texts: &[Text]) -> bool {
    let text = texts.iter().find(|text| text.path == path);
    text.and_then(|text| text.text.lines().next()).is_some_and(|line| line.starts_with("#!") && line.ends_with("bash"))
}

/// Whether `path` is `place` or lies in it.
fn within(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Files and folders that a crate reads outside of its own folder, as the literals of its sources say
/// (`"../../docs/x"`, from the source's folder or from the crate's), with the crate.
fn readers(texts: &[Text]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for text in texts.iter().filter(|text| text.path.ends_with(".rs")) {
        let Some(folder) = owner(&text.path) else { continue };
        let source = text.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let (root, own) = (format!("crates/{folder}"), format!("crates/{folder}/"));
        let literals = text.text.split('"').skip(1).filter(|literal| literal.starts_with("../"));
        for literal in literals {
            let places = [source, root.as_str()].into_iter().filter_map(|from| resolve(from, literal));
            // Whoever replays corpora names their folder: each of them has its crate in its name.
            let outside = places.filter(|place| !place.starts_with(&own) && place.contains('/') && *place != root);
            found.extend(outside.filter(|place| place != "fuzz/corpus").map(|place| (place, folder.to_owned())));
        }
    }
    found
}

/// A relative path from a folder, both below the root; none if it leaves the root.
fn resolve(from: &str, literal: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    for part in literal.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match part {
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

impl Touched {
    /// The crates that others are built with anew: something changed beside tests and examples.
    pub fn built(&self) -> BTreeSet<String> {
        let built = self.crates.iter().filter(|(_, paths)| !paths.iter().all(|path| is_for_tests(path)));
        built.map(|(folder, _)| folder.clone()).collect()
    }

    /// Whether a manifest or the lock file is among what changed.
    pub fn manifests(&self) -> bool {
        let mut paths = self.everything.iter().chain(self.crates.values()).flatten();
        paths.any(|path| path == "Cargo.lock" || path == "Cargo.toml" || path.ends_with("/Cargo.toml"))
    }

    /// A line for each part that is touched, and why.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        let mut line = |what: &str, paths: &[String]| {
            let named = paths.iter().take(PATHS_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = match paths.len().saturating_sub(PATHS_NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let _ = writeln!(text, "touched: {what} ({named}{more})");
        };
        if let Some(paths) = &self.everything {
            line("all crates", paths);
        }
        for (folder, paths) in &self.crates {
            line(folder, paths);
        }
        if let Some(paths) = &self.pages {
            line("the pages", paths);
        }
        for (what, paths) in [("scripts", &self.scripts), ("other files, which only tidy checks", &self.others)] {
            if !paths.is_empty() {
                line(what, paths);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str, text: &str) -> Text {
        Text { path: path.to_owned(), text: text.to_owned() }
    }

    fn touched(paths: &[&str]) -> Touched {
        let texts = [
            text("crates/graph/Cargo.toml", ""),
            text("crates/charge/Cargo.toml", ""),
            text("crates/web/Cargo.toml", ""),
            text("crates/charge/tests/all/plan.rs", "include_str!(\"../../../../docs/manual/tariffs.md\")"),
            text("crates/charge/tests/all/world.rs", "#[path = \"../../../graph/tests/world/mod.rs\"]\nmod world;"),
            text("crates/charge/tests/all/replay.rs", "folder.join(\"../../fuzz/corpus\").join(\"../../shared\")"),
            text("crates/web/tests/all/manual.rs", "env!(\"CARGO_MANIFEST_DIR\").join(\"../../docs/manual/api.md\")"),
            text("scripts/demo", "#!/usr/bin/env bash\n"),
            text("scripts/table.py", "#!/usr/bin/python3\n"),
        ];
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        find(&paths, &Crates::parse(&texts).unwrap(), &texts)
    }

    fn crates(paths: &[&str]) -> Vec<String> {
        touched(paths).crates.into_keys().collect()
    }

    #[test]
    fn a_path_touches_its_crate() {
        assert_eq!(crates(&["crates/graph/src/a.rs", "crates/graph/README.md"]), ["graph"]);
        assert_eq!(crates(&["fuzz/corpus/charge_bill/1"]), ["charge"]);
        assert_eq!(crates(&["fuzz/README.md", "docs/manual/graphs.md", "ui/src/a.ts"]), Vec::<String>::new());
    }

    #[test]
    fn a_file_touches_the_crates_whose_sources_name_it() {
        assert_eq!(crates(&["docs/manual/tariffs.md"]), ["charge"]);
        assert_eq!(crates(&["docs/manual/api.md"]), ["web"]);
        assert_eq!(crates(&["crates/graph/tests/world/mod.rs"]), ["charge", "graph"]);
        assert_eq!(crates(&["crates/graph/tests/world/other.rs"]), ["graph"]);
    }

    #[test]
    fn files_of_the_root_touch_all_crates() {
        let all = |path: &str| touched(&[path]).everything;
        for path in ["Cargo.toml", "Cargo.lock", ".cargo/config.toml", ".config/nextest.toml", "crates/gone/src/lib.rs"]
        {
            assert_eq!(all(path), Some(vec![path.to_owned()]), "{path}");
        }
        assert!(touched(&["Cargo.lock"]).manifests() && touched(&["crates/graph/Cargo.toml"]).manifests());
        assert!(!touched(&["crates/graph/src/lib.rs", "fuzz/Cargo.toml", ".cargo/config.toml"]).manifests());
        assert_eq!([all("crates/graph/Cargo.toml"), all("fuzz/Cargo.toml"), all("README.md")], [None, None, None]);
    }

    #[test]
    fn pages_and_scripts_are_told_apart() {
        assert!(touched(&["ui/src/a.ts"]).pages.is_some() && touched(&["ui/README.md"]).pages.is_none());
        let api = touched(&[API]);
        assert!(api.pages.is_some() && api.crates.contains_key("web"));
        assert_eq!(touched(&["scripts/demo", "scripts/table.py"]).scripts, ["scripts/demo"]);
        assert_eq!(touched(&["scripts/table.py", "Makefile"]).others, ["scripts/table.py", "Makefile"]);
    }

    #[test]
    fn reasons_are_told() {
        let told =
            touched(&["crates/graph/a", "crates/graph/b", "crates/graph/c", "Cargo.lock", "README.md"]).describe();
        assert_eq!(
            told,
            "touched: all crates (Cargo.lock)\n\
             touched: graph (crates/graph/a, crates/graph/b and 1 more)\n\
             touched: other files, which only tidy checks (README.md)\n"
        );
    }
}
