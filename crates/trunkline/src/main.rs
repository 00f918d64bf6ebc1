//! The trunkline program: reads the command line, does what it says, tells how it went.
#![forbid(unsafe_code)]

mod alert;
mod asking;
mod cache;
mod charge;
mod cli;
mod command;
mod cut;
mod demo;
mod doctor;
#[cfg(test)]
#[path = "../../kit/tests/shared/eventually.rs"]
mod eventually;
mod feed;
mod graph;
mod moment;
mod retention;
mod rights;
mod run;
mod same_folder;
mod search;
mod summary_json;
mod verify;
mod web;

use clap::Parser;
use std::process::ExitCode;
use std::sync::Arc;
use trunkline_show::{self as show, bar, failure, output, pager, selection, stop, terminal};

/// Rows are made by one thread and freed by another, millions of small ones: the system's allocator spends a quarter of
/// the program's time on them (docs/decisions/0013).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Wrong usage ends here: clap says what was wrong and exits with 2.
    let cli = cli::Cli::parse_from(command::cache::arguments(command::extcap::arguments(std::env::args_os())));
    if cli.command.is_for_everybody() {
        rights::make_for_everybody()
    } else {
        rights::make_strictly()
    }
    // A limit on the size of files (ulimit -f) is an error of writing, and not the end of the program.
    let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), Arc::default());
    command::run(&cli).unwrap_or_else(|failure| failure.tell()).into()
}
