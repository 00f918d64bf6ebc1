//! `cargo xtask check [--all]`: what a developer wants to know before a commit, of the crates that changed.

mod changes;
mod crates;
mod touched;

use crate::repository::{self, Repository};
use crate::{features, tidy};
use changes::Changes;
use crates::Crates;
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Instant;
use touched::Touched;

/// Paths that are named for one touched part.
const PATHS_NAMED: usize = 2;

/// Finds what is touched, says what will run, and runs it all, whatever fails; true if nothing failed.
///
/// # Errors
/// A wrong option, a repository or a manifest that cannot be read, a tool that is missing.
pub fn command(repository: &Repository, options: &[String]) -> Result<bool, String> {
    let all = match options {
        [] => false,
        [option] if option == "--all" => true,
        _ => return Err("the only option is --all".to_owned()),
    };
    let begin = Instant::now();
    let changes = Changes::find(repository)?;
    let texts = repository.texts(&repository.paths()?);
    let crates = Crates::parse(&texts)?;
    let touched = touched::find(&changes.paths, &crates, &texts);
    let plan = Plan::new(&touched, &crates, all);
    let steps = plan.steps(repository)?;
    println!("compared with {}: changed files: {}", changes.compared_with, changes.paths.len());
    print!("{}", touched.describe());
    println!("will run:");
    for step in &steps {
        println!("  {:<8} {}", step.name, step.why);
    }
    let results: Vec<(&str, bool, f64)> = steps.iter().map(|step| step.run(repository)).collect();
    let failed: Vec<&str> = results.iter().filter(|(_, passed, _)| !passed).map(|(name, ..)| *name).collect();
    let each: Vec<String> = results.iter().map(|(name, _, seconds)| format!("{name} {seconds:.0} s")).collect();
    println!("\nnot run: {}", plan.not_run(&crates));
    let seconds = begin.elapsed().as_secs_f64();
    match failed.as_slice() {
        [] => println!("passed in {seconds:.0} s: {}", each.join(", ")),
        failed => println!("FAILED in {seconds:.0} s: {} ({})", failed.join(", "), each.join(", ")),
    }
    Ok(failed.is_empty())
}

/// What is done about what is touched. Crates are named by their folders.
#[derive(Debug, PartialEq)]
struct Plan {
    /// Crates whose tests run.
    tested: BTreeSet<String>,
    /// Crates that clippy compiles with their tests: those that are touched, and all that depend on them.
    compiled: BTreeSet<String>,
    /// Why `compiled` has more than what is touched.
    dependents: BTreeSet<String>,
    pages: bool,
    scripts: Vec<String>,
    /// Whether a manifest or the lock file changed.
    manifests: bool,
    /// Whether these are all crates of the workspace.
    workspace: bool,
}

/// One step of the check.
struct Step {
    name: &'static str,
    why: String,
    work: Work,
}

enum Work {
    /// The project's own rules, by this program.
    Tidy,
    /// The features of foreign crates, by this program.
    Features,
    /// Commands in a folder below the root, one after the other.
    Commands(&'static str, Vec<Vec<String>>),
}

impl Plan {
    fn new(touched: &Touched, crates: &Crates, all: bool) -> Self {
        let own: BTreeSet<String> = match touched.everything {
            Some(_) => crates.folders().map(str::to_owned).collect(),
            None => touched.crates.keys().cloned().collect(),
        };
        let built = if touched.everything.is_some() { own.clone() } else { touched.built() };
        let dependents: BTreeSet<String> = crates.dependents(&built).difference(&own).cloned().collect();
        let compiled: BTreeSet<String> = own.union(&dependents).cloned().collect();
        Plan {
            tested: if all { compiled.clone() } else { own },
            workspace: compiled.len() == crates.folders().count(),
            compiled,
            dependents,
            pages: touched.pages.is_some(),
            scripts: touched.scripts.clone(),
            manifests: touched.manifests(),
        }
    }

    fn steps(&self, repository: &Repository) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        let mut add = |name, why: String, work| steps.push(Step { name, why, work });
        let cargo = |words: &[&str], packages: &[String], rest: &[&str]| {
            let words = words.iter().chain(rest).map(|word| (*word).to_owned()).collect::<Vec<_>>();
            let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
            [&words[..at], packages, &words[at..]].concat()
        };
        if !self.compiled.is_empty() {
            add("format", "all crates".to_owned(), Work::Commands("", vec![words("cargo fmt --all --check")]));
        }
        add("tidy", "the rules of the project, all files".to_owned(), Work::Tidy);
        if self.manifests {
            add("features", "manifests changed: does -p build what the workspace builds?".to_owned(), Work::Features);
        }
        if !self.scripts.is_empty() {
            add("shell", self.scripts.join(", "), Work::Commands("", shell_commands(&self.scripts)));
        }
        if !self.compiled.is_empty() {
            let packages = self.packages(&self.compiled);
            let command =
                cargo(&["cargo", "clippy", "--locked", "--all-targets"], &packages, &["--", "-D", "warnings"]);
            add("clippy", self.why_compiled(), Work::Commands("", vec![command]));
        }
        if !self.tested.is_empty() {
            need_nextest(repository)?;
            let packages = self.packages(&self.tested);
            let options = ["--locked", "--tests", "--no-fail-fast", "--no-tests", "pass", "--status-level", "slow"];
            let command = cargo(&["cargo", "nextest", "run"], &packages, &options);
            add("tests", listed(&self.tested), Work::Commands("", vec![command]));
        }
        if self.pages {
            add(
                "pages",
                "types, lint and unit tests of ui".to_owned(),
                Work::Commands("ui", page_commands(repository)?),
            );
        }
        Ok(steps)
    }

    /// The options of cargo that select crates.
    fn packages(&self, folders: &BTreeSet<String>) -> Vec<String> {
        if self.workspace && folders.len() == self.compiled.len() {
            return words("--workspace");
        }
        folders.iter().flat_map(|folder| ["--package".to_owned(), crates::package(folder)]).collect()
    }

    fn why_compiled(&self) -> String {
        let own: BTreeSet<String> = self.compiled.difference(&self.dependents).cloned().collect();
        match self.dependents.len() {
            0 => listed(&own),
            _ => format!("{}, and what depends on it: {}", listed(&own), listed(&self.dependents)),
        }
    }

    /// What a whole run has beside this one, and how to run it.
    fn not_run(&self, crates: &Crates) -> String {
        let others = match crates.folders().count() - self.tested.len() {
            0 => None,
            all if self.tested.is_empty() => Some(format!("the tests of the {all} crates")),
            others => Some(format!("the tests of the other {others} crates")),
        };
        let pages = (!self.pages).then(|| "the tests of the pages".to_owned());
        let tests: Vec<String> = others.into_iter().chain(pages).chain(["browser tests".to_owned()]).collect();
        let tests = tests.join(", ");
        format!(
            "{tests}, loom's models: make test; cargo deny: make lint; peers: make peers; accuracy: cargo xtask accuracy"
        )
    }
}

impl Step {
    /// Runs it: its name, whether it passed, and its seconds.
    fn run(&self, repository: &Repository) -> (&'static str, bool, f64) {
        let begin = Instant::now();
        let passed = match &self.work {
            Work::Tidy => self.own(|| tidy::command(repository, &[])),
            Work::Features => self.own(|| features::command(repository, &[])),
            Work::Commands(folder, commands) => {
                // All of them, whatever fails.
                commands.iter().filter(|command| !run(repository, folder, command)).count() == 0
            }
        };
        let seconds = begin.elapsed().as_secs_f64();
        println!("== {}: {}, {seconds:.0} s", self.name, if passed { "passed" } else { "FAILED" });
        (self.name, passed, seconds)
    }

    /// Runs a task of this program; an error of it is a failure.
    fn own(&self, task: impl FnOnce() -> Result<bool, String>) -> bool {
        println!("\n== {}", self.name);
        task().unwrap_or_else(|error| {
            println!("{}: {error}", self.name);
            false
        })
    }
}

/// Runs one command in a folder below the root.
fn run(repository: &Repository, folder: &str, words: &[String]) -> bool {
    println!("\n== {}", words.join(" "));
    let Some((program, arguments)) = words.split_first() else { return true };
    let mut command = if program == "cargo" { repository::cargo() } else { Command::new(program) };
    let status = command.args(arguments).current_dir(repository.path(folder)).env("PATH", path(repository)).status();
    match status {
        Ok(status) => status.success(),
        Err(error) => {
            println!("{program}: {error}");
            false
        }
    }
}

/// Where programs are looked for: first those that `scripts/setup` has installed.
fn path(repository: &Repository) -> std::ffi::OsString {
    let mut path = repository.path("target/tools/bin").into_os_string();
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    path
}

fn need_nextest(repository: &Repository) -> Result<(), String> {
    let mut nextest = repository::cargo();
    nextest.args(["nextest", "--version"]).current_dir(repository.path("")).env("PATH", path(repository));
    let output = nextest.output().map_err(|error| format!("cargo: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err("cargo-nextest is missing: scripts/setup test installs it".to_owned()),
    }
}

fn shell_commands(scripts: &[String]) -> Vec<Vec<String>> {
    let mut commands: Vec<_> = scripts.iter().map(|script| words(&format!("bash -n {script}"))).collect();
    let found = Command::new("shellcheck").arg("--version").output();
    if found.is_ok_and(|output| output.status.success()) {
        commands.push([words("shellcheck"), scripts.to_vec()].concat());
    }
    commands
}

/// Type check, lint (if `ui/package.json` has one) and unit tests.
fn page_commands(repository: &Repository) -> Result<Vec<Vec<String>>, String> {
    if !repository.path("ui/node_modules").is_dir() {
        return Err("ui/node_modules is missing: make check installs it".to_owned());
    }
    let file = "ui/package.json";
    let text = std::fs::read_to_string(repository.path(file)).map_err(|error| format!("{file}: {error}"))?;
    let package: serde_json::Value = serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
    let lint = package.get("scripts").and_then(|scripts| scripts.get("lint")).map(|_| "npm run --silent lint");
    Ok(["npm run --silent check"].into_iter().chain(lint).chain(["npm test --silent"]).map(words).collect())
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn listed(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Text;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn plan(paths: &[&str], all: bool) -> (Plan, Crates) {
        let manifest = |folder: &str, rest: &str| Text {
            path: format!("crates/{folder}/Cargo.toml"),
            text: format!("[package]\nname = \"{}\"\n{rest}", crates::package(folder)),
        };
        let crates = Crates::parse(&[
            manifest("wire", ""),
            manifest("graph", "[dependencies]\ntrunkline-wire.workspace = true"),
            manifest("trunkline", "[dependencies]\ntrunkline-graph.workspace = true"),
            manifest("xtask", ""),
        ])
        .unwrap();
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        (Plan::new(&touched::find(&paths, &crates, &[]), &crates, all), crates)
    }

    #[test]
    fn dependents_are_compiled_and_tested_if_asked() {
        let (few, crates) = plan(&["crates/graph/src/lib.rs"], false);
        assert_eq!((few.tested.clone(), few.compiled.clone()), (set(&["graph"]), set(&["graph", "trunkline"])));
        assert_eq!(few.why_compiled(), "graph, and what depends on it: trunkline");
        assert_eq!(few.packages(&few.tested), ["--package", "trunkline-graph"]);
        assert!(
            few.not_run(&crates)
                .starts_with("the tests of the other 3 crates, the tests of the pages, browser tests, loom")
        );
        let (more, _) = plan(&["crates/graph/src/lib.rs"], true);
        assert_eq!(more.tested, set(&["graph", "trunkline"]));
    }

    #[test]
    fn nothing_depends_on_tests() {
        let (plan, _) = plan(&["crates/graph/tests/all/main.rs", "fuzz/corpus/wire_sip/1"], true);
        assert_eq!((plan.tested, plan.compiled), (set(&["graph", "wire"]), set(&["graph", "wire"])));
    }

    #[test]
    fn the_lock_file_touches_all() {
        let (plan, crates) = plan(&["Cargo.lock"], false);
        assert_eq!(plan.packages(&plan.tested), ["--workspace"]);
        assert!(plan.dependents.is_empty() && plan.not_run(&crates).starts_with("the tests of the pages, "));
    }

    #[test]
    fn documentation_is_read_by_tidy_alone() {
        let (plan, crates) = plan(&["docs/manual/testing.md"], true);
        let steps = plan.steps(&Repository::here()).unwrap();
        assert_eq!(steps.iter().map(|step| step.name).collect::<Vec<_>>(), ["tidy"]);
        assert!(plan.not_run(&crates).starts_with("the tests of the 4 crates, "));
    }
}
