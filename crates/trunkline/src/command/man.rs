//! `trunkline man`: manual pages from the same definitions as `--help`.

use crate::cli::definition;
use crate::failure::Failure;
use std::path::{Path, PathBuf};
use trunkline_kit::exit::Exit;

/// Write the manual pages into a folder
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  trunkline man /usr/local/share/man/man1")]
pub struct Man {
    /// The folder; it is created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    /// Writes `trunkline.1` and a page for each command.
    pub fn run(&self) -> Result<Exit, Failure> {
        let failed = |path: &Path, error| crate::output::cannot_write(path, &error);
        std::fs::create_dir_all(&self.folder).map_err(|e| failed(&self.folder, e))?;
        // Subcommands get their full name (`trunkline-read`) and the global options when the definition is built.
        let mut whole = definition();
        whole.build();
        let commands: Vec<clap::Command> = whole.get_subcommands().cloned().collect();
        for command in std::iter::once(whole).chain(commands) {
            let page = clap_mangen::Man::new(command);
            let path = self.folder.join(page.get_filename());
            let mut text = Vec::new();
            page.render(&mut text).map_err(|e| failed(&path, e))?;
            std::fs::write(&path, text).map_err(|e| failed(&path, e))?;
        }
        Ok(Exit::Done)
    }
}
