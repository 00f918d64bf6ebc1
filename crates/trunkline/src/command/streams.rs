//! `trunkline streams`: RTP streams without signalling.

use crate::cli::DataFolder;
use crate::failure::Failure;
use crate::pager::Paged;
use crate::search::{self, TABLE_ROWS_DEFAULT};
use crate::show::report::stream_table;
use crate::show::table;
use crate::terminal::Terminal;
use std::io::Write;
use trunkline_kit::exit::Exit;
use trunkline_store::{Query, json};

/// List RTP streams without signalling
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  trunkline streams\n\nThe streams of a call: trunkline call ID.")]
pub struct Streams {
    /// How many to list at most, the newest [default: 50 in a table, else all]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
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
        let mut out = Paged::new(terminal);
        let ask = |query: &Query| store.streams_without_call(query);
        if self.json {
            let limit = self.limit.map_or(usize::MAX, |n| n as usize);
            search::print_json(limit, ask, json::stream, &mut out)?;
            out.flush()?;
            return Ok(Exit::Done);
        }
        let found = search::list(self.limit.unwrap_or(TABLE_ROWS_DEFAULT) as usize, ask)?;
        if found.is_empty() {
            let folder = self.data.path.display();
            writeln!(out, "No streams without signalling in {folder}. The streams of a call: trunkline call ID.")?;
        } else {
            table::write(&stream_table(&found, terminal), terminal, &mut out)?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }
}
