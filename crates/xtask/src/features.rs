//! `cargo xtask features`: whether the tests of one crate alone (`-p trunkline-graph`) get foreign crates with the
//! features that the whole workspace gives them. With others, each of them is compiled once more.

use crate::repository::{self, Repository};
use std::collections::{BTreeMap, BTreeSet};

/// The manifest that asks for what crates alone would lack.
const MANIFEST: &str = "crates/features/Cargo.toml";
/// Features of a package, once for each way in which it is built.
type Features = BTreeMap<String, BTreeSet<BTreeSet<String>>>;

/// Prints what each crate lacks; true if that is nothing.
///
/// # Errors
/// An option is given, or cargo cannot tell the dependencies.
pub fn command(repository: &Repository, options: &[String]) -> Result<bool, String> {
    if !options.is_empty() {
        return Err("there are no options".to_owned());
    }
    let workspace = tree(repository, &["--workspace"])?;
    let members = workspace.keys().filter_map(|package| package.split(' ').next());
    // xtask is not among them: it is always built alone, and has few dependencies.
    let ours = members.filter(|name| name.starts_with("trunkline"));
    let mut findings = Vec::new();
    for name in ours {
        let alone = tree(repository, &["--package", name])?;
        findings.extend(lacking(&alone, &workspace).into_iter().map(|what| format!("{name} alone: {what}")));
    }
    findings.iter().for_each(|finding| println!("{finding}"));
    match findings.len() {
        0 => println!("features: the same for each crate alone as for the workspace"),
        count => {
            println!("features: {count} would be compiled again for one crate alone: add what they lack to {MANIFEST}")
        }
    }
    Ok(findings.is_empty())
}

/// What cargo builds for the tests of some packages on this machine.
fn tree(repository: &Repository, selected: &[&str]) -> Result<Features, String> {
    let mut cargo = repository::cargo();
    cargo.args(["tree", "--locked", "--edges", "normal,build,dev", "--prefix", "none", "--format", "{p}|{f}"]);
    let output = cargo.args(selected).current_dir(repository.path("")).output();
    let output = output.map_err(|error| format!("cargo: {error}"))?;
    match output.status.success() {
        true => Ok(parse(&String::from_utf8_lossy(&output.stdout))),
        false => Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Reads lines of package, version, remarks in brackets, `|`, features with commas between.
fn parse(tree: &str) -> Features {
    let mut found = Features::new();
    for (package, features) in tree.lines().filter_map(|line| line.split_once('|')) {
        let package = package.split(' ').take(2).collect::<Vec<_>>().join(" ");
        // Packages that were shown before have a star behind.
        let features = features.trim_end_matches("(*)").trim();
        let features = features.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        found.entry(package).or_default().insert(features);
    }
    found
}

/// The packages that the workspace builds with no such features, and the fewest that they lack.
fn lacking(alone: &Features, workspace: &Features) -> Vec<String> {
    let mut lacking = Vec::new();
    for (package, builds) in alone {
        let Some(there) = workspace.get(package) else { continue };
        for build in builds.difference(there) {
            let missing = there.iter().map(|more| more.difference(build).map(String::as_str).collect::<Vec<_>>());
            let fewest = missing.min_by_key(Vec::len).unwrap_or_default().join(", ");
            lacking.push(format!("{package} lacks {fewest}"));
        }
    }
    lacking
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACE: &str = "trunkline-wire v0.1.0 (crates/wire)|\nsyn v3.0.9|default,full\nsyn v3.0.9|derive\n\
                             serde_derive v1.0.229 (proc-macro)|default\nserde v1.0.229|default,derive (*)\n";

    #[test]
    fn lines_of_cargo_tree_are_read() {
        let features = parse(WORKSPACE);
        assert_eq!(features.len(), 4);
        assert_eq!(features["syn v3.0.9"].len(), 2);
        assert_eq!(features["serde v1.0.229"].first().unwrap().len(), 2);
        assert_eq!(features["trunkline-wire v0.1.0"].first(), Some(&BTreeSet::new()));
    }

    #[test]
    fn what_a_crate_alone_lacks_is_named() {
        let workspace = parse(WORKSPACE);
        assert_eq!(lacking(&workspace, &workspace), Vec::<String>::new());
        let alone = parse("syn v3.0.9|default\nserde v1.0.229|default,derive\n");
        assert_eq!(lacking(&alone, &workspace), ["syn v3.0.9 lacks full"]);
    }
}
