//! The command line: what help, man pages and shell completions are made from.

use crate::command;
use crate::terminal::Colour;
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::path::PathBuf;
use trunkline_kit::untrusted::shell_word;

/// Where rows are kept if `--data` does not say.
pub const DATA_DEFAULT: &str = "./trunkline-data";

/// Calls, media and their quality, from captures of voice networks.
#[derive(Debug, Parser)]
#[command(name = "trunkline", version, disable_help_subcommand = true, max_term_width = 100)]
#[command(after_help = "Begin with `trunkline read FILE`. Examples of a command: `trunkline help read`.\n\
    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done, but something was lost or broken.")]
pub struct Cli {
    /// When to use colours; NO_COLOR is respected
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t, display_order = 900)]
    pub color: Colour,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands, one file each.
#[derive(Debug, Subcommand)]
pub enum Command {
    Demo(command::demo::Demo),
    Open(command::open::Open),
    Read(command::read::Read),
    Run(command::run::Run),
    Web(command::web::Web),
    User(command::user::Manage),
    Replay(command::replay::Replay),
    Calls(command::calls::Calls),
    Call(command::call::Show),
    Registrations(command::registrations::Registrations),
    Events(command::events::Events),
    Streams(command::streams::Streams),
    Sql(command::sql::Sql),
    Store(command::store::Store),
    Extract(command::extract::Extract),
    Packets(command::packets::Packets),
    ExtcapInstall(command::extcap::install::Install),
    #[command(hide = true)]
    Extcap(command::extcap::Extcap),
    Cache(Box<command::cache::Cache>),
    Charge(command::charge::Charge),
    Graph(command::graph::Graph),
    Alert(command::alert::Alert),
    Verify(command::verify::Verify),
    Repair(command::repair::Repair),
    Doctor(command::doctor::Doctor),
    Config(command::config::Config),
    Sim(command::sim::Sim),
    Help(command::help::Help),
    Man(command::man::Man),
    Completions(command::completions::Completions),
}

impl Command {
    /// Whether it makes files that everybody on the machine is to read.
    pub fn is_for_everybody(&self) -> bool {
        matches!(self, Command::Man(_) | Command::ExtcapInstall(_))
    }
}

/// Where the store is.
#[derive(Clone, Debug, Args)]
pub struct DataFolder {
    /// The data folder
    #[arg(long = "data", value_name = "DIR", default_value = DATA_DEFAULT, value_hint = clap::ValueHint::DirPath)]
    pub path: PathBuf,
}

impl DataFolder {
    /// The folder of the store in it.
    pub fn store(&self) -> PathBuf {
        self.path.join("store")
    }

    /// ` --data DIR` for commands that are suggested; empty for the default.
    pub fn option(&self) -> String {
        if self.path.as_os_str() == DATA_DEFAULT {
            return String::new();
        }
        format!(" --data {}", shell_word(&self.path.to_string_lossy()))
    }
}

/// The definition, for help, man pages and completions.
pub fn definition() -> clap::Command {
    Cli::command()
}
