//! `trunkline streams`: RTP streams without signalling.

use crate::cli::DataFolder;
use crate::failure::Failure;
use crate::output::stdout;
use crate::search;
use crate::show::report::stream_table;
use crate::show::table;
use crate::terminal::Terminal;
use std::io::Write;
use trunkline_kit::exit::Exit;
use trunkline_store::json;

/// List RTP streams without signalling
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  trunkline streams\n\nThe streams of a call: trunkline call ID.")]
pub struct Streams {
    /// How many to list at most, the newest
    #[arg(long, value_name = "N", default_value_t = super::calls::LIMIT_DEFAULT)]
    limit: u32,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: DataFolder,
}

impl Streams {
    /// Lists them.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let store = search::open(&self.data)?;
        let found = search::orphan_streams(&store, self.limit)?;
        let mut out = stdout();
        if self.json {
            search::print_json(&found, json::stream, &mut out)?;
        } else if found.is_empty() {
            let folder = self.data.path.display();
            writeln!(out, "No streams without signalling in {folder}. The streams of a call: trunkline call ID.")?;
        } else {
            table::write(&stream_table(&found, terminal), terminal, &mut out)?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }
}
