//! Checks and chores of the project: `cargo xtask tidy`, `check`, `features`, `times`, `accuracy`, `bench`, `loom`,
//! `peers`, `picture`, `soak`.
#![forbid(unsafe_code)]

mod accuracy;
mod bench;
mod check;
mod features;
mod models;
mod peers;
mod picture;
mod repository;
mod soak;
mod tidy;
mod times;

use repository::Repository;
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask tidy [--fix]        the project's own rules: who may depend on whom, names, widths, paths; --fix mends some
cargo xtask check [--all]       format, tidy, clippy and tests of what changed; --all tests what depends on it, too
cargo xtask accuracy [--write]  our figures against the oracle's; --write renews docs/accuracy.md
cargo xtask bench [--quick] [read|live|log|find|search|web|cache|route|charge ...]
                               our figures beside other programs': bench/*.md; all of them, or those that are named
cargo xtask loom [NAME ...]     what threads meet at, in every order that loom finds
cargo xtask loom --breaks [WORD ...]
                               the same with the code broken on purpose: each break must be found
cargo xtask features           whether -p CRATE builds foreign crates as the workspace does, or all once more
cargo xtask times [--steps FILE] [--table FILE] [--timings FILE] ... [--junit NAME=FILE] ... [--list FILE]
                               [--failed] [--write]
                               what a run of .ci/run took and how many tests passed; --write renews .ci/times.tsv
cargo xtask soak cache [--minutes 20] [--program FILE]
                               servers with little memory under load for long: nothing wrong, memory flat
cargo xtask peers [NAME ...] [--cached] [--json] [--list]
                               tests against programs that we did not write; --cached: those that are set up already
cargo xtask picture            what `trunkline call` prints, for the README: docs/call.svg";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((task, options)) = arguments.split_first() else {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    };
    let repository = Repository::here();
    let result = match task.as_str() {
        "tidy" => tidy::command(&repository, options),
        "accuracy" => accuracy::command(&repository, options),
        "picture" => picture::command(&repository, options),
        "soak" => soak::command(&repository, options),
        "check" => check::command(&repository, options),
        "features" => features::command(&repository, options),
        "times" => times::command(&repository, options),
        "peers" => peers::command(&repository, options),
        "loom" => models::command(&repository, options),
        "bench" => bench::command(&repository, options),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(true)
        }
        other => Err(format!("unknown task '{other}'\n{USAGE}")),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("xtask {task}: {reason}");
            ExitCode::from(2)
        }
    }
}
