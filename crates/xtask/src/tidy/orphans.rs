//! Source files that no module names: cargo does not compile them and says nothing, so their tests are lost.

use super::{Finding, crate_of, lines};
use crate::repository::Text;
use std::collections::BTreeSet;

/// Checks that each Rust file of a crate is compiled: cargo begins with it, or a module of that name is declared where
/// rustc looks for it, or another file names it by its path.
pub fn check(texts: &[Text], findings: &mut Vec<Finding>) {
    let named = named(texts);
    for text in texts {
        let Some((_, inside)) = crate_of(&text.path) else { continue };
        if inside.ends_with(".rs") && !is_root(inside) && !named.contains(&text.path) {
            let what = "no module names this file, so it is not compiled: write 'mod' for it, or remove it";
            findings.push(Finding::new(&text.path, 0, what));
        }
    }
}

/// Whether cargo begins with a file: the library, a program, an example, a test or a benchmark program.
fn is_root(inside: &str) -> bool {
    match inside.split('/').collect::<Vec<_>>()[..] {
        ["build.rs"] | ["src", "lib.rs" | "main.rs"] | ["src", "bin", _] => true,
        ["tests" | "examples" | "benches", _] | ["src", "bin", _, "main.rs"] => true,
        ["tests" | "examples" | "benches", _, "main.rs"] => true,
        _ => false,
    }
}

/// The files that others name.
fn named(texts: &[Text]) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for text in texts {
        let Some((_, inside)) = crate_of(&text.path).filter(|_| text.path.ends_with(".rs")) else { continue };
        let (folder, file) = text.path.rsplit_once('/').unwrap_or(("", &text.path));
        let stem = file.trim_end_matches(".rs");
        // What stands in a file of its own name looks for its modules in the folder of that name.
        let below = match is_root(inside) || stem == "mod" {
            true => folder.to_owned(),
            false => format!("{folder}/{stem}"),
        };
        let mut path = None;
        for (_, line) in lines(text) {
            let line = line.trim();
            if let Some(found) = line.strip_prefix("#[path = \"").or_else(|| line.strip_prefix("include!(\"")) {
                path = found.split('"').next();
                named.extend(path.and_then(|path| joined(folder, path)));
            }
            let Some(module) = module_of(line) else { continue };
            if path.take().is_none() {
                named.extend([format!("{below}/{module}.rs"), format!("{below}/{module}/mod.rs")]);
            }
        }
    }
    named
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
    fn what_cargo_begins_with_needs_no_name() {
        let roots = ["build.rs", "src/main.rs", "src/bin/b.rs", "tests/c.rs", "tests/loom/main.rs", "examples/d.rs"];
        assert_eq!(found(&roots.map(|path| (path, ""))), Vec::<String>::new());
    }
}
