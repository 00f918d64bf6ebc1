//! Tests that are lost: cargo does not compile a source file that no module names, nor what a manifest leaves out, and
//! says nothing.

use super::{Finding, crate_of, lines};
use crate::repository::Text;
use std::collections::BTreeSet;

/// What stands before the path of a module's file.
const PATH: &str = "#[path = \"";

/// Checks that each Rust file of a crate is compiled: cargo begins with it, or a module of that name is declared where
/// rustc looks for it, or another file names it by its path.
pub fn check(texts: &[Text], findings: &mut Vec<Finding>) {
    let (declared, by_path) = (declared(texts), by_path(texts));
    let named = |path: &String| declared.contains(path) || by_path.contains(path);
    for text in texts {
        let Some((_, inside)) = crate_of(&text.path) else { continue };
        if inside.ends_with(".rs") && !is_root(inside) && !named(&text.path) {
            let what = "no module names this file, so it is not compiled: write 'mod' for it, or remove it";
            findings.push(Finding::new(&text.path, 0, what));
        }
        if inside == "Cargo.toml" {
            untested(text, findings);
        }
    }
}

/// Finds what takes the tests of a whole crate or program out: only test programs that have a task of their own may.
fn untested(manifest: &Text, findings: &mut Vec<Finding>) {
    let mut section = "";
    for (number, line) in lines(manifest) {
        let line = line.split('#').next().unwrap_or(line).trim();
        if line.starts_with('[') {
            section = line;
        }
        let words = line.replace(' ', "");
        if words == "autotests=false" || (words == "test=false" && section != "[[test]]") {
            findings.push(Finding::new(&manifest.path, number, "with this, tests of the crate are not compiled"));
        }
    }
}

/// Whether cargo begins with a file: the library, a program, an example, a test or a benchmark program.
pub fn is_root(inside: &str) -> bool {
    matches!(
        inside.split('/').collect::<Vec<_>>()[..],
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
            | ["tests" | "examples" | "benches", _]
            | ["tests" | "examples" | "benches", _, "main.rs"]
    )
}

/// The files that a file has as modules of their own names.
pub fn declared(texts: &[Text]) -> BTreeSet<String> {
    let mut declared = BTreeSet::new();
    for (inside, text) in sources(texts) {
        let (folder, file) = text.path.rsplit_once('/').unwrap_or(("", &text.path));
        let stem = file.trim_end_matches(".rs");
        // What stands in a file of its own name looks for its modules in the folder of that name.
        let below = match is_root(inside) || stem == "mod" {
            true => folder.to_owned(),
            false => format!("{folder}/{stem}"),
        };
        let mut has_path = false;
        for (_, line) in lines(text) {
            has_path |= line.trim().starts_with(PATH);
            let Some(module) = module_of(line.trim()) else { continue };
            if !std::mem::take(&mut has_path) {
                declared.extend([format!("{below}/{module}.rs"), format!("{below}/{module}/mod.rs")]);
            }
        }
    }
    declared
}

/// The files that a file names by their paths.
fn by_path(texts: &[Text]) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for (_, text) in sources(texts) {
        let folder = text.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (_, line) in lines(text) {
            let path = [PATH, "include!(\""].into_iter().find_map(|begin| line.trim().strip_prefix(begin));
            named.extend(path.and_then(|path| joined(folder, path.split('"').next()?)));
        }
    }
    named
}

/// The Rust files of crates, with their paths inside.
fn sources(texts: &[Text]) -> impl Iterator<Item = (&str, &Text)> {
    texts
        .iter()
        .filter_map(|text| crate_of(&text.path).map(|(_, inside)| (inside, text)))
        .filter(|(i, _)| i.ends_with(".rs"))
}

/// The module that a line declares and that stands in another file.
fn module_of(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("mod ")?;
    let public = before.is_empty() || (before.starts_with("pub") && before.ends_with(' '));
    rest.split_once(';').map(|(module, _)| module).filter(|_| public)
}

/// A path from a folder.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let text = |(path, text): &(&str, &str)| Text { path: format!("crates/a/{path}"), text: (*text).to_owned() };
        let texts: Vec<Text> = files.iter().map(text).collect();
        let mut findings = Vec::new();
        check(&texts, &mut findings);
        findings.into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn a_file_that_no_module_names_is_found() {
        let files = [("tests/all/main.rs", "mod calls;\n// mod lost;\n"), ("tests/all/calls.rs", "mod inner;\n")];
        assert_eq!(found(&files), Vec::<String>::new());
        let lost = [("tests/all/lost.rs", ""), ("tests/all/inner.rs", ""), ("tests/all/world/mod.rs", "")];
        assert_eq!(
            found(&[&files[..], &lost].concat()),
            ["crates/a/tests/all/lost.rs", "crates/a/tests/all/inner.rs", "crates/a/tests/all/world/mod.rs"]
        );
        let named = [("tests/all/calls/inner.rs", "")];
        assert_eq!(found(&[&files[..], &named].concat()), Vec::<String>::new());
    }

    #[test]
    fn a_file_may_be_named_by_its_path() {
        let files = [
            ("src/lib.rs", "pub(crate) mod sip;\n#[path = \"../tests/shared/wait.rs\"]\nmod eventually;\n"),
            ("src/sip/mod.rs", "include!(\"table.rs\");\n"),
            ("src/sip/table.rs", ""),
            ("tests/shared/wait.rs", ""),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
        let other = [("src/lib.rs", "#[path = \"other.rs\"]\nmod sip;\n"), ("src/other.rs", ""), ("src/sip.rs", "")];
        assert_eq!(found(&other), ["crates/a/src/sip.rs"]);
    }

    #[test]
    fn a_manifest_leaves_no_tests_out() {
        let loom = "[package]\nname = \"a\"\n[[test]]\nname = \"loom\"\ntest = false\n";
        assert_eq!(found(&[("Cargo.toml", loom)]), Vec::<String>::new());
        for left_out in ["[package]\nautotests = false\n", "[lib]\ntest = false # slow\n"] {
            assert_eq!(found(&[("Cargo.toml", left_out)]), ["crates/a/Cargo.toml"]);
        }
    }

    #[test]
    fn what_cargo_begins_with_needs_no_name() {
        let roots = ["build.rs", "src/main.rs", "src/bin/b.rs", "tests/c.rs", "tests/loom/main.rs", "examples/d.rs"];
        assert_eq!(found(&roots.map(|path| (path, ""))), Vec::<String>::new());
    }
}
