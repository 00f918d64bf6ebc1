//! `trunkline config` as people and scripts meet it.

use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn run(folder: &TempDir, args: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(args).current_dir(folder.path()).stdin(Stdio::null());
    command.env_clear().env("TZ", "UTC").env("LANG", "C.UTF-8").env("COLUMNS", "100");
    command.envs(environment.iter().copied()).output().unwrap()
}

fn text(octets: &[u8]) -> String {
    String::from_utf8(octets.to_vec()).unwrap()
}

fn folder(file: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.toml"), file).unwrap();
    folder
}

#[test]
fn the_example_is_a_right_configuration() {
    let folder = folder("");
    let example = run(&folder, &["config", "example"], &[]);
    std::fs::write(folder.path().join("example.toml"), &example.stdout).unwrap();
    let checked = run(&folder, &["config", "check", "example.toml"], &[]);
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stderr));
    assert_eq!(text(&checked.stdout), "example.toml: no mistakes; keys set: 0\n");
}

#[test]
fn mistakes_of_file_and_environment_are_told_together_and_are_2() {
    let folder = folder("[capture]\nring = 64 MiB\nlane = 2\n[record.sip]\nkeep-age = \"30 dais\"\n");
    let checked = run(&folder, &["config", "check", "t.toml"], &[("TRUNKLINE_LOG__LEVL", "info")]);
    assert_eq!(checked.status.code(), Some(2));
    assert_eq!(
        text(&checked.stderr),
        "trunkline: mistakes in the configuration:\n  \
         t.toml:2:8: a value that is neither a number nor true or false stands in quotes: \"64 MiB\"\n  \
         t.toml:3:1: unknown key 'lane' in [capture]; did you mean 'lanes'?\n  \
         t.toml:5:12: keep-age: unknown unit 'dais' in \"30 dais\"; did you mean 'days'?\n  \
         TRUNKLINE_LOG__LEVL: unknown key 'levl' in [log]; did you mean 'level'?\n\
         All keys with what they take: trunkline config example\n"
    );
    let json = run(&folder, &["config", "check", "--json", "t.toml"], &[]);
    assert_eq!(json.status.code(), Some(2));
    let lines: Vec<serde_json::Value> =
        text(&json.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[1]["line"], &lines[1]["column"]), (3, &3.into(), &1.into()));
    assert_eq!(run(&folder, &["config", "check", "gone.toml"], &[]).status.code(), Some(1));
}

#[test]
fn show_says_what_takes_effect_and_where_it_comes_from() {
    let folder = folder("[capture]\nlanes = 2\nring = \"64 MiB\"\n");
    let environment = [("TRUNKLINE_CAPTURE__LANES", "3")];
    let shown = run(&folder, &["config", "show", "-c", "t.toml", "--changed"], &environment);
    assert_eq!(
        text(&shown.stdout),
        "KEY            VALUE     FROM\n\
         capture.lanes  3         TRUNKLINE_CAPTURE__LANES\n\
         capture.ring   \"64 MiB\"  t.toml:3:8\n"
    );
    let json = run(&folder, &["config", "show", "-c", "t.toml", "--json"], &environment);
    let of = |key: &str| {
        let object = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        text(&json.stdout).lines().map(object).find(|object| object["key"] == key).unwrap()
    };
    assert_eq!(of("capture.lanes")["from"]["variable"], "TRUNKLINE_CAPTURE__LANES");
    assert_eq!(of("capture.ring")["value"], "\"64 MiB\"");
    assert_eq!(of("log.level")["from"]["source"], "default");
}
