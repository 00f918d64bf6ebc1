//! The commands, a file each: what it takes, what it does, how it tells.

pub mod alert;
pub mod cache;
pub mod call;
pub mod calls;
pub mod charge;
pub mod completions;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod events;
pub mod extcap;
pub mod extract;
pub mod graph;
pub mod help;
mod listing;
pub mod man;
pub mod open;
pub mod packet_log;
pub mod packets;
pub mod read;
pub mod registrations;
pub mod repair;
pub mod replay;
pub mod run;
pub mod sim;
pub mod sql;
pub mod store;
pub mod streams;
pub mod user;
pub mod verify;
pub mod web;

use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::search;
use crate::terminal::Terminal;
use trunkline_kit::exit::Exit;

/// Does what the command line asks for.
///
/// # Errors
/// What could not be done, ready to be told.
pub fn run(cli: &Cli) -> Result<Exit, Failure> {
    let terminal = Terminal::of_stdout(cli.color);
    let done = match &cli.command {
        Command::Demo(demo) => demo.run(),
        Command::Open(open) => open.run(),
        Command::Read(read) => read.run(&terminal),
        Command::Run(run) => run.run(),
        Command::Web(web) => web.run(),
        Command::User(user) => user.run(&terminal),
        Command::Replay(replay) => replay.run(),
        Command::Calls(calls) => calls.run(&terminal),
        Command::Call(call) => call.run(&terminal),
        Command::Registrations(registrations) => registrations.run(&terminal),
        Command::Events(events) => events.run(&terminal),
        Command::Streams(streams) => streams.run(&terminal),
        Command::Sql(sql) => sql.run(&terminal),
        Command::Store(store) => store.run(),
        Command::Extract(extract) => extract.run(&terminal),
        Command::Extcap(extcap) => extcap.run(&terminal),
        Command::ExtcapInstall(install) => install.run(),
        Command::Packets(packets) => packets.run(&terminal),
        Command::Cache(cache) => cache.run(&terminal),
        Command::Charge(charge) => charge.run(&terminal),
        Command::Graph(graph) => graph.run(&terminal),
        Command::Alert(alert) => alert.run(&terminal),
        Command::Verify(verify) => verify.run(),
        Command::Repair(repair) => repair.run(),
        Command::Doctor(doctor) => doctor.run(&terminal),
        Command::Config(config) => config.run(&terminal),
        Command::Sim(sim) => sim.run(),
        Command::Help(help) => help.run(&terminal),
        Command::Man(man) => man.run(),
        Command::Completions(completions) => completions.run(),
    };
    done.map(search::exit)
}
