//! Trying the breaks: a copy of the sources is broken in one place, built, and the models that must fail are run.

use super::breaks::{Break, parse};
use super::{MODELS, Models};
use crate::repository::Repository;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Where the copy lies.
const COPY: &str = "target/loom-breaks";
/// Seconds that a model may take to fail; and, with nothing broken, to pass.
const MODEL_SECONDS_MAX: u32 = 60;
/// What `timeout` returns when they are over.
const OVER: i32 = 124;

/// How a model ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    NotWithin,
}

/// Tries the breaks, all or those with one of `words` in what they say or in their file's name; prints a table. False
/// if one is not found.
///
/// # Errors
/// The sources cannot be copied, do not build, or a model fails with nothing broken.
pub fn command(repository: &Repository, words: &[String]) -> Result<bool, String> {
    let copy = repository.path(COPY);
    copy_sources(repository, &copy)?;
    let (mut tried, mut missed) = (0, 0);
    for models in &MODELS {
        let path = copy.join(models.breaks);
        let list = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut list = parse(&list).map_err(|e| format!("{}: {e}", models.breaks))?;
        let is_asked = |one: &Break| words.iter().any(|word| one.what.contains(word) || one.file.contains(word));
        list.retain(|one| words.is_empty() || is_asked(one));
        if list.is_empty() {
            continue;
        }
        check_unbroken(models, &copy, &list)?;
        for one in &list {
            tried += 1;
            missed += usize::from(!try_break(models, &copy, one)?);
        }
    }
    println!("{tried} breaks, {missed} not found");
    Ok(tried > 0 && missed == 0)
}

/// The sources, without what was built, the documents and the pages.
fn copy_sources(repository: &Repository, copy: &Path) -> Result<(), String> {
    let wrong = |e: std::io::Error| format!("{COPY}: {e}");
    if copy.exists() {
        std::fs::remove_dir_all(copy).map_err(wrong)?;
    }
    for path in repository.paths()?.iter().filter(|path| path.starts_with("crates/") || !path.contains('/')) {
        let to = copy.join(path);
        std::fs::create_dir_all(to.parent().unwrap_or(copy)).map_err(wrong)?;
        std::fs::copy(repository.path(path), to).map_err(wrong)?;
    }
    Ok(())
}

/// With nothing broken the models of the list pass: else a failure would say nothing.
fn check_unbroken(models: &Models, copy: &Path, list: &[Break]) -> Result<(), String> {
    let program = build(models, copy)?;
    let mut names: Vec<&String> = list.iter().flat_map(|one| &one.models).collect();
    names.sort();
    names.dedup();
    let begun = Instant::now();
    for name in &names {
        match run(models, &program, name)? {
            End::Passed => {}
            end => return Err(format!("{name}: {end:?} with nothing broken")),
        }
    }
    row("nothing", &format!("{} models of {} pass", names.len(), models.package), begun);
    Ok(())
}

/// Whether each of its models finds a break.
fn try_break(models: &Models, copy: &Path, one: &Break) -> Result<bool, String> {
    let path = copy.join(models.folder).join(&one.file);
    let source = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let Some(broken) = one.applied(&source) else {
        row(&one.what, "APPLIES NO MORE", Instant::now());
        return Ok(false);
    };
    let write = |text: &str| std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()));
    write(&broken)?;
    let program = build(models, copy);
    write(&source)?;
    let program = program.map_err(|reason| format!("broken ({}): {reason}", one.what))?;
    let mut found = true;
    for name in &one.models {
        let begun = Instant::now();
        let end = run(models, &program, name)?;
        let said = match end {
            End::Failed => name.clone(),
            End::Passed => format!("NOT FOUND by {name}"),
            End::NotWithin => format!("NOT FOUND by {name} within {MODEL_SECONDS_MAX} s"),
        };
        row(&one.what, &said, begun);
        found &= end == End::Failed;
    }
    Ok(found)
}

fn row(what: &str, said: &str, begun: Instant) {
    println!("{what:<76} {said:<62} {:>6.1} s", begun.elapsed().as_secs_f64());
}

/// Builds the models; the program that runs them.
fn build(models: &Models, copy: &Path) -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|e| e.to_string())?;
    let target = here.ancestors().nth(2).ok_or("no target folder")?;
    let mut cargo = models.cargo();
    cargo.args(["--no-run", "--quiet", "--message-format=json"]).env("CARGO_TARGET_DIR", target).current_dir(copy);
    let output = cargo.stderr(Stdio::inherit()).output().map_err(|e| format!("cargo: {e}"))?;
    if !output.status.success() {
        return Err(format!("{} does not build\n{}", models.package, errors(&output.stdout)));
    }
    executable(&output.stdout).ok_or_else(|| format!("{}: cargo names no program", models.package))
}

fn messages(told: &[u8]) -> impl Iterator<Item = Value> {
    told.split(|&octet| octet == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

/// The program that cargo tells of.
fn executable(told: &[u8]) -> Option<PathBuf> {
    messages(told).find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

/// What the compiler says of errors.
fn errors(told: &[u8]) -> String {
    let is_error = |message: &Value| message["message"]["level"] == "error";
    messages(told).filter(is_error).filter_map(|m| m["message"]["rendered"].as_str().map(str::to_owned)).collect()
}

fn run(models: &Models, program: &Path, name: &str) -> Result<End, String> {
    let mut command = Command::new("timeout");
    models.bound(&mut command);
    command.arg(MODEL_SECONDS_MAX.to_string()).arg(program).args(["--exact", &format!("{}{name}", models.path)]);
    let output = command.env("RUST_BACKTRACE", "0").stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("timeout: {e}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    // Another order of tests, or none at all, is no finding.
    if !said.contains("running 1 test") {
        return Err(format!("there is no model '{name}'"));
    }
    Ok(match output.status.code() {
        Some(0) => End::Passed,
        Some(OVER) => End::NotWithin,
        _ => End::Failed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_and_the_errors_are_those_that_cargo_tells() {
        let told = b"{\"executable\":null}\n{\"executable\":\"/t/loom-1\"}\n\
            {\"message\":{\"level\":\"warning\",\"rendered\":\"w\"}}\n{\"message\":{\"level\":\"error\",\"rendered\":\"e\"}}";
        assert_eq!(executable(told), Some(PathBuf::from("/t/loom-1")));
        assert_eq!((errors(told).as_str(), executable(b"{}")), ("e", None));
    }
}
