//! Our crates and who depends on whom, from their manifests.

use crate::repository::Text;
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// Crates by their folders below `crates/`.
pub struct Crates {
    crates: BTreeMap<String, Needs>,
}

/// The folders of the crates that one crate needs.
#[derive(Default)]
struct Needs {
    /// To be built.
    build: BTreeSet<String>,
    /// For its tests alone.
    tests: BTreeSet<String>,
}

impl Crates {
    /// Reads the manifests among `texts`.
    ///
    /// # Errors
    /// A manifest is no TOML; its path and what is wrong.
    pub fn parse(texts: &[Text]) -> Result<Self, String> {
        let mut crates = BTreeMap::new();
        for text in texts {
            let inside = text.path.strip_prefix("crates/").and_then(|path| path.strip_suffix("/Cargo.toml"));
            let Some(folder) = inside.filter(|folder| !folder.contains('/')) else { continue };
            // It has no code that a change below could break.
            let codeless = folder == "features";
            let manifest = text.text.parse::<Table>().map_err(|error| format!("{}: {error}", text.path))?;
            crates.insert(folder.to_owned(), if codeless { Needs::default() } else { Needs::of(&manifest) });
        }
        Ok(Crates { crates })
    }

    /// The folders of all crates, sorted.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.crates.keys().map(String::as_str)
    }

    /// Whether there is a crate in this folder.
    pub fn has(&self, folder: &str) -> bool {
        self.crates.contains_key(folder)
    }

    /// The crates that are built anew, or whose tests are, when these change: themselves, what is built with them, and
    /// what has one of all these in its tests.
    pub fn dependents(&self, changed: &BTreeSet<String>) -> BTreeSet<String> {
        let mut built = changed.clone();
        loop {
            let more = self.with(|needs| !needs.build.is_disjoint(&built));
            if more.is_subset(&built) {
                break;
            }
            built.extend(more);
        }
        let tested = self.with(|needs| !needs.tests.is_disjoint(&built));
        built.union(&tested).cloned().collect()
    }

    fn with(&self, holds: impl Fn(&Needs) -> bool) -> BTreeSet<String> {
        self.crates.iter().filter(|(_, needs)| holds(needs)).map(|(folder, _)| folder.clone()).collect()
    }
}

impl Needs {
    /// The sections of dependencies, also those of one platform.
    fn of(manifest: &Table) -> Self {
        let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
        let mut needs = Needs::default();
        for part in std::iter::once(manifest).chain(platforms.filter_map(Value::as_table)) {
            let ours = |section: &str| {
                let names = part.get(section).and_then(Value::as_table).into_iter().flat_map(Table::keys);
                names.filter_map(|name| folder(name)).collect::<Vec<_>>()
            };
            needs.build.extend(ours("dependencies").into_iter().chain(ours("build-dependencies")));
            needs.tests.extend(ours("dev-dependencies"));
        }
        needs
    }
}

/// The folder of a package of ours.
fn folder(package: &str) -> Option<String> {
    match package {
        "trunkline" => Some(package.to_owned()),
        _ => package.strip_prefix("trunkline-").map(str::to_owned),
    }
}

/// The package in a folder.
pub fn package(folder: &str) -> String {
    match folder {
        "trunkline" | "xtask" => folder.to_owned(),
        _ => format!("trunkline-{folder}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crates() -> Crates {
        let manifest =
            |folder: &str, text: &str| Text { path: format!("crates/{folder}/Cargo.toml"), text: text.to_owned() };
        let texts = [
            manifest("wire", ""),
            manifest("kit", ""),
            manifest("sim", "[dependencies]\ntrunkline-wire.workspace = true"),
            manifest(
                "calls",
                "[dependencies]\ntrunkline-wire.workspace = true\n[dev-dependencies]\ntrunkline-sim = {}",
            ),
            manifest("net", "[target.'cfg(unix)'.dependencies]\ntrunkline-kit.workspace = true"),
            manifest("trunkline", "[dependencies]\ntrunkline-calls.workspace = true\ntrunkline-net.workspace = true"),
            Text { path: "crates/wire/tests/world/Cargo.toml".to_owned(), text: String::new() },
        ];
        Crates::parse(&texts).unwrap()
    }

    fn dependents(folders: &[&str]) -> Vec<String> {
        crates().dependents(&folders.iter().map(|folder| (*folder).to_owned()).collect()).into_iter().collect()
    }

    #[test]
    fn dependents_are_found_through_others() {
        assert_eq!(dependents(&["kit"]), ["kit", "net", "trunkline"]);
        assert_eq!(dependents(&["wire"]), ["calls", "sim", "trunkline", "wire"]);
        assert_eq!(dependents(&["trunkline"]), ["trunkline"]);
        assert_eq!(dependents(&[]), Vec::<String>::new());
    }

    #[test]
    fn what_only_tests_need_is_built_into_no_other_crate() {
        assert_eq!(dependents(&["sim"]), ["calls", "sim"]);
    }

    #[test]
    fn packages_are_named_by_their_folders() {
        assert_eq!(["trunkline", "xtask", "ui-embed"].map(package), ["trunkline", "xtask", "trunkline-ui-embed"]);
        assert_eq!(crates().folders().count(), 6);
    }

    #[test]
    fn a_wrong_manifest_is_named() {
        let text = Text { path: "crates/a/Cargo.toml".to_owned(), text: "[package\n".to_owned() };
        assert!(Crates::parse(&[text]).err().unwrap().starts_with("crates/a/Cargo.toml: "));
    }
}
