//! `trunkline charge`: online charging, and what stands beside it.

mod load;
mod server;

use crate::failure::Failure;
use crate::terminal::Terminal;
use trunkline_kit::exit::Exit;

/// Charge online, and load a charging server
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, arg_required_else_help = true)]
#[command(after_help = "Examples:\n  \
    trunkline charge load 127.0.0.1:3868           sessions by Diameter Gy, as fast as they are answered\n\n\
    docs/manual/charge-load.md has the whole of it.")]
pub struct Charge {
    /// What to do.
    #[command(subcommand)]
    tool: Tool,
}

/// What there is, a file each.
#[derive(Debug, clap::Subcommand)]
enum Tool {
    Load(Box<load::Load>),
}

impl Charge {
    /// Does what the subcommand says.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        match &self.tool {
            Tool::Load(load) => load.run(terminal),
        }
    }
}
