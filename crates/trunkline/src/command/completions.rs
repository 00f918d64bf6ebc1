//! `trunkline completions`: what a shell needs to complete command lines.

use crate::cli::definition;
use crate::failure::Failure;
use crate::output::stdout;
use clap_complete::Shell;
use std::io::Write;
use trunkline_kit::exit::Exit;

/// Print shell completions
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  trunkline completions bash > ~/.local/share/bash-completion/completions/trunkline\n  \
    trunkline completions fish > ~/.config/fish/completions/trunkline.fish"
)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Prints the script.
    pub fn run(&self) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut definition(), "trunkline", &mut script);
        let mut out = stdout();
        out.write_all(&script)?;
        out.flush()?;
        Ok(Exit::Done)
    }
}
