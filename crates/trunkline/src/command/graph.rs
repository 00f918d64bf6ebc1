//! `trunkline graph`: what belongs to polling devices and drawing graphs.

mod farm;

use crate::failure::Failure;
use crate::terminal::Terminal;
use trunkline_kit::exit::Exit;

/// Try out polling and graphs
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, arg_required_else_help = true)]
#[command(after_help = "Examples:\n  \
    trunkline graph farm --devices 100             a hundred simulated devices that answer SNMP\n  \
    snmpbulkwalk -v2c -c public 127.64.0.1:1161    what the first of them says")]
pub struct Graph {
    /// What to do.
    #[command(subcommand)]
    tool: Tool,
}

/// What there is, a file each.
#[derive(Debug, clap::Subcommand)]
enum Tool {
    Farm(farm::FarmCommand),
}

impl Graph {
    /// Does what the subcommand says.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        match &self.tool {
            Tool::Farm(farm) => farm.run(terminal),
        }
    }
}
