//! `cargo xtask times`: what a run of `.ci/run` took, step by step, crate by crate and test by test, beside the CPU
//! seconds that are committed; and how many tests passed, failed and were skipped, in the last line.

mod compile;
mod results;
mod steps;

use crate::repository::Repository;
use compile::Unit;
use results::{Case, Outcome};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use steps::Step;

/// Steps of the run, unless `--steps` names another file.
const STEPS: &str = "target/ci/steps.tsv";
/// CPU seconds that each step is expected to take, unless `--table` names another file.
const TABLE: &str = ".ci/times.tsv";
/// Tests that are named as the slowest.
const SLOWEST: usize = 10;
const USAGE: &str = "cargo xtask times [--steps FILE] [--table FILE] [--timings FILE] ... [--junit NAME=FILE] ... \
                     [--list FILE] [--failed] [--write]";

/// The files that are read. Relative paths begin at the root of the repository.
#[derive(Debug, PartialEq)]
struct Options {
    steps: PathBuf,
    table: PathBuf,
    /// Reports of `cargo --timings`.
    timings: Vec<PathBuf>,
    /// Results of test runners, with the name that stands for tests that belong to no crate.
    junit: Vec<(String, PathBuf)>,
    /// What `cargo nextest list --message-format json` says: it also knows the tests that did not run.
    list: Option<PathBuf>,
    /// Whether something failed before, perhaps outside of the steps.
    failed: bool,
    write: bool,
}

/// Prints the report; false if a step or a test failed, or a file could not be read or written.
///
/// # Errors
/// A wrong option.
pub fn command(repository: &Repository, options: &[String]) -> Result<bool, String> {
    let options = Options::parse(options)?;
    let mut problems = Vec::new();
    let steps = told(read(repository, &options.steps, steps::parse), &mut problems).unwrap_or_default();
    let table = committed(repository, &options, &mut problems);
    println!("\n{}", steps::render(&steps, &table));
    print_compiled(repository, &options.timings, &mut problems);
    let cases = cases(repository, &options, &mut problems);
    print_tests(&cases);
    for notice in steps::compare(&steps, &table, &options.table.display().to_string()) {
        println!("{notice}");
    }
    for problem in &problems {
        println!("{problem}: it is counted as a test that failed");
    }
    let failed = cases.iter().any(|case| case.outcome == Outcome::Failed);
    let mut lost = problems.len();
    for step in steps::unexplained(&steps, failed || lost > 0) {
        println!("step '{step}' FAILED and no test did: it is counted as a test that failed");
        lost += 1;
    }
    if options.failed && !failed && lost == 0 {
        println!("a command FAILED outside of the steps: it is counted as a test that failed");
        lost += 1;
    }
    let written = if options.write { write(repository, &options.table, &steps) } else { Ok(()) };
    if let Err(reason) = &written {
        println!("{reason}");
    }
    println!("{}", results::sum(&cases, lost));
    Ok(lost == 0 && written.is_ok() && !failed)
}

impl Options {
    fn parse(options: &[String]) -> Result<Self, String> {
        let mut parsed = Options {
            steps: STEPS.into(),
            table: TABLE.into(),
            timings: Vec::new(),
            junit: Vec::new(),
            list: None,
            failed: false,
            write: false,
        };
        let mut rest = options.iter();
        while let Some(option) = rest.next() {
            let flag = match option.as_str() {
                "--write" => Some(&mut parsed.write),
                "--failed" => Some(&mut parsed.failed),
                _ => None,
            };
            if let Some(flag) = flag {
                *flag = true;
                continue;
            }
            let value =
                rest.next().ok_or_else(|| format!("'{option}' is no option, or its value is missing: {USAGE}"))?;
            match option.as_str() {
                "--steps" => parsed.steps = value.into(),
                "--table" => parsed.table = value.into(),
                "--timings" => parsed.timings.push(value.into()),
                "--list" => parsed.list = Some(value.into()),
                "--junit" => {
                    let (name, file) = value.split_once('=').ok_or_else(|| format!("'{value}' is not NAME=FILE"))?;
                    parsed.junit.push((name.to_owned(), file.into()));
                }
                _ => return Err(format!("unknown option '{option}': {USAGE}")),
            }
        }
        Ok(parsed)
    }
}

/// Reads and parses a file.
fn read<T>(repository: &Repository, path: &Path, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<T, String> {
    let text = std::fs::read_to_string(repository.path(".").join(path));
    let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text).map_err(|error| format!("{}:{error}", path.display()))
}

fn told<T>(result: Result<T, String>, problems: &mut Vec<String>) -> Option<T> {
    result.map_err(|problem| problems.push(problem)).ok()
}

/// The committed table; with `--write` there need not be one yet.
fn committed(repository: &Repository, options: &Options, problems: &mut Vec<String>) -> BTreeMap<String, f64> {
    if options.write && !repository.path(".").join(&options.table).exists() {
        return BTreeMap::new();
    }
    told(read(repository, &options.table, steps::parse_table), problems).unwrap_or_default()
}

fn write(repository: &Repository, table: &Path, steps: &[Step]) -> Result<(), String> {
    let text = steps::table(steps)?;
    std::fs::write(repository.path(".").join(table), text).map_err(|error| format!("{}: {error}", table.display()))?;
    println!("{} is written", table.display());
    Ok(())
}

fn print_compiled(repository: &Repository, timings: &[PathBuf], problems: &mut Vec<String>) {
    let read = |path: &PathBuf| told(read(repository, path, compile::parse), problems);
    let units: Vec<Unit> = timings.iter().filter_map(read).flatten().collect();
    if !units.is_empty() {
        println!("{}", compile::render(&units, |name| name == "xtask" || name.starts_with("trunkline")));
    }
}

/// The tests of all files, and those of the list that did not run. If all files could be read, tests that are missing
/// are a problem of its own; else the file that could not be read explains them.
fn cases(repository: &Repository, options: &Options, problems: &mut Vec<String>) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut read_all = true;
    for (name, path) in &options.junit {
        match read(repository, path, |text| results::parse(name, text)) {
            Ok(found) => cases.extend(found),
            Err(problem) => {
                problems.push(format!("{problem}: no results of the tests '{name}'"));
                read_all = false;
            }
        }
    }
    if let Some(path) = &options.list {
        let unrun = told(read(repository, path, |text| results::not_run(text, &cases)), problems).unwrap_or_default();
        let lost = results::lost(&unrun);
        if lost > 0 && read_all {
            problems.push(format!("{}: tests that did not run: {lost}", path.display()));
        }
        cases.extend(unrun);
    }
    cases
}

fn print_tests(cases: &[Case]) {
    if !cases.is_empty() {
        println!("{}", results::render(cases, SLOWEST));
    }
}

/// Rows of text in columns: the first one to the left, the others to the right.
fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|r| r.get(column)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let cell = |(column, text): (usize, &String)| match column {
        0 => format!("{text:<width$}", width = widths[0]),
        _ => format!("  {text:>width$}", width = widths[column]),
    };
    rows.iter().map(|row| row.iter().enumerate().map(cell).collect::<String>() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let options = "--junit pages=a.xml --timings t.html --write --list l.json --failed";
        let options = Options::parse(&words(options)).unwrap();
        assert_eq!(options.junit, [("pages".to_owned(), PathBuf::from("a.xml"))]);
        assert_eq!((options.timings, options.list), (vec!["t.html".into()], Some("l.json".into())));
        assert!(
            options.write && options.failed && options.steps == Path::new(STEPS) && options.table == Path::new(TABLE)
        );
        assert!(Options::parse(&words("--junit a.xml")).unwrap_err().contains("'a.xml' is not NAME=FILE"));
        assert!(Options::parse(&words("--steps")).unwrap_err().contains("its value is missing"));
    }

    #[test]
    fn numbers_stand_to_the_right() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        assert_eq!(columns(&[row(["step", "s"]), row(["lint", "112"])]), "step    s\nlint  112\n");
    }

    #[test]
    fn a_file_that_is_missing_is_a_problem() {
        let options = Options::parse(&["--junit".to_owned(), "pages=target/no/such.xml".to_owned()]).unwrap();
        let mut problems = Vec::new();
        assert!(cases(&Repository::here(), &options, &mut problems).is_empty());
        assert!(problems[0].starts_with("target/no/such.xml: No such file"));
    }
}
